// show of a merge against `git show --cc`, on generated merges.
#include <random>

#include <gtest/gtest.h>

#include "cli/testing/golden.h"
#include "git/testing/git_fixture.h"
#include "text/combined.h"

namespace weft::cli {
namespace {

using git::testing::GitRepository;
using git::testing::TemporaryDirectory;
using testing::Machine;

/// Without what is told apart on purpose: object ids, and what stands behind the last @.
/// Without context git counts a line too many where lines are lost at the end of a file: then hunks' lines alone count.
std::string comparable(const std::string& patch, bool counts) {
  std::string out;
  for (const auto line : text::split_lines(patch)) {
    if (line.starts_with("index ")) continue;
    if (line.starts_with("@@@") && !counts) continue;
    if (line.starts_with("@@@")) {
      const auto last = line.find("@@@", line.find(" +"));
      out += line.substr(0, line.find_first_not_of('@', last));
      out += '\n';
      continue;
    }
    out += line;
  }
  return out;
}

using Files = std::map<std::string, std::pair<std::string, std::string>>;  // path -> mode, content

class Merges {
 public:
  Merges(GitRepository& repository, unsigned seed) : repository_(repository), random_(seed) {}

  Files make() {
    Files files;
    for (int i = 0; i < 6; ++i) files["f" + std::to_string(i)] = {"100644", content()};
    files["d/binary"] = {"100644", std::string("\0x", 2)};
    files["a link"] = {"120000", "f1"};
    return files;
  }
  /// One side of a merge, or what somebody made of a merge's result.
  Files changed(Files files, unsigned much) {
    for (auto& [path, file] : files) {
      if (pick(100) >= much) continue;
      const unsigned what = pick(20);
      if (what == 0) file.first = file.first == "100644" ? "100755" : file.first;
      file.second = file.first == "120000" ? "f" + std::to_string(pick(9)) : edited(file.second);
    }
    if (pick(4) == 0) files.erase(std::next(files.begin(), pick(static_cast<unsigned>(files.size()))));
    if (pick(3) == 0) files["new" + std::to_string(pick(3))] = {"100644", content()};
    return files;
  }
  /// Of every file what one of the sides has, mixed line by line now and then.
  Files merged(const std::vector<Files>& sides) {
    Files out;
    for (const auto& side : sides) {
      for (const auto& [path, file] : side) {
        const auto& other = sides[pick(static_cast<unsigned>(sides.size()))];
        const auto there = other.find(path);
        if (there == other.end()) continue;
        out[path] = there->second;
        if (pick(3) == 0 && file.first != "120000") out[path].second = mixed(file.second, there->second.second);
      }
    }
    return pick(2) == 0 ? changed(out, 30) : out;
  }
  std::string commit(const Files& files, const std::vector<std::string>& parents) {
    repository_.git({"read-tree", "--empty"});
    for (const auto& [path, file] : files) {
      repository_.git({"update-index", "--add", "--cacheinfo",
                       file.first + "," + repository_.object("blob", file.second) + "," + path});
    }
    return repository_.commit_tree(repository_.git({"write-tree"}), parents);
  }
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }

 private:
  std::string line() { return (pick(4) == 0 ? "int f" : " line ") + std::to_string(++made_) + "\n"; }
  std::string content() {
    std::string out;
    for (unsigned lines = pick(30); lines > 0; --lines) out += line();
    if (pick(6) == 0) out += "no end";
    return out;
  }
  std::string edited(const std::string& before) {
    std::string after;
    for (const auto each : text::split_lines(before)) {
      const unsigned what = pick(12);
      if (what == 0) continue;
      if (what == 1) after += line();
      after += what == 2 ? line() : std::string(each);
    }
    return after;
  }
  std::string mixed(const std::string& a, const std::string& b) {
    const auto first = text::split_lines(a), second = text::split_lines(b);
    std::string out;
    const std::size_t cut = first.empty() ? 0 : pick(static_cast<unsigned>(first.size()));
    for (std::size_t i = 0; i < cut; ++i) out += first[i];
    for (std::size_t i = std::min(cut, second.size()); i < second.size(); ++i) out += second[i];
    return out;
  }

  GitRepository& repository_;
  std::mt19937 random_;
  unsigned made_ = 0;
};

TEST(CombinedPatch, MergesAreShownAsGitShowsThem) {
  TemporaryDirectory directory;
  GitRepository git(directory.path(), "git");
  Merges merges(git, 7);
  std::vector<std::string> ids;
  for (int round = 0; round < 40; ++round) {
    const Files base = merges.make();
    const std::string root = merges.commit(base, {});
    std::vector<Files> sides;
    std::vector<std::string> parents;
    const unsigned count = round % 5 == 0 ? 3 : 2;
    for (unsigned i = 0; i < count; ++i) {
      sides.push_back(merges.changed(base, 60));
      parents.push_back(merges.commit(sides.back(), {root}));
    }
    ids.push_back(merges.commit(merges.merged(sides), parents));
    git.git({"tag", "m" + std::to_string(round), ids.back()});
  }
  git.git({"read-tree", "HEAD"});
  Machine machine;
  machine.ok({"init"});
  machine.ok({"git", "import", git.path()});
  std::size_t shown = 0;
  for (const auto& id : ids) {
    SCOPED_TRACE(id);
    for (const std::string context : {"3", "0", "1", "8"}) {
      const std::string theirs =
          git.git({"show", "--cc", "--histogram", "--no-renames", "--format=", "-U" + context, id});
      const std::string ours = machine.ok({"show", "--format=", "-U" + context, "git:" + id});
      EXPECT_EQ(comparable(ours, context != "0"), comparable(theirs.empty() ? theirs : theirs + "\n", context != "0"))
          << "context " << context;
      shown += theirs.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(shown, 60u);  // else the test shows nothing
}

TEST(CombinedPatch, OneParentIsAskedForByNumberAndAMergeThatOnlyTookSidesShowsNothing) {
  TemporaryDirectory directory;
  GitRepository git(directory.path(), "git");
  git.write("a", "one\n");
  git.write("b", "one\n");
  git.commit("base");
  git.git({"switch", "-q", "-c", "side"});
  git.write("b", "two\n");
  git.commit("side");
  git.git({"switch", "-q", "main"});
  git.write("a", "two\n");
  git.commit("main");
  git.git({"merge", "-q", "--no-ff", "-m", "merge", "side"});
  Machine machine;
  machine.ok({"init"});
  machine.ok({"git", "import", git.path()});
  EXPECT_EQ(machine.ok({"show", "--format=", "main"}), "");
  EXPECT_NE(machine.ok({"show", "--format=", "--parent", "1", "main"}).find("+++ b/b"), std::string::npos);
  EXPECT_NE(machine.ok({"show", "--format=", "--parent", "2", "main"}).find("+++ b/a"), std::string::npos);
  EXPECT_NE(machine.ok({"show", "--format=", "--stat", "main"}).find("b | 2 +-"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli
