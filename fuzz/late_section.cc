// A transaction's late section of any form: the three ways to read it agree, and what is accepted encodes to an equal
// one.
#include <cstddef>
#include <cstdint>

#include "store/transaction_codec.h"

namespace {
using namespace weft;
using namespace weft::store;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  constexpr std::uint64_t kFrame = 1u << 20;
  const auto late = decode_late(input, kFrame);
  (void)decode_move(input, kFrame);
  std::size_t visited = 0;
  (void)for_each_move(input, kFrame, [&](ByteView key, std::string_view name, std::uint64_t position) {
    if (late) {
      const Move& move = late->moves.at(visited);
      WEFT_CHECK(move.position == position && move.name == name && move.key.view().substr(0, key.size()) == key);
    }
    ++visited;
  });
  if (!late) {
    WEFT_CHECK(late.error().code == Code::damaged);
    return 0;
  }
  WEFT_CHECK(visited == late->moves.size());
  Bytes encoded;
  LateWriter writer(encoded, late->previous_operation, late->moves.size());
  const Bytes frame = Bytes(log::kFrameHeaderBytes, '\0') + Bytes(input);
  for (const Move& move : late->moves) {
    writer.add(move.key, move.previous, move.name, move.after);
    const auto alone = decode_move(ByteView(frame).substr(move.position - kFrame), move.position);
    WEFT_CHECK(alone && alone->name == move.name && alone->after == move.after && alone->frame == kFrame);
  }
  const auto again = decode_late(encoded, kFrame);
  WEFT_CHECK(again && again->moves.size() == late->moves.size());
  return 0;
}
