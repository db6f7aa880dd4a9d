#include "object/record.h"

#include <utility>

#include <fmt/format.h>
#include <zstd.h>

#include "base/hash.h"

namespace weft::object {

namespace {

// Compression that saves less than one byte in 16 is not worth a reader's time.
bool pays(std::size_t compressed, std::size_t raw) { return compressed < raw - raw / 16; }

Error record_damaged(const Record& record, std::string_view problem) {
  return damaged(fmt::format("the record of {} {} {}", name(record.kind), record.id.hex(), problem),
                 "other objects are unaffected; `weft verify --deep` lists what needs this one");
}

}  // namespace

Result<RecordHead> decode_record_head(ByteView bytes) {
  ByteReader reader(bytes);
  RecordHead head;
  Record& record = head.record;
  const std::uint8_t kind = reader.u8();
  const std::uint8_t form = reader.u8();
  record.id = read_id<ObjectId>(reader);
  record.raw_size = reader.varint();
  head.stored_size = reader.varint();
  record.checksum = reader.u64();
  if (!reader.ok()) return damaged("a record is cut off in its header");
  if (kind < 1 || kind > 3) return damaged(fmt::format("a record has the unknown kind {}", kind));
  record.kind = static_cast<ObjectKind>(kind);
  record.form = static_cast<Stored>(form);
  if (record.form == Stored::chunks) {
    const bool fits =
        record.kind == ObjectKind::blob && record.raw_size <= kMaxBlobBytes && head.stored_size <= kMaxRecordBytes;
    if (!fits) return record_damaged(record, "is a list of chunks that does not fit");
    record.length = reader.position() + head.stored_size;
    return head;
  }
  if (form > static_cast<std::uint8_t>(Stored::zstd)) return record_damaged(record, "is stored in an unknown form");
  if (record.raw_size > kMaxRecordBytes) return record_damaged(record, "claims more bytes than a record may have");
  const bool plain = record.form == Stored::plain;
  if (plain ? head.stored_size != record.raw_size : head.stored_size >= record.raw_size) {
    return record_damaged(record, "has a stored size that does not fit its content");
  }
  record.length = reader.position() + head.stored_size;
  return head;
}

Result<Record> decode_record(ByteView bytes) {
  WEFT_TRY(RecordHead head, decode_record_head(bytes));
  Record& record = head.record;
  if (record.length > bytes.size()) return record_damaged(record, "is cut off");
  record.stored = bytes.substr(record.length - head.stored_size, head.stored_size);
  return record;
}

struct RecordCodec::Contexts {
  ZSTD_CCtx* compress = nullptr;
  ZSTD_DCtx* decompress = nullptr;
  Bytes scratch;

  Contexts() = default;
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
  ~Contexts() {
    ZSTD_freeCCtx(compress);  // both accept null
    ZSTD_freeDCtx(decompress);
  }
};

RecordCodec::RecordCodec(int level) : level_(level) {}
RecordCodec::~RecordCodec() = default;
RecordCodec::RecordCodec(RecordCodec&&) noexcept = default;
RecordCodec& RecordCodec::operator=(RecordCodec&&) noexcept = default;

RecordCodec::Contexts& RecordCodec::contexts() {
  if (!contexts_) contexts_ = std::make_unique<Contexts>();
  return *contexts_;
}

RecordCodec::Packed RecordCodec::pack(ByteView content) {
  if (content.size() < kMinCompressedBytes) return {Stored::plain, content};
  Contexts& with = contexts();
  if (with.compress == nullptr) with.compress = ZSTD_createCCtx();
  if (with.compress == nullptr) return {Stored::plain, content};  // out of memory: a worse form, not an error
  const std::size_t bound = ZSTD_compressBound(content.size());
  if (with.scratch.size() < bound) with.scratch.resize(bound);
  const std::size_t size = ZSTD_compressCCtx(with.compress, with.scratch.data(), with.scratch.size(), content.data(),
                                             content.size(), level_);
  if (ZSTD_isError(size) != 0 || !pays(size, content.size())) return {Stored::plain, content};
  return {Stored::zstd, ByteView(with.scratch).substr(0, size)};
}

Result<void> RecordCodec::unpack(Stored form, ByteView stored, std::uint64_t raw_size, Bytes& out) {
  if (form == Stored::plain) {
    if (stored.size() != raw_size) return damaged("its stored size is not its size");
    out.append(stored);
    return {};
  }
  // Before memory is taken for what the header claims: what the frame itself says.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size) {
    return damaged("its compressed bytes are not of the size it claims");
  }
  Contexts& with = contexts();
  if (with.decompress == nullptr) with.decompress = ZSTD_createDCtx();
  if (with.decompress == nullptr) return make_error(Code::io, "there is no memory to decompress an object");
  const std::size_t before = out.size();
  std::size_t size = 0;
  out.resize_and_overwrite(before + raw_size, [&](char* data, std::size_t) {
    size = ZSTD_decompressDCtx(with.decompress, data + before, raw_size, stored.data(), stored.size());
    return size == raw_size ? before + raw_size : before;
  });
  if (size != raw_size) return damaged("its compressed bytes do not decompress to its size");
  return {};
}

namespace {

void append_record(ObjectKind kind, Stored form, const ObjectId& id, std::uint64_t raw_size, ByteView stored,
                   Bytes& out) {
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.u8(static_cast<std::uint8_t>(form));
  writer.raw(id.view());
  writer.varint(raw_size);
  writer.varint(stored.size());
  writer.u64(xxh3(stored));
  writer.raw(stored);
}

}  // namespace

Result<void> encode_chunks_record(const ObjectId& id, std::uint64_t size, ByteView list, Bytes& out) {
  if (size > kMaxBlobBytes || list.size() > kMaxRecordBytes) {
    return make_error(Code::invalid, fmt::format("blob {} of {} bytes is too large to be stored", id.hex(), size));
  }
  append_record(ObjectKind::blob, Stored::chunks, id, size, list, out);
  return {};
}

Result<void> RecordCodec::encode(ObjectKind kind, const ObjectId& id, ByteView content, Bytes& out) {
  if (content.size() > kMaxRecordBytes) {
    return make_error(Code::invalid, fmt::format("{} {} has {} bytes, a record holds at most {}", name(kind), id.hex(),
                                                 content.size(), kMaxRecordBytes));
  }
  const Packed packed = pack(content);
  append_record(kind, packed.form, id, content.size(), packed.bytes, out);
  return {};
}

Result<Bytes> RecordCodec::content(const Record& record) {
  if (record.form == Stored::chunks) return record_damaged(record, "is a list of chunks where content is wanted");
  if (xxh3(record.stored) != record.checksum) return record_damaged(record, "does not match its checksum");
  Bytes content;
  if (auto done = unpack(record.form, record.stored, record.raw_size, content); !done) {
    if (done.error().code != Code::damaged) return std::move(done).error();
    return record_damaged(record, fmt::format("is not what was written: {}", done.error().message));
  }
  return content;
}

Result<Bytes> record_content(const Record& record) { return RecordCodec().content(record); }

}  // namespace weft::object
