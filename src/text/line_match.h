// Which lines of two texts match: the algorithms under diff_lines. Internal to text/.
//
// Every algorithm gets a region (a range of lines on each side) and marks those it could not match as changed; the
// unmarked ones of both sides, read in order, are then equal one by one. Nothing outside the region is looked at.
//
//   match_histogram  the matching run of lines that is rarest in the old text splits the region, and so on on both
//   sides of it
//                    (JGit's HistogramDiff, as git has it); a region whose common lines are all frequent goes to
//                    match_myers
//   match_myers      shortest edit script in linear space (Myers, "An O(ND) difference algorithm", 1986, section 4b),
//   with a
//                    limit on the cost of one split after which it splits at the furthest point reached
//   match_unique     lines unique on both sides, the longest ascending run of them, extended both ways: n log n always
//
// Invariants:
//   M1  Work is bounded by kMaxDiffWork steps (plus a constant per line), counted, not timed: the same texts give the
//   same
//       result on every machine. A region met after that goes to match_unique.
// Threading: one user at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "text/intern.h"

namespace weft::text {

using Line = std::int32_t;

/// Steps (lines looked at or compared) that one diff may take before it gets coarser: some tenths of a second.
inline constexpr std::uint64_t kMaxDiffWork = 128u << 20;
/// A line that occurs more often in the old text than this is no anchor for match_histogram.
inline constexpr std::uint32_t kMaxAnchorOccurrences = 64;
/// Least and greatest edit distance that one split in match_myers looks for; between them the root of the region's
/// size.
inline constexpr Line kMinSplitCost = 256;
inline constexpr Line kMaxSplitCost = 4096;

struct Region {
  Line a_begin = 0, a_end = 0, b_begin = 0, b_end = 0;
};

struct Matcher {
  Matcher(const std::vector<Symbol>& a_symbols, const std::vector<Symbol>& b_symbols, std::size_t symbol_count,
          std::vector<char>& a_marks, std::vector<char>& b_marks, std::uint64_t work);
  /// Over other lines with the same symbols; borrows `lender`'s scratch (but `next`) until give_back().
  Matcher(Matcher& lender, const std::vector<Symbol>& a_symbols, const std::vector<Symbol>& b_symbols,
          std::vector<char>& a_marks, std::vector<char>& b_marks);
  void give_back(Matcher& lender);

  const std::vector<Symbol>& a;
  const std::vector<Symbol>& b;
  std::vector<char>& a_changed;  ///< same sizes as a and b
  std::vector<char>& b_changed;
  std::uint64_t work_left;

  // Scratch by symbol and by line of a; every algorithm leaves `count` and `count_b` zero behind it.
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> count_b;
  std::vector<Line> first;
  std::vector<Line> next;

  /// False once the limit is reached.
  bool spend(std::uint64_t steps) {
    work_left -= steps < work_left ? steps : work_left;
    return work_left != 0;
  }
  void mark(const Region& region);
  /// Cuts equal lines off both ends.
  void trim(Region& region) const;
};

void match_histogram(Matcher& matcher, const Region& region);
void match_myers(Matcher& matcher, const Region& region);
void match_unique(Matcher& matcher, const Region& region);

/// Moves runs of changed lines up and down over equal lines to where a reader expects them, as git does: onto a run of
/// the other side if there is one to meet, else by the indent heuristic (M. Haggerty, git 2.11). Marks have one entry a
/// line.
void slide_changes(const std::vector<std::string_view>& lines, std::vector<char>& changed,
                   std::vector<char>& other_changed);

}  // namespace weft::text
