// A directory state file and its delta: refused, or every question to them has an answer inside their bytes.
//
// Input: the base, its length in front (`u32`); the rest is the delta.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/hash.h"
#include "work/directory_state.h"

namespace {

/// No mutation would get a checksum right: it is mended, so that what lies behind it is reached.
void mend(weft::Bytes& bytes) {
  if (bytes.size() < 24) return;
  const std::uint64_t checksum = weft::xxh3(weft::ByteView(bytes).substr(24));
  std::memcpy(bytes.data() + 16, &checksum, sizeof(checksum));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  constexpr std::size_t kBaseChecksumInDelta = 40;
  const ByteView all(reinterpret_cast<const char*>(data), size);
  std::uint32_t length = 0;
  if (all.size() < sizeof(length)) return 0;
  std::memcpy(&length, all.data(), sizeof(length));
  const ByteView rest = all.substr(sizeof(length));
  auto base = std::make_shared<Bytes>(rest.substr(0, std::min<std::size_t>(length, rest.size())));
  auto delta = std::make_shared<Bytes>(rest.substr(base->size()));
  mend(*base);
  if (base->size() >= 24 && delta->size() >= kBaseChecksumInDelta + 8) {
    std::memcpy(delta->data() + kBaseChecksumInDelta, base->data() + 16, 8);
    mend(*delta);
  }
  const auto state = work::DirectoryState::decode(base, 7, 9, delta);
  if (!state) return 0;
  for (std::size_t i = 0; i < state->size(); ++i) {
    const work::StateEntry entry = state->entry(i);
    WEFT_CHECK(!entry.path.empty() && state->end(i) > i && state->end(i) <= state->size());
    (void)state->find(entry.path);
  }
  return 0;
}
