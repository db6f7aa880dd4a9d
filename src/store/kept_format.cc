#include "store/kept_format.h"

#include "base/hash.h"

namespace weft::store {

void append_kept_block(Bytes& out, const KeptBlock& block) {
  ByteWriter writer(out);
  writer.u64(block.first);
  writer.u64(block.offset);
  writer.u32(block.raw);
  writer.u32(block.stored);
  writer.u64(block.checksum);
}

KeptBlock read_kept_block(ByteReader& in) {
  KeptBlock block;
  block.first = in.u64();
  block.offset = in.u64();
  block.raw = in.u32();
  block.stored = in.u32();
  block.checksum = in.u64();
  return block;
}

void append_kept_pack(Bytes& out, const KeptPack& pack, object::RecordCodec& codec) {
  ByteWriter writer(out);
  writer.raw(pack.name.id.view());
  writer.varint(pack.name.objects);
  writer.varint(pack.name.changes);
  writer.varint(pack.name.bytes);
  writer.varint(pack.objects);
  writer.varint(pack.changes);
  const ByteView raw(reinterpret_cast<const char*>(pack.dead.data()), pack.dead.size() * sizeof(std::uint64_t));
  const auto packed = codec.pack(raw);
  writer.varint(raw.size());
  writer.u8(static_cast<std::uint8_t>(packed.form));
  writer.sized(packed.bytes);
}

KeptPack read_kept_pack(ByteReader& in) {
  KeptPack pack;
  pack.name.id = read_id<ObjectId>(in);
  pack.name.objects = in.varint();
  pack.name.changes = in.varint();
  pack.name.bytes = in.varint();
  pack.objects = in.varint_max(pack.name.objects);
  pack.changes = in.varint_max(pack.objects);
  const std::uint64_t raw = in.varint_max(kMaxDeadBytes);
  const auto form = static_cast<object::Stored>(in.u8());
  const ByteView stored = in.sized(kMaxDeadBytes);
  const bool sized = raw == 0 || raw == (pack.name.objects + 63) / 64 * 8;
  if (!sized || (form != object::Stored::plain && form != object::Stored::zstd)) in.fail();
  if (!in.ok() || raw == 0) {
    if (!stored.empty()) in.fail();
    return pack;
  }
  object::RecordCodec codec;
  Bytes words;
  if (!codec.unpack(form, stored, raw, words)) {
    in.fail();
    return pack;
  }
  pack.dead.resize(raw / sizeof(std::uint64_t));
  std::memcpy(pack.dead.data(), words.data(), raw);
  return pack;
}

Bytes encode_kept_footer(const KeptFooter& footer) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.raw(footer.facts.ids.store.view());
  out.raw(footer.facts.ids.replica.view());
  out.u64(footer.facts.start);
  out.u64(footer.facts.window);
  out.u64(footer.facts.newest_operation);
  out.u64(footer.tables);
  out.u64(footer.small_bytes);
  out.u64(footer.small_checksum);
  out.u64(footer.counts.blocks);
  out.u64(footer.counts.refs);
  out.u64(footer.counts.operations);
  out.u64(footer.counts.deltas);
  out.u64(footer.counts.gits);
  out.u64(footer.counts.packs);
  out.raw(footer.body_hash.view());
  out.u32(kKeptVersion);
  out.u32(0);
  out.raw(kKeptEndMagic);
  WEFT_CHECK(bytes.size() == kKeptFooterBytes);
  return bytes;
}

Result<KeptFooter> decode_kept_footer(ByteView bytes, std::uint64_t file_bytes) {
  ByteReader in(bytes);
  KeptFooter footer;
  footer.facts.ids.store = read_id<StoreId>(in);
  footer.facts.ids.replica = read_id<ReplicaId>(in);
  footer.facts.start = in.u64();
  footer.facts.window = in.u64();
  footer.facts.newest_operation = in.u64();
  footer.tables = in.u64();
  footer.small_bytes = in.u64();
  footer.small_checksum = in.u64();
  footer.counts.blocks = in.u64();
  footer.counts.refs = in.u64();
  footer.counts.operations = in.u64();
  footer.counts.deltas = in.u64();
  footer.counts.gits = in.u64();
  footer.counts.packs = in.u64();
  footer.body_hash = read_id<ObjectId>(in);
  const std::uint32_t version = in.u32();
  const std::uint32_t zero = in.u32();
  const ByteView magic = in.raw(kKeptEndMagic.size());
  if (!in.ok() || !in.at_end() || magic != kKeptEndMagic || zero != 0) return damaged("its footer is malformed");
  if (version != kKeptVersion) return make_error(Code::unsupported, "it is of a newer version of weft");
  // No count may be so large that the sums below overflow.
  const auto& counts = footer.counts;
  for (const std::uint64_t count :
       {counts.blocks, counts.refs, counts.operations, counts.deltas, counts.gits, counts.packs}) {
    if (count > file_bytes) return damaged("its footer counts more than it can hold");
  }
  if (footer.tables > file_bytes || footer.tables % 8 != 0 || footer.tables < kKeptHeaderBytes ||
      footer.small_bytes > file_bytes || footer.small_bytes % 8 != 0 || counts.packs > kMaxKeptPacks) {
    return damaged("its footer does not fit it");
  }
  const KeptLayout layout(footer);
  if (layout.packs - footer.tables > footer.small_bytes || layout.end + kKeptFooterBytes != file_bytes) {
    return damaged("its footer does not fit it");
  }
  return footer;
}

KeptLayout::KeptLayout(const KeptFooter& footer) {
  const auto& counts = footer.counts;
  ref_keys = footer.tables + counts.blocks * kKeptBlockEntryBytes;
  ref_positions = ref_keys + counts.refs * 8;
  packs = ref_positions + counts.refs * 8;
  operation_ids = footer.tables + footer.small_bytes;
  operation_blocks = operation_ids + counts.operations * 8;
  deltas = operation_blocks + (counts.operations + 1) / 2 * 8;
  gits = deltas + counts.deltas * kDeltaLinkBytes;
  end = gits + (counts.gits * kGitLinkBytes + 7) / 8 * 8;
}

}  // namespace weft::store
