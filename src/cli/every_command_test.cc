// Golden transcripts of every command: a success and its errors, in tests/golden/commands/NAME.txt, found by going
// through commands(). A command that is added fails here until it has a scene with at least one success and one error.
// (Help texts of all commands are in help_commands.txt: usage_test.cc.)
//
// What every command refuses alike (no store, an unknown option, missing and superfluous words) is tried by itself; a
// scene holds what is its own.

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/description.h"
#include "cli/testing/golden.h"
#include "git/testing/git_fixture.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;
using Words = std::vector<std::string>;

/// A store with two changes, a tag, a second workspace `other` that has landed nothing, and edits.
void make_project(Machine& machine) {
  machine.ok({"init"});
  machine.write("README", "one\n");
  machine.write("src/a.c", "int a;\n");
  machine.write("src/b.c", "int b;\n");
  machine.ok({"commit", "-m", "Begin"});
  machine.write("README", "one\ntwo\n");
  machine.ok({"commit", "-m", "Say more"});
  machine.ok({"ref", "set", "tags/v1", "main-"});
  machine.ok({"workspace", "add", "other"});
}

/// In `other`: a change of its own, not landed, that edits README.
void diverge(Machine& machine) {
  const std::string home = std::exchange(machine.directory_, machine.dir() / "other");
  machine.write("README", "one\nanother\n");
  machine.ok({"ref", "set", "side", "@"});
  machine.ok({"switch", "side"});
  machine.ok({"commit", "-m", "Say it otherwise"});
  machine.directory_ = home;
}

/// A byte of what was durable is not what it was.
void damage(Machine& machine) {
  std::fstream file(machine.directory_ + "/.weft/log/0000000001.seg", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 200);
  file.put('\x5a');
  file.close();
  std::filesystem::remove(machine.directory_ + "/.weft/control");
}

struct Stage {
  Machine machine;
  Transcript transcript{machine};
  std::size_t successes = 0, errors = 0;
  std::string command;

  /// Runs the command with these words; `options` behind them.
  Machine::Ran run(const Words& words) {
    Words args = name();
    args.insert(args.end(), words.begin(), words.end());
    return transcript.weft(args);
  }
  void ok(const Words& words) {
    const auto ran = run(words);
    EXPECT_TRUE(ran.code == 0 || ran.code == 1) << command << ": " << ran.err;
    ++successes;
  }
  void fails(const Words& words, int code = 3) {
    const auto ran = run(words);
    EXPECT_EQ(ran.code, code) << command << ": " << ran.out << ran.err;
    EXPECT_EQ(ran.out, "") << command;  // P-1
    // What the system said of a file says it all.
    const bool by_system = ran.err.find(": No such file or") != std::string::npos ||
                           ran.err.find(": Not a directory") != std::string::npos;
    EXPECT_TRUE(by_system || ran.err.find("hint: ") != std::string::npos)
        << command << " does not say what to do: " << ran.err;
    EXPECT_TRUE(ran.err.starts_with("weft: ") || ran.err.find("\nweft: ") != std::string::npos) << ran.err;
    ++errors;
  }
  Words name() const {
    Words out;
    std::istringstream parts(command);
    for (std::string part; parts >> part;) out.push_back(part);
    return out;
  }
};

struct Scene {
  Words sample;  ///< words that make sense, given a project
  bool needs_store = true;
  void (*play)(Stage&);
};

std::string nobodys_program() { return "no-such-program-anywhere"; }

const std::map<std::string, Scene>& scenes() {
  static const std::map<std::string, Scene> kScenes = {
      {"init",
       {{},
        false,
        [](Stage& stage) {
          std::filesystem::create_directory(stage.machine.dir() / "fresh");
          stage.ok({"../fresh"});
          stage.ok({"--follow", "trunk", "../fresh2"});
          stage.fails({});
          stage.fails({"--follow"}, 2);
          stage.fails({"README"});
          stage.fails({"--follow", "no..name", "../fresh3"});
        }}},
      {"info",
       {{},
        true,
        [](Stage& stage) {
          stage.transcript.mask("[0-9]+ (frame|object|ref|transaction|batch|flush|log write|file)(es|s)?", "N $1(s)");
          stage.transcript.mask("[0-9.]+ (KiB|MiB|bytes)", "SIZE");
          stage.ok({});
          stage.fails({"README"}, 2);
        }}},
      {"status",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({});
          stage.machine.write("new", "new\n");
          stage.machine.write("src/a.c", "int aa;\n");
          stage.machine.remove("src/b.c");
          stage.ok({});
          stage.ok({"src"});
          stage.ok({"--exit-code", "-q"});
          stage.fails({"../outside"});
          stage.fails({"-C", ".weft"});
        }}},
      {"commit",
       {{"-m", "Sample"},
        true,
        [](Stage& stage) {
          stage.ok({"-m", "Nothing"});
          stage.machine.write("src/a.c", "int aa;\n");
          stage.machine.write("new", "new\n");
          stage.ok({"-m", "Only a", "src/a.c"});
          stage.fails({"-m", "Nowhere", "nowhere"});
          stage.fails({"-m", "Outside", "../outside"});
          stage.fails({"-m", ""});
          stage.fails({"-F", "nowhere"});
          stage.fails({"-m", "Twice", "-F", "README"}, 2);
          stage.fails({"-m", "By nobody", "--author", "nobody"});
          stage.fails({"-m", "To another", "--advance", "tags/v1"}, 4);
          stage.fails({"-m", "To kept", "--advance", "kept/x"});
          stage.fails({"-m", "No list", "--parent", "main"}, 2);
          stage.fails({"-m", "No size", "--max-new-file-size", "much"}, 2);
          stage.machine.input_ = "{";
          stage.fails({"-m", "List", "--changes", "-", "--parent", "main"});
          stage.machine.input_ = R"({"weft": 1, "ops": [{"op": "delete", "path": "nowhere"}]})";
          stage.fails({"-m", "List", "--changes", "-", "--parent", "main"});
          stage.fails({"-m", "List", "--changes", "-", "--parent", "nowhere"});
          stage.fails({"-C", ".weft", "-m", "Inside"});
          stage.machine.environment_.erase("WEFT_AUTHOR");
          stage.fails({"-m", "By whom"});
          stage.machine.environment_["WEFT_AUTHOR"] = "Ann Author <ann@example.org>";
          stage.transcript.say("the editor");
          stage.fails({}, 2);
          stage.machine.environment_["EDITOR"] = nobodys_program() + " 2>/dev/null";
          stage.fails({});
          stage.transcript.say("the head was moved from elsewhere");
          stage.machine.ok({"ref", "set", "workspaces/default", "tags/v1"});
          stage.fails({"-m", "Behind"});
          stage.transcript.say("a damaged store");
          damage(stage.machine);
          stage.fails({"-m", "Damaged"}, 5);
        }}},
      {"log",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({"--oneline"});
          stage.fails({"nowhere"});
          stage.fails({"--", "nowhere"});
          stage.fails({"main@{9}"});
          stage.fails({"main---"});
          stage.fails({"ffffffff"});
          stage.fails({"-n", "-1"}, 2);
          stage.fails({"--since", "whenever"}, 2);
          stage.fails({"../outside"});
        }}},
      {"show",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({"--stat"});
          stage.fails({"nowhere"});
          stage.fails({"ffffffff"});
          stage.fails({"git:ffffffff"});
          stage.fails({"tree:ffffffff"});
          stage.fails({"--stat", "--name-only"}, 2);
          stage.fails({"-U", "-1"}, 2);
        }}},
      {"diff",
       {{},
        true,
        [](Stage& stage) {
          stage.machine.write("README", "one\nthree\n");
          stage.ok({});
          stage.ok({"--exit-code", "--name-only"});
          stage.fails({"nowhere"});
          stage.fails({"main", "tags/v1", "side@{1}"});
          stage.fails({"--stat", "--name-only"}, 2);
          stage.fails({"-C", ".weft"});
        }}},
      {"switch",
       {{"main"},
        true,
        [](Stage& stage) {
          diverge(stage.machine);
          stage.ok({"tags/v1"});
          stage.ok({"main"});
          stage.ok({"-c", "topic"});
          stage.fails({"-c", "topic"});
          stage.fails({"nowhere"});
          stage.fails({"-c", "no..name"});
          stage.fails({"-c", "kept/mine"});
          stage.machine.write("README", "mine\n");
          stage.fails({"side"});
          stage.ok({"--force", "side"});
          stage.fails({"-C", ".weft", "main"});
        }}},
      {"restore",
       {{"README"},
        true,
        [](Stage& stage) {
          stage.machine.write("README", "mine\n");
          stage.ok({"README"});
          stage.ok({"--from", "tags/v1", "README"});
          stage.fails({"nowhere"});
          stage.fails({"--from", "nowhere", "README"});
          stage.fails({"--from", "tags/v1", "nowhere"});
          stage.fails({"../outside"});
          stage.machine.ok({"ref", "set", "workspaces/default", "tags/v1"});
          stage.fails({"README"});
        }}},
      {"mv",
       {{"README", "README.md"},
        true,
        [](Stage& stage) {
          stage.ok({"README", "README.md"});
          stage.fails({"README.md", "docs/README"});
          stage.fails({"nowhere", "here"});
          stage.fails({"src/a.c", "src/b.c"});
          stage.fails({"src", "src/inside"});
          stage.fails({"src/a.c", "../outside"});
          stage.fails({"src/a.c", "src/b.c", "nodirectory"});
          stage.fails({"src/a.c", ".git/x"});
          stage.fails({"src/a.c"}, 2);
          stage.ok({"-f", "src/a.c", "src/b.c"});
        }}},
      {"rm",
       {{"README"},
        true,
        [](Stage& stage) {
          stage.ok({"README"});
          stage.fails({"src"});
          stage.ok({"-r", "src"});
          stage.fails({"../outside"});
          stage.fails({"nowhere"});
        }}},
      {"ls",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({"-r"});
          stage.ok({"tags/v1:src"});
          stage.fails({"nowhere"});
          stage.fails({"nowhere:"});
          stage.fails({"main:nowhere"});
          stage.fails({"main:../x"});
          stage.fails({"../outside"});
        }}},
      {"cat",
       {{"README"},
        true,
        [](Stage& stage) {
          stage.ok({"tags/v1:README", "src/a.c"});
          stage.fails({"src"});
          stage.fails({"nowhere"});
          stage.fails({"nowhere:README"});
          stage.fails({"main:nowhere"});
        }}},
      {"land",
       {{},
        true,
        [](Stage& stage) {
          stage.machine.write("new", "new\n");
          stage.machine.ok({"switch", "-c", "topic"});
          stage.machine.ok({"commit", "-m", "New"});
          stage.ok({"main"});
          stage.ok({"main"});
          stage.ok({"fresh"});
          stage.fails({"no..name"});
          stage.fails({"kept/x"});
          stage.fails({"workspaces/other"});
          diverge(stage.machine);
          stage.machine.write("README", "one\nmine\n");
          stage.machine.ok({"commit", "-m", "Mine"});
          stage.fails({"side"}, 1);
          stage.fails({"side", "--author", "nobody"});
          stage.machine.directory_ = stage.machine.dir() / "other";
          stage.machine.write("src/c.c", "int c;\n");
          stage.machine.ok({"commit", "-m", "C"});
          stage.machine.write("new", "in the way\n");
          stage.fails({"main"});
          stage.machine.remove("new");
          stage.ok({"main"});
        }}},
      {"ref list",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({});
          stage.ok({"tags/"});
          stage.ok({"nowhere"});
          stage.fails({"a", "b"}, 2);
        }}},
      {"ref set",
       {{"new", "main"},
        true,
        [](Stage& stage) {
          stage.ok({"new", "main"});
          stage.ok({"new", "main"});
          stage.ok({"new", "tags/v1", "--expect", "main"});
          stage.fails({"new", "main", "--expect", "main"}, 4);
          stage.fails({"new", "main", "--expect", "none"}, 4);
          stage.fails({"new", "main", "--expect", "nowhere"});
          stage.fails({"new", "nowhere"});
          stage.fails({"no..name", "main"});
          stage.fails({"kept/x", "main"});
          stage.fails({"workspaces/nobody", "main"});
        }}},
      {"ref delete",
       {{"tags/v1"},
        true,
        [](Stage& stage) {
          stage.fails({"tags/v1", "--expect", "main"}, 4);
          stage.ok({"tags/v1"});
          stage.fails({"tags/v1"});
          stage.fails({"workspaces/default"});
          stage.fails({"no..name"});
        }}},
      {"ref log",
       {{"main"},
        true,
        [](Stage& stage) {
          stage.ok({"main"});
          stage.fails({"nowhere"});
          stage.fails({"main", "-n", "-1"}, 2);
        }}},
      {"workspace add",
       {{"third"},
        true,
        [](Stage& stage) {
          stage.ok({"third"});
          stage.fails({"third"});
          stage.fails({"no/name"});
          stage.fails({"fourth", "--path", "."});
          stage.fails({"fourth", "--path", "inside"});
          stage.fails({"fourth", "--path", "README"});
          stage.fails({"fourth", "--at", "nowhere"});
          stage.fails({"fourth", "--follow", "no..name"});
          stage.ok({"fourth", "--path", "../elsewhere", "--at", "tags/v1"});
        }}},
      {"workspace list",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({});
          stage.fails({"other"}, 2);
        }}},
      {"workspace rm",
       {{"other"},
        true,
        [](Stage& stage) {
          diverge(stage.machine);
          stage.fails({"nobody"});
          stage.fails({"default"});
          stage.fails({"-C", "../other", "other"});
          stage.ok({"other"});
        }}},
      {"undo",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({});
          stage.fails({"ffffffff"});
          stage.fails({"main"});
          stage.machine.ok({"redo"});
          stage.ok({});
        }}},
      {"redo",
       {{},
        true,
        [](Stage& stage) {
          stage.fails({});
          stage.fails({"ffffffff"});
          stage.machine.ok({"undo"});
          stage.ok({});
        }}},
      {"op log",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({"-n", "2"});
          stage.ok({"-w", "nobody"});
          stage.fails({"-n", "-1"}, 2);
          stage.ok({"--ref", "no..name"});
          stage.ok({"--author", "ANN", "--since", "2 days ago"});
          stage.ok({"--agent", "nobody"});
          stage.ok({"--until", "2001-01-01"});
          stage.fails({"--since", "no date"}, 2);
        }}},
      {"op show",
       {{},
        true,
        [](Stage& stage) {
          stage.ok({});
          stage.ok({"--stat"});
          stage.fails({"ffffffff"});
          stage.fails({"main"});
        }}},
      {"op restore",
       {{"ffffffff"},
        true,
        [](Stage& stage) {
          const std::string listed = stage.machine.ok({"op", "log", "-n", "3"});
          const std::string third = listed.substr(listed.rfind('\n', listed.size() - 2) + 1, 12);
          stage.ok({"--dry-run", third});
          stage.ok({third});
          stage.fails({"ffffffff"});
          stage.fails({"main"});
          stage.fails({}, 2);
        }}},
      {"config set",
       {{"user.name", "Ann"},
        false,
        [](Stage& stage) {
          stage.ok({"user.name", "Ann Author"});
          stage.fails({"user.nmae", "Ann"});
          stage.fails({"nonsense", "x"});
          stage.fails({"user.name", "\xff"});
          stage.machine.write("../home/.config/weft/config.toml", "user = [\n");
          stage.fails({"user.name", "Ann"});
          stage.machine.environment_.erase("HOME");
          stage.fails({"user.name", "Ann"});
        }}},
      {"config get",
       {{"user.name"},
        false,
        [](Stage& stage) {
          stage.ok({"ui.color"});
          stage.fails({"user.email"});
          stage.fails({"user.nmae"});
          stage.machine.ok({"config", "set", "user.email", "ann@example.org"});
          stage.ok({"user.email"});
        }}},
      {"config unset",
       {{"user.name"},
        false,
        [](Stage& stage) {
          stage.machine.ok({"config", "set", "user.name", "Ann"});
          stage.ok({"user.name"});
          stage.ok({"user.name"});
          stage.fails({"user.nmae"});
          stage.fails({"-C", "/", "--store", "record.max-new-file-size"});
        }}},
      {"config edit",
       {{},
        false,
        [](Stage& stage) {
          stage.fails({}, 2);
          stage.machine.environment_["EDITOR"] = "true";
          stage.machine.environment_["PATH"] = "/usr/bin:/bin";
          stage.ok({});
          stage.machine.environment_["EDITOR"] = "false";
          stage.fails({});
        }}},
      {"config path",
       {{},
        false,
        [](Stage& stage) {
          stage.ok({});
          stage.ok({"--store"});
          stage.fails({"-C", "/", "--store"});
          stage.machine.environment_.erase("HOME");
          stage.fails({});
        }}},
      {"config list",
       {{},
        false,
        [](Stage& stage) {
          stage.ok({});
          stage.machine.ok({"config", "set", "user.name", "Ann"});
          stage.ok({});
          stage.machine.write("../home/.config/weft/config.toml", "user = [\n");
          stage.ok({});
        }}},
      {"verify",
       {{},
        true,
        [](Stage& stage) {
          stage.transcript.mask("[0-9]+ (frame|object|ref|change)(es|s)?", "N $1(s)");
          stage.transcript.mask("[0-9.]+ (KiB|MiB|bytes)", "SIZE");
          stage.ok({});
          stage.fails({"README"}, 2);
          damage(stage.machine);
          const auto ran = stage.run({});
          EXPECT_EQ(ran.code, 5);
        }}},
      {"doctor",
       {{},
        false,
        [](Stage& stage) {
          // What is this machine's own.
          stage.transcript.mask("it lies on [^\"\n]*", "it lies on FILESYSTEM");
          stage.transcript.mask("(commits' flushes take|a flush takes) [^\"\n]*", "$1 TIME");
          stage.transcript.mask("(any number of|[0-9]+) open files[^\"\n]*", "N open files");
          stage.transcript.mask("[0-9.]+ (KiB|MiB|GiB|bytes)", "SIZE");
          stage.transcript.mask("[0-9]+ (object|ref|change|file)(es|s)?", "N $1(s)");
          stage.machine.clock_.set(std::int64_t{1'780'000'000} * 1'000'000'000);
          stage.ok({});
          stage.ok({"-q", "--no-probe"});
          stage.machine.write("../home/.config/weft/config.toml", "[user]\nnmae = \"x\"\n");
          std::filesystem::remove_all(stage.machine.dir() / "other");
          stage.ok({"-q"});
          stage.ok({"-C", "/"});
          damage(stage.machine);
          const auto ran = stage.run({"-q"});
          EXPECT_EQ(ran.code, 5);
          stage.fails({"-C", "nowhere"});
        }}},
      {"gc",
       {{},
        true,
        [](Stage& stage) {
          stage.transcript.mask("[0-9.]+ (KiB|MiB|bytes)", "SIZE");
          stage.transcript.mask("[0-9.]+ ms", "N ms");
          stage.ok({"--dry-run"});
          stage.ok({});
          stage.ok({});
          stage.ok({"--keep", "0"});
          stage.fails({"--keep", "soon"}, 2);
          stage.fails({"README"}, 2);
        }}},
      {"repair",
       {{},
        true,
        [](Stage& stage) {
          // The store holds the path of its workspace, and that has another length elsewhere.
          stage.transcript.mask("[0-9]+ bytes that are left", "SIZE that are left");
          stage.ok({});
          stage.fails({"README"}, 2);
          damage(stage.machine);
          stage.run({});
          stage.ok({"--accept-loss"});
        }}},
      {"git import",
       {{"../git"},
        true,
        [](Stage& stage) {
          git::testing::GitRepository git(stage.machine.dir().path(), "git");
          git.write("a", "a\n");
          git.commit("Begin");
          stage.machine.directory_ = stage.machine.dir() / "fresh";
          std::filesystem::create_directory(stage.machine.directory_);
          stage.machine.ok({"init"});
          stage.ok({"../git"});
          stage.fails({"nowhere"});
          stage.fails({"../home"});
        }}},
      {"git export",
       {{"../out"},
        true,
        [](Stage& stage) {
          stage.ok({"../out"});
          stage.ok({"../out"});
          stage.ok({"../out", "--dry-run", "main"});
          stage.fails({"../out", "nowhere"});
          stage.fails({"README"});
          stage.fails({}, 2);
        }}},
      {"completion",
       {{"bash"},
        false,
        [](Stage& stage) {
          ++stage.successes;  // completion_scripts.txt has them
          stage.fails({"tcsh"}, 2);
        }}},
      {"help",
       {{},
        false,
        [](Stage& stage) {
          stage.ok({"ref"});
          stage.fails({"nonsense"}, 2);
          stage.run({"--man", "--json", "log"});
          stage.machine.environment_["PATH"] = stage.machine.dir() / "home";
          stage.fails({"--man", "log"});
        }}},
  };
  return kScenes;
}

std::string file_name(std::string_view command) {
  std::string out = "commands/" + std::string(command);
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

class EveryCommand : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryCommand, HasAGoldenSuccessAndErrors) {
  const auto found = scenes().find(GetParam());
  ASSERT_NE(found, scenes().end()) << "`weft " << GetParam() << "` has no scene: add one to " << __FILE__;
  const Scene& scene = found->second;
  Stage stage;
  stage.command = GetParam();

  Env env{posix_file_system(), stage.machine.clock_, stage.machine.random_};
  const Io io{[](std::string_view) {}, [](std::string_view) {}, {}};
  Description description;
  for (const auto& command : commands()) {
    if (command.name == GetParam()) description = describe(command, io, {env, "/", {}, 0});
  }

  stage.transcript.say("words that are off");
  const auto with = [&](const Words& more) {
    Words words = scene.sample;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  stage.fails(with({"--no-such-option"}), 2);
  const auto& arguments = description.arguments;
  if (!arguments.empty() && arguments.front().required) stage.fails({}, 2);
  for (const auto& option : description.options) {
    if (option.metavar.empty() || option.metavar.starts_with('[')) continue;
    stage.fails(with({option.name.empty() ? std::string("-") + option.letter : "--" + option.name}), 2);
  }
  if (arguments.empty() || !arguments.back().many) {
    Words words(arguments.size() + 1, "more");
    stage.fails(words, 2);
  }
  if (scene.needs_store) {
    stage.transcript.say("no store");
    stage.fails(scene.sample);
    stage.fails(with({"-C", "nowhere"}));
  }
  make_project(stage.machine);
  stage.transcript.say("in a project");
  scene.play(stage);
  EXPECT_GT(stage.successes, 0u);
  EXPECT_GT(stage.errors, 1u);
  stage.transcript.expect(file_name(GetParam()));
}

std::vector<std::string> names_of_commands() {
  std::vector<std::string> out;
  for (const auto& command : commands()) out.emplace_back(command.name);
  return out;
}

std::string name_of_test(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cli, EveryCommand, ::testing::ValuesIn(names_of_commands()), name_of_test);

TEST(EveryCommandScenes, AreOfCommandsThatExist) {
  const auto names = names_of_commands();
  for (const auto& [name, scene] : scenes()) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

// An envelope for each exit code, and nothing on stderr.
TEST(ErrorsAsJson, OneForEachExitCode) {
  Machine machine;
  make_project(machine);
  diverge(machine);
  Transcript transcript(machine);
  const auto fails = [&](const Words& words, int code, const std::string& word) {
    Words args = words;
    args.push_back("--json");
    const auto ran = transcript.weft(args);
    EXPECT_EQ(ran.code, code);
    EXPECT_EQ(ran.err, "");
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ran.out;
    EXPECT_EQ(json.at("ok"), false);
    EXPECT_EQ(json.at("error").at("code"), word);
    EXPECT_FALSE(json.at("error").at("message").get<std::string>().empty());
    EXPECT_FALSE(json.at("error").at("hint").get<std::string>().empty()) << ran.out;
    for (const auto& [key, value] : json.at("error").at("details").items()) {
      EXPECT_TRUE(value.is_array()) << key;
    }
  };
  machine.write("README", "one\nmine\n");
  machine.ok({"commit", "-m", "Mine"});
  fails({"land", "side"}, 1, "conflicts");
  fails({"land", "--nonsense"}, 2, "usage");
  fails({"config", "set", "user.nmae", "x"}, 3, "invalid");
  fails({"show", "nowhere"}, 3, "not_found");
  fails({"init"}, 3, "exists");
  fails({"ref", "delete", "workspaces/default"}, 3, "refused");
  fails({"ref", "set", "side", "main", "--expect", "main"}, 4, "lost_race");
  // 6 is in tests/install: a weft without its helper.
  damage(machine);
  machine.write("README", "one\nmine again\n");
  fails({"commit", "-m", "Damaged"}, 5, "damaged");
  transcript.weft({"verify", "--json"});
  transcript.mask("\"(frames|objects|changes|refs|bytes)\": [0-9]+", "\"$1\": N");
  transcript.expect("errors_json");
}

}  // namespace
}  // namespace weft::cli
