// A message of the git helper's protocol: what is accepted encodes to exactly the bytes it came from.
#include <cstddef>
#include <cstdint>

#include "git/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const auto message = git::wire::decode(input);
  if (!message) {
    WEFT_CHECK(message.error().code == Code::peer);
    return 0;
  }
  Bytes frame;
  git::wire::append_frame(frame, *message);
  WEFT_CHECK(ByteView(frame).substr(4) == input);
  return 0;
}
