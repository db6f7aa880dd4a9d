// JSON, dates and small text helpers.

#include <gtest/gtest.h>

#include "base/testing/fake_env.h"
#include "cli/dates.h"
#include "cli/json.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

TEST(Json, KeepsTheOrderAndNests) {  // J-1
  Json inner = Json::array();
  inner.push(1).push("two").push(nullptr).push(true).push(-3).push(UINT64_MAX).push(INT64_MIN);
  const Json json = Json::object().set("z", inner).set("a", Json::object()).set("m", Json::array());
  EXPECT_EQ(json.text(),
            R"({"z": [1, "two", null, true, -3, 18446744073709551615, -9223372036854775808], "a": {}, "m": []})");
}

TEST(Json, EscapesWhatItMust) {
  EXPECT_EQ(Json("a\"b\\c\nd\te\rf").text(), R"("a\"b\\c\nd\te\rf")");
  EXPECT_EQ(Json(std::string_view("\0\x1f\x7f", 3)).text(), "\"\\u0000\\u001f\\u007f\"");
  EXPECT_EQ(Json("caf\xc3\xa9 \xf0\x9f\xa7\xb5").text(), "\"caf\xc3\xa9 \xf0\x9f\xa7\xb5\"");
}

TEST(Json, BytesThatAreNoTextAreBase64) {  // J-2
  EXPECT_EQ(Json("\xff\xfe").text(), R"({"bytes": "//4="})");
  EXPECT_EQ(Json("\xed\xa0\x80").text(), R"({"bytes": "7aCA"})");  // a lone surrogate
}

TEST(Json, MergesAndMeasures) {
  EXPECT_EQ(Json::object().set("a", 1).merge(Json::object().set("b", 2).set("c", 3)).text(),
            R"({"a": 1, "b": 2, "c": 3})");
  EXPECT_EQ(Json::object().merge(Json::object().set("b", 2)).text(), R"({"b": 2})");
  EXPECT_EQ(Json::object().set("a", 1).merge(Json::object()).text(), R"({"a": 1})");
  EXPECT_EQ(Json::milliseconds(1'234'567).text(), "1.234");
  EXPECT_EQ(Json::milliseconds(50'000).text(), "0.050");
  EXPECT_EQ(Json::milliseconds(-1).text(), "0.000");
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Dates, ShowTheAuthorsZone) {
  EXPECT_EQ(date_text({1'000'000'000 * kSecond, 0}), "2001-09-09 01:46:40 +0000");
  EXPECT_EQ(date_text({1'000'000'000 * kSecond, 330}), "2001-09-09 07:16:40 +0530");
  EXPECT_EQ(date_text({1'000'000'000 * kSecond, -480}), "2001-09-08 17:46:40 -0800");
  EXPECT_EQ(date_text({-1, 0}), "1969-12-31 23:59:59 +0000");
  EXPECT_FALSE(date_text({INT64_MIN, INT32_MIN}).empty());
  EXPECT_FALSE(date_text({INT64_MAX, INT32_MAX}).empty());
}

/// Sunday, 2001-09-09 03:46:40 here.
struct Here {
  FakeClock clock;
  Here() { clock.set_zone(120); }
  std::string at(std::string_view text) {
    const auto ns = parse_date(text, clock);
    return ns ? date_text({*ns, 120}) : ns.error().message;
  }
};

TEST(Dates, Iso) {
  Here here;
  EXPECT_EQ(here.at("2001-09-08"), "2001-09-08 00:00:00 +0200");
  EXPECT_EQ(here.at("2001-09-08 13:14"), "2001-09-08 13:14:00 +0200");
  EXPECT_EQ(here.at("2001-09-08T13:14:15.5"), "2001-09-08 13:14:15 +0200");
  EXPECT_EQ(here.at("2001-09-08T13:14:15Z"), "2001-09-08 15:14:15 +0200");
  EXPECT_EQ(here.at("2001-09-08 13:14:15 -0530"), "2001-09-08 20:44:15 +0200");
  EXPECT_EQ(here.at("2001-09-08T13:14:15+01:00"), "2001-09-08 14:14:15 +0200");
  EXPECT_EQ(here.at("2000-02-29"), "2000-02-29 00:00:00 +0200");
  EXPECT_EQ(here.at("@999999999"), "2001-09-09 03:46:39 +0200");
}

TEST(Dates, Words) {
  Here here;
  EXPECT_EQ(here.at("now"), "2001-09-09 03:46:40 +0200");
  EXPECT_EQ(here.at("today"), "2001-09-09 00:00:00 +0200");
  EXPECT_EQ(here.at("Yesterday"), "2001-09-08 00:00:00 +0200");
  EXPECT_EQ(here.at("noon"), "2001-09-08 12:00:00 +0200");
  EXPECT_EQ(here.at("sunday"), "2001-09-02 00:00:00 +0200");
  EXPECT_EQ(here.at("last friday"), "2001-09-07 00:00:00 +0200");
  EXPECT_EQ(here.at("mon"), "2001-09-03 00:00:00 +0200");
}

TEST(Dates, Relative) {
  Here here;
  EXPECT_EQ(here.at("2 days ago"), "2001-09-07 03:46:40 +0200");
  EXPECT_EQ(here.at("2.days.ago"), "2001-09-07 03:46:40 +0200");
  EXPECT_EQ(here.at("2days"), "2001-09-07 03:46:40 +0200");
  EXPECT_EQ(here.at("a week ago"), "2001-09-02 03:46:40 +0200");
  EXPECT_EQ(here.at("last week"), "2001-09-02 03:46:40 +0200");
  EXPECT_EQ(here.at("90 minutes ago"), "2001-09-09 02:16:40 +0200");
  EXPECT_EQ(here.at("1 week 2 days ago"), "2001-08-31 03:46:40 +0200");
  EXPECT_EQ(here.at("6 months ago"), "2001-03-09 03:46:40 +0200");
  EXPECT_EQ(here.at("1 year ago"), "2000-09-09 03:46:40 +0200");
  here.clock.set(std::int64_t{985'953'600} * kSecond);  // 2001-03-30 14:00 here
  EXPECT_EQ(here.at("1 month ago"), "2001-02-28 14:00:00 +0200");
  EXPECT_EQ(here.at("9000 years ago"), here.at("1000000 days ago"));
  EXPECT_EQ(here.at("999999999 hours ago"), here.at("9000 years ago"));
}

TEST(Dates, WhatIsNoDateIsRefused) {
  FakeClock clock;
  for (const std::string_view text : {"",
                                      " ",
                                      "ago",
                                      "2",
                                      "days",
                                      "2 fortnights ago",
                                      "2001-13-01",
                                      "2001-02-29",
                                      "2001-09-08x",
                                      "2001-09-08 25:00",
                                      "2001-09-08 10:00:00+",
                                      "2001-9-8",
                                      "0000-01-01",
                                      "9999-01-01",
                                      "@",
                                      "@-5",
                                      "@99999999999999999999",
                                      "next week",
                                      "-3 days ago",
                                      "3 days ago ago",
                                      "2 ago days",
                                      "99999999999 days ago",
                                      "20010908"}) {
    const auto parsed = parse_date(text, clock);
    ASSERT_FALSE(parsed) << text << " is " << date_text({*parsed, 0});
    EXPECT_EQ(parsed.error().code, Code::usage);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
  EXPECT_FALSE(parse_date(std::string(100'000, '1'), clock));
}

TEST(Text, ClosestFindsSlips) {
  const std::vector<std::string> names = {"commit", "log", "land", "ls", "status", ""};
  EXPECT_EQ(closest("comit", names), std::vector<std::string>{"commit"});
  EXPECT_EQ(closest("comimt", names), std::vector<std::string>{"commit"});
  EXPECT_EQ(closest("stauts", names), std::vector<std::string>{"status"});
  EXPECT_EQ(closest("lgo", names).front(), "log");
  EXPECT_TRUE(closest("xyzzy", names).empty());
  EXPECT_TRUE(closest("", names).empty());
  EXPECT_TRUE(closest(std::string(1000, 'c'), names).empty());
}

TEST(Text, SmallThings) {
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(std::uint64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(subject("a\nb"), "a");
  EXPECT_EQ(printable("a\x1b[31m\n\tb\x7f"), "a\\x1b[31m\n\tb\\x7f");
  EXPECT_EQ(display_width("caf\xc3\xa9"), 4u);
  EXPECT_EQ(quoted_always("plain"), "\"plain\"");
  EXPECT_EQ(quoted_always("a\"b"), quoted("a\"b"));
}

}  // namespace
}  // namespace weft::cli
