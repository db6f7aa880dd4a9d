// An ignore file and a path, split at the first NUL pair: parsing and matching stand any bytes, in bounded time.
#include <cstddef>
#include <cstdint>

#include "work/ignore.h"
#include "work/wildmatch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  if (size > 1u << 16) return 0;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const std::size_t marker = input.find(ByteView("\0\0", 2));
  const ByteView file = input.substr(0, marker);
  ByteView path = marker == ByteView::npos ? ByteView("a/b") : input.substr(marker + 2);
  path = path.substr(0, path.find('\0')).substr(0, 1024);

  const auto list = work::PatternList::parse(file);
  const auto folding = work::PatternList::parse(file, true);
  const work::IgnorePattern* verdict = list.last_match(path, false);
  // A pattern for directories only never speaks about a file, and what matches a file matches a directory of that name.
  WEFT_CHECK(verdict == nullptr || !verdict->directories_only);
  WEFT_CHECK(verdict == nullptr || list.last_match(path, true) != nullptr);
  const work::IgnorePattern* folded = folding.last_match(path, false);
  WEFT_CHECK(folded == nullptr || folding.last_match(path, true) != nullptr);
  (void)work::wildmatch(file.substr(0, file.find('\0')).substr(0, work::kMaxPatternBytes), path, true);
  return 0;
}
