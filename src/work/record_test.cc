#include <gtest/gtest.h>
#include <sys/stat.h>

#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

using testing::Lines;
using testing::must;

class RecordTest : public testing::WorkTest {};

TEST_F(RecordTest, EmptyStaysEmpty) {
  EXPECT_EQ(status_lines(), Lines{});
  const ObjectId before = head_;
  const auto recorded = commit();
  EXPECT_EQ(recorded.tree, before);
  EXPECT_TRUE(recorded.ops.empty());
}

TEST_F(RecordTest, AddedModifiedDeleted) {
  write("a", "1");
  write("d/b", "2");
  write("d/c", "3");
  EXPECT_EQ(status_lines(), (Lines{"A a", "A d/b", "A d/c"}));
  commit();
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  EXPECT_EQ(status_lines(), Lines{});
  const auto node = head_entry("a").node;
  write("a", "11");
  remove("d/b");
  EXPECT_EQ(status_lines(), (Lines{"M a", "D d/b"}));
  commit();
  EXPECT_EQ(head_entry("a").node, node);
  EXPECT_EQ(picture_of(head_), picture_of_disk());
}

TEST_F(RecordTest, WhatIsKnownIsNotReadAgain) {
  write("a", "1");
  write("b", "2");
  commit();
  ::usleep(50'000);
  scan();  // racy entries settle
  const Status settled = scan();
  EXPECT_EQ(settled.files_seen, 2u);
  EXPECT_EQ(settled.files_read, 0u);
  // W2: the state is a cache.
  std::filesystem::remove(temp_ / "state/tree");
  const Status again = scan();
  EXPECT_EQ(again.files_read, 2u);
  EXPECT_TRUE(again.entries.empty());
}

TEST_F(RecordTest, RenameKeepsTheNode) {
  write("a", "some content\n");
  write("other", "unrelated\n");
  commit();
  const auto node = head_entry("a").node;
  make_dir("d");
  rename("a", "d/z");
  EXPECT_EQ(status_lines(), (Lines{"R a -> d/z"}));
  const auto recorded = commit();
  EXPECT_EQ(head_entry("d/z").node, node);
  EXPECT_EQ(recorded.ops.size(), 2u);  // create d, move
}

TEST_F(RecordTest, RenameAndEditIsSeenByInodeAndBySimilarity) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line number " + std::to_string(i) + "\n";
  write("a", text);
  write("b", text + "b\n");
  commit();
  const auto a = head_entry("a").node;
  const auto b = head_entry("b").node;
  rename("a", "x");
  std::ofstream(at("x"), std::ios::app) << "more\n";  // the same inode
  remove("b");
  write("y", text + "bb\n");  // another one
  EXPECT_EQ(status_lines(), (Lines{"R+ a -> x", "R+ b -> y"}));
  commit();
  EXPECT_EQ(head_entry("x").node, a);
  EXPECT_EQ(head_entry("y").node, b);
}

TEST_F(RecordTest, ReusedInodeAloneIsNoMove) {
  write("a", "one thing\n");
  commit();
  const auto node = head_entry("a").node;
  // Written into the old file after a rename: the inode is the same, the content shares nothing.
  rename("a", "b");
  write("b", "wholly different, and longer than before so that nothing is alike\n");
  EXPECT_EQ(status_lines(), (Lines{"D a", "A b"}));
  commit();
  EXPECT_NE(head_entry("b").node, node);
}

TEST_F(RecordTest, BackupAndRewriteKeepsTheNodeAtItsPath) {
  write("a", "first\n");
  commit();
  const auto node = head_entry("a").node;
  rename("a", "a~");  // as editors do
  write("a", "second\n");
  EXPECT_EQ(status_lines(), (Lines{"M a", "A a~"}));
  commit();
  EXPECT_EQ(head_entry("a").node, node);
}

TEST_F(RecordTest, SwapsAndCirclesFollowTheInode) {
  for (const char* name : {"a", "b", "c"}) write(name, std::string("content of ") + name + "\n");
  commit();
  const auto a = head_entry("a").node, b = head_entry("b").node, c = head_entry("c").node;
  rename("a", "t");
  rename("b", "a");
  rename("c", "b");
  rename("t", "c");
  EXPECT_EQ(status_lines(), (Lines{"R b -> a", "R c -> b", "R a -> c"}));
  commit();
  EXPECT_EQ(head_entry("a").node, b);
  EXPECT_EQ(head_entry("b").node, c);
  EXPECT_EQ(head_entry("c").node, a);
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(RecordTest, ANodeThatWentToALinkIsNotGivenAwayTwice) {  // found by the model, seed 20240611
  write("a", "one\n");
  write("x", "two and more\n");
  commit();
  rename("a", "b");
  rename("x", "a");
  ASSERT_EQ(::link(at("a").c_str(), at("c").c_str()), 0);
  commit();  // no node under two names
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(RecordTest, MovedOverAnother) {
  write("a", "content of a\n");
  write("b", "content of b\n");
  commit();
  const auto a = head_entry("a").node;
  rename("a", "b");
  EXPECT_EQ(status_lines(), (Lines{"D b", "R a -> b"}));
  commit();
  EXPECT_EQ(head_entry("b").node, a);
}

TEST_F(RecordTest, DirectoryMoveIsOneEntryAndKeepsEveryNode) {
  write("d/x", "x content\n");
  write("d/s/y", "y content\n");
  write("d/s/empty", "");
  make_dir("d/e");
  commit();
  const auto d = head_entry("d").node, s = head_entry("d/s").node, empty = head_entry("d/s/empty").node,
             e = head_entry("d/e").node;
  rename("d", "n");
  EXPECT_EQ(status_lines(), (Lines{"R d -> n/"}));
  write("n/s/y", "y content\nand more\n");
  EXPECT_EQ(status_lines(), (Lines{"R d -> n/", "R+ d/s/y -> n/s/y"}));
  const auto recorded = commit();
  EXPECT_EQ(head_entry("n").node, d);
  EXPECT_EQ(head_entry("n/s").node, s);
  EXPECT_EQ(head_entry("n/s/empty").node, empty);
  EXPECT_EQ(head_entry("n/e").node, e);
  EXPECT_EQ(recorded.ops.size(), 2u);  // one move, one edit
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(RecordTest, CopiedAndDeletedDirectoryIsAMoveWithoutAnyInode) {
  for (int i = 0; i < 5; ++i) write("d/f" + std::to_string(i), "content " + std::to_string(i) + "\n");
  commit();
  const auto d = head_entry("d").node;
  std::filesystem::copy(at("d"), at("n"), std::filesystem::copy_options::recursive);
  remove("d");
  remove("n/f4");
  EXPECT_EQ(status_lines(), (Lines{"D d/f4", "R d -> n/"}));
  commit();
  EXPECT_EQ(head_entry("n").node, d);
}

// CASES C20
TEST_F(RecordTest, C20FileAndDirectoryReplaceEachOther) {
  write("p", "file\n");
  write("q/in", "inside\n");
  commit();
  const auto p = head_entry("p").node;
  remove("p");
  write("p/in", "new inside\n");
  remove("q");
  write("q", "now a file\n");
  EXPECT_EQ(status_lines(), (Lines{"T p/", "A p/in", "T q", "D q/in"}));
  commit();
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  EXPECT_NE(head_entry("p").node, p);
  EXPECT_EQ(status_lines(), Lines{});
  // And back, the content travelling along: x becomes x/x within one commit.
  rename("q", "t");
  make_dir("q");
  rename("t", "q/t");
  commit();
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  EXPECT_EQ(status_lines(), Lines{});
}

// CASES C28
TEST_F(RecordTest, C28ExecuteBitAlone) {
  write("run", "#!/bin/sh\n");
  commit();
  ASSERT_EQ(::chmod(at("run").c_str(), 0755), 0);
  EXPECT_EQ(status_lines(), (Lines{"X run"}));
  commit();
  EXPECT_EQ(head_entry("run").mode, 0755u);
  EXPECT_EQ(status_lines(), Lines{});
  ASSERT_EQ(::chmod(at("run").c_str(), 0700), 0);  // only the owner's execute bit counts
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(RecordTest, OddRecordedModesStayWhileTheExecuteBitDoes) {
  head_ = tree_with(head_, "f", "content", object::EntryKind::file, 0664);
  write("f", "content");
  EXPECT_EQ(status_lines(), Lines{});
  write("f", "other content");
  commit();
  EXPECT_EQ(head_entry("f").mode, 0664u);
  ASSERT_EQ(::chmod(at("f").c_str(), 0755), 0);
  commit();
  EXPECT_EQ(head_entry("f").mode, 0755u);
}

// CASES C31
TEST_F(RecordTest, C31EmptyDirectories) {
  make_dir("e/f/g");
  EXPECT_EQ(status_lines(), (Lines{"A e/f/g/"}));
  commit();
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  EXPECT_EQ(status_lines(), Lines{});
  remove("e/f/g");
  EXPECT_EQ(status_lines(), (Lines{"D e/f/g/"}));
  commit();
  EXPECT_EQ(picture_of(head_), picture_of_disk());
}

TEST_F(RecordTest, PathsLimitWhatIsRecorded) {
  write("a/x", "1");
  write("a/y", "2");
  write("b", "3");
  ScanOptions only_x;
  only_x.paths = {"a/x"};
  EXPECT_EQ(status_lines(only_x), (Lines{"A a/x"}));
  commit(only_x);
  EXPECT_EQ(status_lines(), (Lines{"A a/y", "A b"}));
  commit();
  remove("a");
  write("b", "4");
  ScanOptions only_a;
  only_a.paths = {"a"};
  EXPECT_EQ(status_lines(only_a), (Lines{"D a/x", "D a/y"}));
  ScanOptions only_y;
  only_y.paths = {"a/y"};
  commit(only_y);
  EXPECT_TRUE(must(tree::find_path(objects_, head_, "a/x")).has_value());
  EXPECT_EQ(status_lines(), (Lines{"D a/x", "M b"}));
  ScanOptions outside;
  outside.paths = {"../b"};
  EXPECT_FALSE(status(tree(), objects_, head_, outside));
}

TEST_F(RecordTest, IgnoredIsLeftOutAndListed) {
  write(".gitignore", "*.o\n/build/\n!keep.o\n");
  write("build/x", "1");
  write("a.o", "1");
  write("keep.o", "1");
  write("d/b.o", "1");
  write(".git/info/exclude", "excluded\n");
  write("excluded", "1");
  write("global", "1");
  ScanOptions options;
  options.list_ignored = true;
  options.ignore.global_patterns = "global\n";
  const Status seen = scan(options);
  EXPECT_EQ(lines(seen), (Lines{"A .gitignore", "A d/", "A keep.o"}));
  EXPECT_EQ(seen.ignored, (Lines{"a.o", "build/", "d/b.o", "excluded", "global"}));
  options.paths = {"build/x", "a.o"};
  EXPECT_EQ(warned(scan(options).warnings), (Lines{"a.o", "build/x"}));
  // What is tracked stays tracked whatever the rules say.
  options = {};
  write(".gitignore", "");
  commit();
  write(".gitignore", "*\n");
  write("build/x", "2");
  EXPECT_EQ(status_lines(), (Lines{"M .gitignore", "M build/x"}));
  write("build/new", "2");
  EXPECT_EQ(status_lines(), (Lines{"M .gitignore", "M build/x"}));
}

TEST_F(RecordTest, LargeNewFilesAreLeftOutUnlessNamed) {
  write("big", std::string(2000, 'x'));
  write("small", "x");
  ScanOptions options;
  options.max_new_file_bytes = 1000;
  const Status seen = scan(options);
  EXPECT_EQ(lines(seen), (Lines{"A small"}));
  ASSERT_EQ(seen.left_out.size(), 1U);
  EXPECT_EQ(seen.left_out[0].path, "big");
  EXPECT_EQ(seen.left_out[0].size, 2000U);
  EXPECT_EQ(seen.files_read, 0U);  // not even read
  options.paths = {"big"};
  commit(options);
  options.paths.clear();
  write("big", std::string(3000, 'x'));  // known now: no limit
  EXPECT_EQ(status_lines(options), (Lines{"M big", "A small"}));
}

TEST_F(RecordTest, LargeFilesUnderAnotherNameAreNotNew) {
  write("d/big", std::string(2000, 'x'));
  write("d/other", std::string(3000, 'y'));
  commit();
  ScanOptions options;
  options.max_new_file_bytes = 1000;
  rename("d", "e");
  EXPECT_EQ(status_lines(options), (Lines{"R d -> e/"}));
  rename("e/big", "moved");
  write("copy", std::string(2000, 'c'));  // of that size, and yet new
  write("fresh", std::string(4000, 'z'));
  const auto recorded = commit(options);
  EXPECT_EQ(lines(recorded.status), (Lines{"R d -> e/", "R d/big -> moved"}));
  ASSERT_EQ(recorded.status.left_out.size(), 2U);
  EXPECT_EQ(recorded.status.left_out[0].path, "copy");
  EXPECT_EQ(recorded.status.left_out[1].path, "fresh");
  EXPECT_EQ(status_lines(options), Lines{});
  EXPECT_EQ(scan(options).left_out.size(), 2U);
  std::ofstream(at("moved"), std::ios::app) << "more";  // edited and moved at once
  rename("moved", "again");
  EXPECT_EQ(status_lines(options), (Lines{"R+ moved -> again"}));
}

TEST_F(RecordTest, LargeFilesAreStreamed) {
  const std::string large(3 * object::kLargeBlobBytes + 17, 'q');
  write("large", large);
  commit();
  EXPECT_EQ(must(objects_.read(object::ObjectKind::blob, head_entry("large").id)), large);
  EXPECT_EQ(head_entry("large").size, large.size());
  EXPECT_EQ(status_lines(), Lines{});
  std::ofstream(at("large"), std::ios::in | std::ios::out) << "p";
  EXPECT_EQ(status_lines(), (Lines{"M large"}));
}

TEST_F(RecordTest, LeftoverTemporariesAreNotContent) {
  write(".weft-0123abcd", "half a file");
  write(".weft-0123abcdx", "no temporary of ours");
  EXPECT_EQ(status_lines(), (Lines{"A .weft-0123abcdx"}));
}

}  // namespace
}  // namespace weft::work
