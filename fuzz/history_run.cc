// A file that claims to be a history run, and the same with its header's checksum made right: whatever it holds,
// lookups stay within it.
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/testing/sim_file_system.h"
#include "store/history_run.h"

namespace {

using namespace weft;
using namespace weft::store;

// As docs/FORMATS.md, "History index", gives it: magic, for each kind eight bytes of count, of fan-out bits and of
// three offsets, the body's checksum, the header's.
constexpr std::size_t kHeaderBytes = 8 + kHistoryKinds * 40 + 16;
/// Of a run that is all header, entries claimed beyond this are not walked one by one.
constexpr std::size_t kMaxWalk = 4096;

void try_run(ByteView bytes) {
  SimFileSystem fs;
  auto file = fs.open("run", OpenMode::create_new);
  WEFT_CHECK(file && (*file)->write_at(0, bytes));
  const auto whole = HistoryRun::open(fs, "run", true);
  WEFT_CHECK(whole || whole.error().code == Code::damaged);
  const auto run = HistoryRun::open(fs, "run", false);
  if (!run) {
    WEFT_CHECK(!whole && run.error().code == Code::damaged);
    return;
  }
  for (std::size_t number = 0; number < kHistoryKinds; ++number) {
    const auto kind = static_cast<HistoryKind>(number);
    const std::size_t count = (*run)->count(kind);
    for (std::size_t i = 0; i < count && i < kMaxWalk; ++i) {
      const HistoryEntry entry = (*run)->entry(kind, i);
      WEFT_CHECK((*run)->lower_bound(kind, entry.key, entry.ordinal) <= count);
    }
    TouchKey last;
    last.bytes.fill(0xff);
    WEFT_CHECK((*run)->lower_bound(kind, TouchKey{}, 0) <= count && (*run)->lower_bound(kind, last, 0) <= count);
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
