#include "store/transaction_codec.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace weft::store {
namespace {

constexpr std::uint8_t kOperationTag = 1;
constexpr std::uint8_t kRecordsTag = 2;
constexpr std::uint8_t kPacksTag = 3;
constexpr std::uint8_t kDeltasTag = 4;
constexpr std::uint8_t kGitsTag = 5;

constexpr std::uint8_t kHasAfter = 1;
constexpr std::size_t kStoredKeyBytes = 16;
constexpr std::size_t kMaxPacks = 1024;

Error bad(std::string_view what, std::uint64_t position) {
  return damaged(fmt::format("the transaction at log position {} has a malformed {}", position, what),
                 "run `weft verify` to see what is affected");
}

void write_value(ByteWriter& writer, const RefValue& value) {
  writer.varint(value.version.changes.size());
  for (const auto& id : value.version.changes) writer.raw(id.view());
  writer.sized(value.extra);
}

RefValue read_value(ByteReader& reader) {
  RefValue value;
  const std::uint64_t count = reader.varint_max(object::kMaxVersionChanges);
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    value.version.changes.push_back(read_id<ChangeId>(reader));
    const auto& ids = value.version.changes;
    if (ids.size() > 1 && !(ids[ids.size() - 2] < ids.back())) reader.fail();
  }
  value.extra = Bytes(reader.sized(kMaxRefExtraBytes));
  return value;
}

Move read_move(ByteReader& reader, std::uint64_t position) {
  Move move;
  move.position = position;
  const std::uint32_t offset = reader.u32();
  move.frame = offset <= position ? position - offset : 0;
  if (offset > position) reader.fail();
  move.previous = reader.u64();
  if (move.previous >= position && move.previous != 0) reader.fail();
  const ByteView key = reader.raw(kStoredKeyBytes);
  if (reader.ok()) std::memcpy(move.key.bytes.data(), key.data(), kStoredKeyBytes);
  move.name = std::string(reader.sized(kMaxRefNameBytes));
  const std::uint8_t flags = reader.u8();
  if (flags > kHasAfter) reader.fail();
  if ((flags & kHasAfter) != 0) move.after = read_value(reader);
  return move;
}

}  // namespace

Key ref_key(std::string_view name) { return sha256(name); }

LateWriter::LateWriter(Bytes& out, std::uint64_t previous_operation, std::size_t moves) : out_(out) {
  ByteWriter writer(out_);
  writer.u64(previous_operation);
  writer.varint(moves);
}

std::size_t LateWriter::add(const Key& key, std::uint64_t previous, std::string_view name,
                            const std::optional<RefValue>& after) {
  const std::size_t offset = log::kFrameHeaderBytes + out_.size();
  ByteWriter writer(out_);
  writer.u32(static_cast<std::uint32_t>(offset));
  writer.u64(previous);
  writer.raw(key.view().substr(0, kStoredKeyBytes));
  writer.sized(name);
  writer.u8(after ? kHasAfter : 0);
  if (after) write_value(writer, *after);
  return offset;
}

Result<Late> decode_late(ByteView bytes, std::uint64_t frame_position) {
  Late late;
  ByteReader reader(bytes);
  late.previous_operation = reader.u64();
  const std::uint64_t count = reader.varint_max(kMaxRefMoves);
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::uint64_t position = frame_position + log::kFrameHeaderBytes + reader.position();
    late.moves.push_back(read_move(reader, position));
    if (late.moves.back().frame != frame_position) reader.fail();
  }
  if (!reader.ok() || !reader.at_end()) return bad("list of ref moves", frame_position);
  return late;
}

bool for_each_move(ByteView late, std::uint64_t frame_position,
                   const std::function<void(ByteView, std::string_view, std::uint64_t)>& visit) {
  ByteReader reader(late);
  reader.u64();
  const std::uint64_t count = reader.varint_max(kMaxRefMoves);
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::uint64_t position = frame_position + log::kFrameHeaderBytes + reader.position();
    reader.raw(4 + 8);
    const ByteView key = reader.raw(kStoredKeyBytes);
    const ByteView name = reader.sized(kMaxRefNameBytes);
    if (reader.u8() == kHasAfter) {
      reader.raw(reader.varint_max(object::kMaxVersionChanges) * ChangeId::kSize);
      reader.sized(kMaxRefExtraBytes);
    }
    if (reader.ok()) visit(key, name, position);
  }
  return reader.ok() && reader.at_end();
}

std::optional<Move> decode_move(ByteView bytes, std::uint64_t position) {
  ByteReader reader(bytes);
  Move move = read_move(reader, position);
  if (!reader.ok()) return std::nullopt;
  return move;
}

PayloadWriter::PayloadWriter(std::int64_t time_ns) { ByteWriter(bytes_).u64(static_cast<std::uint64_t>(time_ns)); }

void PayloadWriter::operation(const OperationInfo& info) {
  Bytes body;
  ByteWriter writer(body);
  writer.sized(info.label);
  writer.sized(info.author);
  writer.sized(info.workspace);
  writer.sized(info.agent);
  writer.u8(info.undoes ? 1 : 0);
  if (info.undoes) writer.raw(info.undoes->view());
  ByteWriter out(bytes_);
  out.u8(kOperationTag);
  out.sized(body);
}

void PayloadWriter::packs(const std::vector<PackName>& packs) {
  if (packs.empty()) return;
  Bytes body;
  ByteWriter writer(body);
  for (const auto& pack : packs) {
    writer.raw(pack.id.view());
    writer.varint(pack.objects);
    writer.varint(pack.changes);
    writer.varint(pack.bytes);
  }
  ByteWriter out(bytes_);
  out.u8(kPacksTag);
  out.sized(body);
}

std::size_t PayloadWriter::records(ByteView encoded) {
  ByteWriter out(bytes_);
  out.u8(kRecordsTag);
  out.varint(encoded.size());
  const std::size_t offset = bytes_.size();
  out.raw(encoded);
  return offset;
}

std::vector<std::size_t> PayloadWriter::links(std::uint8_t tag, const std::vector<LinkEntry>& entries) {
  std::vector<std::size_t> offsets;
  if (entries.empty()) return offsets;
  // The length prefix moves the entries: where they begin is only known once it is written, and `back` depends on it.
  // An entry's length does not depend on `back`, so the body's size can be known first.
  std::size_t size = 0;
  for (const auto& entry : entries) size += entry.key.size() + 4 + (entry.record ? 0 : ChangeId::kSize);
  ByteWriter out(bytes_);
  out.u8(tag);
  out.varint(size);
  for (const auto& entry : entries) {
    const std::size_t offset = bytes_.size();
    offsets.push_back(offset);
    out.raw(entry.key);
    out.u32(entry.record ? static_cast<std::uint32_t>(offset - *entry.record) : 0);
    if (!entry.record) out.raw(entry.change.view());
  }
  return offsets;
}

std::vector<std::size_t> PayloadWriter::deltas(const std::vector<LinkEntry>& entries) {
  return links(kDeltasTag, entries);
}
std::vector<std::size_t> PayloadWriter::gits(const std::vector<LinkEntry>& entries) { return links(kGitsTag, entries); }

Result<Payload> decode_payload(ByteView bytes) {
  Payload payload;
  ByteReader reader(bytes);
  payload.time_ns = static_cast<std::int64_t>(reader.u64());
  std::uint8_t last = 0;
  while (reader.ok() && !reader.at_end()) {
    const std::uint8_t tag = reader.u8();
    const ByteView body = reader.sized(bytes.size());
    if (!reader.ok()) break;
    const std::size_t offset = reader.position() - body.size();
    if (tag <= last || tag > kGitsTag) {
      reader.fail();
      break;
    }
    last = tag;
    ByteReader inner(body);
    switch (tag) {
      case kOperationTag: {
        OperationInfo info;
        info.label = std::string(inner.sized(kMaxLabelBytes));
        info.author = std::string(inner.sized(kMaxLabelBytes));
        info.workspace = std::string(inner.sized(kMaxLabelBytes));
        info.agent = std::string(inner.sized(kMaxLabelBytes));
        const std::uint8_t undoes = inner.u8();
        if (undoes > 1) inner.fail();
        if (undoes == 1) info.undoes = read_id<TransactionId>(inner);
        if (!inner.ok() || !inner.at_end()) reader.fail();
        payload.operation = std::move(info);
        break;
      }
      case kRecordsTag:
        payload.records = body;
        payload.records_offset = offset;
        break;
      case kPacksTag:
        while (inner.ok() && !inner.at_end() && payload.packs.size() < kMaxPacks) {
          PackName pack;
          pack.id = read_id<ObjectId>(inner);
          pack.objects = inner.varint();
          pack.changes = inner.varint();
          pack.bytes = inner.varint();
          payload.packs.push_back(pack);
        }
        if (!inner.ok() || !inner.at_end()) reader.fail();
        break;
      case kDeltasTag:
        payload.deltas = body;
        payload.deltas_offset = offset;
        break;
      default:
        payload.gits = body;
        payload.gits_offset = offset;
        break;
    }
  }
  if (!reader.ok()) return damaged("a transaction's payload is malformed", "run `weft verify` to see what is affected");
  return payload;
}

std::optional<Link> decode_link(EntryKind kind, ByteView bytes, std::uint64_t position) {
  ByteReader reader(bytes);
  Link link;
  const ByteView key = reader.raw(kind == EntryKind::git ? GitId::kSize : DeltaId::kSize);
  const std::uint32_t back = reader.u32();
  if (!reader.ok()) return std::nullopt;
  std::memcpy(link.key.bytes.data(), key.data(), key.size());
  if (back == 0) {
    link.change = read_id<ChangeId>(reader);
  } else {
    if (back > position) return std::nullopt;
    link.record_position = position - back;
  }
  if (!reader.ok()) return std::nullopt;
  link.length = reader.position();
  return link;
}

Result<void> for_each_entry(const log::Frame& frame,
                            const std::function<void(EntryKind, const Key&, std::uint64_t)>& visit) {
  if (frame.header.kind != log::FrameKind::transaction) return {};
  const std::uint64_t at = frame.header.position;
  if (!for_each_move(frame.late, at, [&](ByteView, std::string_view name, std::uint64_t position) {
        visit(EntryKind::ref, ref_key(name), position);
      })) {
    return bad("list of ref moves", at);
  }
  auto decoded = decode_payload(frame.payload);
  if (!decoded) return bad("payload", at);
  const Payload& payload = *decoded;
  const std::uint64_t base = frame.payload_position();
  if (payload.operation) visit(EntryKind::operation, padded_key(frame.header.transaction), at);
  for (const auto& pack : payload.packs) visit(EntryKind::pack, pack.id, at);
  ByteView rest = payload.records;
  while (!rest.empty()) {
    auto record = object::decode_record(rest);
    if (!record) return bad("object record", at);
    visit(entry_kind(record->kind), record->id, base + payload.records_offset + (payload.records.size() - rest.size()));
    rest.remove_prefix(record->length);
  }
  for (const EntryKind kind : {EntryKind::delta, EntryKind::git}) {
    const ByteView links = kind == EntryKind::delta ? payload.deltas : payload.gits;
    const std::size_t offset = kind == EntryKind::delta ? payload.deltas_offset : payload.gits_offset;
    for (std::size_t done = 0; done < links.size();) {
      const std::uint64_t position = base + offset + done;
      const auto link = decode_link(kind, links.substr(done), position);
      if (!link) return bad(kind == EntryKind::delta ? "delta entry" : "git entry", at);
      visit(kind, link->key, position);
      done += link->length;
    }
  }
  return {};
}

Bytes encode_store_payload(const StoreIds& ids) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.raw(ids.store.view());
  writer.raw(ids.replica.view());
  return bytes;
}

Result<StoreIds> decode_store_payload(ByteView payload) {
  ByteReader reader(payload);
  StoreIds ids;
  ids.store = read_id<StoreId>(reader);
  ids.replica = read_id<ReplicaId>(reader);
  if (!reader.ok() || !reader.at_end()) return damaged("the store's first frame is malformed");
  return ids;
}

}  // namespace weft::store
