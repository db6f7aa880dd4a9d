// Walks that are shared out, and what they may cost: SC4, WK1 to WK3, DS5; CASES C10, C22, C27, C32.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/testing/fake_env.h"
#include "work/testing/work_fixture.h"
#include "work/walk.h"

namespace weft::work {
namespace {

using testing::Lines;
using testing::must;

class WalkTest : public testing::WorkTest {
 protected:
  static std::string directory(int d) { return "d" + std::to_string(100 + d); }
  static std::string file(int d, int f) { return directory(d) + "/f" + std::to_string(f); }
  void write_many(int directories, int files_each) {
    for (int d = 0; d < directories; ++d) {
      for (int f = 0; f < files_each; ++f) write(file(d, f), "file " + std::to_string(d) + "/" + std::to_string(f));
    }
  }
  /// Entries stop being racy, and are known to.
  void settle() {
    ::usleep(50'000);
    scan();
  }
  static std::vector<std::string> texts(const Status& status) {
    std::vector<std::string> out = lines(status);
    for (const Warning& warning : status.warnings) out.push_back(warning.path + ": " + warning.reason);
    for (const std::string& path : status.ignored) out.push_back("! " + path);
    return out;
  }
  std::uint64_t reads_of(const ScanOptions& options = {}) {
    objects_.reset_counts();
    scan(options);
    return objects_.counts().reads;
  }
};

// SC4
TEST_F(WalkTest, HowManyThreadsSharedItDoesNotShow) {
  write_many(3 * static_cast<int>(kShareFromDirectories), 6);
  write(".gitignore", "*.o\n");
  commit();
  const ObjectId before = head_;
  std::mt19937 random(11);
  for (int d = 0; d < 3 * static_cast<int>(kShareFromDirectories); ++d) {
    switch (random() % 8) {
      case 0:
        write(file(d, 0), "edited");
        break;
      case 1:
        remove(file(d, 1));
        break;
      case 2:
        rename(directory(d), directory(d) + "-moved");
        break;
      case 3:
        write(directory(d) + "/new", "new " + std::to_string(d));
        write(directory(d) + "/x.o", "ignored");
        break;
      case 4:
        make_dir(directory(d) + "/nested/.git");
        break;
      case 5:
        ASSERT_EQ(::mkfifo(at(directory(d) + "/pipe").c_str(), 0600), 0);
        break;
      case 6:
        rename(file(d, 2), file(d, 2) + ".renamed");
        write(file(d, 3), "x");
        break;
      default:
        break;
    }
  }
  std::optional<std::vector<std::string>> first;
  std::optional<Recorded> recorded;
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    std::filesystem::remove_all(temp_ / "copy");
    std::filesystem::create_directory(temp_ / "copy");
    std::filesystem::copy(temp_ / "state", temp_ / "copy");
    ScanOptions options;
    options.list_ignored = true;
    options.max_threads = threads;
    FakeRandom chance(5);
    Env env{env_.fs, env_.clock, chance};
    const WorkTree tree{env, *root_, temp_ / "copy/tree"};
    const auto seen = texts(must(status(tree, objects_, before, options)));
    EXPECT_GT(seen.size(), 60u);
    if (!first) first = seen;
    EXPECT_EQ(seen, *first) << threads;
    FakeRandom again(6);
    Env env_again{env_.fs, env_.clock, again};
    const WorkTree tree_again{env_again, *root_, temp_ / "copy/tree"};
    auto now = must(record(tree_again, objects_, objects_, before, options));
    if (!recorded) recorded = now;
    EXPECT_EQ(now.tree, recorded->tree) << threads;
    EXPECT_EQ(now.ops, recorded->ops) << threads;
    EXPECT_EQ(texts(now.status), texts(recorded->status)) << threads;
  }
}

// DS3, DS6, CASES C10: others write the state of the same files all the time, as base and as delta; nobody ever takes
// an edited file for unchanged.
TEST_F(WalkTest, StateWrittenByOthersAtTheSameTime) {
  constexpr int kDirectories = 15;
  constexpr int kFilesEach = 60;
  write_many(kDirectories, kFilesEach);
  commit();
  settle();
  ASSERT_GT(std::filesystem::file_size(temp_ / "state/tree"), kDeltaFromBytes);
  std::atomic<bool> stop = false;
  std::atomic<int> looks = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&, i] {
      while (!stop) {
        ScanOptions options;
        options.max_threads = 1;
        if (i == 1) options.paths = {directory(3), directory(5)};
        must(status(tree(), objects_, head_, options));
        if (++looks % 16 == 0) std::filesystem::remove(i == 0 ? temp_ / "state/tree" : temp_ / "state/tree.delta");
      }
    });
  }
  int deltas = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string path = file(round % kDirectories, round % kFilesEach);
    const std::string before = read(path);
    struct stat stamp{};
    ASSERT_EQ(::stat(at(path).c_str(), &stamp), 0);
    {
      std::fstream edited(at(path), std::ios::in | std::ios::out);
      edited << (round % 2 == 0 ? "F" : "G");  // the same size
    }
    const timespec times[2] = {stamp.st_atim, stamp.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, at(path).c_str(), times, 0), 0);
    EXPECT_EQ(status_lines(), Lines{"M " + path}) << round;
    if (std::filesystem::exists(temp_ / "state/tree.delta")) ++deltas;
    std::ofstream(at(path), std::ios::trunc) << before;
    EXPECT_EQ(status_lines(), Lines{}) << round;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_GT(deltas, 10);
}

/// Notes who asks for the time, which is everybody who reads a file.
class NotingClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    const std::lock_guard<std::mutex> guard(mutex_);
    threads_.insert(std::this_thread::get_id());
    return system_clock().now_ns();
  }
  std::int64_t monotonic_ns() override { return system_clock().monotonic_ns(); }
  std::int32_t zone_offset_min(std::int64_t unix_ns) override { return system_clock().zone_offset_min(unix_ns); }
  bool others_than(std::thread::id own) const {
    return std::any_of(threads_.begin(), threads_.end(), [&](std::thread::id id) { return id != own; });
  }

 private:
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

// WK1
TEST_F(WalkTest, SmallTreesStartNoThread) {
  ScanOptions options;
  options.max_threads = 4;
  const auto shared = [&] {
    NotingClock clock;
    Env env{env_.fs, clock, env_.random};
    must(record({env, *root_, temp_ / "state/tree"}, objects_, objects_, head_, options));
    return clock.others_than(std::this_thread::get_id());
  };
  write_many(4, 5);
  EXPECT_FALSE(shared());
  write_many(20 * static_cast<int>(kShareFromDirectories), 1);
  EXPECT_TRUE(shared());  // and large ones do
}

// WK1, CASES C32
TEST_F(WalkTest, OneLargeDirectoryIsSharedOut) {
  const int count = static_cast<int>(kSplitFrom) + 500;
  for (int f = 0; f < count; ++f) write("f" + std::to_string(f), std::to_string(f));
  ScanOptions one;
  one.max_threads = 1;
  ScanOptions four;
  four.max_threads = 4;
  EXPECT_EQ(status_lines(four), status_lines(one));
  commit(four);
  EXPECT_EQ(picture_of(head_).size(), static_cast<std::size_t>(count));
  settle();
  write("f77", "edited");
  remove("f78");
  write("new", "new");
  EXPECT_EQ(status_lines(four), (Lines{"M f77", "D f78", "A new"}));
}

// WK2, DS5
TEST_F(WalkTest, WhatStateKnowsOfTreesIsNotReadAgain) {
  write_many(20, 5);
  write("top", "top");
  commit();
  settle();
  EXPECT_EQ(reads_of(), 0u);
  write(file(3, 3), "edited");
  EXPECT_EQ(status_lines(), Lines{"M " + file(3, 3)});
  EXPECT_LE(reads_of(), 2u);  // its directory's tree; the top's is the same
  commit();
  ::usleep(50'000);
  EXPECT_EQ(reads_of(), 0u);
  EXPECT_EQ(status_lines(), Lines{});
  // Added, removed, moved: the same.
  write(directory(4) + "/new", "new");
  remove(file(5, 0));
  rename(file(6, 0), file(7, 99));
  rename(directory(8), "elsewhere");
  commit();
  ::usleep(50'000);
  EXPECT_EQ(reads_of(), 0u);
  EXPECT_EQ(status_lines(), Lines{});
  // A head that somebody else made is read where it differs.
  const ObjectId ours = head_;
  head_ = tree_with(head_, file(9, 0), "made elsewhere");
  EXPECT_EQ(status_lines(), Lines{"M " + file(9, 0)});
  EXPECT_LE(reads_of(), 4u);
  head_ = ours;
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(WalkTest, NamesOfADirectoryAreKnownUntilItChanges) {  // DS7, WK4
  write("d/a", "1");
  write("d/sub/b", "2");
  write("d/.gitignore", "*.o\n");
  write("e/c", "3");
  commit();
  const ObjectId first = head_;
  const auto known = [&](const std::string& path) {
    const auto status = must(HostDir::open(at(""))).self_status();
    const auto state = DirectoryState::load(env_.fs, tree().state_path, status->device, status->inode);
    const std::size_t index = state.find(path);
    return index != DirectoryState::kNone && state.entry(index).names_known();
  };
  const auto all_known = [&] {
    settle();
    settle();
    EXPECT_TRUE(known("d") && known("d/sub") && known("e"));
  };
  all_known();
  EXPECT_EQ(status_lines(), Lines{});
  // What changes no name.
  write("d/a", "edited");
  EXPECT_EQ(status_lines(), Lines{"M d/a"});
  write("d/a", "1");
  EXPECT_EQ(status_lines(), Lines{});
  // Names that come, go and come again.
  all_known();
  write("d/new", "new");
  EXPECT_EQ(status_lines(), Lines{"A d/new"});
  remove("d/new");
  EXPECT_EQ(status_lines(), Lines{});
  rename("d/sub/b", "d/sub/moved");
  EXPECT_EQ(status_lines(), Lines{"R d/sub/b -> d/sub/moved"});
  rename("d/sub/moved", "d/sub/b");
  remove("e/c");
  EXPECT_EQ(status_lines(), Lines{"D e/c"});
  write("e/c", "3");
  EXPECT_EQ(status_lines(), Lines{});
  // Somebody puts the directory's time back: the other one tells.
  all_known();
  struct stat before{};
  ASSERT_EQ(::stat(at("d").c_str(), &before), 0);
  write("d/new", "new");
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("d").c_str(), times, 0), 0);
  EXPECT_EQ(status_lines(), Lines{"A d/new"});
  remove("d/new");
  // Another directory of that name, and a file in its place.
  all_known();
  rename("d/sub", "kept");
  write("d/sub/b", "2");
  write("d/sub/more", "4");
  EXPECT_EQ(status_lines(), (Lines{"A d/sub/more", "A kept/b"}));
  remove("d/sub");
  rename("kept", "d/sub");
  EXPECT_EQ(status_lines(), Lines{});
  // Rules of a directory that is not listed are in force below it.
  all_known();
  write("d/sub/t.o", "object");
  EXPECT_EQ(status_lines(), Lines{});
  settle();
  EXPECT_EQ(status_lines(), Lines{});
  write("d/.gitignore", "\n");
  EXPECT_EQ(status_lines(), (Lines{"M d/.gitignore", "A d/sub/t.o"}));
  remove("d/sub/t.o");
  write("d/.gitignore", "*.o\n");
  // An untracked file that is known, then ignored by a rule elsewhere, then not any more.
  write("d/u", "untracked");
  settle();
  settle();
  EXPECT_EQ(status_lines(), Lines{"A d/u"});
  EXPECT_EQ(status_lines(), Lines{"A d/u"});
  write(".gitignore", "u\n");
  EXPECT_EQ(status_lines(), Lines{"A .gitignore"});
  EXPECT_EQ(status_lines(), Lines{"A .gitignore"});
  remove(".gitignore");
  EXPECT_EQ(status_lines(), Lines{"A d/u"});
  // A head from before a file was recorded.
  commit();
  all_known();
  head_ = first;
  EXPECT_EQ(status_lines(), Lines{"A d/u"});
  EXPECT_EQ(status_lines(), Lines{"A d/u"});
  // A repository that comes to be inside.
  make_dir("e/.git");
  write("e/new", "theirs");
  EXPECT_EQ(status_lines(), Lines{"A d/u"});
  settle();
  std::filesystem::remove_all(at("e/.git"));
  EXPECT_EQ(status_lines(), (Lines{"A d/u", "A e/new"}));
}

// DS5: a state written against one head must not answer for another.
TEST_F(WalkTest, HeadsThatChangeUnderAnExactState) {
  write("d/a", "1");
  write("d/b", "2");
  write("e/c", "3");
  commit();
  settle();
  const ObjectId first = head_;
  tree::TreeEditor editor(objects_, first);
  must(editor.remove("d/b"));
  head_ = must(editor.finish(objects_));
  EXPECT_EQ(status_lines(), Lines{"A d/b"});
  EXPECT_EQ(status_lines(), Lines{"A d/b"});
  head_ = tree_with(first, "d/z", "4");
  EXPECT_EQ(status_lines(), Lines{"D d/z"});
  tree::TreeEditor modes(objects_, first);
  auto entry = *must(modes.find("e/c"));
  entry.mode = 0755;
  must(modes.set("e/c", entry));
  head_ = must(modes.finish(objects_));
  EXPECT_EQ(status_lines(), Lines{"X e/c"});
  EXPECT_EQ(status_lines(), Lines{"X e/c"});
  head_ = first;
  EXPECT_EQ(status_lines(), Lines{});
  EXPECT_EQ(reads_of(), 0u);
}

// WK3
TEST_F(WalkTest, APathLooksOnlyWhereItWasAsked) {
  write_many(10, 50);
  write("d100/sub/x", "x");
  commit();
  settle();
  write(file(0, 0), "edited");
  write(file(1, 1), "edited as well");
  write("d100/sub/y", "new");
  ScanOptions options;
  options.paths = {file(0, 0)};
  Status status = scan(options);
  EXPECT_EQ(lines(status), Lines{"M " + file(0, 0)});
  EXPECT_EQ(status.files_seen, 1u);
  options.paths = {"d100/sub", file(1, 1), "nowhere/at/all", "d101/none"};
  status = scan(options);
  EXPECT_EQ(lines(status), (Lines{"A d100/sub/y", "M " + file(1, 1)}));
  EXPECT_EQ(status.files_seen, 3u);
  // Ignored, below what is ignored, gone, and a nested repository on the way.
  write(".gitignore", "*.o\nbuild/\n");
  write("d102/x.o", "o");
  write("build/deep/x", "x");
  remove(file(3, 3));
  make_dir("d104/.git");
  write("d104/new", "new");
  options.paths = {"d102/x.o", "build/deep/x", file(3, 3), "d104/new", file(4, 4)};
  status = scan(options);
  EXPECT_EQ(lines(status), Lines{"D " + file(3, 3)});
  EXPECT_EQ(warned(status.warnings), (Lines{"build/deep/x", "d102/x.o", "d104"}));
  // A new directory on the way is no answer by itself.
  make_dir("fresh/deeper");
  options.paths = {"fresh/deeper/none", "fresh/none"};
  EXPECT_EQ(status_lines(options), Lines{});
  options.paths = {"fresh/deeper"};
  EXPECT_EQ(status_lines(options), Lines{"A fresh/deeper/"});
  remove("fresh");
  // Recording a path records that path.
  options.paths = {file(0, 0)};
  commit(options);
  options.paths = {};
  EXPECT_EQ(status_lines(options), (Lines{"A .gitignore", "A d100/sub/y", "M " + file(1, 1), "D " + file(3, 3)}));
  settle();
  EXPECT_EQ(status_lines(), (Lines{"A .gitignore", "A d100/sub/y", "M " + file(1, 1), "D " + file(3, 3)}));
}

TEST(ScopeTest, PlacesAndNextNames) {
  const Scope scope({"b/c/d", "b", "a/x/y", "a/x", "a.b", "a/z", "q"});
  EXPECT_EQ(scope.place(""), Scope::Place::route);
  EXPECT_EQ(scope.place("a"), Scope::Place::route);
  EXPECT_EQ(scope.place("a.b"), Scope::Place::inside);
  EXPECT_EQ(scope.place("a.b/c"), Scope::Place::inside);
  EXPECT_EQ(scope.place("a.c"), Scope::Place::outside);
  EXPECT_EQ(scope.place("a/x"), Scope::Place::inside);
  EXPECT_EQ(scope.place("a/x/y/z"), Scope::Place::inside);
  EXPECT_EQ(scope.place("a/xx"), Scope::Place::outside);
  EXPECT_EQ(scope.place("b/anything"), Scope::Place::inside);
  EXPECT_TRUE(scope.names("b/c/d"));
  EXPECT_FALSE(scope.names("b/c"));
  EXPECT_EQ(scope.next_names(""), (std::vector<std::string_view>{"a", "a.b", "b", "q"}));
  EXPECT_EQ(scope.next_names("a"), (std::vector<std::string_view>{"x", "z"}));
  EXPECT_TRUE(Scope({}).everything());
  EXPECT_EQ(Scope({}).place("anything"), Scope::Place::inside);
}

// CASES C22
TEST_F(WalkTest, C22ARepositoryInsideAMovedDirectory) {
  write("d/f", "f");
  write("d/nest/g", "g");
  write("d/nest/deep/h", "h");
  write("d/other", "other content");
  commit();
  make_dir("d/nest/.git");
  write("d/nest/not-ours", "n");
  EXPECT_EQ(status_lines(), Lines{});
  const auto node = head_entry("d/nest/deep/h").node;
  rename("d", "e");
  EXPECT_EQ(status_lines(), Lines{"R d -> e/"});
  write("e/nest/g", "edited");
  EXPECT_EQ(status_lines(), (Lines{"R d -> e/", "R+ d/nest/g -> e/nest/g"}));
  const auto recorded = commit();
  EXPECT_EQ(head_entry("e/nest/deep/h").node, node);
  EXPECT_EQ(must(objects_.read(object::ObjectKind::blob, head_entry("e/nest/g").id)), "edited");
  EXPECT_FALSE(must(tree::find_path(objects_, head_, "e/nest/not-ours")));
  EXPECT_EQ(warned(recorded.status.warnings), Lines{});
  EXPECT_EQ(status_lines(), Lines{});
  // By itself.
  rename("e/nest", "nest");
  EXPECT_EQ(status_lines(), Lines{"R e/nest -> nest/"});
  EXPECT_EQ(status_lines(), Lines{"R e/nest -> nest/"});
  commit();
  EXPECT_EQ(head_entry("nest/deep/h").node, node);
  EXPECT_EQ(status_lines(), Lines{});
}

// CASES C22: the inode of a directory that is gone, in a repository that has nothing of it.
TEST_F(WalkTest, C22ANewRepositoryOnAnInodeUsedBefore) {
  write("d/f", "f");
  write("other", "o");
  commit();
  remove("d/f");
  rename("d", "new");
  make_dir("new/.git");
  write("new/theirs", "t");
  EXPECT_EQ(status_lines(), Lines{"D d/f"});
}

// CASES C22
TEST_F(WalkTest, C22ASubmoduleInsideAMovedDirectory) {
  write("d/f", "f");
  write("d/g", "g");
  commit();
  for (const char* path : {"d/empty", "d/sub"}) {
    head_ = tree_with(head_, path, std::string(40, 'a'), object::EntryKind::submodule, 0);
  }
  make_dir("d/empty");
  make_dir("d/sub/.git");
  write("d/sub/content", "not ours");
  EXPECT_EQ(status_lines(), Lines{});
  const auto sub = head_entry("d/sub");
  const auto empty = head_entry("d/empty");
  rename("d", "e");
  EXPECT_EQ(status_lines(), Lines{"R d -> e/"});
  commit();
  EXPECT_EQ(head_entry("e/sub").node, sub.node);
  EXPECT_EQ(head_entry("e/sub").id, sub.id);
  EXPECT_EQ(head_entry("e/sub").kind, object::EntryKind::submodule);
  EXPECT_EQ(head_entry("e/empty").node, empty.node);
  EXPECT_EQ(status_lines(), Lines{});
}

// Moves are looked for within limits, and what is beyond them costs no more than looking.
TEST_F(WalkTest, ManyAddedAndManyDeleted) {
  constexpr int kMany = 3000;
  for (int i = 0; i < kMany; ++i) write("old/" + std::to_string(i), "content " + std::to_string(10'000 + i));
  commit();
  remove("old");
  // Of the same size, similar, and none of them equal; and equal ones under other names.
  for (int i = 0; i < kMany; ++i) write("new/" + std::to_string(i), "content " + std::to_string(20'000 + i));
  for (int i = 0; i < 100; ++i) write("again/x" + std::to_string(i), "content " + std::to_string(10'000 + i));
  const auto begun = std::chrono::steady_clock::now();
  const Status status = scan();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));  // quadratic ones take minutes
  std::size_t moved = 0;
  for (const StatusEntry& entry : status.entries) {
    if (entry.change == Change::moved) ++moved;
  }
  EXPECT_EQ(moved, 100u);
}

TEST_F(WalkTest, AMovedDirectoryOfManyFiles) {
  constexpr int kMany = 5000;
  for (int i = 0; i < kMany; ++i) write("old/" + std::to_string(i % 50) + "/" + std::to_string(i), std::to_string(i));
  commit();
  settle();
  make_dir("a");
  rename("old", "a/new");
  EXPECT_EQ(status_lines(), Lines{"R old -> a/new/"});
  const auto recorded = commit();
  EXPECT_EQ(recorded.ops.size(), 2u);
  EXPECT_EQ(status_lines(), Lines{});
  settle();
  EXPECT_EQ(reads_of(), 0u);
}

// CASES C27
TEST_F(WalkTest, C27TwoThousandLevels) {
  constexpr int kLevels = 2000;
  int at_level = ::open(root_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 0; level < kLevels; ++level) {
    ASSERT_EQ(::mkdirat(at_level, "d", 0777), 0);
    const int next = ::openat(at_level, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(at_level);
    at_level = next;
  }
  const int deepest = ::openat(at_level, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_GE(deepest, 0);
  ::close(deepest);
  ::close(at_level);
  const auto begun = std::chrono::steady_clock::now();
  const Status found = scan();
  ASSERT_EQ(found.entries.size(), 1u);
  const auto recorded = must(record(tree(), objects_, objects_, head_, {}));
  EXPECT_EQ(recorded.ops.size(), std::size_t{kLevels} + 1);
  must(recorded.accept());
  head_ = recorded.tree;
  EXPECT_EQ(status_lines(), Lines{});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

}  // namespace
}  // namespace weft::work
