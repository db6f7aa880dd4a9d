// Blocks and footers of kept files, and checkpoints, of any form: what is accepted encodes to the same again.
#include <cstddef>
#include <cstdint>

#include "store/checkpoint.h"
#include "store/kept_format.h"

namespace {

using namespace weft;
using namespace weft::store;

void try_frames(ByteView bytes) {
  const auto frames = decode_kept_frames(bytes);
  if (!frames) {
    WEFT_CHECK(frames.error().code == Code::damaged);
    return;
  }
  const Bytes encoded = encode_kept_frames(*frames);
  const auto again = decode_kept_frames(encoded);
  WEFT_CHECK(again && again->size() == frames->size() && encode_kept_frames(*again) == encoded);
}

void try_footer(ByteView bytes) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{1} << 40}) {
    const auto footer = decode_kept_footer(bytes, size);
    if (footer) WEFT_CHECK(encode_kept_footer(*footer) == bytes);
  }
}

void try_pack(ByteView bytes) {
  ByteReader in(bytes);
  const KeptPack pack = read_kept_pack(in);
  if (!in.ok()) return;
  object::RecordCodec codec;
  Bytes encoded;
  append_kept_pack(encoded, pack, codec);
  ByteReader again(encoded);
  const KeptPack second = read_kept_pack(again);
  WEFT_CHECK(again.ok() && second.dead == pack.dead && second.name.id == pack.name.id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  try_frames(input);
  try_footer(input);
  try_pack(input);
  const auto checkpoint = decode_checkpoint(input, UINT64_MAX);
  if (checkpoint) WEFT_CHECK(encode_checkpoint(*checkpoint) == input);
  return 0;
}
