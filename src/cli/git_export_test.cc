// Golden transcripts of `git export` and of a store inside a git work tree, with fixed dates, so that every id is
// fixed.

#include <gtest/gtest.h>

#include "base/process.h"
#include "cli/testing/golden.h"
#include "git/testing/git_fixture.h"

namespace weft::cli {
namespace {

using git::testing::GitRepository;
using testing::Machine;
using testing::Transcript;

void mask_what_varies(Transcript& transcript) {
  transcript.mask("\"helper\": \"[^\"]*\"", "\"helper\": HELPER");
  // Compressed sizes are zlib's business.
  transcript.mask("\"bytes\": [0-9]+", "\"bytes\": BYTES");
}

TEST(GitGolden, Export) {
  Machine machine;
  GitRepository git(machine.dir().path(), "git");
  git.write("README", "a demo\n");
  git.commit("Begin");
  git.git({"tag", "-a", "-m", "the first", "v1"});
  Transcript transcript(machine);
  mask_what_varies(transcript);
  machine.ok({"init"});
  machine.ok({"git", "import", "../git"});
  machine.write("README", "a demo, continued\n");
  machine.ok({"commit", "-m", "Continue"});
  transcript.weft({"git", "export", "--dry-run", "../out.git"});
  transcript.weft({"git", "export", "../out.git"});
  transcript.weft({"git", "export", "../out.git"});
  transcript.weft({"git", "export", "../out.git", "--json"});
  transcript.say("a branch that is checked out, and one that has gone another way");
  transcript.weft({"git", "export", "../git"});
  git.git({"switch", "-q", "-c", "other"});
  git.git({"branch", "-f", "main", git.commit_tree(git.git({"rev-parse", "HEAD^{tree}"}), {"HEAD"})});
  transcript.weft({"git", "export", "../git"});
  transcript.weft({"git", "export", "../git", "--json"});
  transcript.weft({"git", "export", "../git", "main", "--force"});
  transcript.say("deleted here");
  machine.ok({"ref", "delete", "tags/v1"});
  transcript.weft({"git", "export", "../out.git"});
  transcript.weft({"git", "export", "../out.git", "--prune"});
  transcript.say("not there");
  transcript.weft({"git", "export"});
  transcript.weft({"git", "export", "../out.git", "nothing"});
  transcript.weft({"git", "export", "../out.git", "workspaces/default"});
  transcript.weft({"git", "export", ".."});
  transcript.expect("git_export");
}

TEST(GitGolden, Colocated) {
  Machine machine;
  GitRepository git(machine.dir().path(), "w");
  git.write("README", "a demo\n");
  git.write("src/main.c", "int main() {}\n");
  git.commit("Begin");
  git.write("README", "a demo, edited\n");
  const auto git_says = [&git](const std::vector<std::string>& args) { return git.git(args); };
  Transcript transcript(machine);
  mask_what_varies(transcript);
  transcript.weft({"init"});
  EXPECT_EQ(git_says({"status", "--porcelain"}), " M README");
  transcript.weft({"status"});
  transcript.weft({"commit", "-m", "Edit"});
  transcript.weft({"git", "export"});
  EXPECT_EQ(git_says({"status", "--porcelain"}), "");
  EXPECT_EQ(git_says({"log", "--format=%s"}), "Edit\nBegin");
  transcript.say("a commit in git");
  git.write("more", "more\n");
  git.commit("In git");
  transcript.weft({"git", "import"});
  transcript.weft({"status"});
  transcript.say("git switches, and weft switches back");
  git.git({"switch", "-q", "-c", "side"});
  git.write("side", "side\n");
  git.commit("On the side");
  transcript.weft({"git", "export"});
  transcript.weft({"git", "import"});
  transcript.weft({"status"});
  transcript.weft({"switch", "main"});
  transcript.weft({"git", "export"});
  EXPECT_EQ(git_says({"symbolic-ref", "HEAD"}), "refs/heads/main");
  EXPECT_EQ(git_says({"status", "--porcelain"}), "");
  transcript.say("in the middle of a merge git's branch stays");
  git.git({"merge", "-q", "--no-ff", "--no-commit", "side"});
  transcript.weft({"commit", "-m", "Meanwhile"});
  transcript.weft({"git", "export"});
  git.git({"merge", "--abort"});
  transcript.weft({"git", "import"});
  transcript.weft({"git", "export"});
  // The merge that was recorded here and then given up there.
  EXPECT_EQ(git_says({"status", "--porcelain"}), " D side");
  transcript.weft({"status"});
  transcript.say("a detached HEAD");
  git.git({"switch", "-q", "-f", "--detach", "main~1"});
  git.write("detached", "detached\n");
  git.commit("On no branch");
  transcript.weft({"git", "import"});
  transcript.weft({"status"});
  transcript.say("no second store");
  transcript.weft({"init"});
  transcript.weft({"init", "src"});
  transcript.weft({"init", ".weft"});
  transcript.expect("git_colocated");
}

TEST(GitGolden, InitBesideGit) {
  Machine machine;
  GitRepository git(machine.dir().path(), "w");
  git.write("README", "a demo\n");
  git.commit("Begin");
  Transcript transcript(machine);
  mask_what_varies(transcript);
  git.git({"config", "extensions.partialclone", "origin"});
  transcript.weft({"init"});
  EXPECT_FALSE(std::filesystem::exists(machine.directory_ + "/.weft"));
  transcript.weft({"init", "--no-git"});
  transcript.weft({"git", "import"});
  git.git({"config", "--unset", "extensions.partialclone"});
  transcript.weft({"git", "import"});
  transcript.weft({"status"});
  std::ofstream(git.path() + "/.git/refs/heads/broken") << "nonsense\n";
  transcript.weft({"git", "import"});
  transcript.expect("git_init");
}

TEST(GitGolden, InitWhereGitDoesMoreThanKeepBytes) {
  Machine machine;
  GitRepository git(machine.dir().path(), "w");
  git.write("here/a", "a\n");
  git.write("left/b", "b\n");
  git.write(".gitattributes", "*.bin filter=big\n*.txt text eol=crlf\n*.c -text filter=none\n");
  git.commit("Begin");
  git.git({"notes", "add", "-m", "a note"});
  git.git({"config", "filter.big.clean", "cat"});
  Transcript transcript(machine);
  mask_what_varies(transcript);
  git.git({"sparse-checkout", "set", "here"});
  transcript.weft({"init"});
  EXPECT_FALSE(std::filesystem::exists(machine.directory_ + "/.weft"));
  git.git({"sparse-checkout", "disable"});
  std::filesystem::create_directories(git.path() + "/.weft/work");  // what an init left that was killed
  transcript.weft({"init"});
  transcript.say("files that are left out later do not get lost in git");
  git.git({"sparse-checkout", "set", "here"});
  transcript.weft({"git", "import"});
  machine.ok({"commit", "-m", "Without what is left out"});
  transcript.weft({"git", "export"});
  EXPECT_EQ(git.git({"ls-tree", "--name-only", "-r", "main", "left"}), "left/b");
  transcript.expect("git_init_odd");
}

TEST(GitGolden, RefsOfOtherKindsAreNamed) {
  Machine machine;
  GitRepository git(machine.dir().path(), "git");
  git.write("README", "a demo\n");
  git.commit("Begin");
  git.git({"notes", "add", "-m", "a note"});
  git.git({"update-ref", "refs/custom/one", "HEAD"});
  Transcript transcript(machine);
  mask_what_varies(transcript);
  machine.ok({"init"});
  transcript.weft({"git", "import", "../git"});
  transcript.weft({"git", "import", "ssh://host/git"});
  transcript.weft({"git", "export", "me@host:git"});
  transcript.say("an export into the workspace");
  transcript.weft({"git", "export", "out.git"});
  transcript.say("no store where another store has a workspace");
  machine.ok({"workspace", "add", "second", "--path", "../second"});
  machine.directory_ = machine.dir().path() + "/second";
  transcript.weft({"init"});
  EXPECT_TRUE(std::filesystem::is_regular_file(machine.directory_ + "/.weft"));
  transcript.expect("git_other_refs");
}

}  // namespace
}  // namespace weft::cli
