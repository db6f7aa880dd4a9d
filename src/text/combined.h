// What a merge made that none of its parents had: git's dense combined diff (`--cc`). Pure functions.
//
// Every line of the result, and every line that a parent had and the result has not, carries one mark a parent: '+' the
// parent lacks it, '-' the result lost it from there. A group of changes in which the result agrees with one of the
// parents is left out: there the merge only took a side. The algorithm is that of git's combine-diff.c (lost lines of
// several parents are joined along their longest common subsequence, at most kMaxJoinWork steps a place), so that hunks
// are git's byte for byte; what stands behind the last @ is by our own rules (function_names.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/unified.h"

namespace weft::text {

/// As many as a version may have changes.
inline constexpr std::size_t kMaxCombinedParents = 64;
/// Lost lines of one place, times those of one more parent.
inline constexpr std::size_t kMaxJoinWork = 16u << 20;

struct CombinedLine {
  enum class Kind : std::uint8_t { header, context, removed, added } kind;
  std::string marks;  ///< one a parent; of a header: "@@@ -1,2 -1,2 +1,3 @@@"
  std::string text;   ///< without newline; of a header what stands behind
};
/// Empty where every group of changes came from one side. At most kMaxCombinedParents parents.
std::vector<CombinedLine> combined_diff(std::span<const std::string_view> parents, std::string_view result,
                                        const UnifiedOptions& options);

}  // namespace weft::text
