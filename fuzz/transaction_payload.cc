// A transaction's payload of any form: every entry lies within it, and can be read where it is said to be.
#include <cstddef>
#include <cstdint>

#include "store/transaction_codec.h"

namespace {
using namespace weft;
using namespace weft::store;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const auto payload = decode_payload(input);
  WEFT_CHECK(payload || payload.error().code == Code::damaged);
  (void)decode_store_payload(input);
  for (const EntryKind kind : {EntryKind::delta, EntryKind::git}) {
    const auto link = decode_link(kind, input, 1u << 20);
    WEFT_CHECK(!link || link->length <= size);
  }
  Bytes late;
  LateWriter(late, 0, 0);
  log::Frame frame;
  frame.header.position = 1u << 20;
  frame.header.late_length = static_cast<std::uint32_t>(late.size());
  frame.header.length = static_cast<std::uint32_t>(log::kFrameHeaderBytes + late.size() + size);
  frame.late = late;
  frame.payload = input;
  const std::uint64_t base = frame.payload_position();
  const auto listed = for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t position) {
    if (kind == EntryKind::operation || kind == EntryKind::pack) {
      WEFT_CHECK(position == frame.header.position);
      return;
    }
    WEFT_CHECK(position >= base && position < base + size);
    const ByteView there = input.substr(position - base);
    if (kind <= EntryKind::change) {
      const auto record = object::decode_record(there);
      WEFT_CHECK(record && record->id == key && entry_kind(record->kind) == kind);
    } else {
      const auto link = decode_link(kind, there, position);
      WEFT_CHECK(link && link->key == key && link->record_position <= position);
    }
  });
  WEFT_CHECK(listed || listed.error().code == Code::damaged);
  return 0;
}
