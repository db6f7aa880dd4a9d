// The verbs on a real store and real files, in one process; several processes of one workspace are several
// Repositories.
#include <sched.h>
#include <sys/mount.h>

#include <thread>

#include "repo/testing/verbs_fixture.h"

namespace weft::repo {
namespace {

namespace fs = std::filesystem;
using testing::VerbsTest;

TEST_F(VerbsTest, CommitMovesHeadAndFollowedRef) {  // CM-1
  write("w/a", "one\n");
  const auto first = committed("First");
  ASSERT_TRUE(first.change);
  EXPECT_TRUE(first.advanced);
  EXPECT_EQ(ref("main"), Version(*first.change));
  EXPECT_EQ(ref("workspaces/default"), Version(*first.change));
  EXPECT_TRUE(status().entries.empty());
  EXPECT_FALSE(committed("Nothing").change);
  set_ref("main", Version());
  write("w/a", "two\n");
  const auto second = committed("Second");
  EXPECT_TRUE(second.change);
  EXPECT_FALSE(second.advanced);
  EXPECT_EQ(ref("main"), Version());
  EXPECT_EQ(ref("workspaces/default"), Version(*second.change));
}

TEST_F(VerbsTest, CommitPathsRecordsOnlyThem) {
  write("w/d/a", "1");
  write("w/b", "1");
  auto repository = open();
  ASSERT_TRUE(commit(repository, {"d\n", {"d"}, std::nullopt, std::nullopt, false})->change);
  ASSERT_EQ(status().entries.size(), 1U);
  EXPECT_EQ(status().entries[0].path, "b");
  const auto slip = commit(repository, {"x\n", {"typo"}, std::nullopt, std::nullopt, false});
  ASSERT_FALSE(slip.has_value());
  EXPECT_EQ(slip.error().code, Code::not_found);
}

TEST_F(VerbsTest, AdvanceIsAllOrNothing) {  // CM-3
  write("w/a", "1");
  const auto first = committed("First");
  set_ref("release", Version());
  write("w/a", "2");
  auto repository = open();
  const auto lost = commit(repository, {"Second\n", {}, "release", std::nullopt, false});
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().code, Code::lost_race);
  EXPECT_NE(lost.error().message.find("ref set release"), std::string::npos) << lost.error().message;
  EXPECT_EQ(ref("workspaces/default"), Version(*first.change));
  set_ref("release", Version(*first.change));
  const auto won = commit(repository, {"Second\n", {}, "release", std::nullopt, false});
  ASSERT_TRUE(won.has_value()) << won.error().message;
  EXPECT_TRUE(won->advanced);
  EXPECT_EQ(ref("release"), Version(*won->change));
  EXPECT_EQ(ref("main"), Version(*won->change));
  EXPECT_EQ(commit(repository, {"x\n", {}, "workspaces/default", std::nullopt, true}).error().code, Code::invalid);
}

TEST_F(VerbsTest, C2CommitsAtOnceInOneCheckout) {
  constexpr int kShells = 4;
  constexpr int kCommits = 5;
  std::vector<std::thread> shells;
  std::vector<std::vector<ChangeId>> made(kShells);
  for (int shell = 0; shell < kShells; ++shell) {
    shells.emplace_back([&, shell] {
      for (int i = 0; i < kCommits; ++i) {
        write("w/s" + std::to_string(shell) + "/f" + std::to_string(i), std::to_string(i));
        auto repository = open();
        const auto result = commit(repository, {"Shell\n", {}, std::nullopt, std::nullopt, true});
        ASSERT_TRUE(result.has_value()) << result.error().message;
        ASSERT_TRUE(result->change);
        made[static_cast<std::size_t>(shell)].push_back(*result->change);
      }
    });
  }
  for (auto& shell : shells) shell.join();
  const auto snapshot = open().store().snapshot().value();
  const Version head = *ref("workspaces/default");
  EXPECT_EQ(ref("main"), head);
  for (const auto& changes : made) {
    for (const ChangeId& id : changes) EXPECT_TRUE(is_ancestor(snapshot, Version(id), head).value());
  }
  EXPECT_TRUE(status().entries.empty());
  const auto after = commit(*std::make_unique<Repository>(open()), {"x\n", {}, std::nullopt, std::nullopt, false});
  ASSERT_TRUE(after.has_value()) << after.error().message;  // the files record lags, and the reflog says so (F-3)
  EXPECT_FALSE(after->change);
}

TEST_F(VerbsTest, C3TenWorkspacesAtOnce) {
  write("w/a", "1");
  committed("First");
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&, i] {
      auto repository = open();
      const auto added =
          add_workspace(repository, {"x" + std::to_string(i), std::nullopt, std::nullopt, std::nullopt, {}});
      EXPECT_TRUE(added.has_value()) << added.error().message;
    });
  }
  for (auto& thread : threads) thread.join();
  auto repository = open();
  const auto all = list_workspaces(repository, repository.store().snapshot().value()).value();
  ASSERT_EQ(all.size(), 11U);
  for (const auto& each : all) EXPECT_TRUE(each.present) << each.name;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read("x" + std::to_string(i) + "/a"), "1");
}

TEST_F(VerbsTest, OneNameAtOnceGivesOneWorkspace) {  // WS-1
  std::vector<std::thread> threads;
  std::atomic<int> won = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      auto repository = open();
      const auto added =
          add_workspace(repository, {"same", dir_ / ("place" + std::to_string(i)), std::nullopt, std::nullopt, {}});
      if (added)
        ++won;
      else
        EXPECT_EQ(added.error().code, Code::exists) << added.error().message;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  int places = 0;
  for (int i = 0; i < 6; ++i) places += exists("place" + std::to_string(i)) ? 1 : 0;
  EXPECT_EQ(places, 1);
}

TEST_F(VerbsTest, AddRefusesPlacesInUse) {
  write("taken/file", "mine");
  auto repository = open();
  const auto added = add_workspace(repository, {"taken", std::nullopt, std::nullopt, std::nullopt, {}});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, Code::exists);
  EXPECT_EQ(read("taken/file"), "mine");
  EXPECT_FALSE(ref("workspaces/taken"));
  EXPECT_EQ(add_workspace(repository, {"in", dir_ / "w/in", std::nullopt, std::nullopt, {}}).error().code,
            Code::refused);
  EXPECT_EQ(add_workspace(repository, {"../x", std::nullopt, std::nullopt, std::nullopt, {}}).error().code,
            Code::invalid);
}

TEST_F(VerbsTest, C7HeadMovedByAnotherKeepsEdits) {  // F-1, F-2
  write("w/a", "1");
  write("w/b", "1");
  const auto first = committed("First");
  add("x");
  write("x/a", "2");
  const auto second = committed("In x", "x");
  write("x/b", "edited");
  set_ref("workspaces/x", Version(*first.change));  // elsewhere

  const auto seen = status("x");
  ASSERT_EQ(seen.entries.size(), 1U);  // the edit alone, not the undoing of "In x"
  EXPECT_EQ(seen.entries[0].path, "b");
  auto repository = open("x");
  const auto refused = commit(repository, {"No\n", {}, std::nullopt, std::nullopt, false});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_NE(refused.error().message.find("ref set workspaces/x"), std::string::npos) << refused.error().message;
  const auto switched = switch_workspace(repository, {"@", false, false, {}});
  ASSERT_TRUE(switched.has_value()) << switched.error().message;
  EXPECT_EQ(switched->files_before, Version(*second.change));
  EXPECT_EQ(read("x/a"), "1");
  EXPECT_EQ(read("x/b"), "edited");
  EXPECT_TRUE(committed("Now", "x").change);
}

TEST_F(VerbsTest, C7UndoneFromAnotherWorkspaceKeepsEdits) {
  write("w/a", "1");
  committed("First");
  add("x");
  write("x/a", "2");
  const auto second = committed("In x", "x");
  write("x/a", "3");
  undone("w", false, second.operation->hex());
  EXPECT_EQ(read("x/a"), "3");
  // The edit is of a file that differs between the two versions: refused by name, nothing touched (SW-1).
  auto repository = open("x");
  const auto refused = switch_workspace(repository, {"@", false, false, {}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_EQ(read("x/a"), "3");
  const auto forced = switch_workspace(repository, {"@", false, true, {}});  // SW-2
  ASSERT_TRUE(forced.has_value()) << forced.error().message;
  EXPECT_EQ(read("x/a"), "1");
  ASSERT_TRUE(forced->rescue);
  undone("x");
  EXPECT_EQ(read("x/a"), "3");
}

TEST_F(VerbsTest, FilesOfAChangeThatIsGoneAreTakenToStandAtTheHead) {  // F-3, as after `repair --accept-loss`
  write("w/a", "1");
  committed("First");
  write("w/a", "2");
  const auto nobody = ChangeId::parse(std::string(64, '7'));
  ASSERT_TRUE(nobody);
  const std::string path = open().files_path("default");
  for (const FilesRecord& record :
       {FilesRecord{Version(*nobody), std::nullopt}, FilesRecord{Version(*nobody), Version(*nobody)}}) {
    ASSERT_TRUE(write_files_record(env_.fs, path, record).has_value());
    ASSERT_EQ(status().entries.size(), 1U);
    EXPECT_EQ(status().entries[0].path, "a");
  }
  EXPECT_TRUE(committed("Second").change);
  EXPECT_EQ(read("w/a"), "2");
  EXPECT_TRUE(status().entries.empty());
}

TEST_F(VerbsTest, C8RemovingAWorkspaceRecordsFirst) {  // WS-2
  write("w/a", "1");
  committed("First");
  add("x");
  write("x/a", "2");
  const auto unlanded = committed("Unlanded", "x");
  set_ref("main", Version());  // so that nothing of it is landed
  write("x/untracked", "precious");
  write("x/a", "3");
  auto repository = open();
  const auto removed = remove_workspace(repository, "x", false);
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_FALSE(exists("x"));
  ASSERT_EQ(removed->kept.size(), 1U);
  const auto snapshot = repository.store().snapshot().value();
  const Version kept = snapshot.ref(removed->kept[0]).value()->version;
  EXPECT_TRUE(is_ancestor(snapshot, Version(*unlanded.change), kept).value());
  const auto precious = tree::find_path(snapshot, tree_of(snapshot, kept).value(), "untracked").value();
  ASSERT_TRUE(precious);
  EXPECT_EQ(snapshot.read(object::ObjectKind::blob, precious->id).value(), "precious");

  undone();  // all of it comes back
  EXPECT_EQ(read("x/untracked"), "precious");
  EXPECT_EQ(read("x/a"), "3");
  EXPECT_EQ(ref("workspaces/x"), Version(*unlanded.change));
  ASSERT_EQ(status("x").entries.size(), 2U);
}

TEST_F(VerbsTest, RemovingNeverTouchesWhatIsNotIts) {  // WS-3
  write("w/a", "1");
  committed("First");
  add("x");
  write("outside/file", "mine");
  fs::create_directory_symlink(dir_ / "outside", dir_ / "x/link");
  auto repository = open();
  EXPECT_EQ(remove_workspace(repository, "default", true).error().code, Code::refused);
  auto inside = open("x");
  EXPECT_EQ(remove_workspace(inside, "x", true).error().code, Code::refused);
  ASSERT_TRUE(remove_workspace(repository, "x", false).has_value());
  EXPECT_EQ(read("outside/file"), "mine");
  EXPECT_FALSE(exists("x"));
  add("y");
  fs::remove(dir_ / "y/.weft");
  write("y/.weft", "weft workspace 1\nstore: /elsewhere/.weft\nname: y\n");
  const auto removed = remove_workspace(repository, "y", false);
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_FALSE(removed->files_removed);
  EXPECT_EQ(read("y/a"), "1");
}

/// The real file system, except that files whose path contains `victim` cannot be opened.
class FailingFileSystem final : public FileSystem {
 public:
  std::string victim;
  int failures = 0;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    if (!victim.empty() && path.find(victim) != std::string::npos) {
      ++failures;
      return system_error(ENOSPC, "open", path);
    }
    return real_.open(path, mode);
  }
  Result<FileStatus> status(const std::string& path) override { return real_.status(path); }
  Result<void> make_directory(const std::string& path) override { return real_.make_directory(path); }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return real_.list(path); }
  Result<void> rename(const std::string& from, const std::string& to) override { return real_.rename(from, to); }
  Result<void> unlink(const std::string& path) override { return real_.unlink(path); }
  Result<void> remove_directory(const std::string& path) override { return real_.remove_directory(path); }
  Result<void> sync_directory(const std::string& path) override { return real_.sync_directory(path); }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return real_.free_bytes(path); }

 private:
  FileSystem& real_ = posix_file_system();
};

TEST_F(VerbsTest, AFailedAddLeavesNeitherRefNorFiles) {  // WS-1
  write("w/a", "1");
  committed("First");
  FailingFileSystem failing;
  Env env{failing, clock_, system_random()};
  const Context with_failures{env, dir_ / "w", {{"WEFT_AUTHOR", "Ann <ann@example.org>"}}, ::geteuid()};
  auto repository = Repository::open_only(with_failures).value();
  failing.victim = "/x/.weft";
  const auto added = add_workspace(repository, {"x", std::nullopt, std::nullopt, std::nullopt, {}});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, Code::no_space);
  EXPECT_GT(failing.failures, 0);
  EXPECT_FALSE(exists("x"));
  EXPECT_FALSE(ref("workspaces/x"));
  failing.victim.clear();
  EXPECT_TRUE(add_workspace(repository, {"x", std::nullopt, std::nullopt, std::nullopt, {}}).has_value());
  EXPECT_EQ(read("x/a"), "1");
}

TEST_F(VerbsTest, ACommitIsNotUndoneByItsCachesFailing) {  // F-3
  write("w/a", "1");
  committed("First");
  FailingFileSystem failing;
  Env env{failing, clock_, system_random()};
  const Context with_failures{env, dir_ / "w", {{"WEFT_AUTHOR", "Ann <ann@example.org>"}}, ::geteuid()};
  auto repository = Repository::open_only(with_failures).value();
  failing.victim = "/workspaces/default.";
  write("w/a", "2");
  const auto result = commit(repository, {"Second\n", {}, std::nullopt, std::nullopt, false});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_GT(failing.failures, 0);
  EXPECT_EQ(ref("main"), Version(*result->change));
  EXPECT_TRUE(status().entries.empty());
  write("w/a", "3");
  EXPECT_TRUE(committed("Third").change);
}

TEST_F(VerbsTest, RemovesDeepDirectories) {  // CASES C27
  fs::create_directory(dir_ / "deep");
  fs::path at = dir_ / "deep";
  for (int i = 0; i < 600; ++i) at /= "d";
  fs::create_directories(at);
  std::ofstream(at / "f") << "x";
  const auto root = HostDir::open(dir_ / "deep").value();
  const auto removed = remove_everything_below(root, env_.random);
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(fs::is_empty(dir_ / "deep"));
}

TEST_F(VerbsTest, RemovesWhatAnOverlayHasInItsLowerLayer) {
  const std::string root = dir_ / "merged";
  for (const char* each : {"lower/a/b/c", "upper", "scratch", "merged"}) fs::create_directories(dir_ / each);
  write("lower/a/b/c/f", "x");
  write("lower/a/f", "x");
  const std::string layers =
      "lowerdir=" + (dir_ / "lower") + ",upperdir=" + (dir_ / "upper") + ",workdir=" + (dir_ / "scratch");
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", root.c_str(), "overlay", 0, layers.c_str()) != 0) {
    GTEST_SKIP() << "SKIPPED LOUDLY: cannot mount here";
  }
  write("merged/mine/g", "x");
  {
    const auto opened = HostDir::open(root).value();
    const auto removed = remove_everything_below(opened, env_.random);
    EXPECT_TRUE(removed.has_value()) << removed.error().message;
  }
  EXPECT_TRUE(fs::is_empty(root));
  EXPECT_EQ(::umount2(root.c_str(), MNT_DETACH), 0);
}

TEST_F(VerbsTest, LandForwardMergedAndContained) {  // LA-1
  write("w/a", "1");
  write("w/b", "1");
  committed("First");
  add("x");
  write("x/b", "x");
  const auto in_x = committed("In x", "x");
  EXPECT_TRUE(in_x.advanced);
  write("w/a", "w");
  write("w/new", "w");
  const auto in_w = committed("In w");
  EXPECT_FALSE(in_w.advanced);
  auto repository = open();
  const auto landed = land(repository, {std::nullopt, {}, std::nullopt});
  ASSERT_TRUE(landed.has_value()) << landed.error().message;
  EXPECT_EQ(landed->how, LandResult::How::merged);
  EXPECT_EQ(ref("main"), Version(*landed->change));
  EXPECT_EQ(ref("workspaces/default"), Version(*landed->change));
  EXPECT_EQ(read("w/b"), "x");
  EXPECT_EQ(read("w/a"), "w");
  EXPECT_TRUE(status().entries.empty());
  const auto change = repository.store().snapshot()->change(*landed->change).value();
  EXPECT_EQ(change.parents, (std::vector<ChangeId>{*in_x.change, *in_w.change}));
  EXPECT_EQ(land(repository, {std::nullopt, {}, std::nullopt})->how, LandResult::How::nothing);
  const auto other = land(repository, {"release", {}, std::nullopt});
  EXPECT_EQ(other->how, LandResult::How::fast_forward);
  EXPECT_EQ(ref("release"), Version(*landed->change));
}

TEST_F(VerbsTest, LandRefusesEditsInTheWayAndBlockedNodes) {  // LA-2, LA-3
  write("w/a", "1");
  write("w/b", "1");
  committed("First");
  add("x");
  write("x/b", "x");
  committed("In x", "x");
  write("w/a", "w");
  auto repository = open();
  ASSERT_TRUE(commit(repository, {"In w\n", {"a"}, std::nullopt, std::nullopt, false})->change);
  write("w/b", "edited");
  const auto before = ref("main");
  const auto refused = land(repository, {std::nullopt, {}, std::nullopt});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_EQ(detail(refused.error(), "path"), "b");
  EXPECT_EQ(ref("main"), before);
  committed("Edit b, too");
  const auto blocked = land(repository, {std::nullopt, {}, std::nullopt});
  ASSERT_FALSE(blocked.has_value());
  EXPECT_EQ(blocked.error().code, Code::conflicts);
  EXPECT_EQ(detail(blocked.error(), "path"), "b");
  EXPECT_EQ(ref("main"), before);
  EXPECT_EQ(read("w/b"), "edited");
}

TEST_F(VerbsTest, LandsAtOnceAllLand) {  // LA-4
  write("w/a", "1");
  committed("First");
  constexpr int kWorkspaces = 4;
  for (int i = 0; i < kWorkspaces; ++i) add("x" + std::to_string(i));
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkspaces; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = "x" + std::to_string(i);
      for (int round = 0; round < 3; ++round) {
        write(name + "/" + name + "-" + std::to_string(round), "x");
        auto repository = open(name);
        ASSERT_TRUE(commit(repository, {"x\n", {}, std::nullopt, std::nullopt, false}).has_value());
        const auto landed = land(repository, {std::nullopt, {}, std::nullopt});
        ASSERT_TRUE(landed.has_value()) << landed.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto snapshot = open().store().snapshot().value();
  const ObjectId tree = tree_of(snapshot, *ref("main")).value();
  EXPECT_EQ(object::read_directory(snapshot, tree)->size(), 1U + kWorkspaces * 3U);
}

TEST_F(VerbsTest, UndoOfACommitKeepsFilesAndRedoBringsItBack) {  // UN-1, UN-2, UN-3
  write("w/a", "1");
  const auto first = committed("First");
  write("w/a", "2");
  const auto second = committed("Second");
  const auto result = undone();
  EXPECT_EQ(result.how, UndoResult::How::moved_refs);
  EXPECT_EQ(ref("main"), Version(*first.change));
  EXPECT_EQ(read("w/a"), "2");
  ASSERT_EQ(status().entries.size(), 1U);
  undone("w", true);
  EXPECT_EQ(ref("main"), Version(*second.change));
  EXPECT_TRUE(status().entries.empty());
  undone();
  undone();
  EXPECT_EQ(ref("main"), std::nullopt);
  EXPECT_EQ(ref("workspaces/default"), Version());
  EXPECT_EQ(read("w/a"), "2");
  EXPECT_TRUE(committed("Again").advanced);
}

TEST_F(VerbsTest, C4UndoBesideOthersKeepsTheirWork) {  // UN-1
  write("w/a", "1");
  write("w/b", "1");
  committed("First");
  add("x");
  write("w/a", "2");
  const auto mine = committed("Mine");
  auto theirs = open("x");
  ASSERT_TRUE(switch_workspace(theirs, {"main", false, false, {}}).has_value());
  write("x/b", "2");
  const auto other = committed("Theirs", "x");
  EXPECT_TRUE(other.advanced);
  const auto result = undone();
  EXPECT_EQ(result.how, UndoResult::How::inverse_change);
  EXPECT_FALSE(result.advanced);
  EXPECT_EQ(ref("main"), Version(*other.change));
  const auto snapshot = open().store().snapshot().value();
  EXPECT_TRUE(is_ancestor(snapshot, Version(*mine.change), *ref("workspaces/default")).value());
  auto repository = open();
  EXPECT_TRUE(restore_paths(repository, std::nullopt, {""}).has_value());
  EXPECT_EQ(read("w/a"), "1");
  ASSERT_TRUE(land(repository, {std::nullopt, {}, std::nullopt}).has_value());
  EXPECT_EQ(read("w/a"), "1");
  EXPECT_EQ(read("w/b"), "2");
}

TEST_F(VerbsTest, UndoOfALandingBringsFilesBackWithEditsRescued) {  // UN-2
  write("w/a", "1");
  write("w/b", "1");
  committed("First");
  add("x");
  write("x/b", "x");
  committed("In x", "x");
  write("w/a", "w");
  committed("In w");
  auto repository = open();
  ASSERT_EQ(land(repository, {std::nullopt, {}, std::nullopt})->how, LandResult::How::merged);
  write("w/b", "edited");
  write("w/other", "new");
  const auto result = undone();
  EXPECT_FALSE(result.files_kept);
  EXPECT_EQ(read("w/b"), "1");
  EXPECT_EQ(read("w/a"), "w");
  EXPECT_EQ(read("w/other"), "new");
  ASSERT_TRUE(result.rescue);
  undone("w", true);
  EXPECT_EQ(read("w/b"), "edited");
}

TEST_F(VerbsTest, RedoOfALandingWhoseRefMovedOnBringsItsContentBack) {  // UN-1, UN-3
  write("w/a", "1");
  write("w/b", "1");
  committed("First");
  add("x");
  write("x/b", "x");
  committed("In x", "x");
  write("w/a", "w");
  committed("In w");
  auto repository = open();
  ASSERT_EQ(land(repository, {std::nullopt, {}, std::nullopt})->how, LandResult::How::merged);
  undone();
  EXPECT_EQ(read("w/b"), "1");
  write("x/c", "x");
  const auto later = committed("Later in x", "x");
  EXPECT_TRUE(later.advanced);
  const auto redone = undone("w", true);
  // The head alone goes forward again, to the merge itself: the same recorded once more would edit x's files as w.
  EXPECT_EQ(redone.how, UndoResult::How::moved_refs);
  EXPECT_EQ(redone.notes,
            (std::vector<std::string>{"main was not moved: this reaches it with the next `weft land main`"}));
  EXPECT_EQ(read("w/a"), "w");
  EXPECT_EQ(read("w/b"), "x");
  EXPECT_EQ(ref("main"), Version(*later.change));
  EXPECT_EQ(land(repository, {std::nullopt, {}, std::nullopt})->how, LandResult::How::merged);
  EXPECT_EQ(read("w/c"), "x");
}

TEST_F(VerbsTest, UndoOfASwitchKeepsEditsItDoesNotRecord) {  // RE-1
  for (const char* name : {"w/a", "w/b", "w/c"}) write(name, "1");
  committed("First");
  write("w/a", "2");
  write("w/c", "2");
  committed("Second");
  auto repository = open();
  ASSERT_TRUE(switch_workspace(repository, {"@-", false, false, {}}).has_value());
  write("w/a", "edited");    // differs between the two: in the way, recorded
  write("w/b", "precious");  // does not
  ASSERT_TRUE(env_.fs.rename(dir_ / "w/c", dir_ / "w/moved").has_value());
  const auto result = undone();
  ASSERT_TRUE(result.rescue);
  EXPECT_EQ(read("w/a"), "2");
  EXPECT_EQ(read("w/b"), "precious");
  EXPECT_EQ(read("w/c"), "2");
  const auto snapshot = open().store().snapshot().value();
  const auto change = snapshot.change(result.rescue->change).value();
  const auto rescued = tree::find_path(snapshot, change.tree, "a").value();
  EXPECT_EQ(snapshot.read(object::ObjectKind::blob, rescued->id).value(), "edited");
  EXPECT_TRUE(tree::find_path(snapshot, change.tree, "moved").value());
}

TEST_F(VerbsTest, UndoRefusesWhatItCannotDo) {
  write("w/a", "1");
  committed("First");
  undone();
  auto repository = open();
  const auto init = undo(repository, {std::nullopt, false, std::nullopt, {}});
  ASSERT_FALSE(init.has_value());
  EXPECT_EQ(init.error().code, Code::refused) << init.error().message;
  EXPECT_TRUE(ref("workspaces/default"));
  EXPECT_EQ(undo(repository, {"zzzz", false, std::nullopt, {}}).error().code, Code::invalid);
  EXPECT_EQ(undo(repository, {"ab", false, std::nullopt, {}}).error().code, Code::invalid);
  EXPECT_EQ(undo(repository, {std::string(32, '0'), false, std::nullopt, {}}).error().code, Code::not_found);
  const auto again = committed("Again");
  EXPECT_EQ(undo(repository, {again.operation->hex(), true, std::nullopt, {}}).error().code, Code::refused);
  EXPECT_EQ(undo(repository, {std::nullopt, true, std::nullopt, {}}).error().code, Code::refused);
}

TEST_F(VerbsTest, UndoBlockedByLaterEditsOfTheSameFileMovesNothing) {  // UN-1
  write("w/a", "1");
  committed("First");
  write("w/a", "2");
  const auto second = committed("Second");
  write("w/a", "3");
  const auto third = committed("Third");
  auto repository = open();
  const auto blocked = undo(repository, {second.operation->hex(), false, std::nullopt, {}});
  ASSERT_FALSE(blocked.has_value());
  EXPECT_EQ(blocked.error().code, Code::conflicts);
  EXPECT_EQ(ref("main"), Version(*third.change));
  EXPECT_EQ(ref("workspaces/default"), Version(*third.change));
  EXPECT_EQ(read("w/a"), "3");
}

TEST_F(VerbsTest, UndoOfAWorkspaceAddRemovesOnlyCleanFiles) {
  write("w/a", "1");
  committed("First");
  add("x");
  undone();
  EXPECT_FALSE(exists("x"));
  EXPECT_FALSE(ref("workspaces/x"));
  add("y");
  write("y/precious", "mine");
  const auto kept = undone();
  EXPECT_FALSE(ref("workspaces/y"));
  EXPECT_EQ(read("y/precious"), "mine");
  ASSERT_EQ(kept.notes.size(), 1U);
}

TEST_F(VerbsTest, SwitchCarriesEditsAndRefusesUntrackedInTheWay) {  // SW-1, CASES C21
  write("w/a", "1");
  const auto first = committed("First");
  write("w/a", "2");
  write("w/tracked-later", "2");
  committed("Second");
  auto repository = open();
  ASSERT_TRUE(switch_workspace(repository, {first.change->hex(), false, false, {}}).has_value());
  EXPECT_EQ(read("w/a"), "1");
  EXPECT_FALSE(exists("w/tracked-later"));
  write("w/tracked-later", "mine");
  const auto refused = switch_workspace(repository, {"main", false, false, {}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_EQ(read("w/tracked-later"), "mine");
  EXPECT_EQ(read("w/a"), "1");
  EXPECT_EQ(ref("workspaces/default"), Version(*first.change));
  fs::remove(dir_ / "w/tracked-later");
  write("w/carried", "mine");
  const auto back = switch_workspace(repository, {"main", false, false, {}});
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(read("w/carried"), "mine");
  EXPECT_EQ(read("w/a"), "2");
  ASSERT_TRUE(switch_workspace(repository, {"topic", true, false, {}}).has_value());
  EXPECT_EQ(repository.reload_workspace()->record.follow, "topic");
  EXPECT_EQ(ref("topic"), ref("main"));
  undone();
  EXPECT_EQ(repository.reload_workspace()->record.follow, "main");
}

TEST_F(VerbsTest, RestoreRmAndMvCanBeUndone) {  // RT-1, RT-2, RT-3
  write("w/d/a", "1");
  write("w/d/b", "1");
  write("w/c", "1");
  committed("First");
  write("w/d/a", "edited");
  write("w/d/untracked", "mine");
  auto repository = open();
  const auto restored = restore_paths(repository, std::nullopt, {"d"});
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_EQ(read("w/d/a"), "1");
  EXPECT_EQ(read("w/d/untracked"), "mine");
  undone();
  EXPECT_EQ(read("w/d/a"), "edited");
  undone("w", true);
  EXPECT_EQ(read("w/d/a"), "1");

  EXPECT_EQ(remove_paths(repository, {{"d"}, false}).error().code, Code::refused);
  EXPECT_EQ(remove_paths(repository, {{"d/untracked"}, false}).error().code, Code::not_found);
  write("w/d/b", "edited");
  const auto removed = remove_paths(repository, {{"d"}, true});
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_FALSE(exists("w/d/a"));
  EXPECT_FALSE(exists("w/d/b"));
  EXPECT_EQ(read("w/d/untracked"), "mine");
  undone();
  EXPECT_EQ(read("w/d/a"), "1");
  EXPECT_EQ(read("w/d/b"), "edited");

  EXPECT_EQ(move_paths(repository, {{"c"}, "d/a", false}).error().code, Code::exists);
  EXPECT_EQ(move_paths(repository, {{"d"}, "d/e", false}).error().code, Code::invalid);
  const auto moved = move_paths(repository, {{"c"}, "d", false});
  ASSERT_TRUE(moved.has_value()) << moved.error().message;
  EXPECT_EQ(read("w/d/c"), "1");
  EXPECT_FALSE(exists("w/c"));
  undone();
  EXPECT_EQ(read("w/c"), "1");
  EXPECT_FALSE(exists("w/d/c"));
  ASSERT_TRUE(move_paths(repository, {{"c"}, "d/a", true}).has_value());
  EXPECT_FALSE(exists("w/c"));
  undone();
  EXPECT_EQ(read("w/c"), "1");
  EXPECT_EQ(read("w/d/a"), "1");
}

TEST_F(VerbsTest, ChangeListsNeedNoWorkingTree) {  // FEATURES S12
  auto repository = open();
  const auto list =
      parse_change_list(R"({"weft": 1, "ops": [{"op": "write", "path": "d/f", "content": "x"}]})").value();
  const auto kept = commit_change_list(repository, list, {"Kept\n", "none", std::nullopt, std::nullopt, false});
  ASSERT_TRUE(kept.has_value()) << kept.error().message;
  EXPECT_EQ(kept->ref, "kept/" + kept->change->hex().substr(0, 16));
  EXPECT_EQ(ref(kept->ref), Version(*kept->change));
  EXPECT_EQ(ref("workspaces/default"), Version());
  const auto made = commit_change_list(repository, list, {"Made\n", "none", "topic", std::nullopt, false});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(ref("topic"), Version(*made->change));
  EXPECT_EQ(commit_change_list(repository, list, {"Again\n", "none", "topic", std::nullopt, false}).error().code,
            Code::lost_race);
  const auto more = parse_change_list(R"({"weft": 1, "ops": [{"op": "move", "from": "d/f", "to": "g"}]})").value();
  const auto moved = commit_change_list(repository, more, {"Move\n", "topic", "topic", std::nullopt, false});
  ASSERT_TRUE(moved.has_value()) << moved.error().message;
  EXPECT_EQ(ref("topic"), Version(*moved->change));
  undone();
  EXPECT_EQ(ref("topic"), Version(*made->change));
}

TEST_F(VerbsTest, VersionsByEveryName) {
  write("w/a", "1");
  const auto first = committed("First");
  write("w/a", "2");
  const auto second = committed("Second");
  auto repository = open();
  const auto snapshot = repository.store().snapshot().value();
  const auto is = [&](const std::string& text) {
    const auto resolved = resolve_version(repository, snapshot, text);
    return resolved ? resolved->version.text() : std::string(name(resolved.error().code));
  };
  const std::string one = Version(*first.change).text();
  const std::string two = Version(*second.change).text();
  EXPECT_EQ(is("@"), two);
  EXPECT_EQ(is("@-"), one);
  EXPECT_EQ(is("main-"), one);
  EXPECT_EQ(is("main@{1}"), one);
  EXPECT_EQ(is("@{0}"), two);
  EXPECT_EQ(is("main@{2}"), "not_found");
  EXPECT_EQ(is("main@{x}"), "invalid");
  EXPECT_EQ(is(one), one);
  EXPECT_EQ(is(one.substr(0, 12)), one);
  EXPECT_EQ(is(two.substr(0, 12) + "-"), one);
  EXPECT_EQ(is("none"), "none");
  EXPECT_EQ(is("@+main-"), two);  // an ancestor adds nothing
  EXPECT_EQ(is("@--"), "not_found");
  EXPECT_EQ(is("nothing"), "not_found");
  EXPECT_EQ(is("tree:" + one), "invalid");
  EXPECT_EQ(is("git:12"), "invalid");
  EXPECT_EQ(is(""), "invalid");
  EXPECT_EQ(short_id(snapshot, object::ObjectKind::change, *first.change).value(), one.substr(0, 8));
}

TEST_F(VerbsTest, DiscoveryAndPaths) {
  fs::create_directories(dir_ / "w/d/e");
  auto repository = open("w/d/e");
  EXPECT_EQ(repository.location()->prefix, "d/e");
  EXPECT_EQ(repository.repo_path("../f").value(), "d/f");
  EXPECT_EQ(repository.repo_path(".").value(), "d/e");
  EXPECT_EQ(repository.repo_path(dir_ / "w").value(), "");
  EXPECT_EQ(repository.repo_path("../../..").error().code, Code::invalid);
  EXPECT_EQ(repository.repo_path("").error().code, Code::invalid);
  const auto in_store = Repository::open(context("w/.weft/log"));
  ASSERT_TRUE(in_store.has_value()) << in_store.error().message;
  EXPECT_FALSE(in_store->workspace());
  EXPECT_EQ(in_store->require_workspace().error().code, Code::refused);
  EXPECT_EQ(Repository::open(context("")).error().code, Code::not_found);
  EXPECT_EQ(Repository::init(context("w"), ".", "main").error().code, Code::exists);
  auto stranger = context("w");
  stranger.uid = 12345;
  const auto refused = Repository::open(stranger);  // DESIGN 12
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  write("home/.config/weft/config.toml", "[safe]\nstores = [\"" + (dir_ / "w") + "\"]\n");
  stranger.environment["HOME"] = dir_ / "home";
  EXPECT_TRUE(Repository::open(stranger).has_value());
}

TEST_F(VerbsTest, C18ReservedNamesInHistoryAreKeptThereAndNeverWrittenOut) {
  write("w/a", "1");
  committed("First");
  auto repository = open();
  Version odd;
  {
    auto transaction = repository.store().begin().value();
    const auto blob = transaction.put(object::ObjectKind::blob, "evil").value();
    const auto file = [&](std::string name, std::uint8_t node) {
      object::TreeEntry entry;
      entry.name = std::move(name);
      entry.node.bytes.fill(node);
      entry.id = blob;
      entry.size = 4;
      return entry;
    };
    object::TreeEntry inner;
    inner.name = "t";
    inner.kind = object::EntryKind::directory;
    inner.mode = 0755;
    inner.node.bytes.fill(9);
    inner.id = object::write_directory(transaction, {file(".Weft", 1), file("fine", 2)}).value();
    object::Change change;
    change.author = {"Ann", "ann@example.org", {1, 0}};
    change.committer = change.author;
    change.message = "Odd\n";
    change.form = object::OpsForm::derived;
    change.tree = object::write_directory(transaction, {file(".git", 3), file("b", 4), inner}).value();
    odd = Version(transaction.put_change(change).value());
    store::RefEdit edit;
    edit.name = "odd";
    edit.after = store::RefValue{odd, {}};
    transaction.edit_ref(edit);
    transaction.set_operation({"odd", "Ann <ann@example.org>", "", "", std::nullopt});
    ASSERT_TRUE(transaction.commit().has_value());
  }
  const auto switched = switch_workspace(repository, {"odd", false, false, {}});
  ASSERT_TRUE(switched.has_value()) << switched.error().message;
  EXPECT_FALSE(exists("w/.git"));
  EXPECT_FALSE(exists("w/t/.Weft"));
  EXPECT_EQ(read("w/b"), "evil");
  EXPECT_EQ(read("w/t/fine"), "evil");
  EXPECT_TRUE(fs::is_directory(dir_ / "w/.weft"));
  ASSERT_EQ(switched->report.warnings.size(), 2U);
  EXPECT_TRUE(status().entries.empty());
  write("w/b", "edited");
  const auto edited = committed("Edit");
  const auto snapshot = open().store().snapshot().value();
  const ObjectId tree = tree_of(snapshot, Version(*edited.change)).value();
  EXPECT_TRUE(tree::find_path(snapshot, tree, ".git").value());
  EXPECT_TRUE(tree::find_path(snapshot, tree, "t/.Weft").value());
}

TEST_F(VerbsTest, InterruptedWriteOutIsFinished) {  // SW-3
  write("w/a", "1");
  write("w/b", "1");
  const auto first = committed("First");
  write("w/a", "2");
  write("w/b", "2");
  const auto second = committed("Second");
  auto repository = open();
  // As a switch to First leaves it when it is killed after one of two files.
  write("w/a", "1");
  ASSERT_TRUE(
      write_files_record(env_.fs, repository.files_path("default"), {Version(*second.change), Version(*first.change)})
          .has_value());
  EXPECT_EQ(commit(repository, {"No\n", {}, std::nullopt, std::nullopt, false}).error().code, Code::refused);
  const auto finished = switch_workspace(repository, {"@", false, false, {}});
  ASSERT_TRUE(finished.has_value()) << finished.error().message;
  EXPECT_EQ(read("w/a"), "2");
  EXPECT_EQ(read("w/b"), "2");
  EXPECT_TRUE(status().entries.empty());
}

TEST_F(VerbsTest, InterruptedWriteOutWithEditsInTheWay) {  // SW-3
  for (const char* name : {"w/a", "w/b", "w/only"}) write(name, "1");
  const auto first = committed("First");
  write("w/a", "2");
  write("w/b", "2");
  ASSERT_TRUE(env_.fs.unlink(dir_ / "w/only").has_value());
  const auto second = committed("Second");
  auto repository = open();
  ASSERT_TRUE(switch_workspace(repository, {"@-", false, false, {}}).has_value());
  // A switch from First to Second, killed after `a`; then `b` was edited.
  write("w/a", "2");
  write("w/b", "edited");
  const std::string path = repository.files_path("default");
  const FilesRecord interrupted{Version(*first.change), Version(*second.change)};
  ASSERT_TRUE(write_files_record(env_.fs, path, interrupted).has_value());

  const auto refused = switch_workspace(repository, {"@", false, false, {}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_EQ(read_files_record(env_.fs, path), interrupted);  // still neither the one nor the other
  EXPECT_EQ(read("w/b"), "edited");

  const auto forced = switch_workspace(repository, {"main", false, true, {}});
  ASSERT_TRUE(forced.has_value()) << forced.error().message;
  ASSERT_TRUE(forced->rescue);
  EXPECT_EQ(read("w/a"), "2");
  EXPECT_EQ(read("w/b"), "2");
  EXPECT_FALSE(env_.fs.status(dir_ / "w/only"));
  EXPECT_TRUE(status().entries.empty());
  const auto snapshot = open().store().snapshot().value();
  const auto change = snapshot.change(forced->rescue->change).value();
  const auto rescued = tree::find_path(snapshot, change.tree, "b").value();
  EXPECT_EQ(snapshot.read(object::ObjectKind::blob, rescued->id).value(), "edited");
}

}  // namespace
}  // namespace weft::repo
