#include "store/checkpoint.h"

#include <fmt/format.h>

namespace weft::store {

Bytes encode_checkpoint(const Checkpoint& checkpoint) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.u64(static_cast<std::uint64_t>(checkpoint.time_ns));
  out.raw(checkpoint.kept.id.view());
  out.u64(checkpoint.kept.bytes);
  out.u64(checkpoint.start.position);
  out.u64(checkpoint.start.chain);
  for (const std::uint64_t word : checkpoint.client) out.u64(word);
  return bytes;
}

Result<Checkpoint> decode_checkpoint(ByteView payload, std::uint64_t position) {
  ByteReader in(payload);
  Checkpoint checkpoint;
  checkpoint.time_ns = static_cast<std::int64_t>(in.u64());
  checkpoint.kept.id = read_id<ObjectId>(in);
  checkpoint.kept.bytes = in.u64();
  checkpoint.start.position = in.u64();
  checkpoint.start.chain = in.u64();
  for (auto& word : checkpoint.client) word = in.u64();
  if (!in.ok() || !in.at_end() || checkpoint.start.position == 0 || checkpoint.start.position > position) {
    return damaged(fmt::format("the checkpoint at log position {} is malformed", position),
                   "run `weft verify` to see what is affected");
  }
  return checkpoint;
}

}  // namespace weft::store
