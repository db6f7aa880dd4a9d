// The frame of the command line: help, versions, usage errors, common options.

#include <gtest/gtest.h>

#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;

TEST(Usage, Help) {
  Machine machine;
  Transcript transcript(machine);
  transcript.weft({"help"});
  transcript.weft({"--help"});
  transcript.weft({"help", "ref"});
  transcript.weft({"ref", "--help"});
  transcript.weft({"help", "--json"});
  transcript.weft({"ref", "-h", "--json-lines"});
  transcript.weft({"--version"});
  transcript.weft({"-V", "--json"});
  transcript.weft({"help", "help"});
  transcript.weft({"help", "log", "--json"});
  transcript.expect("help");
}

TEST(Usage, HelpOfEveryCommand) {
  Machine machine;
  Transcript transcript(machine);
  for (const auto& command : commands()) {
    std::vector<std::string> args = {"help"};
    std::string word;
    for (const char c : std::string(command.name) + " ") {
      if (c != ' ') {
        word += c;
      } else {
        args.push_back(std::exchange(word, {}));
      }
    }
    const auto by_help = machine.run(args);
    args.erase(args.begin());
    args.push_back("--help");
    const auto by_option = transcript.weft(args);
    EXPECT_EQ(by_help.out, by_option.out) << command.name;
    EXPECT_EQ(by_option.code, 0) << command.name;
  }
  transcript.expect("help_commands");
}

TEST(Usage, TheOverviewHasEveryCommandOnce) {
  Machine machine;
  const std::string overview = machine.ok({"help"});
  for (const auto& command : commands()) {
    const std::string line = "\n  " + std::string(command.name) + " ";
    const std::size_t at = overview.find(line);
    ASSERT_NE(at, std::string::npos) << command.name;
    EXPECT_EQ(overview.find(line, at + 1), std::string::npos) << command.name << " stands there twice";
    EXPECT_NE(overview.find(command.summary), std::string::npos) << command.name;
  }
}

TEST(Usage, Errors) {
  Machine machine;
  Transcript transcript(machine);
  transcript.weft({});
  transcript.weft({"comit"});
  transcript.weft({"add", "."});
  transcript.weft({"checkout", "main"});
  transcript.weft({"push"});
  transcript.weft({"version"});
  transcript.weft({"xyzzy"});
  transcript.weft({"\x1b[31mred\n"});
  transcript.weft({"ref"});
  transcript.weft({"ref", "lst"});
  transcript.weft({"help", "lgo"});
  transcript.weft({"--nonsense", "log"});
  transcript.weft({"--", "log"});
  transcript.weft({"log", "--grahp"});
  transcript.weft({"log", "-x"});
  transcript.weft({"log", "-n"});
  transcript.weft({"log", "-n", "many"});
  transcript.weft({"log", "-n", "-1"});
  transcript.weft({"log", "--graph=yes"});
  transcript.weft({"log", "--s", "x"});
  transcript.weft({"--color=sometimes", "log"});
  transcript.weft({"cat"});
  transcript.weft({"info", "extra"});
  transcript.weft({"--version", "extra"});
  transcript.weft({"-C"});
  transcript.weft({"-C", "nowhere", "log"});
  transcript.weft({"log", "-C", "nowhere"});
  transcript.weft({"comit", "--json"});
  transcript.weft({"log", "--json-lines", "-n", "x"});
  transcript.weft({"log", "--json"});
  transcript.weft({"log"});
  transcript.weft({"--json", "--", "log"});
  transcript.expect("usage");
}

TEST(Usage, EveryCommandRefusesWhatItDoesNotKnow) {
  Machine machine;
  for (const auto& command : commands()) {
    std::vector<std::string> args;
    std::string word;
    for (const char c : std::string(command.name) + " ") {
      if (c != ' ') {
        word += c;
      } else {
        args.push_back(std::exchange(word, {}));
      }
    }
    args.push_back("--no-such-option-anywhere");
    const auto ran = machine.run(args);
    EXPECT_EQ(ran.code, 2) << command.name;
    EXPECT_EQ(ran.out, "") << command.name;
    EXPECT_NE(ran.err.find("--no-such-option-anywhere"), std::string::npos) << command.name << ": " << ran.err;
    EXPECT_NE(ran.err.find("weft help " + std::string(command.name)), std::string::npos)
        << command.name << ": " << ran.err;
  }
}

TEST(Usage, ColourOnlyWhereAskedFor) {  // P-2
  Machine machine;
  EXPECT_EQ(machine.run({"xyzzy"}).err.find('\x1b'), std::string::npos);
  EXPECT_NE(machine.run({"--color", "xyzzy"}).err.find('\x1b'), std::string::npos);
  EXPECT_NE(machine.run({"--color=always", "xyzzy"}).err.find('\x1b'), std::string::npos);
  EXPECT_EQ(machine.run({"--color=always", "--no-color", "xyzzy"}).err.find('\x1b'), std::string::npos);

  const auto on_terminal = [&](std::vector<std::string> args) {
    std::string err;
    Io io;
    io.out = [](std::string_view) {};
    io.err = [&](std::string_view text) { err += text; };
    io.out_is_terminal = io.err_is_terminal = true;
    Env env{posix_file_system(), machine.clock_, machine.random_};
    EXPECT_EQ(run(io, {env, machine.directory_, machine.environment_, 0}, args), 2);
    return err.find('\x1b') != std::string::npos;
  };
  EXPECT_TRUE(on_terminal({"xyzzy"}));
  EXPECT_FALSE(on_terminal({"--color=never", "xyzzy"}));
  machine.environment_["TERM"] = "dumb";
  EXPECT_FALSE(on_terminal({"xyzzy"}));
  machine.environment_["TERM"] = "xterm";
  EXPECT_TRUE(on_terminal({"xyzzy"}));
  machine.environment_["NO_COLOR"] = "1";
  EXPECT_FALSE(on_terminal({"xyzzy"}));
  EXPECT_TRUE(on_terminal({"--color", "xyzzy"}));
}

}  // namespace
}  // namespace weft::cli
