// Myers' algorithm in linear space. See line_match.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "text/line_match.h"

namespace weft::text {
namespace {

std::size_t at(Line line) { return static_cast<std::size_t>(line); }

/// One side of a region without the lines that the other side does not have.
struct Side {
  std::vector<Symbol> symbols;
  std::vector<Line> lines;  // where they are in the text
};

/// Furthest points by diagonal (d = x - y), forward from the start and backward from the end.
class Split {
 public:
  Split(const Side& a, const Side& b) : a_(a.symbols), b_(b.symbols), offset_(static_cast<Line>(b_.size()) + 1) {
    forward_.resize(a_.size() + b_.size() + 3);
    backward_.resize(forward_.size());
    const double root = std::sqrt(static_cast<double>(forward_.size()));
    max_cost_ = std::clamp(static_cast<Line>(root), kMinSplitCost, kMaxSplitCost);
  }

  struct Point {
    Line x, y;
  };
  /// A point on a shortest path through the box, or on a good one where that is too far to look for. The box is trimmed
  /// and has lines on both sides.
  Point find(const Region& box, std::uint64_t& steps) {
    const Line low = box.a_begin - box.b_end, high = box.a_end - box.b_begin;
    const Line f_middle = box.a_begin - box.b_begin, b_middle = box.a_end - box.b_end;
    const bool odd = ((f_middle - b_middle) & 1) != 0;
    Line f_min = f_middle, f_max = f_middle, b_min = b_middle, b_max = b_middle;
    f(f_middle) = box.a_begin;
    g(b_middle) = box.a_end;
    for (Line cost = 1;; ++cost) {
      if (f_min > low)
        f(--f_min - 1) = -1;
      else
        ++f_min;
      if (f_max < high)
        f(++f_max + 1) = -1;
      else
        --f_max;
      for (Line d = f_max; d >= f_min; d -= 2) {
        Line x = f(d - 1) >= f(d + 1) ? f(d - 1) + 1 : f(d + 1);
        const Line start = x;
        while (x < box.a_end && x - d < box.b_end && a_[at(x)] == b_[at(x - d)]) ++x;
        steps += 1 + static_cast<std::uint64_t>(x - start);
        f(d) = x;
        if (odd && b_min <= d && d <= b_max && g(d) <= x) return {x, x - d};
      }
      if (b_min > low)
        g(--b_min - 1) = kFar;
      else
        ++b_min;
      if (b_max < high)
        g(++b_max + 1) = kFar;
      else
        --b_max;
      for (Line d = b_max; d >= b_min; d -= 2) {
        Line x = g(d - 1) < g(d + 1) ? g(d - 1) : g(d + 1) - 1;
        const Line start = x;
        while (x > box.a_begin && x - d > box.b_begin && a_[at(x - 1)] == b_[at(x - d - 1)]) --x;
        steps += 1 + static_cast<std::uint64_t>(start - x);
        g(d) = x;
        if (!odd && f_min <= d && d <= f_max && x <= f(d)) return {x, x - d};
      }
      if (cost >= max_cost_) return furthest(box, f_min, f_max, b_min, b_max);
    }
  }

 private:
  static constexpr Line kFar = std::numeric_limits<Line>::max();

  Line& f(Line d) { return forward_[at(d + offset_)]; }
  Line& g(Line d) { return backward_[at(d + offset_)]; }

  Point furthest(const Region& box, Line f_min, Line f_max, Line b_min, Line b_max) {
    Point ahead{box.a_begin, box.b_begin}, behind{box.a_end, box.b_end};
    for (Line d = f_max; d >= f_min; d -= 2) {
      Line x = std::min(f(d), box.a_end), y = x - d;
      if (y > box.b_end) x = box.b_end + d, y = box.b_end;
      if (ahead.x + ahead.y < x + y) ahead = {x, y};
    }
    for (Line d = b_max; d >= b_min; d -= 2) {
      Line x = std::max(g(d), box.a_begin), y = x - d;
      if (y < box.b_begin) x = box.b_begin + d, y = box.b_begin;
      if (x + y < behind.x + behind.y) behind = {x, y};
    }
    const Line gone = ahead.x + ahead.y - box.a_begin - box.b_begin;
    const Line come = box.a_end + box.b_end - behind.x - behind.y;
    return come < gone ? ahead : behind;
  }

  const std::vector<Symbol>& a_;
  const std::vector<Symbol>& b_;
  const Line offset_;
  Line max_cost_ = 0;
  std::vector<Line> forward_, backward_;
};

void collect(const std::vector<Symbol>& symbols, Line begin, Line end, const std::vector<std::uint32_t>& other,
             std::vector<char>& changed, Side& side) {
  for (Line line = begin; line < end; ++line) {
    if (other[symbols[at(line)]] == 0) {
      changed[at(line)] = 1;
    } else {
      side.symbols.push_back(symbols[at(line)]);
      side.lines.push_back(line);
    }
  }
}

}  // namespace

void match_myers(Matcher& m, const Region& whole) {
  for (Line line = whole.a_begin; line < whole.a_end; ++line) ++m.count[m.a[at(line)]];
  for (Line line = whole.b_begin; line < whole.b_end; ++line) ++m.count_b[m.b[at(line)]];
  Side a, b;
  collect(m.a, whole.a_begin, whole.a_end, m.count_b, m.a_changed, a);
  collect(m.b, whole.b_begin, whole.b_end, m.count, m.b_changed, b);
  for (Line line = whole.a_begin; line < whole.a_end; ++line) m.count[m.a[at(line)]] = 0;
  for (Line line = whole.b_begin; line < whole.b_end; ++line) m.count_b[m.b[at(line)]] = 0;

  // From here on lines are counted in a and b; the marks go to the lines they stand for.
  std::vector<char> a_marks(a.symbols.size(), 0), b_marks(b.symbols.size(), 0);
  Matcher inner(m, a.symbols, b.symbols, a_marks, b_marks);
  Split split(a, b);
  std::vector<Region> todo{{0, static_cast<Line>(a.symbols.size()), 0, static_cast<Line>(b.symbols.size())}};
  while (!todo.empty()) {
    Region box = todo.back();
    todo.pop_back();
    inner.trim(box);
    if (box.a_begin == box.a_end || box.b_begin == box.b_end) {
      inner.mark(box);
      continue;
    }
    if (inner.work_left == 0) {
      match_unique(inner, box);
      continue;
    }
    std::uint64_t steps = 0;
    const Split::Point point = split.find(box, steps);
    inner.spend(steps);
    const bool inside =
        box.a_begin <= point.x && point.x <= box.a_end && box.b_begin <= point.y && point.y <= box.b_end;
    const bool smaller =
        (point.x != box.a_begin || point.y != box.b_begin) && (point.x != box.a_end || point.y != box.b_end);
    WEFT_CHECK(inside && smaller);
    todo.push_back({point.x, box.a_end, point.y, box.b_end});
    todo.push_back({box.a_begin, point.x, box.b_begin, point.y});
  }
  inner.give_back(m);
  for (std::size_t i = 0; i < a.lines.size(); ++i) m.a_changed[at(a.lines[i])] = a_marks[i];
  for (std::size_t i = 0; i < b.lines.size(); ++i) m.b_changed[at(b.lines[i])] = b_marks[i];
}

}  // namespace weft::text
