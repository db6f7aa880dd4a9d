// Line diff (histogram, falling back to Myers with linear space) and what is built on it. Pure functions of bytes.
//
// A line ends with '\n' or at the end of the text; bytes are compared as they are. Output is deterministic and part of the
// numbered rules under which imported changes' ops are derived (kDiffRules): changing it means a new number.
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
int similarity_percent(std::string_view a, std::string_view b);

struct UnifiedOptions {
  int context = 3;
  bool function_names = true;  ///< behind @@, git's default rule: the last line above that starts with a letter, _ or $
};
struct UnifiedLine {
  enum class Kind : std::uint8_t { header, context, removed, added, no_newline } kind;
  std::string text;  ///< without prefix; with its own newline unless the file ends without
};
/// The hunks of a unified diff ("@@ -a,b +c,d @@ function", then lines), byte for byte as git prints them.
std::vector<UnifiedLine> unified_diff(std::string_view before, std::string_view after, const UnifiedOptions& options);

struct LineCounts {
  std::uint64_t added = 0, removed = 0;
};
LineCounts count_changed_lines(std::string_view before, std::string_view after);

}  // namespace weft::text
