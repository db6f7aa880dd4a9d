// A history manifest of any form, and the same with its checksum made right, what is accepted encoding to an equal one;
// and graph records of any form.
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "store/history_index.h"

namespace {

using namespace weft;
using namespace weft::store;

void try_manifest(ByteView bytes) {
  const auto manifest = decode_history_manifest(bytes);
  if (!manifest) {
    WEFT_CHECK(manifest.error().code == Code::damaged);
    return;
  }
  WEFT_CHECK(manifest->runs.size() <= kMaxHistoryRuns && manifest->records <= kMaxOrdinal);
  const Bytes encoded = encode_history_manifest(*manifest);
  const auto again = decode_history_manifest(encoded);
  WEFT_CHECK(again && encode_history_manifest(*again) == encoded);
}

void try_record(ByteView bytes) {
  for (const Ordinal ordinal : {Ordinal{0}, Ordinal{1}, Ordinal{1000}, kMaxOrdinal}) {
    const auto record = decode_record(bytes, ordinal);
    if (!record) {
      WEFT_CHECK(record.error().code == Code::damaged);
      continue;
    }
    Bytes encoded;
    append_record(encoded, *record);
    WEFT_CHECK(encoded == bytes);
    WEFT_CHECK(record->jump <= ordinal && (record->first < ordinal || record->first == GraphRecord::kNone));  // HI4
  }
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
  if (size < GraphRecord::kBytes) return 0;
  try_record(input.substr(0, GraphRecord::kBytes));
  Bytes record(input.substr(0, GraphRecord::kBytes - 8));
  const std::uint64_t record_checksum = xxh3(record);
  ByteWriter(record).u64(record_checksum);
  try_record(record);
  return 0;
}
