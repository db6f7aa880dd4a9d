#include <gtest/gtest.h>

#include "base/testing/fake_env.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

struct Parsed {
  Result<void> result;
  CommonOptions common;
  bool flag = false, given = false, dashes = false;
  std::string text;
  std::optional<std::string> optional;
  std::optional<std::int64_t> number;
  std::vector<std::string> list, words, behind;
  std::optional<std::string> help;
  std::string directory;
};

Parsed parse(std::vector<std::string> args, bool split = false) {
  FakeEnv fake;
  Env env = fake;
  EXPECT_TRUE(env.fs.make_directory("/d"));
  EXPECT_TRUE(env.fs.make_directory("/d/e"));
  repo::Context context{env, "/d", {}, 0};
  Io io;
  Invocation invocation(io, context);
  invocation.args = std::move(args);
  Parsed parsed;
  Options options("verb", "Does it.");
  options.flag("-f,--flag", parsed.flag, "a flag");
  options.value("-t,--text", parsed.text, "TEXT", "a text", &parsed.given);
  options.value("--optional", parsed.optional, "TEXT", "another");
  options.integer("-n,--number", parsed.number, "N", "a number");
  options.values("-l,--list", parsed.list, "ITEM", "many");
  options.positionals("WORD", parsed.words, "words", false);
  if (split) options.behind_dashes(parsed.behind, parsed.dashes);
  parsed.result = options.parse(invocation);
  parsed.common = invocation.common;
  parsed.help = invocation.help;
  parsed.directory = context.directory;
  return parsed;
}

using Words = std::vector<std::string>;

TEST(Options, ValuesInEveryForm) {
  for (const auto& args :
       {Words{"-t", "x"}, Words{"-tx"}, Words{"--text", "x"}, Words{"--text=x"}, Words{"--te", "x"}}) {
    const auto parsed = parse(args);
    ASSERT_TRUE(parsed.result) << args[0];
    EXPECT_EQ(parsed.text, "x");
    EXPECT_TRUE(parsed.given);
  }
  EXPECT_EQ(parse({"--text="}).text, "");
  EXPECT_FALSE(parse({}).given);
  EXPECT_FALSE(parse({}).optional);
}

TEST(Options, AValueMayBeginWithADash) {
  EXPECT_EQ(parse({"-t", "-x"}).text, "-x");
  EXPECT_EQ(parse({"--text", "--flag"}).text, "--flag");
  EXPECT_FALSE(parse({"--text", "--flag"}).flag);
  EXPECT_EQ(parse({"--text", "--"}).text, "--");
  EXPECT_EQ(parse({"-n", "-3"}).number, -3);
}

TEST(Options, Clusters) {
  const auto parsed = parse({"-fqtx", "-fl", "a", "-lb"});
  ASSERT_TRUE(parsed.result);
  EXPECT_TRUE(parsed.flag);
  EXPECT_TRUE(parsed.common.quiet);
  EXPECT_EQ(parsed.text, "x");
  EXPECT_EQ(parsed.list, (Words{"a", "b"}));
}

TEST(Options, ANumberAloneIsTheCount) {
  EXPECT_EQ(parse({"-12"}).number, 12);
  EXPECT_TRUE(parse({"-0"}).common.zero);
  EXPECT_FALSE(parse({"-0"}).number);
}

TEST(Options, CommonOptionsAnywhere) {
  const auto parsed = parse({"a", "--json", "b", "-C", "e", "-qv", "c"});
  ASSERT_TRUE(parsed.result);
  EXPECT_TRUE(parsed.common.json);
  EXPECT_TRUE(parsed.common.quiet);
  EXPECT_TRUE(parsed.common.verbose);
  EXPECT_EQ(parsed.directory, "/d/e");
  EXPECT_EQ(parsed.words, (Words{"a", "b", "c"}));
  EXPECT_EQ(parse({"-Ce"}).directory, "/d/e");
  EXPECT_EQ(parse({"-C", "e", "-C", ".."}).directory, "/d");
  EXPECT_EQ(parse({"-C", "/d/./e//"}).directory, "/d/e");
  EXPECT_EQ(parse({"-C", "x"}).result.error().code, Code::not_found);
}

TEST(Options, DashesEndOptions) {
  const auto parsed = parse({"--", "--flag", "-t"});
  ASSERT_TRUE(parsed.result);
  EXPECT_EQ(parsed.words, (Words{"--flag", "-t"}));
  const auto split = parse({"a", "--", "-b"}, true);
  EXPECT_EQ(split.words, Words{"a"});
  EXPECT_EQ(split.behind, Words{"-b"});
  EXPECT_TRUE(split.dashes);
  EXPECT_FALSE(parse({"a"}, true).dashes);
  EXPECT_EQ(parse({"-"}).words, Words{"-"});
}

TEST(Options, UsageErrorsNameTheOption) {
  for (const auto& [args, part] : std::vector<std::pair<Words, std::string>>{
           {{"--nope"}, "--nope"},
           {{"-z"}, "-z"},
           {{"-fz"}, "-z"},
           {{"-t"}, "-t"},
           {{"--text"}, "--text"},
           {{"--flag=1"}, "--flag"},
           {{"-n", "1x"}, "1x"},
           {{"-n", ""}, "\"\""},
           {{"-n", "99999999999999999999"}, "9999"},
           {{"--quiet=1"}, "--quiet"},
       }) {
    const auto parsed = parse(args);
    ASSERT_FALSE(parsed.result) << args[0];
    EXPECT_EQ(parsed.result.error().code, Code::usage) << args[0];
    EXPECT_NE(parsed.result.error().message.find(part), std::string::npos) << parsed.result.error().message;
    EXPECT_NE(parsed.result.error().hint.find("weft help verb"), std::string::npos) << parsed.result.error().hint;
  }
}

TEST(Options, AnAmbiguousShortFormIsRefused) {
  bool one = false, two = false;
  FakeEnv fake;
  Env env = fake;
  repo::Context context{env, "/", {}, 0};
  Io io;
  Invocation invocation(io, context);
  invocation.args = {"--pre"};
  Options options("verb", "Does it.");
  options.flag("--prefix-one", one, "");
  options.flag("--prefix-two", two, "");
  const auto result = options.parse(invocation);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("--prefix-one"), std::string::npos);
  EXPECT_FALSE(one || two);
}

TEST(Options, HelpIsNoError) {
  const auto parsed = parse({"--help"});
  EXPECT_FALSE(parsed.result);
  ASSERT_TRUE(parsed.help);
  EXPECT_NE(parsed.help->find("usage: weft verb"), std::string::npos);
  EXPECT_NE(parsed.help->find("-t, --text TEXT"), std::string::npos);
}

TEST(Options, WhatGivesUpDataIsWrittenOut) {
  FakeEnv fake;
  Env env = fake;
  repo::Context context{env, "/", {}, 0};
  Io io;
  bool loss = false;
  const auto parsed = [&](std::string word) {
    Invocation invocation(io, context);
    invocation.args = {std::move(word)};
    Options options("verb", "Does it.");
    options.flag("--accept-loss", loss, "gives up");
    return options.parse(invocation);
  };
  const auto shortened = parsed("--accept");
  ASSERT_FALSE(shortened);
  EXPECT_NE(shortened.error().message.find("--accept-loss"), std::string::npos);
  EXPECT_FALSE(loss);
  EXPECT_TRUE(parsed("--accept-loss"));
  EXPECT_TRUE(loss);
}

}  // namespace
}  // namespace weft::cli
