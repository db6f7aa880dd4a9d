// A change: what is accepted encodes to exactly the bytes it came from.
#include <cstddef>
#include <cstdint>

#include "object/change.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const auto change = object::decode_change(input);
  if (!change) {
    WEFT_CHECK(change.error().code == Code::damaged);
    return 0;
  }
  WEFT_CHECK(object::check_change(*change).has_value());
  const Bytes encoded = object::encode_change(*change);
  WEFT_CHECK(encoded == input);
  WEFT_CHECK(object::decode_change(encoded).value() == *change);
  (void)object::delta_id(*change, [](const NodeId& node) { return node.hex(); });
  return 0;
}
