// undo, redo, restore, rm and mv: what can be refused is before anything is durable, what is durable is followed by
// files that match, and what undo takes back is what the operation did and no more.
#include <sys/stat.h>

#include "repo/testing/verbs_fixture.h"

namespace weft::repo {
namespace {

namespace fs = std::filesystem;
using testing::VerbsTest;

class FilesUndoTest : public VerbsTest {
 protected:
  FilesUndoTest() : repository_(open()) {}

  /// The paths of all status entries.
  std::string changed() {
    std::string out;
    for (const auto& entry : status().entries) out += (out.empty() ? "" : " ") + entry.path;
    return out;
  }
  std::size_t operations() {
    std::size_t count = 0;
    EXPECT_TRUE(repository_.store().snapshot()->operations([&](const store::Operation&) { return ++count > 0; }));
    return count;
  }
  FilesEdited restored(const std::string& path, const std::optional<std::string>& from = std::nullopt) {
    auto result = restore_paths(repository_, from, {path});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : FilesEdited{};
  }
  FilesEdited removed(const std::string& path) {
    auto result = remove_paths(repository_, {{path}, true});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : FilesEdited{};
  }
  void moved(const std::string& from, const std::string& to) {
    const auto result = move_paths(repository_, {{from}, to, false});
    EXPECT_TRUE(result.has_value()) << result.error().message;
  }
  void switched(const std::string& to) {
    const auto result = switch_workspace(repository_, {to, false, false, {}});
    EXPECT_TRUE(result.has_value()) << result.error().message;
  }
  /// Code::refused, and neither head nor operations changed; what it says.
  template <typename Verb>
  std::string refused(Verb&& verb) {
    const auto head = ref("workspaces/default");
    const std::size_t before = operations();
    const auto result = verb();
    EXPECT_FALSE(result.has_value());
    EXPECT_EQ(ref("workspaces/default"), head);
    EXPECT_EQ(operations(), before);
    if (result) return "";
    EXPECT_EQ(result.error().code, Code::refused) << result.error().message;
    EXPECT_FALSE(result.error().hint.empty());
    return result.error().message;
  }
  std::string refused_undo(bool redo = false) {
    return refused([&] { return undo(repository_, {std::nullopt, redo, std::nullopt, {}}); });
  }
  void pipe(const std::string& path) { ASSERT_EQ(::mkfifo((dir_ / path).c_str(), 0644), 0); }

  Repository repository_;
};

TEST_F(FilesUndoTest, APipeInTheWayRefusesUndoOfASwitchBeforeTheHeadMoves) {  // UN-2
  write("w/f", "1");
  committed("First");
  write("w/f", "2");
  write("w/later", "2");
  committed("Second");
  switched("@-");
  fs::remove(dir_ / "w/f");
  pipe("w/f");
  EXPECT_NE(refused_undo().find(quoted("f")), std::string::npos);
  EXPECT_FALSE(exists("w/later"));
  fs::remove(dir_ / "w/f");
  pipe("w/later");  // untracked here
  refused_undo();
  fs::remove(dir_ / "w/later");
  EXPECT_TRUE(undone().report.warnings.empty());
  EXPECT_EQ(read("w/f"), "2");
  EXPECT_EQ(read("w/later"), "2");
  fs::remove(dir_ / "w/later");
  pipe("w/later");
  refused_undo(true);
}

TEST_F(FilesUndoTest, APipeInTheWayRefusesAForcedSwitchAndALandingBeforeTheHeadMoves) {  // SW-1, LA-3
  write("w/f", "1");
  committed("First");
  add("x");
  write("w/later", "2");
  committed("Second");
  write("x/other", "1");
  committed("Beside", "x");
  pipe("x/later");
  const auto head = ref("workspaces/x");
  auto x = open("x");
  EXPECT_EQ(land(x, {"main", {}, std::nullopt}).error().code, Code::refused);
  EXPECT_EQ(switch_workspace(x, {"main", false, true, {}}).error().code, Code::refused);
  EXPECT_EQ(ref("workspaces/x"), head);
}

TEST_F(FilesUndoTest, RedoOfASwitchBringsAllFilesAndWhatItsUndoKeptAside) {  // UN-3
  write("w/x", "1");
  write("w/both", "1");
  const auto first = committed("First");
  fs::remove(dir_ / "w/x");
  write("w/both", "2");
  write("w/added", "2");
  write("w/edited", "2");
  committed("Second");
  switched("@-");
  switched("main");
  write("w/edited", "mine");
  write("w/x", "mine as well");
  const auto taken_back = undo(repository_, {std::nullopt, false, std::nullopt, {}});
  ASSERT_FALSE(taken_back.has_value());  // x is untracked here and differs there
  fs::remove(dir_ / "w/x");
  ASSERT_TRUE(undone().rescue);
  EXPECT_EQ(read("w/both"), "1");
  EXPECT_EQ(read("w/x"), "1");
  EXPECT_FALSE(exists("w/added"));
  EXPECT_EQ(ref("workspaces/default"), Version(*first.change));
  EXPECT_EQ(changed(), "");
  undone("w", true);
  EXPECT_EQ(ref("workspaces/default"), ref("main"));
  EXPECT_EQ(read("w/both"), "2");
  EXPECT_EQ(read("w/added"), "2");
  EXPECT_EQ(read("w/edited"), "mine");
  EXPECT_FALSE(exists("w/x"));
  EXPECT_EQ(changed(), "edited");
  const auto record = read_files_record(env_.fs, repository_.files_path("default"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->at, *ref("main"));
}

TEST_F(FilesUndoTest, RedoOfASwitchBringsBackADirectoryThatReplacedAFile) {  // UN-3
  write("w/a", "1");
  committed("First");
  write("w/x", "2");
  write("w/a", "2");
  committed("Second");
  switched("@-");
  switched("main");
  fs::remove(dir_ / "w/x");
  write("w/x/y", "mine");
  undone();
  EXPECT_EQ(read("w/a"), "1");
  EXPECT_EQ(read("w/x/y"), "mine");
  undone("w", true);
  EXPECT_EQ(read("w/a"), "2");
  EXPECT_EQ(read("w/x/y"), "mine");
  const auto record = read_files_record(env_.fs, repository_.files_path("default"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->at, *ref("main"));
}

TEST_F(FilesUndoTest, RestoreBelowWhatIsNoDirectoryAnyMoreIsRefusedWithAWayOut) {  // RT-4
  write("w/b/in", "1");
  committed("First");
  fs::remove_all(dir_ / "w/b");
  const auto restore_in = [&] { return restore_paths(repository_, std::nullopt, {"b/in"}); };
  fs::create_symlink("elsewhere", dir_ / "w/b");
  EXPECT_NE(refused(restore_in).find(quoted("b")), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(dir_ / "w/b"));
  fs::remove(dir_ / "w/b");
  pipe("w/b");
  refused(restore_in);
  refused([&] { return restore_paths(repository_, std::nullopt, {"b"}); });  // a pipe cannot be recorded
  fs::remove(dir_ / "w/b");
  write("w/b", "a file");
  refused(restore_in);
  EXPECT_EQ(read("w/b"), "a file");
  restored("b");
  EXPECT_EQ(read("w/b/in"), "1");
  undone();
  EXPECT_EQ(read("w/b"), "a file");
  undone("w", true);
  EXPECT_EQ(read("w/b/in"), "1");
}

TEST_F(FilesUndoTest, UndoOfRestoreAndRmBelowWhatIsNoDirectoryAnyMoreIsRefusedBeforeItCounts) {  // RE-4
  write("w/b/in", "1");
  committed("First");
  write("w/b/in", "edited");
  restored("b/in");
  fs::remove_all(dir_ / "w/b");
  write("w/b", "a file");
  refused_undo();
  EXPECT_EQ(read("w/b"), "a file");
  fs::remove(dir_ / "w/b");
  write("w/b/in", "1");
  undone();
  EXPECT_EQ(read("w/b/in"), "edited");
  fs::remove_all(dir_ / "w/b");
  pipe("w/b");
  refused_undo(true);
  fs::remove(dir_ / "w/b");
  undone("w", true);
  EXPECT_EQ(read("w/b/in"), "1");

  removed("b/in");
  fs::remove(dir_ / "w/b");
  write("w/b", "a file");
  refused_undo();
  fs::remove(dir_ / "w/b");
  undone();
  EXPECT_EQ(read("w/b/in"), "1");
}

TEST_F(FilesUndoTest, UndoOfMvOfAnUntrackedFileLeavesNoCopy) {  // RE-3
  write("w/tracked", "1");
  committed("First");
  write("w/u", "mine");
  moved("u", "v");
  undone();
  EXPECT_EQ(read("w/u"), "mine");
  EXPECT_FALSE(exists("w/v"));
  undone("w", true);
  EXPECT_EQ(read("w/v"), "mine");
  EXPECT_FALSE(exists("w/u"));
  undone();
  write("w/d/in", "mine too");
  moved("d", "e");
  undone();
  EXPECT_EQ(read("w/d/in"), "mine too");
  EXPECT_FALSE(exists("w/e"));
  moved("u", "v");
  write("w/v", "edited since");
  EXPECT_EQ(undone().notes.size(), 1U);  // says that it stays
  EXPECT_EQ(read("w/u"), "mine");
  EXPECT_EQ(read("w/v"), "edited since");
}

TEST_F(FilesUndoTest, UndoOfRestoreTakesAwayWhatAnotherVersionHadAndTheHeadHasNot) {  // RE-3
  write("w/old", "1");
  committed("First");
  fs::remove(dir_ / "w/old");
  write("w/new", "2");
  committed("Second");
  restored("old", "@-");
  EXPECT_EQ(read("w/old"), "1");
  undone();
  EXPECT_FALSE(exists("w/old"));
  undone("w", true);
  EXPECT_EQ(read("w/old"), "1");
}

TEST_F(FilesUndoTest, UndoOfRestoreRemovesTheDirectoriesItMade) {  // RE-4
  write("w/d/sub/deep/f", "1");
  write("w/d/other", "1");
  committed("First");
  fs::remove_all(dir_ / "w/d");
  restored("d/sub");
  EXPECT_EQ(read("w/d/sub/deep/f"), "1");
  EXPECT_FALSE(exists("w/d/other"));
  undone();
  EXPECT_FALSE(exists("w/d"));
  undone("w", true);
  EXPECT_EQ(read("w/d/sub/deep/f"), "1");
  write("w/d/mine", "stays");
  undone();
  EXPECT_FALSE(exists("w/d/sub"));
  EXPECT_EQ(read("w/d/mine"), "stays");
}

TEST_F(FilesUndoTest, RmAndRestoreLeaveAnUntrackedFileThatOnlyLooksLikeAMissingOne) {  // RT-3
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
  write("w/d/a", text);
  write("w/d/b", "b");
  committed("First");
  fs::remove(dir_ / "w/d/a");
  write("w/d/like", text + "and more\n");
  ASSERT_EQ(changed(), "d/like");  // as moved
  restored("d");
  EXPECT_EQ(read("w/d/a"), text);
  EXPECT_EQ(read("w/d/like"), text + "and more\n");
  undone();
  EXPECT_FALSE(exists("w/d/a"));
  EXPECT_EQ(read("w/d/like"), text + "and more\n");
  removed("d");
  EXPECT_FALSE(exists("w/d/b"));
  EXPECT_EQ(read("w/d/like"), text + "and more\n");
  undone();
  EXPECT_EQ(read("w/d/b"), "b");
  // The very same content: moved, and goes back.
  write("w/d/like", text);
  restored("d");
  EXPECT_EQ(read("w/d/a"), text);
  EXPECT_FALSE(exists("w/d/like"));
  undone();
  EXPECT_EQ(read("w/d/like"), text);
}

TEST_F(FilesUndoTest, WithNothingToDoNoOperationIsMade) {  // RT-4
  write("w/f", "1");
  write("w/g", "1");
  committed("First");
  write("w/u", "mine");
  const std::size_t before = operations();
  const auto result = restored("");
  EXPECT_FALSE(result.operation);
  EXPECT_FALSE(result.rescue);
  EXPECT_EQ(operations(), before);
  // And of one that did something, undo touches just that.
  write("w/f", "edited");
  restored("");
  write("w/u", "mine, edited");
  write("w/g", "edited");
  undone();
  EXPECT_EQ(read("w/f"), "edited");
  EXPECT_EQ(read("w/u"), "mine, edited");
  EXPECT_EQ(read("w/g"), "edited");
}

TEST_F(FilesUndoTest, UndoOfRmBringsBackDirectoriesAndKinds) {  // RE-4
  write("w/d/sub/f", "1");
  fs::create_directory(dir_ / "w/d/empty");
  fs::create_symlink("f", dir_ / "w/d/sub/link");
  committed("First");
  removed("d");
  EXPECT_FALSE(exists("w/d"));
  undone();
  EXPECT_EQ(changed(), "");
  EXPECT_TRUE(fs::is_directory(dir_ / "w/d/empty"));
  EXPECT_TRUE(fs::is_symlink(dir_ / "w/d/sub/link"));
  undone("w", true);
  EXPECT_FALSE(exists("w/d"));
}

TEST_F(FilesUndoTest, C14_OnlyWhatWouldBeLostRefuses) {
  write("w/f", "1");
  write("w/t/s/a", "1");
  committed("one");
  fs::create_directories(dir_ / "w/t/.git/objects");
  fs::create_directories(dir_ / "w/n/.git/objects");
  write("w/t/.git/HEAD", "ref: refs/heads/main\n");
  write("w/n/.git/HEAD", "ref: refs/heads/main\n");
  fs::create_directories(dir_ / "w/t/.git/refs");
  fs::create_directories(dir_ / "w/n/.git/refs");
  pipe("w/.gitignore");
  write("w/f", "2");
  restored("f");
  EXPECT_EQ(read("w/f"), "1");
  write("w/t/s/a", "2");
  restored("t/s/a");
  EXPECT_EQ(read("w/t/s/a"), "1");
  write("w/f", "3");
  restored("");
  EXPECT_EQ(read("w/f"), "1");
  moved("f", "g");
  removed("t/s/a");
  EXPECT_FALSE(exists("w/t/s/a"));

  fs::remove(dir_ / "w/g");
  pipe("w/f");
  EXPECT_NE(refused([&] { return restore_paths(repository_, std::nullopt, {"f"}); }).find("f cannot be recorded"),
            std::string::npos);
  EXPECT_TRUE(exists("w/f"));
}

}  // namespace
}  // namespace weft::repo
