// A file that claims to be an index run, and the same with its header's checksum made right: whatever it holds, lookups
// stay within it.
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/testing/sim_file_system.h"
#include "store/run.h"

namespace {

using namespace weft;
using namespace weft::store;

// As docs/FORMATS.md, "Index", gives it: magic, for each kind eight bytes of count, of fan-out bits and of three
// offsets, the body's checksum, the header's.
constexpr std::size_t kHeaderBytes = 8 + kEntryKinds * 40 + 16;
/// Of a run that is all header, entries claimed beyond this are not walked one by one.
constexpr std::size_t kMaxWalk = 4096;

void try_run(ByteView bytes) {
  SimFileSystem fs;
  auto file = fs.open("run", OpenMode::create_new);
  WEFT_CHECK(file && (*file)->write_at(0, bytes));
  const auto whole = Run::open(fs, "run", true);
  WEFT_CHECK(whole || whole.error().code == Code::damaged);
  const auto run = Run::open(fs, "run", false);
  if (!run) {
    WEFT_CHECK(!whole && run.error().code == Code::damaged);
    return;
  }
  for (std::size_t kind = 0; kind < kEntryKinds; ++kind) {
    const auto entry_kind = static_cast<EntryKind>(kind);
    const std::size_t count = (*run)->count(entry_kind);
    for (std::size_t i = 0; i < count && i < kMaxWalk; ++i) {
      const IndexEntry entry = (*run)->entry(entry_kind, i);
      (*run)->find(entry_kind, entry.key, [](std::uint64_t) { return true; });
      WEFT_CHECK((*run)->lower_bound(entry_kind, key_word(entry.key, 0)) <= count);
    }
    for (const std::uint64_t word : {std::uint64_t{0}, UINT64_MAX})
      WEFT_CHECK((*run)->lower_bound(entry_kind, word) <= count);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  try_run(input);
  if (size < kHeaderBytes) return 0;
  Bytes whole(input.substr(0, kHeaderBytes - 16));
  const std::uint64_t body = xxh3(input.substr(kHeaderBytes));
  ByteWriter(whole).u64(body);
  const std::uint64_t header = xxh3(whole);
  ByteWriter(whole).u64(header);
  whole += input.substr(kHeaderBytes);
  try_run(whole);
  return 0;
}
