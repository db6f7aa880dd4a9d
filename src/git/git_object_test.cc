#include "git/git_object.h"

#include <gtest/gtest.h>

namespace weft::git {
namespace {

Sha1 sha(std::string_view hex) { return Sha1::parse(hex).value(); }
const std::string kHexA(40, 'a');
const std::string kHexB(40, 'b');

TEST(GitObject, IdsAreGits) {
  EXPECT_EQ(git_object_id("blob", "").hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(git_object_id("blob", "hello\n").hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(git_object_id("tree", "").hex(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  Sha1Hasher pieces("blob", 6);
  pieces.update("hel");
  pieces.update("lo\n");
  EXPECT_EQ(pieces.finish().hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(GitObject, CommitHeads) {
  const std::string object =
      "tree " + kHexA + "\nparent " + kHexB + "\nparent " + kHexA + "\nauthor x\nparent " + kHexB + "\n";
  const auto commit = parse_commit(object);
  ASSERT_TRUE(commit.has_value());
  EXPECT_EQ(commit->tree, sha(kHexA));
  EXPECT_EQ(commit->parents, (std::vector<Sha1>{sha(kHexB), sha(kHexA)}));
  EXPECT_TRUE(commit->canonical_head);
  EXPECT_EQ(commit->rest, "author x\nparent " + kHexB + "\n");
  EXPECT_EQ(commit_head(commit->tree, commit->parents) + std::string(commit->rest), object);
}

TEST(GitObject, OddCommitHeadsAreKnownAsSuch) {
  const auto upper = parse_commit("tree " + std::string(40, 'A') + "\n");
  ASSERT_TRUE(upper.has_value());
  EXPECT_FALSE(upper->canonical_head);
  EXPECT_EQ(upper->tree, sha(kHexA));
  for (const std::string& bad : {std::string(), std::string("tree"), "tree " + kHexA, "parent " + kHexA + "\n",
                                 "tree " + kHexA.substr(1) + "\n", "tree  " + kHexA + "\n"}) {
    EXPECT_FALSE(parse_commit(bad).has_value()) << bad;
  }
}

TEST(GitObject, Tags) {
  const std::string text = "object " + kHexA + "\ntype commit\ntag v1\n\nmessage";  // the tag's type lies in it
  const auto tag = parse_tag(text);
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(tag->object, sha(kHexA));
  EXPECT_EQ(tag->type, "commit");
  EXPECT_FALSE(parse_tag("object " + kHexA + "\n").has_value());
  EXPECT_FALSE(parse_tag("type commit\nobject " + kHexA + "\n").has_value());
}

Bytes item(std::string_view mode, ByteView name) {
  return Bytes(mode) + ' ' + Bytes(name) + '\0' + sha(kHexA).view().data()[0] + Bytes(19, '\xaa');
}

TEST(GitObject, TreesInGitsOrderAreCanonical) {
  // "a-b" < "a" as a directory ("a/") < "a0"
  const Bytes object =
      item("100644", "a-b") + item("40000", "a") + item("100755", "a0") + item("120000", "l") + item("160000", "s");
  const auto tree = parse_tree(object);
  ASSERT_TRUE(tree.has_value());
  EXPECT_TRUE(tree->canonical);
  ASSERT_EQ(tree->items.size(), 5u);
  EXPECT_EQ(tree->items[1].name, "a");
  EXPECT_EQ(tree->items[1].mode, 0040000u);
  EXPECT_EQ(write_tree(tree->items), object);
  auto shuffled = tree->items;
  std::swap(shuffled[0], shuffled[3]);
  EXPECT_EQ(write_tree(shuffled), object);
}

TEST(GitObject, WhateverCannotBeWrittenAgainIsOdd) {
  const auto canonical = [](ByteView object) { return parse_tree(object).value().canonical; };
  EXPECT_TRUE(canonical(""));
  EXPECT_FALSE(canonical(item("100664", "a")));
  EXPECT_FALSE(canonical(item("040000", "a")));
  EXPECT_FALSE(canonical(item("100644", "b") + item("100644", "a")));
  EXPECT_FALSE(canonical(item("40000", "a") + item("100644", "a-b")));
  EXPECT_FALSE(canonical(item("100644", "a") + item("100755", "a")));
}

TEST(GitObject, MalformedTreesAreDamaged) {
  const Bytes whole = item("100644", "a");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_tree(whole.substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(parse_tree(item("10068x", "a")).has_value());
  EXPECT_FALSE(parse_tree(item("", "a")).has_value());
  EXPECT_FALSE(parse_tree(item("111111111111", "a")).has_value());
}

}  // namespace
}  // namespace weft::git
