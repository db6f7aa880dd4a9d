// Golden transcripts of `git import`: a small repository made by git with fixed dates, so that every id is fixed, too.

#include <gtest/gtest.h>

#include "base/process.h"
#include "cli/testing/golden.h"
#include "git/testing/git_fixture.h"

namespace weft::cli {
namespace {

using git::testing::GitRepository;
using testing::Machine;
using testing::Transcript;

/// Two branches that were merged, a rename with an edit, a mode, a link, both kinds of tags.
void make_history(GitRepository& git) {
  git.write("README", "a demo\n");
  git.write("src/main.c", "int main() {\n  return 0;\n}\n");
  git.commit("Begin");
  git.git({"switch", "-q", "-c", "topic"});
  git.write("src/util.c", "int util;\n");
  git.commit("Add util");
  git.git({"switch", "-q", "main"});
  git.git({"mv", "src/main.c", "src/app.c"});
  git.write("src/app.c", "int main() {\n  return 1;\n}\n");
  git.write("run", "#!/bin/sh\n");
  std::filesystem::permissions(git.path() + "/run", std::filesystem::perms(0755));
  std::filesystem::create_symlink("src/app.c", git.path() + "/link");
  git.commit("Name the program");
  git.git({"tag", "light", "HEAD^"});
  git.git({"merge", "-q", "--no-ff", "-m", "Merge topic", "topic"});
  git.git({"tag", "-a", "-m", "the first", "v1"});
}

TEST(GitGolden, Import) {
  Machine machine;
  GitRepository git(machine.dir().path(), "git");
  make_history(git);
  Transcript transcript(machine);
  // The name of the helper's program has its version.
  transcript.mask("\"helper\": \"[^\"]*\"", "\"helper\": HELPER");
  machine.ok({"init"});
  transcript.weft({"git", "import", "../git"});
  transcript.weft({"status"});
  transcript.weft({"log", "--graph", "--all"});
  transcript.weft({"log", "--json", "-n", "1"});
  transcript.weft({"show", "--stat", "main-"});
  transcript.weft({"ls", "-r"});
  transcript.weft({"ref", "list"});
  transcript.weft({"op", "log"});
  transcript.say("once more, and with something new");
  transcript.weft({"git", "import", "../git"});
  git.write("README", "a demo, continued\n");
  git.commit("Continue");
  transcript.weft({"git", "import", "../git", "--json"});
  transcript.weft({"git", "import", "../git"});
  transcript.weft({"status"});
  transcript.say("main has what git has not: it stays");
  machine.ok({"switch", "main"});
  machine.write("mine", "mine\n");
  machine.ok({"commit", "-m", "Mine"});
  git.write("README", "a demo, ended\n");
  git.commit("End");
  transcript.weft({"git", "import", "../git"});
  transcript.weft({"log", "--graph", "-n", "3"});
  transcript.say("no repositories");
  transcript.weft({"git", "import", ".."});
  transcript.weft({"git", "import", "nowhere"});
  transcript.weft({"git", "import"});
  transcript.expect("git_import");
}

}  // namespace
}  // namespace weft::cli
