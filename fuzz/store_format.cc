// A store's format file of any form: what is accepted encodes to settings that are accepted, too.
#include <cstddef>
#include <cstdint>

#include "store/store_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::store;
  const auto format = decode_format(ByteView(reinterpret_cast<const char*>(data), size), "format");
  if (!format) {
    WEFT_CHECK(format.error().code == Code::unsupported || format.error().code == Code::damaged);
    return 0;
  }
  const auto again = decode_format(encode_format(*format), "format");
  WEFT_CHECK(again && again->segment_bytes == format->segment_bytes && again->version == format->version);
  return 0;
}
