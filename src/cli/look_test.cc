// Golden transcripts of the commands that look at history: log, show, diff, ls, cat.

#include <gtest/gtest.h>

#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;

constexpr std::int64_t kDay = 86'400'000'000'000;

/// A small project with a rename, a mode, a symlink, a binary file, an odd name and a merge.
struct Project {
  Machine machine;
  Transcript transcript{machine};
  std::string first, main_line, side;

  Project() {
    machine.ok({"init"});
    machine.write("README", "weave\n");
    machine.write("src/a.c", "int a;\n\nint main(void) {\n  return 0;\n}\n");
    machine.write("src/b.c", "int b;\n");
    machine.ok({"commit", "-m", "Begin\n\nWith two files."});
    machine.clock_.advance(kDay);
    machine.clock_.set_zone(120);
    machine.write("src/a.c", "int a;\n\nint main(void) {\n  return 1;\n}\n");
    machine.rename("src/b.c", "lib/b.c");
    machine.write("odd\n\xff", "odd\n");
    machine.environment_["WEFT_AUTHOR"] = "Bo \xc3\x98 <bo@example.org>";
    machine.ok({"commit", "-m", "Move b, change a"});
    machine.clock_.advance(kDay);
    machine.clock_.set_zone(-480);
    machine.environment_["WEFT_AUTHOR"] = "Ann Author <ann@example.org>";
    machine.ok({"workspace", "add", "other"});
    machine.write("README", "weave\nmore\n");
    std::filesystem::permissions(machine.directory_ + "/src/a.c", std::filesystem::perms(0755));
    std::filesystem::create_symlink("src/a.c", machine.directory_ + "/link");
    machine.ok({"commit", "-m", "Say more"});
    const std::string home = machine.directory_;
    machine.directory_ = machine.dir() / "other";
    machine.write("blob", std::string("bin\0ary\n", 8));
    machine.remove("odd\n\xff");
    machine.ok({"commit", "-m", "Add a blob, drop the odd one"});
    machine.ok({"land"});
    machine.directory_ = home;
    machine.ok({"switch", "main"});
  }
};

TEST(LookGolden, Log) {
  Project project;
  auto& transcript = project.transcript;
  transcript.weft({"log"});
  transcript.weft({"log", "-2", "--oneline"});
  transcript.weft({"log", "--graph"});
  transcript.weft({"log", "--graph", "-v"});
  transcript.weft({"log", "--graph", "lib/b.c"});
  transcript.weft({"log", "--oneline", "lib/b.c"});
  transcript.weft({"log", "--oneline", "lib"});
  transcript.weft({"log", "--oneline", "--", "src/b.c"});
  transcript.weft({"log", "--oneline", "README"});
  transcript.weft({"log", "--oneline", "README", "src"});
  transcript.weft({"log", "--oneline", "main-..main"});
  transcript.weft({"log", "--oneline", "main..main-"});
  transcript.weft({"log", "--oneline", "--author", "BO \xc3\x98"});
  transcript.weft({"log", "--graph", "--author", "ann"});
  transcript.weft({"log", "--oneline", "--since", "2001-09-10 12:00Z"});
  transcript.weft({"log", "--oneline", "--until", "yesterday"});
  transcript.weft({"log", "--since", "whenever"});
  transcript.weft({"log", "-n", "0"});
  transcript.weft({"log", "--oneline", "--all"});
  transcript.weft({"log", "nowhere"});
  transcript.weft({"log", "--", "nowhere"});
  transcript.weft({"log", "-p", "-1", "lib/b.c"});
  transcript.weft({"log", "--stat", "-2"});
  transcript.weft({"-C", "src", "log", "--oneline", "a.c"});
  transcript.weft({"log", "--json", "-1"});
  transcript.weft({"log", "--json-lines", "-2", "src/a.c"});
  transcript.expect("log");
}

TEST(LookGolden, LogOfRelatedChanges) {
  Machine machine;
  machine.ok({"init"});
  machine.write("README", "weave\n");
  machine.ok({"commit", "-m", "Begin"});
  machine.ok({"workspace", "add", "other"});
  machine.write("README", "weave\nmore\n");
  machine.ok({"commit", "-m", "Say more"});
  const std::string home = machine.directory_;
  machine.directory_ = machine.dir() / "other";
  machine.write("README", "weave\nmore\n");
  machine.ok({"commit", "-m", "Say more, too"});
  machine.write("LICENSE", "do\n");
  machine.ok({"commit", "-m", "License it"});
  Transcript transcript(machine);
  transcript.say("the same patch, recorded twice");
  transcript.weft({"log", "--oneline", "--same-as", "@-"});
  transcript.weft({"log", "--oneline", "--same-as", "main", "--grep", "too"});
  transcript.weft({"log", "--oneline", "--same-as", "@", "-n", "5"});
  transcript.weft({"log", "--json-lines", "--same-as", "@-"});
  transcript.weft({"log", "--same-as", "delta:12"});
  transcript.weft({"log", "--same-as", "delta:" + std::string(64, '0')});
  transcript.say("what was made on top of a change");
  transcript.weft({"log", "--oneline", "--children-of", "main-"});
  transcript.weft({"log", "--oneline", "--reverse", "--children-of", "main-"});
  transcript.weft({"log", "--oneline", "--children-of", "@"});
  transcript.weft({"log", "--oneline", "--children-of", "main-", "README"});
  transcript.weft({"log", "--same-as", "@", "--children-of", "@"});
  transcript.expect("log_related");
}

TEST(LookGolden, LogOfAnEmptyStore) {
  Machine machine;
  machine.ok({"init"});
  Transcript transcript(machine);
  transcript.weft({"log"});
  transcript.weft({"log", "--json"});
  transcript.weft({"show"});
  transcript.weft({"ls"});
  transcript.weft({"diff"});
  transcript.weft({"cat", "a"});
  transcript.weft({"ref", "list"});
  transcript.expect("empty_store");
}

TEST(LookGolden, Show) {
  Project project;
  auto& transcript = project.transcript;
  transcript.weft({"show"});
  transcript.weft({"show", "@-"});
  transcript.weft({"show", "@--", "--stat"});
  transcript.weft({"show", "@--", "--name-status"});
  transcript.weft({"show", "@--", "lib"});
  transcript.weft({"show", "--color", "@-"});
  transcript.weft({"show", "main..@"});
  transcript.weft({"show", "ffffffff"});
  transcript.weft({"show", "--json", "@--"});
  transcript.weft({"show", "--json", "--name-only", "@"});
  transcript.expect("show");
}

TEST(LookGolden, Diff) {
  Project project;
  auto& machine = project.machine;
  auto& transcript = project.transcript;
  transcript.say("a clean working tree");
  transcript.weft({"diff"});
  transcript.weft({"diff", "--exit-code"});
  machine.write("src/a.c", "int a;\n\nint main(void) {\n  return 2;\n}\n\nint more;");
  machine.write("new file", "fresh\n");
  machine.rename("README", "docs/README");
  machine.remove("blob");
  std::filesystem::create_directory(machine.directory_ + "/empty");
  transcript.say("an edited one");
  transcript.weft({"diff"});
  transcript.weft({"diff", "-U0", "src"});
  transcript.weft({"diff", "--stat"});
  transcript.weft({"diff", "--name-only"});
  transcript.weft({"diff", "--name-status"});
  transcript.weft({"diff", "--name-status", "-0"});
  transcript.weft({"diff", "--exit-code", "--name-only"});
  transcript.weft({"diff", "main-", "--stat"});
  transcript.weft({"diff", "--json"});
  transcript.weft({"diff", "--json-lines", "--name-only"});
  transcript.say("versions");
  transcript.weft({"diff", "@--", "@"});
  transcript.weft({"diff", "@..@--", "--stat"});
  transcript.weft({"diff", "@", "@-", "@--"});
  transcript.weft({"diff", "--stat", "--name-only"});
  transcript.weft({"diff", "-U", "-1"});
  transcript.weft({"-C", "/", "diff"});
  transcript.expect("diff");
}

TEST(LookGolden, LsAndCat) {
  Project project;
  auto& transcript = project.transcript;
  transcript.weft({"ls"});
  transcript.weft({"ls", "-r"});
  transcript.weft({"ls", "-l"});
  transcript.weft({"ls", "-r", "-0", "@--:"});
  transcript.weft({"ls", "main-:src"});
  transcript.weft({"ls", "main:src/a.c"});
  transcript.weft({"-C", "src", "ls"});
  transcript.weft({"ls", "main:nowhere"});
  transcript.weft({"ls", "main:../x"});
  transcript.weft({"ls", "nowhere:"});
  transcript.weft({"ls", "--json", "src"});
  transcript.weft({"cat", "main:README"});
  transcript.weft({"cat", "main-:README", "link"});
  transcript.weft({"-C", "src", "cat", "a.c"});
  transcript.weft({"cat", "main:src"});
  transcript.weft({"cat", "main:"});
  transcript.weft({"cat", "main:nowhere"});
  transcript.weft({"cat", "blob", "--json"});
  transcript.weft({"cat", "blob", "main:nowhere", "--json-lines"});
  transcript.expect("ls_cat");
}

TEST(LookGolden, BlobsOfAnySizeAreStreamed) {
  Machine machine;
  machine.ok({"init"});
  std::string big;
  for (int line = 0; big.size() < (3u << 20); ++line) big += std::to_string(line) + " lines of a large file\n";
  machine.write("big", big);
  machine.ok({"commit", "-m", "Big"});
  EXPECT_TRUE(machine.ok({"cat", "@:big"}) == big);
}

}  // namespace
}  // namespace weft::cli
