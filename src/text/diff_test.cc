// Diff, against its own definition (applying it gives the new text) and against git.
#include "text/unified.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>

#include "text/line_match.h"

namespace weft::text {
namespace {

// The same cases in every run unless RC_PARAMS says otherwise; RapidCheck prints what it uses.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20240611 max_success=300", 0);

std::string apply_changes(std::string_view before, const std::vector<ByteChange>& changes) {
  std::string out;
  std::uint64_t at = 0;
  for (const ByteChange& change : changes) {
    EXPECT_GE(change.offset, at);
    EXPECT_EQ(before.substr(change.offset, change.removed.size()), change.removed);
    out += before.substr(at, change.offset - at);
    out += change.added;
    at = change.offset + change.removed.size();
  }
  return out + std::string(before.substr(at));
}

/// Sorted, never touching, never empty.
void check_shape(std::string_view before, std::string_view after) {
  const auto a = split_lines(before), b = split_lines(after);
  std::size_t a_at = 0, b_at = 0;
  bool first = true;
  for (const LineChange& change : diff_lines(a, b)) {
    ASSERT_TRUE(change.a_begin < change.a_end || change.b_begin < change.b_end);
    ASSERT_EQ(change.a_begin - a_at, change.b_begin - b_at);
    ASSERT_TRUE(first || change.a_begin > a_at);
    for (; a_at < change.a_begin; ++a_at, ++b_at) ASSERT_EQ(a[a_at], b[b_at]);
    a_at = change.a_end;
    b_at = change.b_end;
    first = false;
  }
  ASSERT_EQ(a.size() - a_at, b.size() - b_at);
  for (; a_at < a.size(); ++a_at, ++b_at) ASSERT_EQ(a[a_at], b[b_at]);
}

/// Texts of few distinct lines, so that much matches in many ways; any bytes, with or without a final newline.
std::string messy_text() {
  const auto lines = *rc::gen::container<std::vector<std::string>>(rc::gen::weightedOneOf<std::string>(
      {{8, rc::gen::element<std::string>("a\n", "b\n", "\n", "c\r\n", "  a\n", "}\n")},
       {1, rc::gen::string<std::string>()},
       {1, rc::gen::element<std::string>("x", "\r", std::string("\0", 1))}}));
  std::string out;
  for (const auto& line : lines) out += line;
  return out;
}

RC_GTEST_PROP(Diff, ApplyingGivesTheNewText, ()) {
  const std::string before = messy_text(), after = messy_text();
  RC_ASSERT(apply_changes(before, diff_bytes(before, after)) == after);
  check_shape(before, after);
  RC_ASSERT(!::testing::Test::HasFailure());
  RC_ASSERT(diff_bytes(before, before).empty());
}

// The algorithms below the histogram and the exhausted budget, each on its own.
RC_GTEST_PROP(Diff, EveryAlgorithmLeavesEqualLines, ()) {
  const auto symbols = [] {
    return *rc::gen::container<std::vector<Symbol>>(rc::gen::inRange<Symbol>(0, *rc::gen::element(2u, 5u, 40u)));
  };
  const auto a = symbols(), b = symbols();
  const auto work = *rc::gen::element<std::uint64_t>(1, 50, 1000, kMaxDiffWork);
  for (auto* algorithm : {&match_histogram, &match_myers, &match_unique}) {
    std::vector<char> a_changed(a.size(), 0), b_changed(b.size(), 0);
    Matcher matcher(a, b, 40, a_changed, b_changed, work);
    algorithm(matcher, {0, static_cast<Line>(a.size()), 0, static_cast<Line>(b.size())});
    std::vector<Symbol> a_left, b_left;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a_changed[i] == 0) a_left.push_back(a[i]);
    for (std::size_t i = 0; i < b.size(); ++i)
      if (b_changed[i] == 0) b_left.push_back(b[i]);
    RC_ASSERT(a_left == b_left);
    for (const auto& counts : {matcher.count, matcher.count_b}) {
      RC_ASSERT(std::all_of(counts.begin(), counts.end(), [](auto n) { return n == 0; }));
    }
  }
}

// Myers gives a shortest edit script while its limits are not reached: compared with the quadratic table.
RC_GTEST_PROP(Diff, MyersIsShortest, ()) {
  const auto symbols = [] { return *rc::gen::container<std::vector<Symbol>>(rc::gen::inRange<Symbol>(0, 4)); };
  const auto a = symbols(), b = symbols();
  std::vector<char> a_changed(a.size(), 0), b_changed(b.size(), 0);
  Matcher matcher(a, b, 4, a_changed, b_changed, kMaxDiffWork);
  match_myers(matcher, {0, static_cast<Line>(a.size()), 0, static_cast<Line>(b.size())});
  std::vector<std::vector<std::size_t>> longest(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] = a[i] == b[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  RC_ASSERT(static_cast<std::size_t>(std::count(a_changed.begin(), a_changed.end(), 0)) == longest[0][0]);
}

TEST(Diff, Basics) {
  EXPECT_TRUE(split_lines("").empty());
  EXPECT_EQ(split_lines("a\n\nb"), (std::vector<std::string_view>{"a\n", "\n", "b"}));
  EXPECT_EQ(diff_lines(split_lines("a\nb\nc\n"), split_lines("a\nx\nc\n")), (std::vector<LineChange>{{1, 2, 1, 2}}));
  const auto changes = diff_bytes("a\nb\nc", "a\nc\n");
  EXPECT_EQ(apply_changes("a\nb\nc", changes), "a\nc\n");
  const LineCounts counts = count_changed_lines("a\nb\n", "a\nb\nc\nd\n");
  EXPECT_EQ(counts.added, 2u);
  EXPECT_EQ(counts.removed, 0u);
  EXPECT_TRUE(is_text(""));
  EXPECT_TRUE(is_text("caf\xe9\n"));
  EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_text(std::string(8000, 'a') + std::string(1, '\0')));
  EXPECT_FALSE(is_text(std::string(7999, 'a') + std::string(1, '\0')));
  EXPECT_TRUE(is_text(std::string(kMaxTextBytes, 'a')));
  EXPECT_FALSE(is_text(std::string(kMaxTextBytes + 1, 'a')));
}

TEST(Diff, InsertedFunctionIsShownWhole) {
  const std::string before = "int f() {\n  one();\n}\n\nint h() {\n  three();\n}\n";
  const std::string after = "int f() {\n  one();\n}\n\nint g() {\n  two();\n}\n\nint h() {\n  three();\n}\n";
  const auto changes = diff_bytes(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].added, "int g() {\n  two();\n}\n\n");
}

TEST(Similarity, FrozenRule) {
  EXPECT_EQ(similarity_percent("", ""), 100);
  EXPECT_EQ(similarity_percent("", "a"), 0);
  EXPECT_EQ(similarity_percent("a\nb\n", "b\na\n"), 100);
  EXPECT_EQ(similarity_percent("a\nb\nc\n", "a\nb\nd\n"), 66);
  EXPECT_EQ(similarity_percent("a\na\n", "a\nb\n"), 50);
  EXPECT_EQ(similarity_percent("long line here\nx\n", "long line here\ny\n"), 88);
  EXPECT_EQ(similarity_percent(std::string(6400, 'x'), std::string(6400, 'x') + "tail"), 99);
  EXPECT_EQ(similarity_percent(std::string(64, 'x') + "abc", std::string(64, 'x') + "abd"), 95);
  EXPECT_EQ(max_similarity_percent(0, 0), 100);
  EXPECT_EQ(max_similarity_percent(50, 100), 50);
  EXPECT_EQ(max_similarity_percent(0xffffffffffffffffu, 1), 0);
}

RC_GTEST_PROP(Similarity, SymmetricAndBounded, ()) {
  const std::string a = messy_text(), b = messy_text();
  const int percent = similarity_percent(a, b);
  RC_ASSERT(percent == similarity_percent(b, a));
  RC_ASSERT(percent >= 0 && percent <= max_similarity_percent(a.size(), b.size()));
  RC_ASSERT(similarity_percent(a, a) == 100);
}

// M1: what would be quadratic ends soon, and is still exact.
TEST(Diff, HostileTextsEndSoon) {
  std::mt19937 random(7);
  const auto few_lines = [&](std::size_t bytes, unsigned kinds) {
    std::string out;
    while (out.size() < bytes) {
      out += static_cast<char>('a' + random() % kinds);
      out += '\n';
    }
    return out;
  };
  const auto permuted = [&](unsigned lines) {
    std::vector<unsigned> numbers(lines);
    for (unsigned i = 0; i < lines; ++i) numbers[i] = i;
    std::shuffle(numbers.begin(), numbers.end(), random);
    std::string out;
    for (const unsigned n : numbers) out += std::to_string(n) + "\n";
    return out;
  };
  const std::vector<std::pair<std::string, std::string>> pairs{
      {few_lines(4 << 20, 2), few_lines(4 << 20, 2)},
      {few_lines(4 << 20, 26), few_lines(4 << 20, 26)},
      {permuted(300'000), permuted(300'000)},
      {std::string(8 << 20, '\n'), std::string((8 << 20) - 1, '\n') + "x"},
      {few_lines(2 << 20, 1), few_lines(2 << 20, 2)},
  };
  for (const auto& [before, after] : pairs) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(apply_changes(before, diff_bytes(before, after)) == after);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 10.0);
    if (getenv("WEFT_TEST_TIMES")) printf("hostile diff: %.2f s\n", took.count());
  }
}

// Against git. Every pair goes through files in one fresh directory.
class AgainstGit : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weft-text-test-XXXXXX";
    const char* made = mkdtemp(name);
    ASSERT_NE(made, nullptr);
    directory_ = made;
    ASSERT_FALSE(directory_.empty());
  }
  void TearDown() override {
    if (directory_.empty()) return;
    for (const char* file : {"/a", "/b"}) ::remove((directory_ + file).c_str());
    ::remove(directory_.c_str());
  }
  /// git's output from the first @@ on.
  std::string git_diff(const std::string& before, const std::string& after, int context) {
    std::ofstream(directory_ + "/a", std::ios::binary) << before;
    std::ofstream(directory_ + "/b", std::ios::binary) << after;
    const std::string command =
        "cd " + directory_ +
        " && GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent LC_ALL=C git -c core.quotepath=off diff --no-index "
        "--no-color --text --histogram -U" +
        std::to_string(context) + " a b";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    std::array<char, 65536> buffer;
    while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
    const int status = pclose(pipe);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    const std::size_t hunks = out.find("\n@@ ");
    return hunks == std::string::npos ? "" : out.substr(hunks + 1);
  }
  static std::string ours(const std::string& before, const std::string& after, int context) {
    return unified_text(unified_diff(before, after, {.context = context}));
  }
  std::string directory_;
};

TEST_F(AgainstGit, SimplePairsAreEqualByteForByte) {
  const std::string code =
      "#include <x>\n\nint f(int a) {\n  one();\n  two();\n  three();\n}\n\nstatic void g() {\n  if (x) {\n    y();\n  "
      "}\n"
      "  four();\n  five();\n  six();\n  seven();\n}\n\nint main() {\n  return 0;\n}\n";
  const auto replace = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string long_name = "void " + std::string(90, 'n') + "()\n";
  const std::string umlauts = "void " + [] {
    std::string s;
    for (int i = 0; i < 60; ++i) s += "\xc3\xa4";
    return s;
  }() + "\n";
  const std::string filler = "  1\n  2\n  3\n  4\n  5\n";
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"", "a\n"},
      {"a\n", ""},
      {"a", "a\n"},
      {"a\n", "a"},
      {"a", "b"},
      {"a\nb", "a\nc"},
      {"", "a"},
      {"a\r\nb\r\n", "a\nb\n"},
      {"a\nb\nc\n", "a\nb\nc\nd\n"},
      {"b\n", "a\nb\n"},
      {"a\n\n\nb\n", "a\n\n\n\nb\n"},
      {code, replace(code, "two();", "2();")},
      {code, replace(code, "  five();\n", "")},
      {code, replace(replace(code, "one();", "1();"), "return 0", "return 1")},
      {code, replace(code, "int main", "void h() {\n  x();\n}\n\nint main")},
      {code, replace(code, "  if (x) {\n    y();\n  }\n", "  if (x) {\n    y();\n  }\n  if (z) {\n    y();\n  }\n")},
      {long_name + filler + "x\n", long_name + filler + "y\n"},
      {umlauts + filler + "  x\n", umlauts + filler + "  y\n"},
      {"caf\xe9 (\n" + filler + "  x\n", "caf\xe9 (\n" + filler + "  y\n"},
      {"_a   \n" + filler + "  x\n", "_a   \n" + filler + "  y\n"},
      {"$a\n" + filler + "x\n" + filler + filler + " q\n", "$a\n" + filler + "y\n" + filler + filler + " r\n"},
      {"x\n" + filler + filler, filler + filler + "x\n"},
      {"a\nb\na\nb\na\nb\n", "a\nb\na\nb\na\nb\na\nb\n"},
  };
  for (const auto& [before, after] : pairs) {
    for (const int context : {3, 1, 0, 10}) EXPECT_EQ(ours(before, after, context), git_diff(before, after, context));
  }
}

// Edits of source-like text as people make them: equal nearly always (the histogram proper looks at the whole text,
// ours between common ends), and never much larger.
TEST_F(AgainstGit, GeneratedPairs) {
  constexpr unsigned kSeed = 20240611;
  std::mt19937 random(kSeed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::vector<std::string> common{"\n", "}\n", "  }\n", "{\n", "  return x;\n", "    break;\n"};
  unsigned equal = 0, total = 0;
  std::size_t our_bytes = 0, git_bytes = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<std::string> lines;
    const std::size_t count = 5 + pick(200);
    for (std::size_t i = 0; i < count; ++i) {
      lines.push_back(pick(2) ? common[pick(common.size())]
                              : std::string(2 * pick(4), ' ') + "call_" + std::to_string(pick(count)) + "();\n");
    }
    auto changed = lines;
    for (std::size_t edits = 1 + pick(6); edits > 0; --edits) {
      const std::size_t at = pick(changed.size() + 1), length = 1 + pick(5);
      const auto place = changed.begin() + static_cast<std::ptrdiff_t>(at);
      switch (pick(4)) {
        case 0:
          changed.erase(place, changed.begin() + static_cast<std::ptrdiff_t>(std::min(at + length, changed.size())));
          break;
        case 1:
          for (std::size_t i = 0; i < length; ++i) {
            changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at),
                           "  new_" + std::to_string(random()) + "\n");
          }
          break;
        case 2:
          if (at < changed.size()) *place = "  edited_" + std::to_string(random()) + "\n";
          break;
        default: {  // copy a block elsewhere
          const std::size_t from = pick(lines.size());
          const std::vector<std::string> block(
              lines.begin() + static_cast<std::ptrdiff_t>(from),
              lines.begin() + static_cast<std::ptrdiff_t>(std::min(from + length, lines.size())));
          changed.insert(place, block.begin(), block.end());
        }
      }
    }
    std::string before, after;
    for (const auto& line : lines) before += line;
    for (const auto& line : changed) after += line;
    if (pick(4) == 0 && !after.empty()) after.pop_back();
    const std::string mine = ours(before, after, 3), theirs = git_diff(before, after, 3);
    ASSERT_EQ(apply_changes(before, diff_bytes(before, after)), after) << "seed " << kSeed << " round " << round;
    ++total;
    equal += mine == theirs ? 1 : 0;
    our_bytes += mine.size();
    git_bytes += theirs.size();
  }
  RecordProperty("equal", static_cast<int>(equal));
  std::printf("equal to git: %u of %u; bytes %zu, git %zu (seed %u)\n", equal, total, our_bytes, git_bytes, kSeed);
  EXPECT_GE(equal * 100, total * 95);
  EXPECT_LE(our_bytes * 100, git_bytes * 103);
  EXPECT_GE(our_bytes * 103, git_bytes * 100);
}

}  // namespace
}  // namespace weft::text
