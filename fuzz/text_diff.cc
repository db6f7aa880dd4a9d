// Two texts, split at the first 0xFF byte: the diff applied to one gives the other, and every printer stands it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/refine.h"
#include "text/unified.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t marker = input.find('\xff');
  const std::string_view before = input.substr(0, marker);
  const std::string_view after = marker == std::string_view::npos ? std::string_view() : input.substr(marker + 1);

  std::string applied;
  std::uint64_t at = 0;
  for (const text::ByteChange& change : text::diff_bytes(before, after)) {
    WEFT_CHECK(change.offset >= at && before.substr(change.offset, change.removed.size()) == change.removed);
    WEFT_CHECK(!change.removed.empty() || !change.added.empty());
    applied += before.substr(at, change.offset - at);
    applied += change.added;
    at = change.offset + change.removed.size();
  }
  applied += before.substr(at);
  WEFT_CHECK(applied == after);

  const auto lines = text::unified_diff(before, after, {});
  WEFT_CHECK(lines.empty() == (before == after));
  text::UnifiedOptions options;
  options.language = static_cast<text::Language>(size % (static_cast<std::size_t>(text::Language::dts) + 1));
  options.compare = {static_cast<text::Whitespace>(size % 4), size % 3 == 0};
  (void)text::unified_diff(before, after, options);
  std::string words;
  for (const auto& piece : text::diff_words(before, after)) {
    if (piece.kind != text::WordPiece::Kind::removed) words += piece.text;
  }
  WEFT_CHECK(words == after);
  const auto a = text::split_lines(before), b = text::split_lines(after);
  const auto refined = text::refine_lines(a, b);
  WEFT_CHECK(refined.removed.size() == a.size() && refined.added.size() == b.size());
  for (std::size_t line = 0; line < b.size(); ++line) {
    std::size_t end = 0;
    for (const auto& span : refined.added[line]) {
      WEFT_CHECK(span.begin >= end && span.begin < span.end && span.end <= b[line].size());
      end = span.end;
    }
  }
  const int percent = text::similarity_percent(before, after);
  WEFT_CHECK(percent == text::similarity_percent(after, before));
  WEFT_CHECK(percent >= 0 && percent <= text::max_similarity_percent(before.size(), after.size()));
  return 0;
}
