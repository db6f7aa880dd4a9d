// Line diff (histogram, falling back to Myers with linear space). Pure functions of bytes. How it is shown: unified.h.
//
// Work is bounded by counted steps (line_match.h, kMaxDiffWork): a hostile text gets a coarser but correct diff, the
// same on every machine. Threading: pure functions.
//
// A line ends with '\n' or at the end of the text; bytes are compared as they are. Output is deterministic and part of
// the numbered rules under which imported changes' ops are derived (kDiffRules): changing it means a new number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

inline constexpr std::uint32_t kDiffRules = 1;
/// Above this a file is not diffed as text (DESIGN 5).
inline constexpr std::uint64_t kMaxTextBytes = 8u << 20;

/// git's heuristic: a NUL in the first 8,000 bytes is binary; also above kMaxTextBytes.
bool is_text(std::string_view content);

std::vector<std::string_view> split_lines(std::string_view text);

/// Lines [a_begin, a_end) of the old text are replaced by lines [b_begin, b_end) of the new. Sorted, never touching.
struct LineChange {
  std::size_t a_begin = 0, a_end = 0, b_begin = 0, b_end = 0;
  bool operator==(const LineChange&) const = default;
};
std::vector<LineChange> diff_lines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b);

/// One replaced byte range, whole lines.
struct ByteChange {
  std::uint64_t offset = 0;  ///< in the old text
  std::string_view removed;  ///< of the old text
  std::string_view added;    ///< of the new text
};
std::vector<ByteChange> diff_bytes(std::string_view before, std::string_view after);

/// Shared content of two texts, 0 to 100, by lines weighed with their bytes: rename detection's measure. Rounded down.
/// The rule, frozen under kDiffRules: both are cut into spans that end with '\n' or at 64 bytes; the sizes of the spans
/// they share (as multisets, by exact bytes) are summed; percent = 100 * sum / size of the larger. Equal contents are
/// 100, so two empty ones are. Order does not count. Any bytes will do, not only text.
int similarity_percent(std::string_view a, std::string_view b);
/// similarity_percent is never above this: look before reading contents.
int max_similarity_percent(std::uint64_t a_size, std::uint64_t b_size);

}  // namespace weft::text
