// The summary of a change agrees with the change, wherever the whole can be decoded.
#include <cstddef>
#include <cstdint>

#include "object/change.h"
#include "object/change_head.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const auto summary = object::decode_change_summary(input);
  WEFT_CHECK(summary || summary.error().code == Code::damaged);
  const auto head = object::decode_change_head(input);
  WEFT_CHECK(head || head.error().code == Code::damaged);
  auto change = object::decode_change(input);
  if (!change) return 0;
  WEFT_CHECK(summary.has_value());
  WEFT_CHECK(summary->parents == change->parents && summary->lamport == change->lamport &&
             summary->tree == change->tree);
  change->ops.clear();
  WEFT_CHECK(head.has_value() && *head == *change);
  return 0;
}
