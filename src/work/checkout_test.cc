#include <gtest/gtest.h>
#include <sys/stat.h>

#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

using object::EntryKind;
using testing::Lines;
using testing::must;
using testing::Picture;

class CheckoutTest : public testing::WorkTest {
 protected:
  /// Refused with exactly these paths, and nothing on disk changed.
  void expect_refused(const ObjectId& to, const Lines& paths, CheckoutOptions options = {}) {
    const Picture before = picture_of_disk();
    const auto result = try_checkout(to, std::move(options));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::refused);
    Lines named;
    for (const auto& [key, value] : result.error().details) named.push_back(value);
    EXPECT_EQ(named, paths) << result.error().message;
    EXPECT_EQ(picture_of_disk(), before);
  }
};

TEST_F(CheckoutTest, WritesAndRemoves) {
  const ObjectId empty = head_;
  write("a", "1");
  write("run", "#!");
  ASSERT_EQ(::chmod(at("run").c_str(), 0755), 0);
  write("d/e/f", "2");
  make_dir("d/empty");
  link("l", "nowhere");
  const ObjectId full = commit().tree;
  const Picture picture = picture_of_disk();
  const auto emptied = switch_to(empty);
  EXPECT_EQ(picture_of_disk(), Picture{});
  EXPECT_EQ(emptied.removed, 4u);
  const auto filled = switch_to(full);
  EXPECT_EQ(filled.written, 4u);
  EXPECT_EQ(picture_of_disk(), picture);
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(CheckoutTest, StateKnowsWhatWasWrittenWithoutReadingIt) {
  const ObjectId empty = head_;
  for (int i = 0; i < 200; ++i) write("d" + std::to_string(i % 10) + "/f" + std::to_string(i), std::to_string(i));
  const ObjectId full = commit().tree;
  switch_to(empty);
  switch_to(full);
  ::usleep(60'000);
  scan();  // what was written within the last tick is read once
  const Status settled = scan();
  EXPECT_EQ(settled.files_seen, 200u);
  EXPECT_EQ(settled.files_read, 0u);
}

TEST_F(CheckoutTest, UnchangedFilesAreNotTouchedAndEditsElsewhereAreCarriedOver) {
  write("same", "same");
  write("edited", "before");
  write("changes", "1");
  const ObjectId one = commit().tree;
  write("changes", "2");
  const ObjectId two = commit().tree;
  write("edited", "a local edit");
  write("untracked", "mine");
  struct stat before{};
  ASSERT_EQ(::stat(at("same").c_str(), &before), 0);
  switch_to(one);
  struct stat after{};
  ASSERT_EQ(::stat(at("same").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
  EXPECT_EQ(read("edited"), "a local edit");
  EXPECT_EQ(read("changes"), "1");
  EXPECT_EQ(status_lines(), (Lines{"M edited", "A untracked"}));
  switch_to(two);
  EXPECT_EQ(status_lines(), (Lines{"M edited", "A untracked"}));
}

TEST_F(CheckoutTest, LocalEditsRefuseByName) {
  write("f", "1");
  write("gone", "1");
  write("mode", "1");
  const ObjectId one = commit().tree;
  write("f", "2");
  write("mode", "2");
  remove("gone");
  const ObjectId two = commit().tree;
  switch_to(one);
  write("f", "edit");
  write("gone", "edit");
  ASSERT_EQ(::chmod(at("mode").c_str(), 0755), 0);
  expect_refused(two, {"f", "gone", "mode"});
  // What was recorded just before may be replaced.
  const ObjectId edits = record(tree(), objects_, objects_, one, {}).value().tree;
  must(checkout(tree(), objects_, edits, two, {}));
  EXPECT_EQ(picture_of_disk(), picture_of(two));
}

TEST_F(CheckoutTest, WithKeepEditsWhatIsNotAsRecordedIsKeptByNameAndTheRestGoesOn) {
  write("a", "1");
  write("b", "1");
  write("d/c", "1");
  write("gone", "1");
  const ObjectId one = commit().tree;
  for (const char* path : {"a", "b", "d/c"}) write(path, "2");
  remove("gone");
  const ObjectId two = commit().tree;
  switch_to(one);
  write("b", "edit");
  write("gone", "edit");
  remove("d");
  write("d", "in the way");
  CheckoutOptions options;
  options.keep_edits = true;
  const auto report = switch_to(two, options);
  EXPECT_EQ(warned(report.warnings), (Lines{"b", "d/c", "gone"}));
  EXPECT_EQ(report.warnings.front().reason, "kept as it is: it has local edits");
  EXPECT_EQ(read("a"), "2");
  EXPECT_EQ(read("b"), "edit");
  EXPECT_EQ(read("gone"), "edit");
  EXPECT_EQ(read("d"), "in the way");
}

TEST_F(CheckoutTest, RestoreBringsBackEditedAndDeletedFilesAndLeavesUntrackedOnes) {
  write("d/a", "1");
  write("d/b", "1");
  write("c", "1");
  const ObjectId one = commit().tree;
  write("d/a", "edit");
  remove("d/b");
  write("d/new", "mine");
  write("c", "edit");
  CheckoutOptions options;
  options.keep_edits = true;
  ScanOptions scanned;
  const auto restore = [&](const std::string& path, const ObjectId& from) {
    options.paths = {path};
    return must(checkout(tree(), objects_, from, one, options));
  };
  const auto recorded = [&](const std::string& path) {
    scanned.paths = {path};
    return must(record(tree(), objects_, objects_, one, scanned)).tree;
  };
  // As prepare_overwrite() does: an untracked file the target has no place for is not part of it.
  tree::TreeEditor editor(objects_, recorded("d"));
  must(editor.remove("d/new"));
  restore("d", must(editor.finish(objects_)));
  EXPECT_EQ(status_lines(), (Lines{"M c", "A d/new"}));
  remove("d");
  write("d", "a file now");
  const auto report = restore("d/a", recorded("d/a"));
  EXPECT_EQ(report.written, 0u);
  EXPECT_EQ(read("d"), "a file now");
  restore("d", recorded("d"));
  EXPECT_EQ(status_lines(), (Lines{"M c"}));
}

TEST_F(CheckoutTest, LocallyDeletedFilesComeBackWhenTheyDiffer) {
  write("d/f", "1");
  const ObjectId one = commit().tree;
  write("d/f", "2");
  commit();
  remove("d");
  switch_to(one);
  EXPECT_EQ(read("d/f"), "1");
}

// CASES C19
TEST_F(CheckoutTest, C19UntrackedDirectoryInTheWay) {
  const ObjectId empty = head_;
  const ObjectId as_link = tree_with(empty, "d", "elsewhere", EntryKind::symlink, 0777);
  const ObjectId as_file = tree_with(empty, "d", "content");
  write("d/untracked", "mine");
  expect_refused(as_link, {"d"});
  expect_refused(as_file, {"d"});
  // The directory is tracked, something in it is not.
  write("d/tracked", "known");
  ScanOptions only;
  only.paths = {"d/tracked"};
  commit(only);
  expect_refused(as_file, {"d/untracked"});
  expect_refused(as_link, {"d/untracked"});
  remove("d/untracked");
  switch_to(as_file);
  EXPECT_EQ(picture_of_disk(), picture_of(as_file));
}

TEST_F(CheckoutTest, FilesDirectoriesAndLinksReplaceEachOther) {
  const ObjectId empty = head_;
  const ObjectId file = tree_with(empty, "x", "content");
  const ObjectId link = tree_with(empty, "x", "target", EntryKind::symlink, 0777);
  const ObjectId directory = tree_with(tree_with(empty, "x/y/z", "deep"), "x/w", "flat");
  for (const ObjectId& from : {file, link, directory, empty}) {
    for (const ObjectId& to : {file, link, directory, empty}) {
      switch_to(from);
      switch_to(to);
      EXPECT_EQ(picture_of_disk(), picture_of(to));
      EXPECT_EQ(status_lines(), Lines{});
    }
  }
  // Edited: refused, also deep inside.
  switch_to(directory);
  write("x/y/z", "an edit");
  expect_refused(file, {"x/y/z"});
}

// CASES C21
TEST_F(CheckoutTest, C21IgnoredUntrackedFileIsNotOverwritten) {
  write(".gitignore", ".env\n");
  const ObjectId plain = commit().tree;
  const ObjectId tracked = tree_with(plain, ".env", "theirs");
  write(".env", "mine");
  expect_refused(tracked, {".env"});
  CheckoutOptions keep;
  keep.keep_edits = true;
  const auto kept = must(try_checkout(tracked, keep));
  EXPECT_EQ(warned(kept.warnings), Lines{".env"});
  EXPECT_EQ(read(".env"), "mine");
  write(".env", "theirs");  // equal content: nothing to lose
  switch_to(tracked);
  EXPECT_EQ(status_lines(), Lines{});
}

// CASES C16, H1: a link where a directory belongs is never gone through.
TEST_F(CheckoutTest, C16NothingIsWrittenThroughLinks) {
  write("d/f", "1");
  const ObjectId one = commit().tree;
  const ObjectId two = tree_with(one, "d/f", "2");
  const ObjectId more = tree_with(one, "d/g", "new");
  std::filesystem::create_directory(temp_ / "outside");
  std::ofstream(temp_ / "outside/f") << "1";
  remove("d");
  link("d", temp_ / "outside");
  expect_refused(two, {"d/f"});
  expect_refused(more, {"d/g"});
  EXPECT_EQ(read("d/f"), "1");
  EXPECT_FALSE(std::filesystem::exists(temp_ / "outside/g"));
  // Removing what the link hides removes nothing outside.
  switch_to(must(object::write_directory(objects_, {})));
  EXPECT_TRUE(std::filesystem::exists(temp_ / "outside/f"));
}

// CASES C18
TEST_F(CheckoutTest, C18ReservedNamesAreSkippedAndNamed) {
  const ObjectId base = head_;
  ObjectId hostile = base;
  for (const char* path : {".git/config", ".GIT/hooks/pre", "t/.weft/x", ".WeFt", "git~1", "t/fine", "fine"}) {
    hostile = tree_with(hostile, path, "content of " + std::string(path));
  }
  make_dir(".weft");
  write(".weft/keep", "the store");
  const auto report = switch_to(hostile);
  auto skipped = warned(report.warnings);
  std::sort(skipped.begin(), skipped.end());
  EXPECT_EQ(skipped, (Lines{".GIT", ".WeFt", ".git", "git~1", "t/.weft"}));
  EXPECT_EQ(picture_of_disk(), (Picture{{".weft", "d"},
                                        {".weft/keep", "f644:the store"},
                                        {"fine", "f644:content of fine"},
                                        {"t", "d"},
                                        {"t/fine", "f644:content of t/fine"}}));
  // Kept in history: neither shown as deleted nor lost by the next commit.
  EXPECT_EQ(status_lines(), Lines{});
  write("fine", "edited");
  commit();
  EXPECT_TRUE(picture_of(head_).contains("t/.weft/x"));
  switch_to(base);
  EXPECT_EQ(picture_of_disk(), (Picture{{".weft", "d"}, {".weft/keep", "f644:the store"}}));
}

// CASES C29
TEST_F(CheckoutTest, C29HardLinksAreNotWrittenThrough) {
  write("f", "one");
  const ObjectId one = commit().tree;
  write("f", "two");
  const ObjectId two = commit().tree;
  ASSERT_EQ(::chmod(at("f").c_str(), 0755), 0);
  const ObjectId executable = commit().tree;
  const std::string other = temp_ / "other";
  ASSERT_EQ(::link(at("f").c_str(), other.c_str()), 0);
  switch_to(two);  // the mode alone: it belongs to the inode too
  struct stat status{};
  ASSERT_EQ(::stat(other.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0755u);
  std::filesystem::remove(other);
  ASSERT_EQ(::link(at("f").c_str(), other.c_str()), 0);
  switch_to(one);
  std::ifstream file(other);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "two");
  EXPECT_EQ(read("f"), "one");
  switch_to(executable);
  EXPECT_EQ(picture_of_disk(), picture_of(executable));
}

TEST_F(CheckoutTest, ModeAloneIsSet) {
  write("f", "1");
  const ObjectId plain = commit().tree;
  ASSERT_EQ(::chmod(at("f").c_str(), 0755), 0);
  const ObjectId executable = commit().tree;
  switch_to(plain);
  EXPECT_EQ(picture_of_disk(), picture_of(plain));
  EXPECT_EQ(status_lines(), Lines{});
  switch_to(executable);
  EXPECT_EQ(picture_of_disk(), picture_of(executable));
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(CheckoutTest, DirectoriesWithSomethingElseInThemStay) {
  const ObjectId empty = head_;
  write("d/tracked", "1");
  write("e/tracked", "1");
  commit();
  write("d/untracked", "mine");
  switch_to(empty);
  EXPECT_EQ(picture_of_disk(), (Picture{{"d", "d"}, {"d/untracked", "f644:mine"}}));
}

TEST_F(CheckoutTest, SubmodulesArePlaces) {
  const ObjectId empty = head_;
  const ObjectId with = tree_with(empty, "s/m", std::string(40, 'a'), EntryKind::submodule, 0);
  switch_to(with);
  EXPECT_EQ(picture_of_disk(), (Picture{{"s", "d"}, {"s/m", "d"}}));
  EXPECT_EQ(status_lines(), Lines{});
  write("s/m/.git/HEAD", "ref");
  write("s/m/file", "theirs");
  EXPECT_EQ(status_lines(), Lines{});
  EXPECT_TRUE(scan().warnings.empty());
  commit();
  EXPECT_EQ(head_, with);
  switch_to(empty);  // a repository is in it: stays
  EXPECT_EQ(read("s/m/file"), "theirs");
  remove("s/m/.git");
  switch_to(with);
  EXPECT_EQ(warned(scan().warnings), Lines{"s/m"});
}

// W4: whatever was done before the kill, running it again finishes.
TEST_F(CheckoutTest, FinishesAfterAnyPartialRun) {
  const ObjectId empty = head_;
  ObjectId from = empty;
  ObjectId to = empty;
  for (const char* path : {"a", "b", "d/x", "d/y", "swap", "only_from/z"}) from = tree_with(from, path, "old");
  for (const char* path : {"a", "c", "d/x", "swap/in", "only_to/q/r"}) to = tree_with(to, path, "new");
  to = tree_with(to, "b", "old", EntryKind::file, 0755);
  switch_to(from);
  const auto steps = must(checkout(tree(), objects_, from, to, {}));
  ASSERT_GT(steps.written, 3u);
  for (std::size_t stop = 0; stop < 20; ++stop) {
    for (const bool keep_state : {false, true}) {
      must(checkout(tree(), objects_, to, empty, {}));
      must(checkout(tree(), objects_, empty, from, {}));
      // A "kill": the callback of step `stop` throws.
      struct Killed {};
      CheckoutOptions options;
      options.progress = [stop](std::uint64_t done, std::uint64_t) {
        if (done > stop) throw Killed{};
      };
      bool killed = false;
      try {
        must(checkout(tree(), objects_, from, to, options));
      } catch (const Killed&) {
        killed = true;
      }
      if (!keep_state) std::filesystem::remove_all(temp_ / "state");
      std::ofstream(at("d/.weft-00112233")) << "half";  // what a kill in the middle of a file leaves
      must(checkout(tree(), objects_, from, to, {}));
      std::filesystem::remove(at("d/.weft-00112233"));
      EXPECT_EQ(picture_of_disk(), picture_of(to)) << stop;
      head_ = to;
      EXPECT_EQ(status_lines(), Lines{}) << stop;
      if (!killed) return;
    }
  }
  FAIL() << "the checkout has more steps than this test thinks";
}

// CASES C26
TEST_F(CheckoutTest, C26NamesTheFileSystemRefusesAreNamedAndTheRestIsWritten) {
  const std::string longest(255, 'n');
  ObjectId to = tree_with(head_, longest, "fits");
  to = tree_with(to, "ok", "content");
  to = tree_with(to, "empty_link", "", EntryKind::symlink, 0777);
  const auto report = switch_to(to);
  EXPECT_EQ(warned(report.warnings), Lines{"empty_link"});
  EXPECT_EQ(read(longest), "fits");
  EXPECT_EQ(read("ok"), "content");
}

TEST_F(CheckoutTest, DeepTreesNeedFewDescriptors) {
  std::string path;
  for (int i = 0; i < 300; ++i) path += "d/";
  const ObjectId empty = head_;
  const ObjectId deep = tree_with(empty, path + "leaf", "x");
  switch_to(deep);
  EXPECT_EQ(status_lines(), Lines{});
  const auto recorded = commit();
  EXPECT_EQ(recorded.tree, deep);
  switch_to(empty);
  EXPECT_FALSE(exists("d"));
}

}  // namespace
}  // namespace weft::work
