// git's wildmatch: shell patterns with `**`, as ignore files use them. A pure function of bytes.
//
// The rules are those of git's wildmatch.c, including its corners (what `**` means beside other characters, a malformed
// class never matches, `[:space:]` knows four bytes, what case folding leaves alone). The implementation differs in one
// point: git's recursion is exponential in the number of `**/`; here what a (pattern, text) suffix pair gave is
// remembered, so the work is bounded by their product, and by kMaxMatchSteps.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace weft::work {

/// A match that needs more steps than this counts as none. Far beyond what any pattern and path that fit in PATH_MAX
/// need, except those made to cost time.
inline constexpr std::size_t kMaxMatchSteps = 20'000'000;

/// Whether `pattern` matches all of `text`. With `pathname`, `*`, `?` and classes do not match '/', and `**` between
/// slashes matches any number of directories. With `fold_case` ASCII letters match in either case, where git folds
/// them: not behind a backslash, and not as single letters of a class. Neither may contain NUL.
bool wildmatch(ByteView pattern, ByteView text, bool pathname, bool fold_case = false);

/// Length of the leading part without `*`, `?`, `[` and `\`.
std::size_t literal_prefix_length(ByteView pattern);

}  // namespace weft::work
