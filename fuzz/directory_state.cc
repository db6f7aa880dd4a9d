// A directory state file: refused, or every question to it has an answer inside its bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/hash.h"
#include "work/directory_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  auto bytes = std::make_shared<Bytes>(reinterpret_cast<const char*>(data), size);
  if (bytes->size() >= 24) {
    // Mend the checksum, which no mutation would get right, so that what lies behind it is reached.
    const std::uint64_t checksum = xxh3(ByteView(*bytes).substr(24));
    std::memcpy(bytes->data() + 16, &checksum, sizeof(checksum));
  }
  const auto state = work::DirectoryState::decode(bytes, 7, 9);
  if (!state) return 0;
  for (std::size_t i = 0; i < state->size(); ++i) {
    const work::StateEntry entry = state->entry(i);
    WEFT_CHECK(!entry.path.empty() && state->end(i) > i && state->end(i) <= state->size());
    (void)state->find(entry.path);
  }
  return 0;
}
