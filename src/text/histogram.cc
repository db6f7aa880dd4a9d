// The histogram algorithm, the trimming all share, and match_unique. See line_match.h.
#include <algorithm>

#include "text/line_match.h"

namespace weft::text {

Matcher::Matcher(const std::vector<Symbol>& a_symbols, const std::vector<Symbol>& b_symbols, std::size_t symbol_count,
                 std::vector<char>& a_marks, std::vector<char>& b_marks, std::uint64_t work)
    : a(a_symbols), b(b_symbols), a_changed(a_marks), b_changed(b_marks), work_left(work) {
  count.assign(symbol_count, 0);
  count_b.assign(symbol_count, 0);
  first.assign(symbol_count, -1);
  next.assign(a.size(), -1);
}

Matcher::Matcher(Matcher& lender, const std::vector<Symbol>& a_symbols, const std::vector<Symbol>& b_symbols,
                 std::vector<char>& a_marks, std::vector<char>& b_marks)
    : a(a_symbols),
      b(b_symbols),
      a_changed(a_marks),
      b_changed(b_marks),
      work_left(lender.work_left),
      count(std::move(lender.count)),
      count_b(std::move(lender.count_b)),
      first(std::move(lender.first)) {}

void Matcher::give_back(Matcher& lender) {
  lender.work_left = work_left;
  lender.count = std::move(count);
  lender.count_b = std::move(count_b);
  lender.first = std::move(first);
}

void Matcher::mark(const Region& region) {
  std::fill(a_changed.begin() + region.a_begin, a_changed.begin() + region.a_end, char{1});
  std::fill(b_changed.begin() + region.b_begin, b_changed.begin() + region.b_end, char{1});
}

namespace {
std::size_t at(Line line) { return static_cast<std::size_t>(line); }
std::uint64_t width(const Region& region) {
  return static_cast<std::uint64_t>(region.a_end - region.a_begin) +
         static_cast<std::uint64_t>(region.b_end - region.b_begin);
}
bool one_sided(const Region& region) { return region.a_begin == region.a_end || region.b_begin == region.b_end; }
}  // namespace

void Matcher::trim(Region& region) const {
  while (!one_sided(region) && a[at(region.a_begin)] == b[at(region.b_begin)]) ++region.a_begin, ++region.b_begin;
  while (!one_sided(region) && a[at(region.a_end - 1)] == b[at(region.b_end - 1)]) --region.a_end, --region.b_end;
}

namespace {

/// Finds the run to split a region at.
class AnchorSearch {
 public:
  AnchorSearch(Matcher& matcher, const Region& region) : m_(matcher), region_(region) {}

  enum class Outcome { found, nothing_common, all_frequent, out_of_work };
  Outcome run(Region& anchor) {
    for (Line line = region_.a_end - 1; line >= region_.a_begin; --line) {
      const Symbol symbol = m_.a[at(line)];
      m_.next[at(line)] = m_.count[symbol] == 0 ? -1 : m_.first[symbol];
      m_.first[symbol] = line;
      ++m_.count[symbol];
    }
    bool within_limit = m_.spend(width(region_));
    for (Line line = region_.b_begin; within_limit && line < region_.b_end;) line = try_line(line, within_limit);
    for (Line line = region_.a_begin; line < region_.a_end; ++line) m_.count[m_.a[at(line)]] = 0;
    if (!within_limit) return Outcome::out_of_work;
    if (common_ && rarest_ > kMaxAnchorOccurrences) return Outcome::all_frequent;
    if (!common_) return Outcome::nothing_common;
    anchor = best_;
    return Outcome::found;
  }

 private:
  /// Looks at every place of the old text where this new line occurs; returns the next new line to look at.
  Line try_line(Line b_line, bool& within_limit) {
    const Symbol symbol = m_.b[at(b_line)];
    const std::uint32_t occurrences = m_.count[symbol];
    Line b_next = b_line + 1;
    if (occurrences == 0) return b_next;
    common_ = true;
    if (occurrences > rarest_) return b_next;
    for (Line start = m_.first[symbol]; start >= 0;) {
      Region run{start, start, b_line, b_line};  // inclusive ends in here
      std::uint32_t rarest_in_run = occurrences;
      while (region_.a_begin < run.a_begin && region_.b_begin < run.b_begin &&
             m_.a[at(run.a_begin - 1)] == m_.b[at(run.b_begin - 1)]) {
        --run.a_begin, --run.b_begin;
        rarest_in_run = std::min(rarest_in_run, m_.count[m_.a[at(run.a_begin)]]);
      }
      while (run.a_end + 1 < region_.a_end && run.b_end + 1 < region_.b_end &&
             m_.a[at(run.a_end + 1)] == m_.b[at(run.b_end + 1)]) {
        ++run.a_end, ++run.b_end;
        rarest_in_run = std::min(rarest_in_run, m_.count[m_.a[at(run.a_end)]]);
      }
      within_limit = m_.spend(static_cast<std::uint64_t>(run.a_end - run.a_begin + 1));
      if (!within_limit) return b_next;
      b_next = std::max(b_next, run.b_end + 1);
      if (length_ < run.a_end - run.a_begin || rarest_in_run < rarest_) {
        length_ = run.a_end - run.a_begin;
        rarest_ = rarest_in_run;
        best_ = {run.a_begin, run.a_end + 1, run.b_begin, run.b_end + 1};
      }
      Line following = m_.next[at(start)];
      while (following >= 0 && following <= run.a_end) following = m_.next[at(following)];
      start = following;
    }
    return b_next;
  }

  Matcher& m_;
  const Region& region_;
  Region best_;
  Line length_ = 0;  // of best_, less one
  std::uint32_t rarest_ = kMaxAnchorOccurrences + 1;
  bool common_ = false;
};

}  // namespace

void match_histogram(Matcher& matcher, const Region& whole) {
  std::vector<Region> todo{whole};
  while (!todo.empty()) {
    const Region region = todo.back();
    todo.pop_back();
    if (one_sided(region)) {
      matcher.mark(region);
      continue;
    }
    Region anchor;
    switch (AnchorSearch(matcher, region).run(anchor)) {
      case AnchorSearch::Outcome::found:
        todo.push_back({anchor.a_end, region.a_end, anchor.b_end, region.b_end});
        todo.push_back({region.a_begin, anchor.a_begin, region.b_begin, anchor.b_begin});
        break;
      case AnchorSearch::Outcome::nothing_common:
        matcher.mark(region);
        break;
      case AnchorSearch::Outcome::all_frequent:
        match_myers(matcher, region);
        break;
      case AnchorSearch::Outcome::out_of_work:
        match_unique(matcher, region);
        break;
    }
  }
}

void match_unique(Matcher& m, const Region& whole) {
  Region region = whole;
  m.trim(region);
  if (one_sided(region)) return m.mark(region);
  for (Line line = region.a_begin; line < region.a_end; ++line) {
    ++m.count[m.a[at(line)]];
    m.first[m.a[at(line)]] = line;
  }
  for (Line line = region.b_begin; line < region.b_end; ++line) ++m.count_b[m.b[at(line)]];

  // Longest ascending run (patience sorting): tails[k] is the pair that ends the best run of length k + 1.
  struct Pair {
    Line a, b;
    std::int32_t previous;
  };
  std::vector<Pair> pairs;
  std::vector<std::int32_t> tails;
  for (Line line = region.b_begin; line < region.b_end; ++line) {
    const Symbol symbol = m.b[at(line)];
    if (m.count[symbol] != 1 || m.count_b[symbol] != 1) continue;
    const Line a_line = m.first[symbol];
    const auto place = std::lower_bound(tails.begin(), tails.end(), a_line, [&](std::int32_t pair, Line value) {
      return pairs[static_cast<std::size_t>(pair)].a < value;
    });
    pairs.push_back({a_line, line, place == tails.begin() ? -1 : *(place - 1)});
    const auto index = static_cast<std::int32_t>(pairs.size() - 1);
    if (place == tails.end()) {
      tails.push_back(index);
    } else {
      *place = index;
    }
  }
  for (Line line = region.a_begin; line < region.a_end; ++line) m.count[m.a[at(line)]] = 0;
  for (Line line = region.b_begin; line < region.b_end; ++line) m.count_b[m.b[at(line)]] = 0;

  std::vector<Pair> run;
  for (std::int32_t pair = tails.empty() ? -1 : tails.back(); pair >= 0;) {
    run.push_back(pairs[static_cast<std::size_t>(pair)]);
    pair = run.back().previous;
  }
  std::reverse(run.begin(), run.end());
  // Between two anchors only what continues them matches; trim() takes equal lines from both ends of each gap.
  Line a_from = region.a_begin, b_from = region.b_begin;
  for (std::size_t i = 0; i <= run.size(); ++i) {
    Region gap{a_from, i < run.size() ? run[i].a : region.a_end, b_from, i < run.size() ? run[i].b : region.b_end};
    m.trim(gap);
    m.mark(gap);
    if (i < run.size()) a_from = run[i].a + 1, b_from = run[i].b + 1;
  }
}

}  // namespace weft::text
