// Similarity of two contents: a frozen rule (see diff.h), because renames found by it end up in change ids.
#include <algorithm>

#include "text/diff.h"
#include "text/intern.h"

namespace weft::text {
namespace {

constexpr std::size_t kMaxSpanBytes = 64;

template <typename Visit>
void for_each_span(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t newline = text.substr(0, kMaxSpanBytes).find('\n');
    const std::size_t length = newline == std::string_view::npos ? std::min(text.size(), kMaxSpanBytes) : newline + 1;
    visit(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace

int max_similarity_percent(std::uint64_t a_size, std::uint64_t b_size) {
  const std::uint64_t smaller = std::min(a_size, b_size), larger = std::max(a_size, b_size);
  if (smaller == larger) return 100;
  // Sizes come from tree entries, and those may say anything: past what can be multiplied, round up instead.
  if (smaller > UINT64_MAX / 100) return static_cast<int>(std::min<std::uint64_t>(smaller / (larger / 100), 100));
  return static_cast<int>(smaller * 100 / larger);
}

int similarity_percent(std::string_view a, std::string_view b) {
  if (a == b) return 100;
  if (max_similarity_percent(a.size(), b.size()) == 0) return 0;
  Interner interner(a.size() / 32 + 1);
  std::vector<std::uint32_t> left;  // occurrences in a not yet matched, by symbol
  for_each_span(a, [&](std::string_view span) {
    const Symbol symbol = interner.intern(span);
    if (symbol == left.size()) left.push_back(0);
    ++left[symbol];
  });
  std::uint64_t shared = 0;
  for_each_span(b, [&](std::string_view span) {
    const Symbol symbol = interner.intern(span);
    if (symbol >= left.size() || left[symbol] == 0) return;
    --left[symbol];
    shared += span.size();
  });
  return static_cast<int>(shared * 100 / std::max(a.size(), b.size()));
}

}  // namespace weft::text
