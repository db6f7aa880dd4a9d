// Differences of two texts as people read them: unified diffs as git prints them (POSIX "diff -u" with a heading behind
// the second @@), counts, and what may be left out of account.
//
// None of this is part of the numbered rules in diff.h: how a diff is shown may change, how ops are derived may not.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/diff.h"
#include "text/function_names.h"

namespace weft::text {

/// Which blanks do not count: git's --ignore-space-at-eol, -b and -w.
enum class Whitespace : std::uint8_t { exact, ignore_at_end, ignore_amount, ignore_all };

struct CompareOptions {
  Whitespace whitespace = Whitespace::exact;
  /// Changes of blank lines alone count only right beside others (nearer than the context).
  bool ignore_blank_lines = false;
  bool exact() const { return whitespace == Whitespace::exact && !ignore_blank_lines; }
};

/// diff_lines(), with what is ignored left out. Between the changes lines may then differ.
std::vector<LineChange> compare_lines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                                      const CompareOptions& options, int context);

struct UnifiedOptions {
  int context = 3;
  bool function_names = true;  ///< behind @@: the last line above that names something (function_names.h)
  Language language = Language::none;
  CompareOptions compare{};
};
struct UnifiedLine {
  enum class Kind : std::uint8_t { header, context, removed, added, no_newline } kind;
  /// Without prefix. A line of the files comes with its own newline unless its file ends without (then a no_newline
  /// line follows); header and no_newline texts carry none. So a printer adds '\n' where there is none.
  std::string text;
};
/// The hunks of a unified diff ("@@ -a,b +c,d @@ function", then lines), byte for byte as git prints them.
std::vector<UnifiedLine> unified_diff(std::string_view before, std::string_view after, const UnifiedOptions& options);

/// Those lines with their prefixes, as one text.
std::string unified_text(const std::vector<UnifiedLine>& lines);

struct LineCounts {
  std::uint64_t added = 0, removed = 0;
};
LineCounts count_changed_lines(std::string_view before, std::string_view after, const CompareOptions& options = {});

}  // namespace weft::text
