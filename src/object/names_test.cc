#include <gtest/gtest.h>

#include "object/tree.h"

namespace weft::object {
namespace {

using namespace std::string_literals;

TEST(Names, C17_NamesNoFileMayHave) {
  for (const std::string& name : {""s, "."s, ".."s, "a/b"s, "/"s, "a/"s, "a\0b"s, "\0"s, std::string(256, 'a')}) {
    EXPECT_NE(name_problem(name), "") << quoted(name);
  }
  for (const std::string& name :
       {"a"s, "..."s, ".a"s, " "s, "a\nb"s, "\xff\xfe"s, "a\\b"s, "a:b"s, ".git"s, "-x"s, std::string(255, 'a')}) {
    EXPECT_EQ(name_problem(name), "") << quoted(name);
  }
}

TEST(Names, C18_NamesNeverWrittenOut) {
  for (const std::string& name : {
           ".git"s,
           ".GIT"s,
           ".Git"s,
           ".weft"s,
           ".WEFT"s,
           ".wEfT"s,  // any case
           ".git."s,
           ".git "s,
           ".git . ."s,
           ".weft..."s,  // what NTFS strips
           ".git:"s,
           ".git::$INDEX_ALLOCATION"s,
           ".git .:x"s,
           ".weft:stream"s,  // NTFS streams
           ".git\\config"s,
           ".weft\\x"s,  // a path on Windows
           "git~1"s,
           "GIT~1"s,
           "weft~1"s,
           "WEFT~2"s,
           "git~1."s,
           "git~1 :x"s,  // short names
           ".g\u200cit"s,
           "\u200e.git"s,
           ".git\ufeff"s,
           ".\u202ag\u202ei\u206at\u206f"s,
           ".w\u200feft"s,  // HFS+
           "\u200dGIT~1\u200d ."s,
       }) {
    EXPECT_TRUE(name_is_reserved(name)) << quoted(name);
  }
  for (const std::string& name : {
           "git"s,      "weft"s,   ".gitignore"s, ".weftignore"s,  ".gitx"s,         ".gi"s,        "x.git"s,
           "a.weft"s,   ".git.x"s, ".git x"s,     ". git"s,        "..git"s,         " .git"s,      ".git-"s,
           "git~"s,     "git~0"s,  "git~12"s,     "git~1f3a09c2"s, "weft~deadbeef"s, "git~a"s,      ""s,
           "."s,        ":"s,      ":.git"s,      ".g\u2010it"s,   ".g\u2029it"s,    ".g\u2070it"s, ".git\xe2\x80"s,
           "\xef\xbb"s,
       }) {
    EXPECT_FALSE(name_is_reserved(name)) << quoted(name);
  }
}

TEST(Names, ReservedLooksThroughAnyNumberOfIgnoredBytes) {
  std::string padded = ".git";
  for (int i = 0; i < 60; ++i) padded += "\u200b\u200c"s.substr(3);
  EXPECT_TRUE(name_is_reserved(padded));
  EXPECT_TRUE(name_is_reserved(".git" + std::string(250, '.')));
  EXPECT_FALSE(name_is_reserved(".git" + std::string(250, '.') + "x"));
}

}  // namespace
}  // namespace weft::object
