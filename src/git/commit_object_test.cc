#include "git/commit_object.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::git {
namespace {

const std::string kTree(40, '1');
const std::string kHead = "tree " + kTree + "\nparent " + std::string(40, '2') + "\n";
const std::string kPeople = "author Ada <a@x> 1700000000 +0130\ncommitter Cora <c@x> 1700000060 -0800\n";

object::Change filled(ByteView object, bool parents_as_changes = true) {
  object::Change change;
  const auto commit = parse_commit(object);
  EXPECT_TRUE(commit.has_value());
  fill_change(change, git_object_id("commit", object), *commit, object, parents_as_changes);
  EXPECT_EQ(commit_bytes(change, commit->tree, commit->parents).value(), object);  // GC1
  EXPECT_EQ(git_id(change), git_object_id("commit", object));
  return change;
}

std::vector<std::string> keys(const object::Change& change) {
  std::vector<std::string> result;
  for (const auto& [key, value] : change.extra) result.push_back(key);
  return result;
}

TEST(CommitObject, AnOrdinaryCommitNeedsItsIdAlone) {
  const auto change = filled(kHead + kPeople + "\nSubject\n\nBody\n");
  EXPECT_EQ(keys(change), std::vector<std::string>{"git-sha1"});
  EXPECT_EQ(change.author.name, "Ada");
  EXPECT_EQ(change.author.email, "a@x");
  EXPECT_EQ(change.author.time, (object::Timestamp{1'700'000'000'000'000'000, 90}));
  EXPECT_EQ(change.committer.name, "Cora");
  EXPECT_EQ(change.committer.time, (object::Timestamp{1'700'000'060'000'000'000, -480}));
  EXPECT_EQ(change.message, "Subject\n\nBody\n");
}

TEST(CommitObject, FurtherHeadersAreKeptRaw) {
  const std::string headers = "encoding ISO-8859-1\ngpgsig -----BEGIN\n line\n \n -----END\nodd\n";
  const auto change = filled(kHead + kPeople + headers + "\nSchl\xfcsse");
  EXPECT_EQ(keys(change), (std::vector<std::string>{"git-sha1", "git-headers"}));
  EXPECT_EQ(*change.find_extra("git-headers"), headers);
  EXPECT_EQ(change.message, "Schl\xfcsse");
}

TEST(CommitObject, WhatFieldsCannotGiveAgainIsKeptRaw) {
  const std::vector<std::string> odd = {
      "author A <a> 5 -0000\ncommitter C <c> 5 +0000\n\nm",    // minus zero
      "author A <a> 5 +051800\ncommitter C <c> 5 +0000\n\nm",  // a zone of six digits
      "author A <a> 5 +0960\ncommitter C <c> 5 +0000\n\nm",    // sixty minutes
      "author A <a> 05 +0000\ncommitter C <c> 5 +0000\n\nm",   // leading zero
      "author A <a> 99999999999999999999 +0000\ncommitter C <c> 5 +0000\n\nm",
      "author A <a>\ncommitter C <c> 5 +0000\n\nm",             // no time
      "author A <a> 5\ncommitter C <c> 5 +0000\n\nm",           // no zone
      "author  A  <a> 5  +0000\ncommitter C <c> 5 +0000\n\nm",  // spaces
      "author A a 5 +0000\ncommitter C <c> 5 +0000\n\nm",       // no email
      "author >A< a 5 +0000\ncommitter C <c> 5 +0000\n\nm",
      "committer C <c> 5 +0000\nauthor A <a> 5 +0000\n\nm",  // the wrong way round
      "author A <a> 5 +0000\nauthor B <b> 5 +0000\ncommitter C <c> 5 +0000\n\nm",
      "encoding x\nauthor A <a> 5 +0000\ncommitter C <c> 5 +0000\n\nm",
      "author A <a> 5 +0000\ncommitter C <c> 5 +0000\n",  // no blank line
      "author A <a> 5 +0000\ncommitter C <c> 5 +0000",    // no newline
      "author A <a> 5 +0000\n\nm",                        // no committer
      "\nm",
      "",
  };
  for (const auto& rest : odd) {
    SCOPED_TRACE(rest);
    const auto change = filled(kHead + rest);
    EXPECT_EQ(keys(change), (std::vector<std::string>{"git-sha1", "git-commit"}));
  }
}

TEST(CommitObject, MessagesOfAnyBytes) {
  for (const std::string& message :
       {std::string(), std::string("\n\n"), std::string("a\0b", 3), std::string("\xff\xfe")}) {
    const auto change = filled(kHead + kPeople + "\n" + message);
    EXPECT_EQ(change.message, message);
    EXPECT_EQ(keys(change), std::vector<std::string>{"git-sha1"});
  }
}

TEST(CommitObject, EmptyNamesAndOddOnesStayFields) {
  for (const std::string who : {" <> 0 +0000", "A <a@b> <c> -5 +0000", "\xff <\xfe> 1 -0130"}) {
    const auto change = filled(kHead + "author " + who + "\ncommitter " + who + "\n\nm");
    EXPECT_EQ(keys(change), std::vector<std::string>{"git-sha1"}) << who;
  }
}

TEST(CommitObject, OddHeadsKeepTheWholeObject) {
  const auto change = filled("tree " + std::string(40, 'A') + "\n" + kPeople + "\nm");
  EXPECT_EQ(keys(change), (std::vector<std::string>{"git-sha1", "git-object"}));
  EXPECT_EQ(change.message, "m");
}

TEST(CommitObject, ParentsThatAreNoChangesAreListed) {
  const std::string object = kHead + "parent " + std::string(40, '2') + "\n" + kPeople + "\nm";
  const auto change = filled(object, false);
  EXPECT_EQ(keys(change), (std::vector<std::string>{"git-sha1", "git-parents"}));
  // The list in the change wins over what the caller makes of the change's parents.
  EXPECT_EQ(commit_bytes(change, Sha1::parse(kTree).value(), {}).value(), object);
}

TEST(CommitObject, LongNamesAreCutInTheFieldsOnly) {
  const std::string name(object::kMaxSignatureBytes + 10, 'n');
  auto change = filled(kHead + "author " + name + " <a> 1 +0000\ncommitter C <c> 1 +0000\n\nm");
  EXPECT_EQ(change.author.name.size(), object::kMaxSignatureBytes);
}

TEST(CommitObject, AChangeOfOurOwnIsNoCommit) {
  EXPECT_EQ(commit_bytes(object::Change{}, Sha1{}, {}).error().code, Code::invalid);
  EXPECT_EQ(git_id(object::Change{}), std::nullopt);
}

TEST(CommitObject, OddTreesComeBack) {
  OddTrees trees{{"", "root"}, {"a/b", Bytes(9u << 20, 'x')}, {"c", Bytes(9u << 20, 'y')}, {"d", ""}};
  object::Change change;
  append_odd_trees(change, trees);
  EXPECT_EQ(change.extra.size(), 2u);  // split, so that no value grows without bound
  EXPECT_EQ(odd_trees(change).value(), trees);
  change.extra[0].second.pop_back();
  EXPECT_EQ(odd_trees(change).error().code, Code::damaged);
}

RC_GTEST_PROP(CommitObject, AnyBytesBehindTheHeadComeBack, (const std::string& rest)) {  // GC1, GC2
  if (rest.starts_with("parent ")) return;
  filled(kHead + rest);
}

RC_GTEST_PROP(CommitObject, AnyBytesBetweenHeadersComeBack, (const std::string& a, const std::string& b)) {  // GC1, GC2
  filled(kHead + "author " + a + "\ncommitter " + b + " 5 +0000\n\nmessage");
}

}  // namespace
}  // namespace weft::git
