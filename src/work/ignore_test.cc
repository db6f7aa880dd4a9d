#include "work/ignore.h"

#include <gtest/gtest.h>

namespace weft::work {
namespace {

bool ignored(std::string_view file, std::string_view path, bool is_directory = false) {
  const PatternList list = PatternList::parse(file);
  const IgnorePattern* pattern = list.last_match(path, is_directory);
  return pattern != nullptr && !pattern->negative;
}

TEST(Ignore, LinesAreReadAsGitReadsThem) {
  EXPECT_TRUE(
      ignored("\xef\xbb\xbf"
              "a\n",
              "a"));
  EXPECT_TRUE(ignored("a\r\nb\r\n", "a"));
  EXPECT_TRUE(ignored("a   \n", "a"));
  EXPECT_TRUE(ignored("a\\ \n", "a "));
  EXPECT_FALSE(ignored("a\\ \n", "a"));
  EXPECT_TRUE(ignored("a", "a"));
  EXPECT_FALSE(ignored("#a\n", "#a"));
  EXPECT_TRUE(ignored("\\#a\n", "#a"));
  EXPECT_TRUE(ignored("\\!a\n", "!a"));
  EXPECT_FALSE(ignored("a\n!a\n", "a"));
  EXPECT_TRUE(ignored("!a\na\n", "a"));
  EXPECT_FALSE(ignored("\n!\n/\n//\n!/\n", "a"));
  EXPECT_TRUE(ignored(std::string("a\0b\n", 4), "a"));
  EXPECT_FALSE(ignored(std::string(kMaxPatternBytes + 1, '*') + "\n", "a"));
  EXPECT_TRUE(ignored(std::string(kMaxPatternBytes, '*') + "\n", "a"));
}

TEST(Ignore, TheLastLineDecidesWhateverItsKind) {
  // Plain names are looked up, other patterns tried in turn: who stands last must win between the two as well.
  EXPECT_TRUE(ignored("!a*\na\n", "a"));
  EXPECT_FALSE(ignored("a\n!a*\n", "a"));
  EXPECT_TRUE(ignored("a\n!a\na\n", "a"));
  EXPECT_FALSE(ignored("a\na\n!a\n", "x/a"));
  EXPECT_FALSE(ignored("a\n!/x/a\n", "x/a"));
  EXPECT_TRUE(ignored("/x/a\n!b\n", "x/a"));
  EXPECT_FALSE(ignored("a\n!a/\n", "a", true));
  EXPECT_TRUE(ignored("a\n!a/\n", "a", false));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "name" + std::to_string(i) + "\n!other" + std::to_string(i) + "*\n";
  EXPECT_TRUE(ignored(many, "name0"));
  EXPECT_TRUE(ignored(many, "d/name999"));
  EXPECT_FALSE(ignored(many, "name1000"));
}

TEST(Ignore, FoldedCaseHasGitsCorners) {
  const auto folded = [](std::string_view file, std::string_view path) {
    return PatternList::parse(file, true).last_match(path, false) != nullptr;
  };
  EXPECT_TRUE(folded("FOO\n", "foo"));
  EXPECT_TRUE(folded("*.O\n", "a.o"));
  EXPECT_TRUE(folded("/D/*b\n", "d/aB"));
  EXPECT_TRUE(folded("[a-c]x\n", "BX"));
  EXPECT_TRUE(folded("[A-C]x\n", "bX"));
  EXPECT_TRUE(folded("[[:upper:]]\n", "a"));
  EXPECT_FALSE(folded("[A]*\n", "A"));  // the text is folded, a single letter of a class is not
  EXPECT_FALSE(folded("\\A*\n", "A"));  // nor is an escaped one
  EXPECT_FALSE(folded("\xc3\x84\n", "\xc3\xa4"));
  const auto level = IgnoreLevel::enter(IgnoreLevel::base(Bytes("G\n"), Bytes("E\n"), true), "", Bytes("T\n"), {});
  EXPECT_TRUE(level->ignores("g", false));
  EXPECT_TRUE(level->ignores("e", false));
  EXPECT_TRUE(level->ignores("t", false));
}

TEST(Ignore, AnchorsDirectoriesAndStars) {
  EXPECT_TRUE(ignored("a\n", "x/y/a"));
  EXPECT_FALSE(ignored("/a\n", "x/a"));
  EXPECT_FALSE(ignored("x/a\n", "y/x/a"));
  EXPECT_TRUE(ignored("a/\n", "x/a", true));
  EXPECT_FALSE(ignored("a/\n", "x/a", false));
  EXPECT_TRUE(ignored("*.o\n", "x/a.o"));
  EXPECT_TRUE(ignored("**/b\n", "b"));
  EXPECT_TRUE(ignored("a/**\n", "a/b"));
  EXPECT_FALSE(ignored("a/**\n", "a", true));
  EXPECT_TRUE(ignored("a/**/b\n", "a/b"));
}

TEST(Ignore, OrderOfTheFiles) {
  const auto base = IgnoreLevel::base(Bytes("g\nx\n"), Bytes("e\n!x\n"));
  EXPECT_TRUE(base->ignores("g", false));
  EXPECT_TRUE(base->ignores("e", false));
  EXPECT_FALSE(base->ignores("x", false));  // info/exclude before the global file
  const auto top = IgnoreLevel::enter(base, "", Bytes("!e\nw\n"), Bytes("!w\n"));
  EXPECT_FALSE(top->ignores("e", false));  // a file in the tree before info/exclude
  EXPECT_FALSE(top->ignores("w", false));  // .weftignore before .gitignore
  const auto inner = IgnoreLevel::enter(top, "d", Bytes("/w\n"), std::nullopt);
  EXPECT_TRUE(inner->ignores("d/w", false));  // the deeper directory first
  EXPECT_FALSE(inner->ignores("d/y/w", false));
  EXPECT_EQ(IgnoreLevel::enter(inner, "d/z", Bytes("# nothing\n"), std::nullopt), inner);
}

}  // namespace
}  // namespace weft::work
