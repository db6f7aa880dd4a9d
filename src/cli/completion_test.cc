// Completion: what `weft __complete` offers, and the scripts in real shells.

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/process.h"
#include "cli/completion.h"
#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;

/// The candidates alone.
std::vector<std::string> offered(Machine& machine, std::vector<std::string> words) {
  words.insert(words.begin(), std::string(kCompleteVerb));
  const auto ran = machine.run(words);
  EXPECT_EQ(ran.code, 0);  // CP-1
  EXPECT_EQ(ran.err, "");
  std::vector<std::string> out;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    out.push_back(line.starts_with('\t') ? line : line.substr(0, line.find('\t')));
  }
  return out;
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

using Words = std::vector<std::string>;

void begin(Machine& machine) {
  machine.ok({"init"});
  machine.write("README", "one\n");
  machine.write("src/a.c", "a\n");
  machine.write("src/b.c", "b\n");
  machine.write("odd name", "odd\n");
  machine.ok({"commit", "-m", "Begin"});
  machine.write("src/a.c", "aa\n");
  machine.write("src/new.c", "new\n");
  machine.ok({"ref", "set", "tags/v1", "main"});
}

TEST(Completion, EveryNameInTheHelpTextsMeansSomething) {  // CP-3
  Machine machine;
  Env env{posix_file_system(), machine.clock_, machine.random_};
  const Io io{[](std::string_view) {}, [](std::string_view) {}, {}};
  const repo::Context context{env, machine.directory_, {}, 0};
  const auto check = [](const std::string& command, const std::string& option, const std::string& name) {
    for (const auto kind : kinds_of(command, option, name)) {
      EXPECT_NE(kind, WordKind::unknown) << command << " " << option << " " << name << ": say in cli/completion.cc";
    }
  };
  for (const auto& command : commands()) {
    const auto description = describe(command, io, context);
    EXPECT_EQ(description.name, command.name);
    for (const auto& option : description.options) {
      const std::string name = option.name.empty() ? std::string("-") + option.letter : "--" + option.name;
      if (!option.metavar.empty()) check(description.name, name, option.metavar);
    }
    for (const auto& argument : description.arguments) check(description.name, "", argument.name);
  }
  EXPECT_EQ(kinds_of("log", "", "NONSENSE"), std::vector<WordKind>{WordKind::unknown});
}

TEST(Completion, EveryCommandAndOptionIsOffered) {  // CP-3
  Machine machine;
  Env env{posix_file_system(), machine.clock_, machine.random_};
  const Io io{[](std::string_view) {}, [](std::string_view) {}, {}};
  const repo::Context context{env, machine.directory_, {}, 0};
  for (const auto& command : commands()) {
    Words words;
    std::istringstream parts{std::string(command.name)};
    for (std::string part; parts >> part;) {
      words.push_back("");
      EXPECT_TRUE(has(offered(machine, words), part)) << command.name;
      words.back() = part;
    }
    if (command.name == "help") continue;
    words.push_back("-");
    const auto options = offered(machine, words);
    for (const auto& option : describe(command, io, context).options) {
      const std::string name = option.name.empty() ? std::string("-") + option.letter : "--" + option.name;
      EXPECT_TRUE(has(options, name)) << command.name << " " << name;
    }
    EXPECT_TRUE(has(options, "--json")) << command.name;
    EXPECT_TRUE(has(options, "-C")) << command.name;
  }
}

TEST(Completion, EveryCommonOptionIsTaken) {
  for (const auto& option : common_options()) {
    Machine machine;
    for (const std::string& word : {option.letter != 0 ? std::string("-") + option.letter : std::string(),
                                    option.name.empty() ? std::string() : "--" + std::string(option.name)}) {
      if (word.empty()) continue;
      Words args = {"help", word};
      if (option.metavar == "DIR") args.push_back(".");
      EXPECT_EQ(machine.run(args).code, 0) << word;
    }
  }
}

TEST(Completion, Golden) {
  Machine machine;
  begin(machine);
  Transcript transcript(machine);
  const auto complete = [&](Words words) {
    words.insert(words.begin(), std::string(kCompleteVerb));
    transcript.weft(words);
  };
  complete({"re"});
  complete({"ref", ""});
  complete({"--c"});
  complete({"commit", "--"});
  complete({"commit", "--m"});
  complete({"log", "--color="});
  complete({"show", ""});
  complete({"show", "main.."});
  complete({"show", "main@{"});
  complete({"switch", "ta"});
  complete({"diff", "sr"});
  complete({"diff", "src/"});
  complete({"commit", ""});
  complete({"restore", "--from", "main", "src/"});
  complete({"ls", "main:src/"});
  complete({"cat", "REA"});
  complete({"undo", ""});
  complete({"op", "log", "--workspace", ""});
  complete({"config", "set", "user."});
  complete({"config", "set", "ui.color", ""});
  complete({"completion", ""});
  complete({"commit", "-F", ""});
  complete({"-C", ""});
  complete({"help", "workspace", ""});
  transcript.expect("completion");
}

TEST(Completion, KnowsThePlace) {
  Machine machine;
  begin(machine);
  EXPECT_EQ(offered(machine, {"log", "--author"}), Words{"--author"});
  EXPECT_EQ(offered(machine, {"log", "--author", ""}), Words{"Ann Author <ann@example.org>"});
  EXPECT_EQ(offered(machine, {"log", "--author=A"}), Words{"--author=Ann Author <ann@example.org>"});
  EXPECT_EQ(offered(machine, {"restore", "--from=ta"}), Words{"--from=tags/v1"});
  EXPECT_EQ(offered(machine, {"op", "log", "-wde"}), Words{"-wdefault"});
  EXPECT_EQ(offered(machine, {"op", "log", "-n", "5", "--ref", "tags"}), Words{"tags/v1"});
  EXPECT_EQ(offered(machine, {"ref", "set", "new", "tags"}), Words{"tags/v1"});
  EXPECT_EQ(offered(machine, {"ref", "set", "new", "main", ""}), Words{});
  EXPECT_EQ(offered(machine, {"ref", "set", "new", "main", "--expect", "no"}), Words{"none"});
  EXPECT_EQ(offered(machine, {"ref", "set", "new", "main", "--expect=no"}), Words{"--expect=none"});
  EXPECT_EQ(offered(machine, {"switch", "-c", ""}), Words{});
  EXPECT_FALSE(has(offered(machine, {"log", "-g", "--"}), "--graph")) << "given already";
  EXPECT_TRUE(has(offered(machine, {"commit", "-m", "x", "--"}), "--message")) << "may be given again";
  EXPECT_EQ(offered(machine, {"log", "--", "RE"}), Words{"README"});
  EXPECT_FALSE(has(offered(machine, {"log", "--", ""}), "main"));
  EXPECT_EQ(offered(machine, {"log", "--", "--"}), Words{});
  EXPECT_EQ(offered(machine, {"commit", "-m", "--a"}), Words{}) << "a message, whatever it begins with";
  EXPECT_EQ(offered(machine, {"mv", "src/a.c", "src/b"}), Words{"src/b.c"});
  EXPECT_EQ(offered(machine, {"cat", "main:REA"}), Words{"main:README"});
  EXPECT_EQ(offered(machine, {"git", "import", ""}), Words{"\tdirectories"});
  EXPECT_EQ(offered(machine, {"show", "main@{0"}), Words{"main@{0}"});
  EXPECT_EQ(offered(machine, {"config", "set", "user.n"}), Words{"user.name"});
  EXPECT_EQ(offered(machine, {"config", "set", "ui.color", ""}), (Words{"auto", "always", "never"}));
  EXPECT_EQ(offered(machine, {"config", "set", "user.name", ""}), Words{});
}

TEST(Completion, FindsChangesByTheirFirstDigits) {
  Machine machine;
  begin(machine);
  const auto json = machine.ok({"log", "--json"});
  const std::string id = json.substr(json.find("\"id\": \"") + 7, 64);
  EXPECT_EQ(offered(machine, {"show", id.substr(0, 5)}), Words{id.substr(0, 8)});
  EXPECT_EQ(offered(machine, {"show", id.substr(0, 20)}), Words{id});
  EXPECT_EQ(offered(machine, {"show", id.substr(0, 1)}), Words{id.substr(0, 8)});
  EXPECT_EQ(offered(machine, {"log", "main.." + id.substr(0, 8)}), Words{"main.." + id.substr(0, 8)});
}

TEST(Completion, StandsWhereDashCSays) {
  Machine machine;
  begin(machine);
  std::filesystem::create_directory(machine.dir() / "elsewhere");
  const std::string inside = machine.directory_;
  machine.directory_ = machine.dir() / "elsewhere";
  EXPECT_EQ(offered(machine, {"switch", ""}), Words{});
  EXPECT_TRUE(has(offered(machine, {"-C", inside, "switch", ""}), "main"));
  EXPECT_TRUE(has(offered(machine, {"-C" + inside, "switch", ""}), "main"));
  EXPECT_TRUE(has(offered(machine, {"switch", "-C", inside, ""}), "main"));
  EXPECT_TRUE(has(offered(machine, {"switch", "-qC", inside, ""}), "main"));
  EXPECT_EQ(offered(machine, {"-C", inside + "/src", "mv", "a"}), Words{"a.c"});
  machine.environment_["HOME"] = inside;
  EXPECT_EQ(offered(machine, {"-C", "~/src", "mv", "a"}), Words{"a.c"});
  EXPECT_EQ(offered(machine, {"-C", "/nowhere", "switch", ""}), Words{});
  EXPECT_EQ(offered(machine, {"switch", "-C"}), Words{"-C"});
  EXPECT_EQ(offered(machine, {"switch", "-C", ""}), Words{"\tdirectories"});
}

TEST(Completion, IsQuietWhateverHappens) {  // CP-1
  Machine machine;
  for (const Words& words : std::vector<Words>{{},
                                               {"nonsense", ""},
                                               {"ref", "nonsense", ""},
                                               {"--nonsense", ""},
                                               {"log", "--nonsense", "x", ""},
                                               {"log", "-n"},
                                               {"log", "-n", ""},
                                               {"show", std::string(100'000, 'a')},
                                               {"show", "\xff\x01"},
                                               {"cat", "nowhere:../.."},
                                               {"cat", "tree:"},
                                               {"mv", "../../.."},
                                               {"help", "a", "b", "c", ""},
                                               {std::string(kCompleteVerb), ""}}) {
    offered(machine, words);
  }
  begin(machine);
  for (const Words& words : std::vector<Words>{{"show", "a...b..c"},
                                               {"show", "@{"},
                                               {"show", "+"},
                                               {"cat", "none:"},
                                               {"cat", ":"},
                                               {"commit", "/"},
                                               {"commit", "src/a.c/"},
                                               {"mv", "//"}}) {
    offered(machine, words);
  }
  // A store that is damaged, or somebody else's, offers what can be read, or nothing; it says nothing.
  std::filesystem::resize_file(machine.directory_ + "/.weft/format", 3);
  EXPECT_EQ(offered(machine, {"switch", ""}), Words{});
}

TEST(Completion, LeavesOutWhatNoLineCanCarry) {
  Machine machine;
  machine.ok({"init"});
  machine.write("new\nline", "x");
  machine.write("tab\there", "x");
  machine.write("plain", "x");
  machine.ok({"commit", "-m", "Tab\there"});
  EXPECT_EQ(offered(machine, {"mv", ""}), Words{"plain"});
  const auto ran = machine.run({std::string(kCompleteVerb), "switch", "main"});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\t'), 1);
}

// --- the scripts ---

bool installed(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

std::string written(Machine& machine, const std::string& shell) {
  const std::string path = machine.dir() / ("weft." + shell);
  std::ofstream(path, std::ios::binary) << machine.ok({"completion", shell});
  return path;
}

TEST(CompletionScript, Golden) {
  Machine machine;
  Transcript transcript(machine);
  transcript.weft({"completion", "bash"});
  transcript.weft({"completion", "zsh"});
  transcript.weft({"completion", "fish"});
  transcript.weft({"completion", "tcsh"});
  transcript.weft({"completion"});
  transcript.expect("completion_scripts");
}

TEST(CompletionScript, ParsesInItsShell) {
  Machine machine;
  for (const auto& [shell, check] : std::map<std::string, std::string>{{"bash", "bash --noprofile --norc -n "},
                                                                       {"zsh", "zsh -f -n "},
                                                                       {"fish", "fish --no-config --no-execute "}}) {
    const std::string path = written(machine, shell);
    if (!installed(shell)) continue;
    EXPECT_EQ(std::system((check + "'" + path + "' 2>&1").c_str()), 0) << shell;
  }
}

}  // namespace
}  // namespace weft::cli
