// A file name in whatever encoding: folding it ends, in bounded space, and upper and lower ASCII letters fold alike.
#include <cstddef>
#include <cstdint>
#include <string>

#include "work/name_fold.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  if (size > 4096) return 0;
  const std::string name(reinterpret_cast<const char*>(data), size);
  const std::string folded = work::folded_name(name);
  // The longest decomposition of a code point has four, of three bytes each here, and folding can double that.
  WEFT_CHECK(folded.size() <= 1 + 24 * name.size());
  std::string lower = name;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  WEFT_CHECK(work::folded_name(lower) == folded);
  return 0;
}
