// Which words differ within changed lines: for highlighting them, and for diffs of words.
//
// Work is bounded: what is larger than kMaxRefinedBytes is not refined (lines) or compared as a whole (words).
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

inline constexpr std::size_t kMaxRefinedBytes = 64 << 10;

/// Bytes [begin, end) of a line.
struct Span {
  std::size_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};
struct Refined {
  std::vector<std::vector<Span>> removed, added;  ///< for each line what differs in it; none: nothing to point out
};
/// For lines that replace each other. A line that has little in common with the other side gets no spans: all of it
/// differs, and marking everything marks nothing.
Refined refine_lines(const std::vector<std::string_view>& removed, const std::vector<std::string_view>& added);

/// A piece of a diff of words: what both have (as the new text has it), what went, what came.
struct WordPiece {
  enum class Kind : unsigned char { common, removed, added } kind;
  std::string_view text;
};
/// Words are runs of bytes that are not blank; where only blanks differ, nothing does.
std::vector<WordPiece> diff_words(std::string_view removed, std::string_view added);

}  // namespace weft::text
