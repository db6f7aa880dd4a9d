// An index manifest of any form, and the same with its checksum made right: what is accepted encodes to an equal one.
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "store/manifest.h"

namespace {

using namespace weft;
using namespace weft::store;

void try_manifest(ByteView bytes) {
  const auto manifest = decode_manifest(bytes);
  if (!manifest) {
    WEFT_CHECK(manifest.error().code == Code::damaged);
    return;
  }
  WEFT_CHECK(manifest->runs.size() <= kMaxRuns);
  // Numbers may have been written longer than need be; once encoded they are not.
  const Bytes encoded = encode_manifest(*manifest);
  const auto again = decode_manifest(encoded);
  WEFT_CHECK(again && encode_manifest(*again) == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  try_manifest(input);
  if (size < 8) return 0;
  Bytes whole(input.substr(0, size - 8));
  const std::uint64_t checksum = xxh3(whole);
  ByteWriter(whole).u64(checksum);
  try_manifest(whole);
  return 0;
}
