// Ignore rules compared with the git command on generated trees: `git check-ignore` says which line of which file
// decides about each path, `git status --ignored` what is untracked and what is ignored in the end.
//
// The generator leans towards what goes wrong: patterns are made by mangling paths that exist, in every notation, and
// many are malformed. WEFT_IGNORE_TREES=N compares N trees (the numbers are seeds: N+1 begins where N ended),
// WEFT_IGNORE_FIRST=K begins at the K-th.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/process.h"
#include "base/testing/temp_dir.h"
#include "work/ignore.h"
#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

namespace stdfs = std::filesystem;
using testing::must;

constexpr unsigned kTrees = 120;
constexpr unsigned kSeed = 20240817;
constexpr std::size_t kMaxShown = 10;  // differences

enum class Odd : std::uint8_t { none, link, directory };

struct Generated {
  std::set<std::string> directories;  // without the top
  std::set<std::string> files;
  std::set<std::string> links;
  std::set<std::string> tracked;                    // of the files
  std::map<std::string, std::string> ignore_files;  // directory -> content of .gitignore
  std::map<std::string, Odd> odd_ignore_files;      // those git does not read
  std::string exclude;
  std::string global;
  bool fold_case = false;
};

std::string child(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Generated tree() {
    Generated out;
    out.fold_case = one_in(6);
    for (int i = pick(5, 12); i > 0; --i) names_.push_back(name());
    std::vector<std::string> directories{""};
    for (int i = pick(3, 14); i > 0; --i) {
      const std::string& parent = directories[at(directories.size())];
      if (std::count(parent.begin(), parent.end(), '/') > 4) continue;
      const std::string path = child(parent, names_[at(names_.size())]);
      if (out.directories.insert(path).second) directories.push_back(path);
    }
    const auto is_free = [&](const std::string& path) {
      return !out.directories.contains(path) && !out.files.contains(path) && !out.links.contains(path);
    };
    for (int i = pick(15, 45); i > 0; --i) {
      const std::string path = child(directories[at(directories.size())], names_[at(names_.size())]);
      if (!is_free(path)) continue;
      (one_in(12) ? out.links : out.files).insert(path);
    }
    paths_.assign(out.directories.begin(), out.directories.end());
    paths_.insert(paths_.end(), out.files.begin(), out.files.end());
    paths_.insert(paths_.end(), out.links.begin(), out.links.end());
    if (!out.fold_case && one_in(2)) {  // with core.ignoreCase git finds tracked files by folded names
      for (const std::string& path : out.files) {
        if (one_in(4)) out.tracked.insert(path);
      }
    }
    for (const std::string& directory : directories) {
      if (!directory.empty() && !one_in(3)) continue;
      if (one_in(25)) {
        out.odd_ignore_files[directory] = one_in(2) ? Odd::link : Odd::directory;
      } else {
        out.ignore_files[directory] = ignore_file(directory);
      }
    }
    out.exclude = one_in(2) ? ignore_file("") : "";
    out.global = one_in(2) ? ignore_file("") : "";
    return out;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::size_t at(std::size_t size) { return static_cast<std::size_t>(pick(0, static_cast<int>(size) - 1)); }
  bool one_in(int n) { return pick(1, n) == 1; }

  std::string name() {
    static const char* const kNames[] = {
        "a",     "b",    "A",        "ab",  "abc",       "a.o",      "b.o",     "foo",  "foo.c", "bar",      "Bar",
        "x y",   "sp ",  " sp",      "#h",  "!bang",     "[x]",      "a]b",     "-d",   "b\\s",  "back\\",   "q?",
        "*",     "**",   "7",        "a-b", "build",     "\xc3\xa4", "\xff",    "t\tb", "cr\r",  "n\nl",     "^",
        "[",     "]",    "c:",       "a:b", "[:alpha:]", "a^b",      ".hidden", "...",  "~",     "aaaaaaaa", "{a,b}",
        "a.b.c", "\x01", "Makefile", "z",   "Z",         "[a-c]",    "\\*",     "é",    "\xc3"};
    return kNames[at(std::size(kNames))];
  }

  static bool special(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

  /// One byte of a name, as a pattern might have it.
  std::string mangled(char c) {
    const std::string s(1, c);
    switch (pick(0, 25)) {
      case 0:
        return "?";
      case 1:
        return "*";
      case 2:
        return "[" + s + "]";
      case 3:
        return "[!" + s + "]";
      case 4:
        return "[^q" + std::string(one_in(2) ? "-z" : "") + "]";
      case 5:
        return "[" + std::string(1, static_cast<char>(c - 1)) + "-" + static_cast<char>(c + 1) + "]";
      case 6: {
        static const char* const kClasses[] = {"alpha",    "digit", "alnum", "upper", "lower", "space",
                                               "blank",    "punct", "print", "graph", "cntrl", "xdigit",
                                               "nonsense", "",      "alph",  "ALPHA"};
        return std::string(one_in(4) ? "[^" : "[") + (one_in(3) ? s : "") + "[:" + kClasses[at(std::size(kClasses))] +
               (one_in(8) ? "]" : ":]") + (one_in(3) ? "-" + s : "") + "]";
      }
      case 7:
        return "\\" + s;
      case 8:
        return "[" + s;
      case 9:
        return "[]" + s + "]";
      case 10:
        return "[" + s + "-]";
      case 11:
        return "[-" + s + "]";
      case 12:
        return "[\\" + s + "]";
      case 13:
        return "[a-\\" + s + "]";
      case 14:
        return "[[." + s + ".]]";
      case 15:
        return "[!]" + s + "]";
      case 16:
        return "[" + s + "-" + static_cast<char>(c - 1) + "]";  // a range the wrong way round
      case 17:
        return s + "*";
      case 18:
        return "**";
      case 19:
        return "[]-" + s + "]";
      case 20:
        return "[" + s + "/]";
      case 21: {
        const bool upper = c >= 'A' && c <= 'Z';
        const bool lower = c >= 'a' && c <= 'z';
        return upper || lower ? std::string(1, static_cast<char>(c ^ 0x20)) : s;
      }
      case 22:
        return "[a-c-" + s + "]";
      default:
        return special(c) && !one_in(4) ? "\\" + s : s;
    }
  }

  std::string component(const std::string& text) {
    switch (pick(0, 15)) {
      case 0:
        return "*";
      case 1:
        return "**";
      case 2:
        return "?" + text.substr(1);
      case 3:
        return text.substr(0, at(text.size() + 1)) + "*";
      case 4:
        return "*" + text.substr(at(text.size() + 1));
      case 5:
        return "***";
      case 6:
        return "*?";
      case 7:
        return text + "**";
      case 8:
        return "**" + text;
      case 9:
      case 10:
      case 11: {
        std::string out;
        for (const char c : text) out += one_in(2) ? std::string(1, c) : mangled(c);
        return out;
      }
      default: {
        std::string out;
        for (const char c : text) out += special(c) ? "\\" + std::string(1, c) : std::string(1, c);
        return out;
      }
    }
  }

  std::string pattern(const std::string& directory) {
    std::string out;
    if (one_in(4)) out += '!';
    if (one_in(40)) out += '!';
    if (one_in(4)) out += '/';
    if (one_in(12)) {  // no path at all
      static const char kBytes[] = "ab*?[]!^-\\/ #:.{}x";
      for (int i = pick(1, 9); i > 0; --i) out += kBytes[at(sizeof(kBytes) - 1)];
      return out;
    }
    std::string path = paths_.empty() ? "a" : paths_[at(paths_.size())];
    if (path.starts_with(directory + "/")) path.erase(0, directory.size() + 1);
    if (one_in(3)) path = path.substr(path.rfind('/') + 1);
    if (one_in(8)) out += "**/";
    for (bool first = true; !path.empty(); first = false) {
      const std::size_t slash = path.find('/');
      if (!first) out += one_in(15) ? (one_in(2) ? "\\/" : "//") : "/";
      if (!first && one_in(12)) out += "**/";
      out += component(path.substr(0, slash));
      path.erase(0, slash == std::string::npos ? path.size() : slash + 1);
    }
    switch (pick(0, 14)) {
      case 0:
      case 1:
      case 2:
        out += '/';
        break;
      case 3:
        out += "/**";
        break;
      case 4:
        out += "/*";
        break;
      case 5:
        out += "/**/*";
        break;
      case 6:
        out += "/**/";
        break;
      default:
        break;
    }
    switch (pick(0, 24)) {
      case 0:
        out += "  ";
        break;
      case 1:
        out += "\\ ";
        break;
      case 2:
        out += "\\  ";
        break;
      case 3:
        out += "\\";
        break;
      case 4:
        out += "\\\\ ";
        break;
      case 5:
        out += "\t";
        break;
      case 6:
        out += std::string("\0x", 2);
        break;
      case 7:
        out += " \r";
        break;
      case 8:
        out += std::string(static_cast<std::size_t>(pick(1, 300)), '*');
        break;
      default:
        break;
    }
    return out;
  }

  std::string ignore_file(const std::string& directory) {
    std::string out;
    if (one_in(20)) out += "\xef\xbb\xbf";
    const bool windows = one_in(8);
    for (int i = pick(0, 8); i > 0; --i) {
      if (one_in(10)) out += one_in(2) ? "# comment\n" : " # no comment\n";
      if (one_in(10)) out += one_in(2) ? "\n" : "\r\n";
      out += pattern(directory);
      if (i > 1 || !one_in(4)) out += windows || one_in(15) ? "\r\n" : "\n";
    }
    return out;
  }

  std::mt19937 random_;
  std::vector<std::string> names_;
  std::vector<std::string> paths_;
};

/// What decides about a path: "FILE:LINE", or "" when nothing does.
class Ours {
 public:
  explicit Ours(const Generated& tree) : tree_(tree) {}

  std::string verdict(const std::string& path, bool is_directory) const {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const auto [label, is_ignored] = decide(path.substr(0, slash), true);
      if (is_ignored) return label;  // I1
    }
    return decide(path, is_directory).first;
  }

 private:
  std::pair<std::string, bool> decide(const std::string& path, bool is_directory) const {
    // The verdict says which line; which file is found by asking each list alone.
    struct Source {
      std::string label;
      std::string directory;
      PatternList list;
    };
    std::vector<Source> sources;
    IgnoreLevel::Pointer level = IgnoreLevel::base(tree_.global, tree_.exclude, tree_.fold_case);
    sources.push_back({"global", "", PatternList::parse(tree_.global, tree_.fold_case)});
    sources.push_back({".git/info/exclude", "", PatternList::parse(tree_.exclude, tree_.fold_case)});
    for (std::size_t end = 0;;) {
      const std::string directory = path.substr(0, end);
      if (const auto file = tree_.ignore_files.find(directory); file != tree_.ignore_files.end()) {
        level = IgnoreLevel::enter(level, directory, file->second, std::nullopt);
        sources.push_back(
            {child(directory, ".gitignore"), directory, PatternList::parse(file->second, tree_.fold_case)});
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
    ADD_FAILURE() << "no source for the verdict on " << weft::quoted(path);
    return {"", false};
  }

  const Generated& tree_;
};

class IgnoreGitTest : public testing::WorkTest {
 public:
  void TestBody() override {}

  explicit IgnoreGitTest(const Generated& tree) : generated_(tree) {
    for (const std::string& path : tree.directories) stdfs::create_directories(at(path));
    for (const std::string& path : tree.files) write(path, "");
    for (const std::string& path : tree.links) WEFT_CHECK(::symlink(".", at(path).c_str()) == 0);
    for (const auto& [directory, content] : tree.ignore_files) write(child(directory, ".gitignore"), content);
    for (const auto& [directory, odd] : tree.odd_ignore_files) {
      const std::string path = child(directory, ".gitignore");
      if (odd == Odd::directory) {
        make_dir(path);
        write(path + "/inside", "");
      } else {
        WEFT_CHECK(::symlink((temp_ / "global").c_str(), at(path).c_str()) == 0);
      }
    }
    for (const char* directory : {".git/objects", ".git/refs", ".git/info"}) make_dir(directory);
    write(".git/HEAD", "ref: refs/heads/main\n");
    write(".git/config",
          "[core]\n\trepositoryformatversion = 0\n\tignorecase = " + std::string(tree.fold_case ? "true" : "false") +
              "\n\texcludesFile = " + (temp_ / "global") + "\n");
    write(".git/info/exclude", tree.exclude);
    std::ofstream(temp_ / "global", std::ios::binary) << tree.global;
    for (const std::string& path : tree.tracked) head_ = tree_with(head_, path, "");
  }

  Bytes git(std::vector<std::string> arguments, ByteView input) const {
    ProcessOptions options;
    options.argv = {"git"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.directory = root_path();
    options.environment = environment_with(std::vector<std::pair<std::string, std::optional<std::string>>>{
        {"HOME", temp_.path()}, {"XDG_CONFIG_HOME", std::nullopt}, {"GIT_CONFIG_NOSYSTEM", "1"}, {"LC_ALL", "C"}});
    const auto output = must(run_process(std::move(options), input, 64u << 20));
    if (output.status.signal != 0 || output.status.code > 1) {
      ADD_FAILURE() << "git " << arguments[0] << " " << output.status.text() << ": " << output.err;
    }
    return output.out;
  }

  std::map<std::string, std::string> gits_verdicts(const std::map<std::string, bool>& paths) const {
    std::string input;
    for (const auto& [path, is_directory] : paths) input += path + '\0';
    const Bytes output = git({"check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"}, input);
    std::map<std::string, std::string> out;
    for (std::size_t from = 0; from < output.size();) {
      std::string field[4];  // source, line, pattern, path
      for (std::string& text : field) {
        const std::size_t end = output.find('\0', from);
        WEFT_CHECK(end != std::string::npos);
        text = output.substr(from, end - from);
        from = end + 1;
      }
      if (field[0] == temp_ / "global") field[0] = "global";
      out[field[3]] = field[0].empty() ? "" : field[0] + ":" + field[1];
    }
    return out;
  }

  /// "? path" and "! path".
  std::set<std::string> gits_status() const {
    std::string index;
    for (const std::string& path : generated_.tracked) {
      index += "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\t" + path + '\0';  // the empty blob
    }
    if (!index.empty()) git({"update-index", "-z", "--index-info"}, index);
    const Bytes output = git(
        {"-c", "status.renames=false", "status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching"},
        "");
    std::set<std::string> out;
    for (std::size_t from = 0; from < output.size();) {
      const std::size_t end = output.find('\0', from);
      const std::string line = output.substr(from, end - from);
      from = end + 1;
      if (line.starts_with("??") || line.starts_with("!!")) out.insert(line[0] + line.substr(2));
    }
    return out;
  }

  std::set<std::string> our_status() {
    ScanOptions options;
    options.ignore.global_patterns = generated_.global;
    options.ignore.fold_case = generated_.fold_case;
    options.list_ignored = true;
    const Status seen = scan(options);
    std::set<std::string> out;
    for (const StatusEntry& entry : seen.entries) {
      // git has no empty directories.
      if (entry.change == Change::added && entry.kind != object::EntryKind::directory) out.insert("? " + entry.path);
    }
    for (const std::string& path : seen.ignored) out.insert("! " + path);
    return out;
  }

 private:
  const Generated& generated_;
};

std::string describe(const Generated& tree) {
  std::string out = tree.fold_case ? "core.ignoreCase\n" : "";
  const auto file = [&out](const std::string& name, const std::string& content) {
    if (!content.empty()) out += "  " + name + ": " + weft::quoted(content) + "\n";
  };
  file("global", tree.global);
  file(".git/info/exclude", tree.exclude);
  for (const auto& [directory, content] : tree.ignore_files) file(child(directory, ".gitignore"), content);
  return out;
}

unsigned number_from(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

struct Totals {
  std::size_t compared = 0, decided = 0, trees = 0, shown = 0;
};

void compare(const Generated& tree, Totals& totals) {
  ++totals.trees;
  IgnoreGitTest on_disk(tree);
  std::map<std::string, bool> paths;
  for (const std::string& path : tree.directories) paths[path] = true;
  for (const std::string& path : tree.files) paths[path] = false;
  for (const std::string& path : tree.links) paths[path] = false;
  for (const auto& [directory, content] : tree.ignore_files) paths[child(directory, ".gitignore")] = false;
  const auto theirs = on_disk.gits_verdicts(paths);
  ASSERT_EQ(theirs.size(), paths.size());
  const Ours ours(tree);
  std::string differences;
  for (const auto& [path, is_directory] : paths) {
    const std::string verdict = ours.verdict(path, is_directory);
    ++totals.compared;
    totals.decided += verdict.empty() ? 0 : 1;
    if (verdict != theirs.at(path)) {
      differences += weft::quoted(path) + (is_directory ? "/" : "") + ": git " + weft::quoted(theirs.at(path)) +
                     ", weft " + weft::quoted(verdict) + "\n";
    }
  }
  const auto their_status = on_disk.gits_status();
  const auto our_status = on_disk.our_status();
  for (const std::string& line : their_status) {
    if (!our_status.contains(line)) differences += "status: only git has " + weft::quoted(line) + "\n";
  }
  for (const std::string& line : our_status) {
    if (!their_status.contains(line)) differences += "status: only weft has " + weft::quoted(line) + "\n";
  }
  if (differences.empty() || ++totals.shown > kMaxShown) return;
  ADD_FAILURE() << differences << describe(tree);
}

bool have_git() { return std::system("git --version >/dev/null 2>&1") == 0; }

TEST(IgnoreGit, DecidesAsGitDoesOnGeneratedTrees) {
  if (!have_git()) GTEST_SKIP() << "SKIPPED LOUDLY: git is not installed, ignore rules were not compared with it";
  Totals totals;
  const unsigned first = number_from("WEFT_IGNORE_FIRST", 0);
  const unsigned trees = number_from("WEFT_IGNORE_TREES", kTrees);
  for (unsigned round = first; round < first + trees; ++round) {
    SCOPED_TRACE("WEFT_IGNORE_FIRST=" + std::to_string(round) + " WEFT_IGNORE_TREES=1");
    compare(Generator(kSeed + round).tree(), totals);
  }
  // The generator must keep meeting both outcomes, or the comparison says nothing.
  if (trees >= kTrees) {
    EXPECT_GT(totals.decided, totals.compared / 10);
    EXPECT_LT(totals.decided, totals.compared * 9 / 10);
  }
  RecordProperty("paths", static_cast<int>(totals.compared));
}

}  // namespace
}  // namespace weft::work
