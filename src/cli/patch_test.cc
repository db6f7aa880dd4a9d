// diff against git: what it prints is applied by `git apply` and gives the other tree; --stat, --numstat and
// --name-status are git's.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>

#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;

constexpr std::string_view kGit =
    "GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent LC_ALL=C git -c core.quotepath=off "
    "-c user.name=A -c user.email=a@b ";

struct Shell {
  std::string out;
  int code = 0;
};
Shell shell(const std::string& directory, const std::string& command) {
  Shell result;
  std::FILE* pipe = ::popen(("cd '" + directory + "' && { " + command + "; } 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::array<char, 4096> piece{};
  for (std::size_t got; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
    result.out.append(piece.data(), got);
  }
  result.code = ::pclose(pipe);
  return result;
}

/// Makes and changes trees that have a bit of everything.
class Trees {
 public:
  explicit Trees(Machine& machine, unsigned seed) : machine_(machine), random_(seed) {}

  void begin() {
    for (int i = 0; i < 12; ++i) create();
  }
  void change(bool renames) {
    for (int i = 0; i < 6; ++i) {
      const auto names = files();
      const unsigned what = pick(renames ? 10 : 7);
      if (names.size() < 4 || what == 0) {
        create();
      } else if (what == 1) {
        remove(choose(names));
      } else if (what == 2) {
        const auto path = choose(names);
        if (std::filesystem::is_symlink(host(path))) continue;
        std::filesystem::permissions(host(path),
                                     pick(2) == 0 ? std::filesystem::perms(0755) : std::filesystem::perms(0644));
      } else if (what == 3) {
        const auto path = choose(names);
        remove(path);
        std::filesystem::create_directories(std::filesystem::path(host(path)).parent_path());
        std::filesystem::create_symlink("to " + std::to_string(pick(100)), host(path));
      } else if (what < 7) {
        edit(choose(names));
      } else if (what == 9) {
        move_directory();
      } else {
        const auto from = choose(names), to = new_path();
        if (std::filesystem::exists(host(from))) machine_.rename(from, to);
        if (pick(2) == 0) edit(to);
      }
    }
  }
  std::vector<std::string> files() {
    std::vector<std::string> out;
    for (auto at = std::filesystem::recursive_directory_iterator(machine_.directory_);
         at != std::filesystem::recursive_directory_iterator(); ++at) {
      const auto path = std::filesystem::relative(at->path(), machine_.directory_).string();
      if (path == ".weft") {
        at.disable_recursion_pending();
      } else if (at->is_symlink() || at->is_regular_file()) {
        out.push_back(path);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  const std::string& choose(const std::vector<std::string>& names) {
    return names[pick(static_cast<unsigned>(names.size()))];
  }
  std::string host(const std::string& path) { return machine_.directory_ + "/" + path; }
  std::string new_path() {
    static constexpr std::string_view kTops[] = {"", "a/", "a/b/", "d e/", "f/\xc3\xa9/"};
    static constexpr std::string_view kNames[] = {"x", "y z", "q\"uote", "tab\tbed", "\xc3\xbc", "main.cc", "read.md"};
    return std::string(kTops[pick(5)]) + std::string(kNames[pick(7)]) + std::to_string(++made_);
  }
  /// Every line is its own, so that there is one best diff.
  std::string line() {
    return (pick(4) == 0 ? "int function_" : "  line ") + std::to_string(++made_) + (pick(8) == 0 ? " \r" : "") + "\n";
  }
  void create() {
    std::string content;
    if (pick(9) == 0) content = std::string("\0bin", 4) + std::to_string(++made_);
    for (unsigned lines = pick(40); lines > 0; --lines) content += line();
    if (pick(6) == 0) content += "no end";
    machine_.write(new_path(), content);
  }
  void remove(const std::string& path) { std::filesystem::remove(host(path)); }
  void edit(const std::string& path) {
    if (!std::filesystem::exists(host(path)) || std::filesystem::is_symlink(host(path))) return;
    std::ifstream file(host(path), std::ios::binary);
    const std::string before{std::istreambuf_iterator<char>(file), {}};
    std::string after;
    for (const auto each : text::split_lines(before)) {
      const unsigned what = pick(10);
      if (what == 0) continue;
      if (what == 1) after += line();
      after += what == 2 ? line() : std::string(each);
    }
    if (pick(3) == 0) after += pick(2) == 0 ? line() : "cut";
    machine_.write(path, after);
  }
  void move_directory() {
    for (const std::string from : {"a", "d e", "f", "a/b"}) {
      if (!std::filesystem::is_directory(host(from)) || pick(2) == 0) continue;
      machine_.rename(from, "moved" + std::to_string(++made_));
      return;
    }
  }

  Machine& machine_;
  std::mt19937 random_;
  unsigned made_ = 0;
};

/// Two versions in a store, and the same two as trees of a git repository.
struct Pair {
  Machine machine;
  std::string git;
  std::string before, after;  ///< git's trees

  Pair(unsigned seed, bool renames) : git(machine.dir() / "git") {
    machine.ok({"init"});
    Trees trees(machine, seed);
    trees.begin();
    machine.ok({"commit", "-q", "-m", "before", "--allow-empty"});
    std::filesystem::create_directory(git);
    shell(git, std::string(kGit) + "init -q .");
    before = tree();
    trees.change(renames);
    machine.ok({"commit", "-q", "-m", "after", "--allow-empty"});
    after = tree();
  }
  std::string tree() {
    const std::string with =
        std::string(kGit) + "--git-dir='" + git + "/.git' --work-tree='" + machine.directory_ + "' ";
    shell(git, with + "add -A -- . ':!.weft'");
    auto written = shell(git, with + "write-tree");
    EXPECT_EQ(written.code, 0) << written.out;
    written.out.resize(40);
    return written.out;
  }
  /// The tree a patch makes of another.
  std::string applied(const std::string& from, const std::string& patch, const std::string& options) {
    machine.write("../patch", patch);
    const auto read = shell(git, std::string(kGit) + "read-tree " + from);
    EXPECT_EQ(read.code, 0) << read.out;
    if (patch.empty()) return from;
    const auto ran = shell(git, std::string(kGit) + "apply --cached --whitespace=nowarn " + options + " ../patch");
    EXPECT_EQ(ran.code, 0) << ran.out << "\n" << patch;
    auto written = shell(git, std::string(kGit) + "write-tree");
    written.out.resize(40);
    return written.out;
  }
};

/// git cannot take content that is not in the patch: pairs with binary changes are only compared in their stats.
bool shows_everything(const std::string& patch) { return patch.find("\nBinary files ") == std::string::npos; }

TEST(PatchAgainstGit, GitAppliesWhatDiffPrints) {  // PT-1
  unsigned applied = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Pair pair(seed, true);
    for (const std::string context : {"-U3", "-U0"}) {
      const std::string patch = pair.machine.ok({"diff", context, "@-", "@"});
      if (!shows_everything(patch)) continue;
      const std::string options = context == "-U0" ? "--unidiff-zero" : "";
      EXPECT_EQ(pair.applied(pair.before, patch, options), pair.after) << "seed " << seed << "\n" << patch;
      const std::string back = pair.machine.ok({"diff", "-R", context, "@-", "@"});
      EXPECT_EQ(pair.applied(pair.after, back, options), pair.before) << "seed " << seed << "\n" << back;
      ++applied;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(applied, 60U);
}

TEST(PatchAgainstGit, StatsAreGits) {
  for (unsigned seed = 100; seed < 140; ++seed) {
    Pair pair(seed, false);
    for (const std::string form : {"--stat", "--numstat", "--shortstat", "--name-status", "--name-only"}) {
      const std::string mine = pair.machine.ok({"diff", form, "@-", "@"});
      const std::string theirs = shell(pair.git, std::string(kGit) + "diff --histogram --no-renames " + form + " " +
                                                     pair.before + " " + pair.after)
                                     .out;
      const auto sorted = [](const std::string& text) {
        std::vector<std::string> lines;
        for (const auto line : text::split_lines(text)) lines.emplace_back(line);
        std::sort(lines.begin(), lines.end());
        return lines;
      };
      // The order of names differs in one thing: here a directory is followed by what is in it.
      EXPECT_EQ(sorted(mine), sorted(theirs)) << "seed " << seed << " " << form << "\n" << mine << "\n" << theirs;
    }
    if (HasFailure()) return;
  }
}

TEST(PatchAgainstGit, WidthsOfAStat) {
  Machine machine;
  machine.ok({"init"});
  const std::string git = machine.dir() / "git";
  std::filesystem::create_directory(git);
  shell(git, std::string(kGit) + "init -q .");
  const auto lines = [](int count, const std::string& text) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text + std::to_string(i) + "\n";
    return out;
  };
  const std::string deep = "some/very/long/directory/name/that/goes/on/and/on/until/nothing/fits/any/more/file.txt";
  machine.write(deep, lines(10, "a"));
  machine.write("short", lines(500, "b"));
  machine.write("one", "1\n");
  machine.write("bin", std::string("\0x", 2));
  machine.write("\xc3\xbcml\xc3\xa4ut", "u\n");
  machine.ok({"commit", "-q", "-m", "before"});
  const std::string with = std::string(kGit) + "--git-dir='" + git + "/.git' --work-tree='" + machine.directory_ + "' ";
  shell(git, with + "add -A -- . ':!.weft' && " + with + "commit -q -m before");
  machine.write(deep, lines(7, "c"));
  machine.write("short", lines(1200, "d"));
  machine.write("one", "2\n");
  machine.write("bin", std::string("\0xyz", 4));
  machine.write("\xc3\xbcml\xc3\xa4ut", "v\n");
  machine.ok({"commit", "-q", "-m", "after"});
  shell(git, with + "add -A -- . ':!.weft' && " + with + "commit -q -m after");
  const auto theirs = [&](const std::string& options) {
    return shell(git, std::string(kGit) + "diff --histogram " + options + " HEAD~ HEAD").out;
  };
  machine.environment_["WEFT_PAGER"] = "cat";
  EXPECT_EQ(machine.ok({"diff", "--stat", "@-", "@"}), theirs("--stat"));
  machine.terminal_ = true;
  for (const int columns : {20, 30, 40, 60, 79, 80, 100, 132, 200}) {
    machine.columns_ = columns;
    EXPECT_EQ(machine.ok({"diff", "--no-color", "--stat", "@-", "@"}), theirs("--stat=" + std::to_string(columns)))
        << columns;
  }
}

TEST(PatchAgainstGit, RenamesInAStat) {
  Machine machine;
  machine.ok({"init"});
  const std::string git = machine.dir() / "git";
  std::filesystem::create_directory(git);
  shell(git, std::string(kGit) + "init -q .");
  struct Rename {
    std::string from, to;
  };
  const Rename renames[] = {{"a/b/c", "a/c"}, {"a/x", "a/y"},       {"d/e/f", "d/g/f"},    {"top", "down/top"},
                            {"p/q", "r"},     {"i/j/k/l", "i/k/l"}, {"same/n", "other/n"}, {"m n", "m o"},
                            {"q\"x", "q\"y"}, {"u/v/w", "u/v/v/w"}};
  for (const auto& each : renames) machine.write(each.from, "content of " + each.from + "\n");
  machine.ok({"commit", "-q", "-m", "before"});
  const std::string with = std::string(kGit) + "--git-dir='" + git + "/.git' --work-tree='" + machine.directory_ + "' ";
  shell(git, with + "add -A -- . ':!.weft' && " + with + "commit -q -m before");
  for (const auto& each : renames) machine.rename(each.from, each.to);
  machine.ok({"commit", "-q", "-m", "after"});
  shell(git, with + "add -A -- . ':!.weft' && " + with + "commit -q -m after");
  for (const std::string form : {"--stat", "--numstat"}) {
    const auto sorted = [](const std::string& text) {
      std::vector<std::string> lines;
      for (const auto line : text::split_lines(text)) lines.emplace_back(line);
      std::sort(lines.begin(), lines.end());
      return lines;
    };
    const std::string mine = machine.ok({"diff", form, "@-", "@"});
    const std::string theirs = shell(git, std::string(kGit) + "diff -M " + form + " HEAD~ HEAD").out;
    EXPECT_EQ(sorted(mine), sorted(theirs)) << mine << theirs;
  }
}

TEST(PatchAgainstGit, WordDiff) {
  Machine machine;
  machine.ok({"init"});
  const std::string git = machine.dir() / "git";
  std::filesystem::create_directory(git);
  const std::string before = "one two three\n\nkeep this\ngone line\nalpha beta\n",
                    after = "one 2 three four\n\nkeep this\nalpha  beta gamma\nnew line\n";
  machine.write("f", before);
  machine.ok({"commit", "-q", "-m", "before"});
  machine.write("f", after);
  machine.ok({"commit", "-q", "-m", "after"});
  machine.write("../git/a", before);
  machine.write("../git/b", after);
  const auto from_hunk = [](const std::string& text) { return text.substr(text.find("@@")); };
  EXPECT_EQ(from_hunk(machine.ok({"diff", "--word-diff", "@-", "@"})),
            from_hunk(shell(git, std::string(kGit) + "diff --no-index --histogram --word-diff a b").out));
}

}  // namespace
}  // namespace weft::cli
