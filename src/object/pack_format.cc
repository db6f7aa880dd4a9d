#include "object/pack_format.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace weft::object {

namespace {

constexpr std::uint64_t kObjectsPerBucket = 8;
constexpr std::uint64_t kOffsetMask = kMaxPackBytes - 1;

constexpr std::uint64_t round_up_8(std::uint64_t value) { return (value + 7) & ~std::uint64_t{7}; }

}  // namespace

std::string pack_file_name(const ObjectId& pack) { return pack.hex() + ".pack"; }

Bytes encode_footer(const PackFooter& footer) {
  Bytes out;
  ByteWriter writer(out);
  writer.u64(footer.table_offset);
  writer.u64(footer.objects);
  writer.u64(footer.content_bytes);
  writer.u32(TableLayout(footer.objects).bits);
  writer.u32(kPackVersion);
  writer.raw(footer.table_hash.view());
  writer.raw(kPackEndMagic);
  return out;
}

Result<PackFooter> decode_footer(ByteView encoded, std::uint64_t file_bytes) {
  ByteReader reader(encoded);
  PackFooter footer;
  footer.table_offset = reader.u64();
  footer.objects = reader.u64();
  footer.content_bytes = reader.u64();
  const std::uint32_t bits = reader.u32();
  const std::uint32_t version = reader.u32();
  footer.table_hash = read_id<ObjectId>(reader);
  if (reader.raw(kPackEndMagic.size()) != kPackEndMagic || !reader.at_end()) {
    return damaged("it does not end like a pack");
  }
  if (version != kPackVersion) {
    return make_error(Code::unsupported,
                      fmt::format("a pack has format version {}, this weft reads version {}", version, kPackVersion));
  }
  if (footer.objects == 0 || footer.objects > kMaxPackObjects || file_bytes > kMaxPackBytes) {
    return damaged("its footer exceeds a limit");
  }
  const TableLayout layout(footer.objects);
  const bool fits = bits == layout.bits && footer.table_offset % 8 == 0 && footer.table_offset >= kPackHeaderBytes &&
                    footer.table_offset <= file_bytes &&
                    file_bytes - footer.table_offset == layout.end + kPackFooterBytes;
  if (!fits) return damaged("its length does not fit its footer");
  return footer;
}

std::uint64_t id_prefix(const ObjectId& id) {
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, id.bytes.data(), sizeof(prefix));
  return std::byteswap(prefix);
}

TableLayout::TableLayout(std::uint64_t count) : objects(count) {
  const std::uint64_t buckets = objects / kObjectsPerBucket;
  bits = buckets == 0 ? 0 : static_cast<unsigned>(std::bit_width(buckets) - 1);
  prefixes = round_up_8(((std::uint64_t{1} << bits) + 1) * sizeof(std::uint32_t));
  values = prefixes + objects * sizeof(std::uint64_t);
  tails = values + objects * sizeof(std::uint64_t);
  end = tails + objects * kTailBytes;
}

std::uint64_t TableView::word(std::uint64_t position) const {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + position, sizeof(value));
  return value;
}

std::uint32_t TableView::bucket_start(std::uint64_t bucket) const {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes_.data() + bucket * sizeof(value), sizeof(value));
  return value;
}

TableView::Entry TableView::entry(std::uint64_t index) const {
  Entry entry;
  const std::uint64_t prefix = std::byteswap(word(layout_.prefixes + index * sizeof(std::uint64_t)));
  std::memcpy(entry.id.bytes.data(), &prefix, sizeof(prefix));
  std::memcpy(entry.id.bytes.data() + kPrefixBytes, bytes_.data() + layout_.tails + index * kTailBytes, kTailBytes);
  const std::uint64_t value = word(layout_.values + index * sizeof(std::uint64_t));
  entry.kind = static_cast<std::uint8_t>(value >> kPackKindShift);
  entry.offset = value & ((std::uint64_t{1} << kPackKindShift) - 1);
  return entry;
}

Result<std::uint64_t> TableView::first_place(std::uint64_t wanted) const {
  const std::uint64_t bucket = layout_.bucket(wanted);
  std::uint64_t low = bucket_start(bucket);
  std::uint64_t high = bucket_start(bucket + 1);
  if (low > high || high > layout_.objects) return damaged("a pack's table is damaged: its buckets are out of order");
  while (low < high) {  // the first prefix not below
    const std::uint64_t middle = low + (high - low) / 2;
    if (word(layout_.prefixes + middle * sizeof(std::uint64_t)) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Result<std::optional<std::uint64_t>> TableView::find_place(ObjectKind kind, const ObjectId& id) const {
  const std::uint64_t wanted = id_prefix(id);
  WEFT_TRY(std::uint64_t at, first_place(wanted));
  for (; at < layout_.objects && word(layout_.prefixes + at * sizeof(std::uint64_t)) == wanted; ++at) {
    const Entry found = entry(at);
    if (found.id != id || found.kind != static_cast<std::uint8_t>(kind)) continue;
    if (found.offset > kOffsetMask) return damaged("a pack's table is damaged: an offset is out of bounds");
    return std::optional(at);
  }
  return std::optional<std::uint64_t>();
}

}  // namespace weft::object
