// Golden transcripts of the commands that work on files and workspaces.

#include <fstream>

#include <gtest/gtest.h>

#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;

TEST(WorkGolden, InitStatusCommit) {
  Machine machine;
  Transcript transcript(machine);
  transcript.weft({"status"});
  transcript.weft({"init"});
  transcript.weft({"init"});
  transcript.weft({"status"});
  transcript.weft({"commit", "-m", "Nothing"});
  machine.write("a", "one\n");
  machine.write("d/b", "b\n");
  machine.write(".gitignore", "*.o\n");
  machine.write("x.o", "object\n");
  transcript.weft({"status", "--ignored"});
  transcript.weft({"status", "--exit-code"});
  transcript.weft({"commit", "-m", "Only d", "d"});
  transcript.weft({"commit", "-m", "The rest"});
  transcript.weft({"status"});
  machine.write("a", "two\n");
  machine.rename("d/b", "e/c");
  transcript.weft({"status"});
  transcript.weft({"status", "-0"});
  transcript.weft({"status", "--json"});
  transcript.weft({"commit", "-m", "By someone", "--author", "Bo <bo@example.org>"});
  transcript.weft({"commit", "-m", "x", "--author", "nobody"});
  transcript.weft({"commit", "-m", "x", "nowhere"});
  transcript.weft({"commit", "-m", ""});
  machine.write("a", "three\n");
  transcript.weft({"ref", "set", "main", "main-"});
  transcript.weft({"commit", "-m", "main has moved meanwhile"});
  machine.write("a", "four\n");
  transcript.weft({"commit", "-m", "All or nothing", "--advance", "main"});
  transcript.weft({"commit", "-m", "Json", "--json"});
  machine.input_ =
      R"({"weft": 1, "ops": [{"op": "write", "path": "n", "content": "new\n"}, {"op": "delete", "path": "a"}]})";
  transcript.weft({"commit", "-m", "Listed", "--parent", "main", "--changes", "-", "--advance", "main"});
  machine.input_ = R"({"weft": 1, "ops": [{"op": "write", "path": "../n", "content": "new\n"}]})";
  transcript.weft({"commit", "-m", "Listed", "--parent", "main", "--changes", "-", "--advance", "main"});
  machine.environment_.erase("WEFT_AUTHOR");
  transcript.weft({"commit", "-m", "By nobody"});
  transcript.weft({"config", "set", "user.name", "Cy"});
  transcript.weft({"config", "set", "user.email", "cy@example.org"});
  transcript.weft({"config", "list"});
  transcript.weft({"config", "set", "user.nmae", "x"});
  machine.write("a", "five\n");
  transcript.weft({"commit", "-m", "By Cy"});
  transcript.weft({"log", "--oneline"});
  transcript.expect("commit");
}

TEST(WorkGolden, MoveRemoveRestoreSwitch) {
  Machine machine;
  machine.ok({"init"});
  machine.write("a", "one\n");
  machine.write("b", "b\n");
  machine.write("d/c", "c\n");
  machine.ok({"commit", "-m", "One"});
  machine.write("a", "two\n");
  machine.ok({"commit", "-m", "Two"});
  Transcript transcript(machine);
  transcript.weft({"mv", "a", "d/a"});
  transcript.weft({"mv", "nowhere", "x"});
  transcript.weft({"mv", "b", "d/a"});
  transcript.weft({"mv", "b"});
  transcript.weft({"rm", "b"});
  transcript.weft({"rm", "b"});
  transcript.weft({"rm", "d"});
  transcript.weft({"status"});
  transcript.weft({"restore", "b"});
  transcript.weft({"restore", "nowhere"});
  transcript.weft({"restore"});
  machine.write("b", "edited\n");
  transcript.weft({"switch", "main-"});
  machine.write("a", "edited\n");
  transcript.weft({"switch", "main"});
  transcript.weft({"switch", "nowhere"});
  transcript.weft({"status"});
  transcript.expect("files");
}

TEST(WorkGolden, WorkspacesLandUndo) {
  Machine machine;
  machine.ok({"init"});
  machine.write("a", "1\n2\n3\n");
  machine.ok({"commit", "-m", "One"});
  Transcript transcript(machine);
  transcript.weft({"workspace", "list"});
  transcript.weft({"workspace", "add", "two"});
  transcript.weft({"workspace", "add", "two"});
  transcript.weft({"workspace", "add", "bad/name"});
  transcript.weft({"workspace", "list"});
  transcript.weft({"land"});
  transcript.weft({"land", "release"});
  transcript.weft({"ref", "delete", "release"});
  machine.write("b", "b\n");
  transcript.weft({"land"});
  machine.ok({"commit", "-m", "Add b"});
  const std::string home = std::exchange(machine.directory_, machine.dir() / "two");
  machine.write("c", "c\n");
  machine.ok({"commit", "-m", "Add c"});
  transcript.weft({"status"});
  transcript.weft({"land"});
  machine.write("a", "1\n2\nTHREE\n");
  machine.ok({"commit", "-m", "Change a here"});
  machine.directory_ = home;
  machine.write("a", "ONE\n2\n3\n");
  machine.ok({"commit", "-m", "Change a there"});
  transcript.say("both sides edited a");
  transcript.weft({"land"});
  transcript.weft({"land", "--json"});
  transcript.weft({"undo"});
  transcript.weft({"redo"});
  transcript.weft({"redo"});
  transcript.weft({"undo", "ffff"});
  transcript.weft({"workspace", "rm", "nobody"});
  transcript.weft({"workspace", "rm", "two"});
  transcript.weft({"workspace", "list"});
  transcript.weft({"log", "--graph", "--all"});
  transcript.expect("workspaces");
}

TEST(StatusLines, C24_NamesWhoseEndsCannotBeSeenAreQuoted) {
  Machine machine;
  machine.ok({"init"});
  machine.write("a -> b", "1\n");
  machine.write(" lead", "2\n");
  machine.write("trail ", "3\n");
  machine.write("in the middle", "4\n");
  EXPECT_NE(machine.ok({"status"}).find("A \" lead\"\nA \"a -> b\"\nA in the middle\nA \"trail \"\n"),
            std::string::npos);
  machine.ok({"commit", "-m", "Odd"});
  machine.rename("a -> b", "c");
  EXPECT_NE(machine.ok({"status"}).find("R \"a -> b\" -> c\n"), std::string::npos);
  EXPECT_EQ(machine.ok({"status", "-0"}), std::string("R a -> b\0c\0", 11));
}

TEST(ConfigProblems, AreToldOnce) {
  Machine machine;
  machine.ok({"config", "set", "ui.hints", "false"});
  const std::string path = machine.ok({"config", "path"});
  std::ofstream(path.substr(0, path.size() - 1), std::ios::app) << "bogus = [\n";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"config", "list"}, {"config", "get", "ui.color"}}) {
    const std::string told = machine.run(command).err;
    EXPECT_NE(told.find("does not parse"), std::string::npos) << told;
    EXPECT_EQ(told.find("does not parse"), told.rfind("does not parse")) << told;
  }
}

TEST(ShowFormat, TheEmptyFormatLeavesTheDifferencesAlone) {
  Machine machine;
  machine.ok({"init"});
  machine.write("a", "1\n");
  machine.ok({"commit", "-m", "One"});
  EXPECT_EQ(machine.ok({"show", "--format", "", "--name-status"}), "A\ta\n");
  EXPECT_EQ(machine.ok({"show", "--format=", "-p"}).find("diff --git a/a b/a\n"), 0U);
  EXPECT_EQ(machine.ok({"log", "--format=format:", "--name-only"}), "a\n");
}

}  // namespace
}  // namespace weft::cli
