#include "work/ignore.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/testing/temp_dir.h"

namespace weft::work {
namespace {

namespace stdfs = std::filesystem;

bool ignored(std::string_view file, std::string_view path, bool is_directory = false) {
  const IgnorePattern* pattern = PatternList::parse(file).last_match(path, is_directory);
  return pattern != nullptr && !pattern->negative;
}

TEST(Ignore, LinesAreReadAsGitReadsThem) {
  EXPECT_TRUE(
      ignored("\xef\xbb\xbf"
              "a\n",
              "a"));
  EXPECT_TRUE(ignored("a\r\nb\r\n", "a"));
  EXPECT_TRUE(ignored("a   \n", "a"));
  EXPECT_TRUE(ignored("a\\ \n", "a "));
  EXPECT_FALSE(ignored("a\\ \n", "a"));
  EXPECT_TRUE(ignored("a", "a"));
  EXPECT_FALSE(ignored("#a\n", "#a"));
  EXPECT_TRUE(ignored("\\#a\n", "#a"));
  EXPECT_TRUE(ignored("\\!a\n", "!a"));
  EXPECT_FALSE(ignored("a\n!a\n", "a"));
  EXPECT_TRUE(ignored("!a\na\n", "a"));
  EXPECT_FALSE(ignored("\n!\n/\n//\n!/\n", "a"));
  EXPECT_TRUE(ignored(std::string("a\0b\n", 4), "a"));
  EXPECT_FALSE(ignored(std::string(kMaxPatternBytes + 1, '*') + "\n", "a"));
  EXPECT_TRUE(ignored(std::string(kMaxPatternBytes, '*') + "\n", "a"));
}

TEST(Ignore, AnchorsDirectoriesAndStars) {
  EXPECT_TRUE(ignored("a\n", "x/y/a"));
  EXPECT_FALSE(ignored("/a\n", "x/a"));
  EXPECT_FALSE(ignored("x/a\n", "y/x/a"));
  EXPECT_TRUE(ignored("a/\n", "x/a", true));
  EXPECT_FALSE(ignored("a/\n", "x/a", false));
  EXPECT_TRUE(ignored("*.o\n", "x/a.o"));
  EXPECT_TRUE(ignored("**/b\n", "b"));
  EXPECT_TRUE(ignored("a/**\n", "a/b"));
  EXPECT_FALSE(ignored("a/**\n", "a", true));
  EXPECT_TRUE(ignored("a/**/b\n", "a/b"));
}

TEST(Ignore, OrderOfTheFiles) {
  const auto base = IgnoreLevel::base(Bytes("g\nx\n"), Bytes("e\n!x\n"));
  EXPECT_TRUE(base->ignores("g", false));
  EXPECT_TRUE(base->ignores("e", false));
  EXPECT_FALSE(base->ignores("x", false));  // info/exclude before the global file
  const auto top = IgnoreLevel::enter(base, "", Bytes("!e\nw\n"), Bytes("!w\n"));
  EXPECT_FALSE(top->ignores("e", false));  // a file in the tree before info/exclude
  EXPECT_FALSE(top->ignores("w", false));  // .weftignore before .gitignore
  const auto inner = IgnoreLevel::enter(top, "d", Bytes("/w\n"), std::nullopt);
  EXPECT_TRUE(inner->ignores("d/w", false));  // the deeper directory first
  EXPECT_FALSE(inner->ignores("d/y/w", false));
  EXPECT_EQ(IgnoreLevel::enter(inner, "d/z", Bytes("# nothing\n"), std::nullopt), inner);
}

// ---- against git

constexpr int kTrees = 30;
constexpr unsigned kSeed = 20240817;

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

struct Generated {
  std::set<std::string> directories;  // without the top
  std::set<std::string> files;
  std::map<std::string, std::string> ignore_files;  // directory -> content of .gitignore
  std::string exclude;
  std::string global;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Generated tree() {
    Generated out;
    std::vector<std::string> directories{""};
    for (int i = pick(4, 12); i > 0; --i) {
      const std::string& parent = directories[at(directories.size())];
      if (std::count(parent.begin(), parent.end(), '/') > 3) continue;
      const std::string path = (parent.empty() ? "" : parent + "/") + name();
      if (out.directories.insert(path).second) directories.push_back(path);
    }
    for (int i = pick(20, 40); i > 0; --i) {
      const std::string& parent = directories[at(directories.size())];
      const std::string path = (parent.empty() ? "" : parent + "/") + name();
      if (!out.directories.contains(path)) out.files.insert(path);
    }
    for (const std::string& directory : directories) {
      if (directory.empty() || pick(0, 2) == 0) out.ignore_files[directory] = ignore_file();
    }
    out.exclude = ignore_file();
    out.global = ignore_file();
    return out;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::size_t at(std::size_t size) { return static_cast<std::size_t>(pick(0, static_cast<int>(size) - 1)); }

  std::string name() {
    static const char* const kNames[] = {
        "a",     "b",   "ab",  "abc", "a.o",         "b.o", "foo", "foo.c", "bar", "Bar",   "x y",      "sp ", "#hash",
        "!bang", "[x]", "a]b", "-d",  "back\\slash", "q?",  "*",   "7",     "a-b", "build", "\xc3\xa4", "t\tb"};
    return kNames[at(std::size(kNames))];
  }

  std::string piece() {
    static const char* const kPieces[] = {"a",
                                          "b",
                                          "ab",
                                          "foo",
                                          "bar",
                                          "*",
                                          "?",
                                          "*.o",
                                          "*.c",
                                          "[ab]",
                                          "[!a]",
                                          "[^a-c]",
                                          "[a-",
                                          "[[:alpha:]]",
                                          "[[:digit:]x]",
                                          "a*",
                                          "*b",
                                          "**",
                                          "a**",
                                          "**b",
                                          "\\*",
                                          "\\[x]",
                                          "\\#hash",
                                          "x\\ y",
                                          "sp\\ ",
                                          "f*o",
                                          "f?o*",
                                          "*a*b*",
                                          "[]-a]b",
                                          "a[]]b",
                                          "build",
                                          "b*d",
                                          "[\\]x]",
                                          "back\\\\slash",
                                          "\\",
                                          "*[[:upper:]]*",
                                          "***",
                                          "[a-c]*",
                                          "\xc3\xa4"};
    return kPieces[at(std::size(kPieces))];
  }

  std::string pattern() {
    std::string out;
    if (pick(0, 3) == 0) out += '!';
    if (pick(0, 3) == 0) out += '/';
    const int pieces = pick(1, 10) <= 6 ? 1 : pick(2, 4);
    for (int i = 0; i < pieces; ++i) {
      if (i > 0) out += pick(0, 7) == 0 ? "" : "/";
      out += piece();
    }
    if (pick(0, 3) == 0) out += '/';
    if (pick(0, 9) == 0) out += pick(0, 1) == 0 ? "  " : "\\ ";
    return out;
  }

  std::string ignore_file() {
    std::string out;
    if (pick(0, 19) == 0) out += "\xef\xbb\xbf";
    for (int i = pick(0, 7); i > 0; --i) {
      if (pick(0, 9) == 0) out += "# comment\n";
      if (pick(0, 9) == 0) out += "\n";
      out += pattern();
      if (i > 1 || pick(0, 3) != 0) out += pick(0, 9) == 0 ? "\r\n" : "\n";
    }
    return out;
  }

  std::mt19937 random_;
};

/// What decides about a path: "FILE:LINE", or "" when nothing does.
std::map<std::string, std::string> ours(const Generated& tree) {
  // IgnorePattern pointers say which line; which file is found by asking each list alone.
  struct Source {
    std::string label;
    std::string directory;
    PatternList list;
  };
  std::map<std::string, std::string> out;
  const auto decide = [&](const std::string& path, bool is_directory) -> std::pair<std::string, bool> {
    std::vector<Source> sources;
    IgnoreLevel::Pointer level = IgnoreLevel::base(tree.global, tree.exclude);
    sources.push_back({"global", "", PatternList::parse(tree.global)});
    sources.push_back({".git/info/exclude", "", PatternList::parse(tree.exclude)});
    for (std::size_t end = 0;;) {
      const std::string directory = path.substr(0, end);
      if (const auto file = tree.ignore_files.find(directory); file != tree.ignore_files.end()) {
        level = IgnoreLevel::enter(level, directory, file->second, std::nullopt);
        sources.push_back(
            {(directory.empty() ? "" : directory + "/") + ".gitignore", directory, PatternList::parse(file->second)});
      }
      end = path.find('/', end == 0 ? 0 : end + 1);
      if (end == std::string::npos) break;
    }
    const IgnorePattern* verdict = level->decide(path, is_directory);
    if (verdict == nullptr) return {"", false};
    for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
      const std::string inside = source->directory.empty() ? path : path.substr(source->directory.size() + 1);
      const IgnorePattern* pattern = source->list.last_match(inside, is_directory);
      if (pattern == nullptr) continue;
      EXPECT_EQ(pattern->line, verdict->line);
      return {source->label + ":" + std::to_string(pattern->line), !pattern->negative};
    }
    ADD_FAILURE() << "no source for the verdict on " << path;
    return {"", false};
  };
  const auto answer = [&](const std::string& path, bool is_directory) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const auto [label, is_ignored] = decide(path.substr(0, slash), true);
      if (is_ignored) {  // I1
        out[path] = label;
        return;
      }
    }
    out[path] = decide(path, is_directory).first;
  };
  for (const std::string& path : tree.directories) answer(path, true);
  for (const std::string& path : tree.files) answer(path, false);
  return out;
}

void write(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

TEST(Ignore, DecidesAsGitDoesOnGeneratedTrees) {
  if (std::system("git --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "SKIPPED LOUDLY: git is not installed, ignore rules were not compared with it";
  }
  std::size_t compared = 0;
  std::size_t decided = 0;
  for (int round = 0; round < kTrees; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    const Generated tree = Generator(kSeed + static_cast<unsigned>(round)).tree();
    const TempDir temp;
    const std::string top = temp / "tree";
    ASSERT_EQ(::mkdir(top.c_str(), 0755), 0);
    ASSERT_EQ(std::system(("git init -q " + shell_quoted(top)).c_str()), 0);
    for (const std::string& path : tree.directories) stdfs::create_directories(top + "/" + path);
    for (const std::string& path : tree.files) write(top + "/" + path, "x");
    for (const auto& [directory, content] : tree.ignore_files) write(top + "/" + directory + "/.gitignore", content);
    write(top + "/.git/info/exclude", tree.exclude);
    write(temp / "global", tree.global);
    std::string input;
    for (const std::string& path : tree.directories) input += path + '\0';
    for (const std::string& path : tree.files) input += path + '\0';
    write(temp / "input", input);
    const std::string command = "cd " + shell_quoted(top) +
                                " && git -c core.excludesFile=" + shell_quoted(temp / "global") +
                                " check-ignore --no-index -v -n -z --stdin < " + shell_quoted(temp / "input") + " > " +
                                shell_quoted(temp / "output");
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    std::ifstream file(temp / "output", std::ios::binary);
    const std::string output((std::istreambuf_iterator<char>(file)), {});
    std::map<std::string, std::string> gits;
    for (std::size_t at = 0; at < output.size();) {
      std::string field[4];  // source, line, pattern, path
      for (std::string& text : field) {
        const std::size_t end = output.find('\0', at);
        ASSERT_NE(end, std::string::npos);
        text = output.substr(at, end - at);
        at = end + 1;
      }
      if (field[0] == temp / "global") field[0] = "global";
      gits[field[3]] = field[0].empty() ? "" : field[0] + ":" + field[1];
    }
    const auto mine = ours(tree);
    ASSERT_EQ(gits.size(), mine.size());
    for (const auto& [path, verdict] : mine) {
      EXPECT_EQ(verdict, gits[path]) << path;
      ++compared;
      decided += verdict.empty() ? 0 : 1;
    }
  }
  // The generator must keep meeting both outcomes, or the comparison says nothing.
  EXPECT_GT(decided, compared / 10);
  EXPECT_LT(decided, compared * 9 / 10);
}

}  // namespace
}  // namespace weft::work
