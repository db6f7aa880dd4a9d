// Where a run of changed lines is shown when it could stand at several places. See line_match.h.
//
// A run followed by the line it begins with can move down one line without changing what the diff does, and up
// likewise. Runs that meet become one. What is chosen follows git (xdiff, "change compact"), so that readers see what
// they are used to.
#include <algorithm>
#include <string_view>

#include "base/result.h"
#include "text/line_match.h"

namespace weft::text {
namespace {

/// Steps that sliding may take per line; past that, runs stay where the matching left them.
constexpr std::uint64_t kMaxSlideStepsPerLine = 64;

constexpr std::size_t kMaxIndent = 200;
constexpr int kMaxBlanks = 20;
constexpr std::size_t kMaxHeuristicSlide = 100;
// The indent heuristic's weights, found by its author on a corpus of hand-made diffs.
constexpr int kStartOfFilePenalty = 1;
constexpr int kEndOfFilePenalty = 21;
constexpr int kTotalBlankWeight = -30;
constexpr int kPostBlankWeight = 6;
constexpr int kIndentPenalty = -4;
constexpr int kIndentWithBlankPenalty = 10;
constexpr int kOutdentPenalty = 24;
constexpr int kOutdentWithBlankPenalty = 17;
constexpr int kDedentPenalty = 23;
constexpr int kDedentWithBlankPenalty = 17;
constexpr int kIndentWeight = 60;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

/// Columns of leading white space; -1 for a line of nothing else.
int indent_of(std::string_view line) {
  std::size_t columns = 0;
  for (const char c : line) {
    if (!is_space(c)) return static_cast<int>(columns);
    if (c == ' ') ++columns;
    if (c == '\t') columns += 8 - columns % 8;
    if (columns >= kMaxIndent) return static_cast<int>(kMaxIndent);
  }
  return -1;
}

struct Score {
  int indent = 0;
  int penalty = 0;
};

/// How bad it is to begin or end a run before line `split`.
void add_split(const std::vector<std::string_view>& lines, std::size_t split, Score& score) {
  const bool at_end = split >= lines.size();
  const int own_indent = at_end ? -1 : indent_of(lines[split]);
  int blanks_before = 0, indent_before = -1;
  for (std::size_t i = split; i-- > 0;) {
    indent_before = indent_of(lines[i]);
    if (indent_before != -1) break;
    if (++blanks_before == kMaxBlanks) {
      indent_before = 0;
      break;
    }
  }
  int blanks_behind = 0, indent_behind = -1;
  for (std::size_t i = split + 1; i < lines.size(); ++i) {
    indent_behind = indent_of(lines[i]);
    if (indent_behind != -1) break;
    if (++blanks_behind == kMaxBlanks) {
      indent_behind = 0;
      break;
    }
  }

  if (indent_before == -1 && blanks_before == 0) score.penalty += kStartOfFilePenalty;
  if (at_end) score.penalty += kEndOfFilePenalty;
  const int post_blank = own_indent == -1 ? 1 + blanks_behind : 0;
  const int total_blank = blanks_before + post_blank;
  score.penalty += kTotalBlankWeight * total_blank + kPostBlankWeight * post_blank;
  const int indent = own_indent != -1 ? own_indent : indent_behind;
  score.indent += indent;
  const bool blanks = total_blank != 0;
  if (indent == -1 || indent_before == -1 || indent == indent_before) return;
  if (indent > indent_before) {
    score.penalty += blanks ? kIndentWithBlankPenalty : kIndentPenalty;
  } else if (indent_behind != -1 && indent_behind > indent) {
    score.penalty += blanks ? kOutdentWithBlankPenalty : kOutdentPenalty;
  } else {
    score.penalty += blanks ? kDedentWithBlankPenalty : kDedentPenalty;
  }
}

/// Not worse: at equal scores the lower place wins.
bool at_least_as_good(const Score& score, const Score& best) {
  const int indents = (score.indent > best.indent ? 1 : 0) - (score.indent < best.indent ? 1 : 0);
  return kIndentWeight * indents + (score.penalty - best.penalty) <= 0;
}

/// Between every two unchanged lines lies one run of changed ones, often empty: [start, end). Both sides have equally
/// many unchanged lines, so the k-th run of one side stands where the k-th of the other does.
class Runs {
 public:
  Runs(std::vector<char>& changed, std::uint64_t& steps) : changed_(changed), steps_(steps) { extend_down(); }

  std::size_t start = 0, end = 0;
  bool empty() const { return start == end; }

  bool next() {
    if (end == changed_.size()) return false;
    start = ++end;
    extend_down();
    return true;
  }
  bool previous() {
    if (start == 0) return false;
    end = --start;
    extend_up();
    return true;
  }
  bool slide_down(const std::vector<std::string_view>& lines) {
    if (end >= lines.size() || lines[start] != lines[end]) return false;
    changed_[start++] = 0;
    changed_[end++] = 1;
    extend_down();
    return true;
  }
  bool slide_up(const std::vector<std::string_view>& lines) {
    if (start == 0 || lines[start - 1] != lines[end - 1]) return false;
    changed_[--start] = 1;
    changed_[--end] = 0;
    extend_up();
    return true;
  }

 private:
  void extend_down() {
    ++steps_;
    while (end < changed_.size() && changed_[end] != 0) ++end, ++steps_;
  }
  void extend_up() {
    ++steps_;
    while (start > 0 && changed_[start - 1] != 0) --start, ++steps_;
  }
  std::vector<char>& changed_;
  std::uint64_t& steps_;
};

std::size_t best_end(const std::vector<std::string_view>& lines, std::size_t earliest_end, std::size_t end,
                     std::size_t size) {
  std::size_t shift = earliest_end;
  if (end > size + 1) shift = std::max(shift, end - size - 1);
  if (end > kMaxHeuristicSlide) shift = std::max(shift, end - kMaxHeuristicSlide);
  std::size_t best = end;
  Score best_score;
  bool first = true;
  for (; shift <= end; ++shift) {
    Score score;
    add_split(lines, shift, score);
    add_split(lines, shift - size, score);
    if (first || at_least_as_good(score, best_score)) best = shift, best_score = score;
    first = false;
  }
  return best;
}

}  // namespace

void slide_changes(const std::vector<std::string_view>& lines, std::vector<char>& changed,
                   std::vector<char>& other_changed) {
  std::uint64_t steps = 0;
  const std::uint64_t max_steps = kMaxSlideStepsPerLine * (changed.size() + other_changed.size() + 1);
  Runs run(changed, steps), other(other_changed, steps);
  do {
    if (run.empty()) continue;
    std::size_t size = 0, earliest_end = 0;
    bool meets_other = false;
    do {
      size = run.end - run.start;
      meets_other = false;
      while (run.slide_up(lines)) WEFT_CHECK(other.previous());
      earliest_end = run.end;
      meets_other = !other.empty();
      while (run.slide_down(lines)) {
        WEFT_CHECK(other.next());
        meets_other = meets_other || !other.empty();
      }
    } while (size != run.end - run.start && steps < max_steps);

    if (steps >= max_steps) return;
    if (run.end == earliest_end) continue;
    if (meets_other) {
      while (other.empty()) {
        WEFT_CHECK(run.slide_up(lines));
        WEFT_CHECK(other.previous());
      }
    } else {
      const std::size_t best = best_end(lines, earliest_end, run.end, size);
      while (run.end > best) {
        WEFT_CHECK(run.slide_up(lines));
        WEFT_CHECK(other.previous());
      }
    }
  } while (run.next() && (WEFT_CHECK(other.next()), true));
}

}  // namespace weft::text
