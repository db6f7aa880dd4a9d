#include "work/name_fold.h"

#include <gtest/gtest.h>

#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

using testing::Lines;
using testing::must;

bool alike(std::string_view a, std::string_view b) { return folded_name(a) == folded_name(b); }

TEST(NameFold, CaseAndComposition) {
  EXPECT_TRUE(alike("README", "readme"));
  EXPECT_TRUE(alike("caf\xc3\xa9", "cafe\xcc\x81"));
  EXPECT_TRUE(alike("CAF\xc3\x89", "cafe\xcc\x81"));
  EXPECT_TRUE(alike("\xce\x91\xce\xa3", "\xce\xb1\xcf\x82"));                  // both sigmas
  EXPECT_TRUE(alike("\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"));  // Hangul
  EXPECT_TRUE(alike("a\xcc\xa3\xcc\x87", "a\xcc\x87\xcc\xa3"));                // marks in either order
  EXPECT_TRUE(alike("\xe1\xba\xa4", "a\xcc\x82\xcc\x81"));                     // two marks in one letter
  EXPECT_TRUE(alike("\xe2\x84\xab", "\xc3\xa5"));                              // the Angstrom sign is a letter
  EXPECT_FALSE(alike("a", "b"));
  EXPECT_FALSE(alike("\xc3\xa9", "e"));
  EXPECT_FALSE(alike("\xc3\xa9", "\xc3\xa8"));
}

TEST(NameFold, WhatIsNoUtf8IsItself) {
  EXPECT_TRUE(alike("A\xff", "a\xff"));
  EXPECT_FALSE(alike("\xff", "\xfe"));
  EXPECT_FALSE(alike("\xc3", "\xc3\xa9"));
  EXPECT_FALSE(alike("\xc3\xa9\xc3", "e\xcc\x81\xc3"));
  EXPECT_NE(folded_name("\xed\xa0\x80"), folded_name(""));
  EXPECT_NE(folded_name(std::string_view("\0\0\0e", 4)), folded_name("\xc3\xa9"));
}

class LookalikeTest : public testing::WorkTest {
 public:
  std::vector<std::string> found() {
    const auto recorded = commit();
    return warned(must(find_lookalikes(objects_, head_, recorded.status)));
  }
};

// CASES C23
TEST_F(LookalikeTest, C23OnlyNewNamesAreSpokenOf) {
  write("a/README", "1");
  write("b/x", "2");
  EXPECT_EQ(found(), Lines{});
  write("a/readme", "3");
  write("b/y", "4");
  EXPECT_EQ(found(), Lines{"a/readme"});
  write("a/other", "5");
  EXPECT_EQ(found(), Lines{});  // said once
  rename("b/y", "b/X");
  EXPECT_EQ(found(), Lines{"b/X"});
  write("caf\xc3\xa9/f", "6");
  write("cafe\xcc\x81/g", "7");
  EXPECT_EQ(found(), Lines{"caf\xc3\xa9"});
}

}  // namespace
}  // namespace weft::work
