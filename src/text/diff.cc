#include "text/diff.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "text/line_match.h"

namespace weft::text {

bool is_text(std::string_view content) {
  constexpr std::size_t kLookedAt = 8000;
  return content.size() <= kMaxTextBytes && content.substr(0, kLookedAt).find('\0') == std::string_view::npos;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  lines.reserve(text.size() / 32 + 1);
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t length = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

namespace {

std::vector<LineChange> changes_of_marks(const std::vector<char>& a_changed, const std::vector<char>& b_changed) {
  std::vector<LineChange> changes;
  std::size_t i = 0, j = 0;
  while (i < a_changed.size() || j < b_changed.size()) {
    LineChange change{i, i, j, j};
    while (i < a_changed.size() && a_changed[i] != 0) ++i;
    while (j < b_changed.size() && b_changed[j] != 0) ++j;
    change.a_end = i;
    change.b_end = j;
    if (change.a_begin != i || change.b_begin != j) changes.push_back(change);
    if (i < a_changed.size()) ++i;
    if (j < b_changed.size()) ++j;
  }
  return changes;
}

}  // namespace

std::vector<LineChange> diff_lines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t prefix = 0, suffix = 0;
  while (prefix < shorter && a[prefix] == b[prefix]) ++prefix;
  while (suffix < shorter - prefix && a[a.size() - 1 - suffix] == b[b.size() - 1 - suffix]) ++suffix;
  const std::size_t a_count = a.size() - prefix - suffix, b_count = b.size() - prefix - suffix;
  if (a_count == 0 && b_count == 0) return {};
  // Line numbers are 32 bits inside; beyond what any text of kMaxTextBytes can have, the middle is replaced as one.
  constexpr std::size_t kMaxLines = std::numeric_limits<Line>::max() / 4;
  if (a_count > kMaxLines || b_count > kMaxLines) return {{prefix, a.size() - suffix, prefix, b.size() - suffix}};

  std::vector<char> a_changed(a.size(), 0), b_changed(b.size(), 0);
  if (a_count == 0 || b_count == 0) {
    std::fill_n(a_changed.begin() + static_cast<std::ptrdiff_t>(prefix), a_count, char{1});
    std::fill_n(b_changed.begin() + static_cast<std::ptrdiff_t>(prefix), b_count, char{1});
  } else {
    Interner interner(a_count);
    std::vector<Symbol> a_symbols(a_count), b_symbols(b_count);
    for (std::size_t i = 0; i < a_count; ++i) a_symbols[i] = interner.intern(a[prefix + i]);
    for (std::size_t i = 0; i < b_count; ++i) b_symbols[i] = interner.intern(b[prefix + i]);
    std::vector<char> a_marks(a_count, 0), b_marks(b_count, 0);
    Matcher matcher(a_symbols, b_symbols, interner.size(), a_marks, b_marks, kMaxDiffWork);
    match_histogram(matcher, {0, static_cast<Line>(a_count), 0, static_cast<Line>(b_count)});
    std::copy(a_marks.begin(), a_marks.end(), a_changed.begin() + static_cast<std::ptrdiff_t>(prefix));
    std::copy(b_marks.begin(), b_marks.end(), b_changed.begin() + static_cast<std::ptrdiff_t>(prefix));
  }
  slide_changes(a, a_changed, b_changed);
  slide_changes(b, b_changed, a_changed);
  return changes_of_marks(a_changed, b_changed);
}

std::vector<ByteChange> diff_bytes(std::string_view before, std::string_view after) {
  const auto a = split_lines(before), b = split_lines(after);
  const auto bytes_between = [](std::string_view text, const std::vector<std::string_view>& lines, std::size_t begin,
                                std::size_t end) {
    const auto offset = [&](std::size_t line) {
      return line == lines.size() ? text.size() : static_cast<std::size_t>(lines[line].data() - text.data());
    };
    const std::size_t from = offset(begin);
    return std::pair{from, text.substr(from, offset(end) - from)};
  };
  std::vector<ByteChange> changes;
  for (const LineChange& change : diff_lines(a, b)) {
    const auto [offset, removed] = bytes_between(before, a, change.a_begin, change.a_end);
    const auto added = bytes_between(after, b, change.b_begin, change.b_end).second;
    changes.push_back({offset, removed, added});
  }
  return changes;
}

}  // namespace weft::text
