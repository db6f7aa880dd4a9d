#include <fmt/format.h>

#include <charconv>

#include "store/store_state.h"

namespace weft::store {
namespace {

constexpr std::string_view kFirstWords = "weft store ";
constexpr std::uint64_t kMinSegmentBytes = 1u << 20;
constexpr std::uint64_t kMaxSegmentBytes = 1u << 30;

bool valid_segment_bytes(std::uint64_t bytes) {
  return bytes >= kMinSegmentBytes && bytes <= kMaxSegmentBytes && bytes % log::kBatchAlignment == 0;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Bytes encode_format(const Format& format) {
  return fmt::format("{}{}\nsegment_bytes {}\nring_bytes {}\n", kFirstWords, format.version, format.segment_bytes,
                     log::kRingBytes);
}

// One line says store and version; then `key value` lines. A key this binary does not know is a feature it does not
// know.
Result<Format> decode_format(ByteView bytes, const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return make_error(Code::unsupported, fmt::format("{} {}", path, what),
                      "a newer weft made this store, or the file is damaged; use that version");
  };
  const auto garbled = [&](std::string_view what) {
    return damaged(fmt::format("{} {}", path, what), "restore the file from a copy; log and packs are not affected");
  };
  Format format;
  bool first = true;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == ByteView::npos) return garbled("has no whole last line");
    const ByteView line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (first) {
      if (!line.starts_with(kFirstWords)) return garbled("is not a weft store's format file");
      const auto version = number(line.substr(kFirstWords.size()));
      if (!version || *version != kFormatVersion)
        return bad(fmt::format("has a format this weft does not know ({})", line));
      first = false;
      continue;
    }
    const std::size_t space = line.find(' ');
    if (space == ByteView::npos) return garbled("has a malformed line");
    const ByteView key = line.substr(0, space);
    const auto value = number(line.substr(space + 1));
    if (key == "segment_bytes" && value && valid_segment_bytes(*value)) {
      format.segment_bytes = *value;
    } else if (key == "ring_bytes" && value == log::kRingBytes) {
      continue;
    } else {
      return bad(fmt::format("needs a feature this weft does not know ({})", line));
    }
  }
  if (first) return garbled("is empty");
  return format;
}

}  // namespace weft::store
