#include "work/wildmatch.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::work {
namespace {

TEST(Wildmatch, BasicsFollowTheTableOfGit) {
  // From git's t3070-wildmatch: pattern, text, with pathname, without.
  struct Row {
    const char* text;
    const char* pattern;
    bool path;
    bool plain;
  };
  const Row rows[] = {
      {"foo", "foo", true, true},
      {"foo", "bar", false, false},
      {"", "", true, true},
      {"foo", "???", true, true},
      {"foo", "??", false, false},
      {"foo", "*", true, true},
      {"foo", "f*", true, true},
      {"foo", "*f", false, false},
      {"foo", "*foo*", true, true},
      {"foobar", "*ob*a*r*", true, true},
      {"aaaaaaabababab", "*ab", true, true},
      {"foo*", "foo\\*", true, true},
      {"foobar", "foo\\*bar", false, false},
      {"f\\oo", "f\\\\oo", true, true},
      {"ball", "*[al]?", true, true},
      {"ten", "[ten]", false, false},
      {"ten", "**[!te]", true, true},
      {"ten", "**[!ten]", false, false},
      {"ten", "t[a-g]n", true, true},
      {"ten", "t[!a-g]n", false, false},
      {"ton", "t[!a-g]n", true, true},
      {"ton", "t[^a-g]n", true, true},
      {"a]b", "a[]]b", true, true},
      {"a-b", "a[]-]b", true, true},
      {"aab", "a[]-]b", false, false},
      {"aab", "a[]a-]b", true, true},
      {"]", "]", true, true},
      {"foo/baz/bar", "foo*bar", false, true},
      {"foo/baz/bar", "foo**bar", false, true},
      {"foobazbar", "foo**bar", true, true},
      {"foo/baz/bar", "foo/**/bar", true, true},
      {"foo/b/a/z/bar", "foo/**/bar", true, true},
      {"foo/bar", "foo/**/bar", true, false},
      {"foo/bar", "foo/**/**/bar", true, false},
      {"foo/bar", "foo?bar", false, true},
      {"foo/bar", "foo[/]bar", false, true},
      {"foo/bar", "f[^eiu][^eiu][^eiu][^eiu][^eiu]r", false, true},
      {"foo-bar", "f[^eiu][^eiu][^eiu][^eiu][^eiu]r", true, true},
      {"foo", "**/foo", true, false},
      {"XXX/foo", "**/foo", true, true},
      {"bar/baz/foo", "**/foo", true, true},
      {"bar/baz/foo", "*/foo", false, true},
      {"foo/bar/baz", "**/bar*", false, true},
      {"deep/foo/bar/baz", "**/bar/*", true, true},
      {"deep/foo/bar/baz/", "**/bar/*", false, true},
      {"deep/foo/bar/baz/", "**/bar/**", true, true},
      {"deep/foo/bar", "**/bar/*", false, false},
      {"foo/bar/baz", "**/bar**", false, true},
      {"foo/bar/baz/x", "*/bar/**", true, true},
      {"deep/foo/bar/baz/x", "**/bar/*/*", true, true},
      {"[ab]", "\\[ab]", true, true},
      {"[ab]", "[\\[:]ab]", true, true},
      {"?a?b", "\\??\\?b", true, true},
      {"abc", "\\a\\b\\c", true, true},
      {"a", "\\", false, false},
      {"5", "[[:xdigit:]]", true, true},
      {"f", "[[:xdigit:]]", true, true},
      {"_",
       "[[:alnum:][:alpha:][:blank:][:cntrl:][:digit:][:graph:][:lower:][:print:][:punct:][:space:][:upper:]"
       "[:xdigit:]]",
       true, true},
      {".", "[^[:alnum:][:alpha:][:blank:][:cntrl:][:digit:][:lower:][:space:][:upper:][:xdigit:]]", true, true},
      {"5", "[a-c[:digit:]x-z]", true, true},
      {"q", "[a-c[:digit:]x-z]", false, false},
      {"a", "[[:digit:]", false, false},
      {"a", "[[:nonsense:]a]", false, false},
      {"\\", "[\\\\-^]", true, true},
      {"]", "[\\\\-^]", true, true},
      {"-", "[,-.]", true, true},
      {"+", "[,-.]", false, false},
      {"-", "[[-\\]]", false, false},
      {"[", "[[-\\]]", true, true},
      {"-adobe-courier-bold-o-normal--12-120-75-75-m-70-iso8859-1", "-*-*-*-*-*-*-12-*-*-*-m-*-*-*", true, true},
      {"-adobe-courier-bold-o-normal--12-120-75-75-X-70-iso8859-1", "-*-*-*-*-*-*-12-*-*-*-m-*-*-*", false, false},
      {"abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txt", "**/*a*b*g*n*t", true, true},
      {"abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txtz", "**/*a*b*g*n*t", false, false},
      {"foo/bba/arr", "foo/**arr", false, true},
      {"foo/bba/arr", "foo/*/arr", true, true},
      {"ab/cXd/efXg/hi", "**/*X*/**/*i", true, true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(wildmatch(row.pattern, row.text, true), row.path) << row.pattern << " on " << row.text;
    EXPECT_EQ(wildmatch(row.pattern, row.text, false), row.plain) << row.pattern << " on " << row.text << " (plain)";
  }
}

TEST(Wildmatch, PatternsMadeToBacktrackStayCheap) {
  std::string pattern;
  std::string text;
  for (int i = 0; i < 60; ++i) pattern += "**/";
  for (int i = 0; i < 60; ++i) text += "a/";
  pattern += "*b";
  text += "a";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(wildmatch(pattern, text, true));  // git 2.39 does not come back from this one
  EXPECT_TRUE(wildmatch(pattern, text + "b", true));

  std::string stars;
  for (int i = 0; i < 1000; ++i) stars += "*a";
  EXPECT_FALSE(wildmatch(stars + "b", std::string(4000, 'a'), true));
  EXPECT_FALSE(wildmatch(stars + "b", std::string(4000, 'a'), false));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace weft::work
