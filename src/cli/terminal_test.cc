// How things look on a terminal: who decides about colour, the pager, progress, hints; the editor.

#include <gtest/gtest.h>

#include "cli/output.h"
#include "cli/pager.h"
#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;

constexpr std::string_view kPath = "/usr/local/bin:/usr/bin:/bin";

bool colored(const std::string& text) { return text.find('\x1b') != std::string::npos; }

struct Decision {
  std::string out, err;
};

class ColorTest : public ::testing::Test {
 protected:
  ColorTest() {
    machine_.ok({"init"});
    machine_.environment_["WEFT_PAGER"] = "";
  }
  /// Whether stdout and stderr are coloured: "oe", "o-", "-e" or "--".
  std::string streams(bool out_terminal, bool err_terminal, std::vector<std::string> args = {"status"}) {
    std::string out, err;
    Io io;
    io.out = [&](std::string_view text) { out += text; };
    io.err = [&](std::string_view text) { err += text; };
    io.out_is_terminal = out_terminal;
    io.err_is_terminal = err_terminal;
    Env env{posix_file_system(), machine_.clock_, machine_.random_};
    const repo::Context context{env, machine_.directory_, machine_.environment_,
                                static_cast<std::uint32_t>(::geteuid())};
    run(io, context, args);
    args.back() = "no-such-verb";
    run(io, context, args);
    return std::string(colored(out) ? "o" : "-") + (colored(err) ? "e" : "-");
  }
  void configure(const std::string& text) { machine_.write("../home/.config/weft/config.toml", text); }

  Machine machine_;
};

TEST_F(ColorTest, EachStreamIsJudgedByItself) {  // LK-2
  machine_.write("f", "x\n");
  EXPECT_EQ(streams(true, true), "oe");
  EXPECT_EQ(streams(true, false), "o-");
  EXPECT_EQ(streams(false, true), "-e");
  EXPECT_EQ(streams(false, false), "--");
}

TEST_F(ColorTest, WhoDecides) {
  machine_.write("f", "x\n");
  auto& environment = machine_.environment_;
  environment["TERM"] = "dumb";
  EXPECT_EQ(streams(true, true), "--");
  environment["CLICOLOR_FORCE"] = "1";
  EXPECT_EQ(streams(false, false), "oe");
  environment["CLICOLOR_FORCE"] = "0";
  EXPECT_EQ(streams(false, false), "--");
  environment["CLICOLOR_FORCE"] = "1";
  environment["NO_COLOR"] = "1";
  EXPECT_EQ(streams(true, true), "--");
  environment["NO_COLOR"] = "";
  EXPECT_EQ(streams(true, true), "oe");
  environment.erase("CLICOLOR_FORCE");
  environment.erase("TERM");
  environment["CLICOLOR"] = "0";
  EXPECT_EQ(streams(true, true), "--");
  // The user's file wins over the environment, the command line over both.
  environment["NO_COLOR"] = "1";
  configure("[ui]\ncolor = \"always\"\n");
  EXPECT_EQ(streams(false, false), "oe");
  EXPECT_EQ(streams(true, true, {"--color=never", "status"}), "--");
  EXPECT_EQ(streams(true, true, {"--color=auto", "status"}), "--");
  environment.erase("NO_COLOR");
  environment.erase("CLICOLOR");
  configure("[ui]\ncolor = \"never\"\n");
  EXPECT_EQ(streams(true, true), "--");
  EXPECT_EQ(streams(true, true, {"--color=auto", "status"}), "oe");
  EXPECT_EQ(streams(false, false, {"--color=always", "status"}), "oe");
}

TEST_F(ColorTest, TheUserPicksColors) {
  machine_.write("f", "x\n");
  configure("[ui.colors]\nadded = \"bold #0000ff\"\nid = \"none\"\n");
  const std::string shown = machine_.ok({"status", "--color"});
  EXPECT_NE(shown.find("\x1b[1;38;2;0;0;255mA\x1b[m"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" at none"), std::string::npos) << shown;
}

TEST_F(ColorTest, JsonIsNeverColored) { EXPECT_FALSE(colored(machine_.ok({"status", "--json", "--color=always"}))); }

TEST(Settings, WhatIsWrongIsToldOnceAndNothingFails) {  // LK-1
  Machine machine;
  machine.ok({"init"});
  machine.write("../home/.config/weft/config.toml", "[ui]\ncolor = 3\nnonsense = 1\n");
  const auto ran = machine.run({"status"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("ui.color must be auto, always or never"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("nonsense"), std::string::npos);
  EXPECT_EQ(ran.err.find("ui.color"), ran.err.rfind("ui.color"));
  EXPECT_NE(machine.run({"config", "list"}).err.find("nonsense"), std::string::npos);
}

class PagerTest : public ::testing::Test {
 protected:
  PagerTest() {
    machine_.ok({"init"});
    machine_.write("f", "x\n");
    machine_.ok({"commit", "-q", "-m", "One"});
    machine_.terminal_ = true;
    machine_.environment_["PATH"] = kPath;
    machine_.environment_["TERM"] = "dumb";
    machine_.environment_["PAGED"] = machine_.dir() / "paged";
  }
  std::string paged() {
    std::ifstream file(machine_.dir() / "paged", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(machine_.dir() / "paged");
    return text;
  }
  Machine machine_;
};

TEST_F(PagerTest, WhichOne) {
  machine_.environment_["PAGER"] = "cat > \"$PAGED\"; echo common >> \"$PAGED\"";
  EXPECT_EQ(machine_.ok({"log", "--oneline"}), "");
  EXPECT_NE(paged().find("common"), std::string::npos);
  machine_.write("../home/.config/weft/config.toml",
                 "[ui]\npager = 'cat > \"$PAGED\"; echo configured >> \"$PAGED\"'\n");
  EXPECT_EQ(machine_.ok({"log", "--oneline"}), "");
  EXPECT_NE(paged().find("configured"), std::string::npos);
  machine_.environment_["WEFT_PAGER"] = "cat > \"$PAGED\"; echo \"own $LESS\" >> \"$PAGED\"";
  EXPECT_EQ(machine_.ok({"log", "--oneline"}), "");
  const auto text = paged();
  EXPECT_NE(text.find("One"), std::string::npos);
  EXPECT_NE(text.find("own FRX"), std::string::npos);
}

TEST_F(PagerTest, NotWhereItIsNotWanted) {
  machine_.environment_["WEFT_PAGER"] = "cat > \"$PAGED\"";
  EXPECT_NE(machine_.ok({"--no-pager", "log", "--oneline"}), "");
  EXPECT_NE(machine_.ok({"log", "--json"}), "");
  machine_.write("../home/.config/weft/config.toml", "[ui]\npaginate = \"never\"\n");
  EXPECT_NE(machine_.ok({"log", "--oneline"}), "");
  machine_.write("../home/.config/weft/config.toml", "");
  for (const std::string none : {"", " ", "cat"}) {
    machine_.environment_["WEFT_PAGER"] = none;
    EXPECT_NE(machine_.ok({"log", "--oneline"}), "") << none;
  }
  EXPECT_FALSE(std::filesystem::exists(machine_.dir() / "paged"));
}

TEST_F(PagerTest, OneThatIsNotThereIsReplacedByTheTerminal) {  // PG-1
  for (const std::string missing : {"no-such-pager -x", "no-such-pager | cat >&2", "'/no/such/pager'"}) {
    machine_.environment_["WEFT_PAGER"] = missing == "no-such-pager | cat >&2" ? "exec no-such-pager $X" : missing;
    const auto ran = machine_.run({"log", "--oneline"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_NE(ran.out.find("One"), std::string::npos) << missing;
    EXPECT_NE(ran.err.find("cannot be run"), std::string::npos) << missing << ran.err;
  }
}

TEST_F(PagerTest, LeavingItEndsTheCommandQuietly) {
  std::string big;
  for (int i = 0; i < 60'000; ++i) big += "a line of a long diff " + std::to_string(i) + "\n";
  machine_.write("big", big);
  machine_.environment_["WEFT_PAGER"] = "head -n 1 > \"$PAGED\"";
  const auto ran = machine_.run({"diff"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "");
}

TEST(CommandWords, PlainOnesNeedNoShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(command_argv("less -R"), (Words{"less", "-R"}));
  EXPECT_EQ(command_argv("vi", {"a b"}), (Words{"vi", "a b"}));
  EXPECT_EQ(command_argv("x 'y z'", {"f"}), (Words{"/bin/sh", "-c", "x 'y z' \"$@\"", "x 'y z'", "f"}));
  EXPECT_EQ(command_argv("A=b less"), (Words{"/bin/sh", "-c", "A=b less", "A=b less"}));
}

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest()
      : env_{posix_file_system(), machine_.clock_, machine_.random_},
        context_{env_, machine_.directory_, machine_.environment_, 0} {
    io_.out = [](std::string_view) {};
    io_.err = [this](std::string_view text) { err_ += text; };
    io_.err_is_terminal = true;
  }
  void wait(std::int64_t ms) { machine_.clock_.advance(ms * 1'000'000); }
  std::string take() { return std::exchange(err_, {}); }

  Machine machine_;
  Env env_;
  repo::Context context_;
  Io io_;
  std::string err_;
};

TEST_F(ProgressTest, AfterHalfASecondAtMostTenTimesASecondAndErased) {
  Invocation invocation(io_, context_);
  {
    Progress progress(invocation, "writing files");
    progress.update(1, 10);
    wait(499);
    progress.update(2, 10);
    EXPECT_EQ(take(), "");
    wait(1);
    progress.update(3, 10);
    EXPECT_EQ(take(), "\rwriting files: 30% (3/10)\x1b[K");
    wait(99);
    progress.update(4, 10);
    EXPECT_EQ(take(), "");
    wait(1);
    progress.update(5, 0);
    EXPECT_EQ(take(), "\r\x1b[K\rwriting files: 5\x1b[K");
    notice(invocation, "by the way");
    EXPECT_EQ(take(), "\r\x1b[K\x1b[33mweft:\x1b[m by the way\n");
    wait(100);
    progress.update(6, 10);
    take();
  }
  EXPECT_EQ(take(), "\r\x1b[K");
}

TEST_F(ProgressTest, NotWhereNobodyLooks) {
  const auto shown = [&](const std::function<void(Invocation&)>& change) {
    Invocation invocation(io_, context_);
    change(invocation);
    Progress progress(invocation, "x");
    wait(1000);
    progress.update(1, 2);
    progress.clear();
    return take() != "";
  };
  EXPECT_TRUE(shown([](Invocation&) {}));
  EXPECT_FALSE(shown([](Invocation& invocation) { invocation.common.quiet = true; }));
  EXPECT_FALSE(shown([](Invocation& invocation) { invocation.common.json = true; }));
  EXPECT_FALSE(shown([](Invocation& invocation) { invocation.context.environment["TERM"] = "dumb"; }));
  context_.environment.erase("TERM");
  machine_.write("../home/.config/weft/config.toml", "[ui]\nprogress = false\n");
  EXPECT_FALSE(shown([](Invocation&) {}));
  machine_.write("../home/.config/weft/config.toml", "");
  io_.err_is_terminal = false;
  EXPECT_FALSE(shown([](Invocation&) {}));
}

TEST(Quiet, SilencesResultsAndHints) {  // P-3
  Machine machine;
  for (const auto& args : std::vector<std::vector<std::string>>{{"init"},
                                                                {"commit", "-m", "x", "--allow-empty"},
                                                                {"ref", "set", "other", "@"},
                                                                {"switch", "other"},
                                                                {"land", "main"},
                                                                {"commit"},
                                                                {"undo"},
                                                                {"redo"},
                                                                {"workspace", "add", "side"},
                                                                {"workspace", "rm", "side"},
                                                                {"ref", "delete", "other"}}) {
    std::vector<std::string> quiet = args;
    quiet.push_back("-q");
    if (args.front() == "commit" && args.size() == 1) quiet = {"commit", "-q", "-m", "nothing"};
    const auto ran = machine.run(quiet);
    EXPECT_EQ(ran.code, 0) << args.front() << ran.err;
    EXPECT_EQ(ran.out + ran.err, "") << args.front();
  }
  EXPECT_NE(machine.ok({"status", "-q"}), "");
}

TEST(Hints, CanBeSilenced) {
  Machine machine;
  machine.ok({"init"});
  EXPECT_NE(machine.run({"cat", "nothing"}).err.find("hint:"), std::string::npos);
  machine.ok({"config", "set", "ui.hints", "false"});
  EXPECT_EQ(machine.run({"cat", "nothing"}).err.find("hint:"), std::string::npos);
}

class EditorTest : public ::testing::Test {
 protected:
  EditorTest() {
    machine_.ok({"init"});
    machine_.write("f", "x\n");
    machine_.environment_["PATH"] = kPath;
    machine_.environment_["SEEN"] = machine_.dir() / "seen";
  }
  std::string seen() {
    std::ifstream file(machine_.dir() / "seen", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// What is left of messages below the store.
  std::size_t left_over() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(machine_.directory_ + "/.weft/workspaces")) {
      if (entry.path().filename().string().starts_with("message-")) ++count;
    }
    return count;
  }
  std::string message() { return machine_.ok({"log", "-1", "--format", "%B"}); }

  Machine machine_;
};

TEST_F(EditorTest, WhichOne) {
  auto& environment = machine_.environment_;
  const auto commit = [&] {
    machine_.ok({"commit", "--allow-empty"});
    return message();
  };
  const auto says = [](const std::string& word) { return "sh -c 'echo " + word + " > \"$0\"'"; };
  environment["EDITOR"] = says("editor");
  EXPECT_EQ(commit(), "editor\n");
  environment["VISUAL"] = says("visual");
  EXPECT_EQ(commit(), "visual\n");
  environment["TERM"] = "dumb";
  EXPECT_EQ(commit(), "editor\n");
  environment.erase("TERM");
  machine_.ok({"config", "set", "ui.editor", says("configured")});
  EXPECT_EQ(commit(), "configured\n");
  environment["WEFT_EDITOR"] = says("own");
  EXPECT_EQ(commit(), "own\n");
  EXPECT_EQ(left_over(), 0U);
}

TEST_F(EditorTest, TheTemplateShowsWhatWouldBeRecorded) {
  machine_.environment_["EDITOR"] = "cp \"$1\" \"$SEEN\"; echo Subject | cat - \"$SEEN\" >";
  machine_.ok({"commit", "-v"});
  EXPECT_EQ(seen(),
            "\n# What does this change do? Lines that begin with '#' are left out; an empty message\n"
            "# records nothing.\n#\n# Workspace default, following main\n# A f\n"
            "# ------------------------ >8 ------------------------\n"
            "# Leave the line above as it is; everything below it is left out.\n"
            "diff --git a/f b/f\nnew file mode 100644\nindex 0000000000..73cb3858a6\n--- /dev/null\n+++ b/f\n"
            "@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(message(), "Subject\n");
}

TEST_F(EditorTest, AFailedOrEmptyOneRecordsNothing) {
  Transcript transcript(machine_);
  machine_.environment_["EDITOR"] = "false";
  transcript.weft({"commit"});
  machine_.environment_["EDITOR"] = "true";
  transcript.weft({"commit"});
  machine_.environment_["EDITOR"] = "no-such-editor";
  transcript.weft({"commit"});
  machine_.environment_.erase("EDITOR");
  transcript.weft({"commit"});
  EXPECT_EQ(left_over(), 0U);
  transcript.weft({"log"});
  transcript.expect("editor");
}

TEST_F(EditorTest, WhatWasWrittenIsKeptWhenTheCommitFails) {  // CM-2
  machine_.ok({"commit", "-q", "-m", "One"});
  machine_.ok({"ref", "set", "-q", "behind", "@"});
  machine_.ok({"commit", "-q", "--allow-empty", "-m", "Two"});
  machine_.write("f", "y\n");
  machine_.environment_["EDITOR"] = "echo 'Long thought' >";
  const auto ran = machine_.run({"commit", "--advance", "behind"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(left_over(), 1U);
  const std::size_t at = ran.err.find("weft commit -F ");
  ASSERT_NE(at, std::string::npos) << ran.err;
  std::string file = ran.err.substr(at + 15);
  file.resize(file.find('\n'));
  machine_.ok({"commit", "-F", file});
  EXPECT_EQ(message(), "Long thought\n");
}

TEST(DiffTool, FilesAndDirectories) {
  Machine machine;
  machine.ok({"init"});
  machine.write("a b", "one\n");
  machine.write("gone", "old\n");
  machine.ok({"commit", "-q", "-m", "One"});
  machine.write("a b", "two\n");
  machine.write("new", "new\n");
  machine.remove("gone");
  machine.environment_["PATH"] = kPath;
  machine.environment_["SEEN"] = machine.dir() / "seen";
  const auto seen = [&] {
    std::ifstream file(machine.dir() / "seen", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(machine.dir() / "seen");
    return text;
  };
  const auto left_over = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(machine.directory_ + "/.weft/workspaces")) {
      if (entry.path().filename().string().starts_with("diff-")) ++count;
    }
    return count;
  };
  EXPECT_EQ(machine.run({"diff", "--tool"}).code, 2);
  EXPECT_EQ(machine.run({"diff", "--tool=vimdif"}).code, 3);
  machine.ok({"config", "set", "diff-tools.mine", "cat $left $right >> $SEEN; echo \"$path\" >> $SEEN"});
  machine.ok({"diff", "--tool=mine"});
  EXPECT_EQ(seen(), "one\ntwo\na b\nold\ngone\nnew\nnew\n");
  machine.ok({"config", "set", "ui.diff-tool", "diff -r $left_dir $right_dir | grep '^[<>]' > $SEEN; true"});
  machine.ok({"diff", "--tool"});
  EXPECT_EQ(seen(), "< one\n> two\n");
  EXPECT_EQ(left_over(), 0U);
  // File by file a tool gets the working file itself, so that it can be edited there.
  machine.ok({"diff", "--tool=echo edited > $right; cat $left > /dev/null", "a b"});
  std::ifstream file(machine.directory_ + "/a b");
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(file), {}}), "edited\n");
  EXPECT_EQ(left_over(), 0U);
  // A copy that was edited is not thrown away (DT-2).
  EXPECT_NE(machine.run({"diff", "--tool=echo more >> $left; true $right", "a b"}).err.find("is kept in"),
            std::string::npos);
  EXPECT_EQ(left_over(), 1U);
  const auto missing = machine.run({"diff", "--tool=./no-such-tool $left $right"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(missing.err.find("cannot be run"), std::string::npos) << missing.err;
}

TEST(DiffTool, AStoreCannotNameOne) {  // DT-1
  Machine machine;
  machine.ok({"init"});
  machine.write("f", "x\n");
  machine.write(".weft/config.toml",
                "[ui]\ndiff-tool = \"touch $HOME/run\"\neditor = \"touch $HOME/run\"\npager = \"touch $HOME/run\"\n");
  machine.terminal_ = true;
  machine.environment_["PATH"] = kPath;
  EXPECT_EQ(machine.run({"diff", "--tool"}).code, 2);
  machine.environment_["EDITOR"] = "true";
  machine.run({"commit"});
  machine.environment_["PAGER"] = "cat";
  machine.run({"diff"});
  EXPECT_FALSE(std::filesystem::exists(machine.dir() / "home/run"));
}

TEST(ConfigGolden, Commands) {
  Machine machine;
  Transcript transcript(machine);
  transcript.weft({"config", "path"});
  transcript.weft({"config", "list"});
  transcript.weft({"config", "get", "ui.color"});
  transcript.weft({"config", "get", "user.name"});
  transcript.weft({"config", "get", "ui.colour"});
  transcript.weft({"config", "set", "ui.color", "sometimes"});
  transcript.weft({"config", "set", "ui.color", "never"});
  transcript.weft({"config", "set", "ui.diff-context", "five"});
  transcript.weft({"config", "set", "ui.diff-context", "5"});
  transcript.weft({"config", "set", "ui.colors.added", "bold blue"});
  transcript.weft({"config", "set", "ui.colors.added", "blueish"});
  transcript.weft({"config", "set", "ui.hints", "yes"});
  transcript.weft({"config", "set", "record.max-new-file-size", "lots"});
  transcript.weft({"config", "set", "safe.stores", "/srv/store"});
  transcript.weft({"config", "list"});
  transcript.weft({"config", "list", "--json"});
  transcript.weft({"config", "unset", "ui.color"});
  transcript.weft({"config", "unset", "ui.color"});
  transcript.weft({"config", "set", "--store", "record.max-new-file-size", "1 MiB"});
  machine.ok({"init"});
  transcript.say("in a store");
  transcript.weft({"config", "set", "--store", "record.max-new-file-size", "1 MiB"});
  transcript.weft({"config", "set", "--store", "ui.pager", "evil"});
  transcript.weft({"config", "get", "record.max-new-file-size", "--json"});
  transcript.weft({"config", "path", "--store"});
  transcript.weft({"config", "list"});
  transcript.weft({"config", "list", "--all"});
  machine.write("../home/.config/weft/config.toml", "[ui]\ncolour = 1\nhints = 3\n");
  transcript.weft({"config", "list"});
  machine.write("../home/.config/weft/config.toml", "[ui\n");
  transcript.weft({"config", "list"});
  transcript.weft({"config", "set", "ui.hints", "true"});
  transcript.expect("config");
}

/// The table in docs/CLI.md is the one in the code.
TEST(ConfigGolden, TheTableInTheDocs) {
  static constexpr std::string_view kBegin = "rewrites the table -->\n", kEnd = "<!-- end of settings -->";
  const std::filesystem::path here = __FILE__;
  const auto path = here.parent_path().parent_path().parent_path() / "docs" / "CLI.md";
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find(kBegin) + kBegin.size(), end = text.find(kEnd);
  ASSERT_LE(begin, end) << path;
  std::string table = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const auto& setting : repo::settings()) {
    std::string allowed;
    switch (setting.type) {
      case repo::SettingType::text:
        allowed = "text";
        break;
      case repo::SettingType::command:
        allowed = "command";
        break;
      case repo::SettingType::list:
        allowed = "list of text";
        break;
      case repo::SettingType::boolean:
        allowed = "`true`, `false`";
        break;
      case repo::SettingType::integer:
        allowed = "number";
        break;
      case repo::SettingType::size:
        allowed = "size (`50 MiB`)";
        break;
      case repo::SettingType::choice:
      case repo::SettingType::style: {
        std::istringstream names{std::string(setting.values)};
        for (std::string name; std::getline(names, name, '|');) allowed += (allowed.empty() ? "`" : ", `") + name + "`";
        if (setting.type == repo::SettingType::style) allowed = "colours; `*` is one of " + allowed;
        break;
      }
    }
    table += "| `" + std::string(setting.key) + "` | " + allowed + " | " +
             (setting.fallback.empty() ? std::string() : "`" + std::string(setting.fallback) + "`") + " | " +
             std::string(setting.meaning) + (setting.in_store ? " (`--store`)" : "") + " |\n";
  }
  const char* update = std::getenv("WEFT_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    text.replace(begin, end - begin, table);
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text.substr(begin, end - begin), table);
}

}  // namespace
}  // namespace weft::cli
