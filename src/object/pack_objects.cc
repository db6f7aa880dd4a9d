// Objects read out of a pack's bytes, records and blocks alike (pack_format.h; pack.h, P2 and P3).
#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace weft::object {

namespace {

// Enough for most small objects: header and content in one read.
constexpr std::size_t kProbeBytes = 4096;
constexpr std::size_t kHeadBytes = std::max(kMaxRecordHeadBytes, kBlocksHeadBytes);
// Nothing is reserved beyond this for a size that only a header claims.
constexpr std::uint64_t kTrustedBytes = 4u << 20;

Error object_damaged(const PackedObject& object, std::string_view problem) {
  return damaged(fmt::format("{} {} in a pack is damaged: {}", name(object.kind), object.id.hex(), problem),
                 "other objects are unaffected; `weft verify --deep` lists what needs this one");
}

Result<PackedObject> decode_blocks_head(ByteView bytes, std::uint64_t offset) {
  ByteReader reader(bytes);
  const std::uint8_t kind = reader.u8();
  (void)reader.u8();  // the form, known to be blocks
  PackedObject object;
  object.form = Stored::blocks;
  object.id = read_id<ObjectId>(reader);
  object.raw_size = reader.u64();
  object.stored_size = reader.u64();
  const ByteView summed = bytes.substr(0, reader.position());
  const std::uint64_t checksum = reader.u64();
  if (!reader.ok()) return damaged("an object in a pack is cut off in its header");
  if (checksum != xxh3(summed) || kind < 1 || kind > 3) return damaged("the header of an object in a pack is damaged");
  object.kind = static_cast<ObjectKind>(kind);
  object.stored_offset = offset + kBlocksHeadBytes;
  return object;
}

Result<Bytes> read_member(const PackBytes& bytes, const PackedObject& object) {
  auto group = read_group(bytes, object.group_offset);
  if (!group) {
    if (group.error().code != Code::damaged) return std::move(group).error();
    return object_damaged(object, group.error().message);
  }
  const auto member = (*group)->head.find(object.id);
  if (!member || (*group)->head.kind != object.kind) {
    return damaged(fmt::format("at {} in a pack lies a group without {} {}", object.group_offset, name(object.kind),
                               object.id.hex()));
  }
  return Bytes((*group)->member(*member));
}

/// The content of one object as a stream.
class PackedSource final : public ByteSource {
 public:
  PackedSource(std::shared_ptr<const PackBytes> owner, const PackBytes& bytes, const PackedObject& object)
      : owner_(std::move(owner)),
        bytes_(bytes),
        object_(object),
        next_(object.stored_offset),
        raw_left_(object.raw_size) {}

  Result<std::size_t> read(std::span<char> out) override {
    if (taken_ == buffer_.size()) {
      if (object_.form == Stored::group && next_ == object_.stored_offset) {
        WEFT_DO(fill());  // also where the head, which is not checked yet, says that it is empty
        if (buffer_.empty()) return std::size_t{0};
      } else if (raw_left_ == 0) {
        if (next_ != object_.end()) return object_damaged(object_, "more is stored than its size");
        return std::size_t{0};
      } else {
        WEFT_DO(fill());
      }
    }
    const std::size_t count = std::min(out.size(), buffer_.size() - taken_);
    std::copy_n(buffer_.data() + taken_, count, out.data());
    taken_ += count;
    return count;
  }

 private:
  Result<void> fill() {
    buffer_.clear();
    taken_ = 0;
    if (object_.form == Stored::group) {
      WEFT_TRY(buffer_, read_member(bytes_, object_));
      next_ = object_.end();
      raw_left_ = 0;
      return {};
    }
    if (object_.form != Stored::blocks) {
      return unpack(object_.form, object_.stored_size, object_.raw_size, object_.checksum);
    }
    const std::uint64_t stored_left = object_.end() - next_;
    if (stored_left < kBlockHeadBytes) return object_damaged(object_, "a block is missing");
    WEFT_TRY(const Bytes head, read_bounded(bytes_, next_, kBlockHeadBytes));
    ByteReader reader(head);
    const std::uint32_t raw = reader.u32();
    const std::uint32_t packed = reader.u32();
    const std::uint64_t checksum = reader.u64();
    const std::uint32_t stored = packed & ~kBlockCompressed;
    const Stored form = (packed & kBlockCompressed) != 0 ? Stored::zstd : Stored::plain;
    if (!reader.ok() || raw != std::min<std::uint64_t>(kBlockBytes, raw_left_) || stored > raw ||
        stored > stored_left - kBlockHeadBytes) {
      return object_damaged(object_, fmt::format("the block at {} does not fit", next_));
    }
    next_ += kBlockHeadBytes;
    return unpack(form, stored, raw, checksum);
  }

  Result<void> unpack(Stored form, std::uint64_t stored_size, std::uint64_t raw_size, std::uint64_t checksum) {
    Bytes stored;
    if (stored_size > 0) {
      WEFT_TRY(stored, read_bounded(bytes_, next_, stored_size));
    }
    if (xxh3(stored) != checksum) {
      return object_damaged(object_, fmt::format("the {} bytes at {} do not match their checksum", stored_size, next_));
    }
    if (auto done = codec_.unpack(form, stored, raw_size, buffer_); !done) {
      if (done.error().code != Code::damaged) return done;
      return object_damaged(object_, fmt::format("at {}: {}", next_, done.error().message));
    }
    next_ += stored_size;
    raw_left_ -= raw_size;
    return {};
  }

  std::shared_ptr<const PackBytes> owner_;  // null when the caller keeps the bytes alive
  const PackBytes& bytes_;
  PackedObject object_;
  RecordCodec codec_;
  std::uint64_t next_;
  std::uint64_t raw_left_;
  Bytes buffer_;
  std::size_t taken_ = 0;
};

}  // namespace

Result<Bytes> read_bounded(const PackBytes& bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset < kPackHeaderBytes || offset >= bytes.end()) {
    return damaged(fmt::format("there is no object at {} in a pack whose objects end at {}", offset, bytes.end()));
  }
  Bytes out(std::min(size, bytes.end() - offset), '\0');
  WEFT_TRY(const std::size_t got, bytes.read_some_at(offset, out));
  if (got != out.size()) return damaged(fmt::format("a pack ends at {}, inside its objects", offset + got));
  return out;
}

Bytes encode_blocks_head(ObjectKind kind, const ObjectId& id, std::uint64_t raw_size, std::uint64_t stored_size) {
  Bytes out;
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.u8(static_cast<std::uint8_t>(Stored::blocks));
  writer.raw(id.view());
  writer.u64(raw_size);
  writer.u64(stored_size);
  writer.u64(xxh3(out));
  return out;
}

namespace {

/// What is known of the group at `offset` as a whole.
PackedObject whole_group(const GroupHead& head, std::uint64_t offset) {
  PackedObject object;
  object.kind = head.kind;
  object.form = Stored::group;
  object.raw_size = head.raw_size;
  object.stored_offset = offset + head.head_bytes;
  object.stored_size = head.stored_size;
  object.group_members = head.members.size();
  object.group_offset = offset;
  return object;
}

/// The member of the group at `offset` that is this object.
Result<PackedObject> inspect_member(const PackBytes& bytes, std::uint64_t offset, ObjectKind kind, const ObjectId& id) {
  WEFT_TRY(const GroupHead head, read_group_head(bytes, offset));
  const auto member = head.find(id);
  if (!member || head.kind != kind) {
    return damaged(fmt::format("at {} in a pack lies a group without {} {}", offset, name(kind), id.hex()));
  }
  PackedObject object = whole_group(head, offset);
  object.id = id;
  object.raw_size = head.members[*member].size;
  return object;
}

bool begins_group(ByteView head) { return head.size() > 1 && static_cast<Stored>(head[1]) == Stored::group; }

/// `head`: the pack's bytes from `offset` on, at least kHeadBytes unless the objects end there.
Result<PackedObject> decode_packed(const PackBytes& bytes, ByteView head, std::uint64_t offset) {
  PackedObject object;
  if (head.size() > 1 && static_cast<Stored>(head[1]) == Stored::blocks) {
    WEFT_TRY(object, decode_blocks_head(head, offset));
  } else {
    WEFT_TRY(const RecordHead decoded, decode_record_head(head));
    const Record& record = decoded.record;
    object = {record.kind,     record.form,         record.id,
              record.raw_size, decoded.stored_size, offset + record.length - decoded.stored_size,
              record.checksum};
  }
  if (object.stored_offset > bytes.end() || object.stored_size > bytes.end() - object.stored_offset) {
    return object_damaged(object, "it goes on behind the last object");
  }
  return object;
}

Result<void> check_is(const PackedObject& object, std::uint64_t offset, ObjectKind kind, const ObjectId& id) {
  if (object.kind == kind && object.id == id) return {};
  return damaged(fmt::format("at {} in a pack lies {} {} instead of {} {}", offset, name(object.kind), object.id.hex(),
                             name(kind), id.hex()));
}

}  // namespace

Result<PackedObject> inspect_packed(const PackBytes& bytes, std::uint64_t offset) {
  WEFT_TRY(const Bytes head, read_bounded(bytes, offset, kHeadBytes));
  if (!begins_group(head)) return decode_packed(bytes, head, offset);
  WEFT_TRY(const GroupHead group, read_group_head(bytes, offset));
  return whole_group(group, offset);
}

Result<PackedObject> inspect_packed(const PackBytes& bytes, std::uint64_t offset, ObjectKind kind, const ObjectId& id) {
  WEFT_TRY(const Bytes head, read_bounded(bytes, offset, kHeadBytes));
  if (begins_group(head)) return inspect_member(bytes, offset, kind, id);
  WEFT_TRY(PackedObject object, decode_packed(bytes, head, offset));
  WEFT_DO(check_is(object, offset, kind, id));
  return object;
}

std::unique_ptr<ByteSource> open_packed(std::shared_ptr<const PackBytes> bytes, const PackedObject& object) {
  const PackBytes& reference = *bytes;
  return std::make_unique<PackedSource>(std::move(bytes), reference, object);
}

Result<ChunkList> read_packed_list(const PackBytes& bytes, const PackedObject& object) {
  WEFT_TRY(const Bytes stored, read_bounded(bytes, object.stored_offset, object.stored_size));
  Record record;
  record.form = object.form;
  record.id = object.id;
  record.raw_size = object.raw_size;
  record.checksum = object.checksum;
  record.stored = stored;
  return chunk_list_of(record);
}

Result<std::optional<ChunkList>> find_packed_list(const PackBytes& bytes, std::uint64_t offset, const ObjectId& id) {
  WEFT_TRY(const PackedObject object, inspect_packed(bytes, offset, ObjectKind::blob, id));
  if (object.form != Stored::chunks) return std::optional<ChunkList>{};
  WEFT_TRY(ChunkList list, read_packed_list(bytes, object));
  return std::optional(std::move(list));
}

Result<std::unique_ptr<ByteSource>> open_packed_blob(std::shared_ptr<const PackBytes> bytes, std::uint64_t offset,
                                                     const ObjectId& id, std::shared_ptr<const ObjectReader> chunks) {
  WEFT_TRY(const PackedObject object, inspect_packed(*bytes, offset, ObjectKind::blob, id));
  if (object.form != Stored::chunks) return open_packed(std::move(bytes), object);
  WEFT_TRY(ChunkList list, read_packed_list(*bytes, object));
  if (chunks == nullptr) return object_damaged(object, "it is a list of chunks that nobody can read");
  return open_chunks(std::move(chunks), id, std::move(list));
}

Result<Bytes> read_packed(const PackBytes& bytes, std::uint64_t offset, ObjectKind kind, const ObjectId& id,
                          const ObjectReader* chunks) {
  if (bytes.groups() != nullptr) {
    if (const auto group = bytes.groups()->find(offset)) {
      const auto member = group->head.find(id);
      if (member && group->head.kind == kind) return Bytes(group->member(*member));
    }
  }
  WEFT_TRY(const Bytes probe, read_bounded(bytes, offset, kProbeBytes));
  if (begins_group(probe)) {
    PackedObject member;
    member.kind = kind;
    member.id = id;
    member.group_offset = offset;
    return read_member(bytes, member);
  }
  WEFT_TRY(const PackedObject object, decode_packed(bytes, probe, offset));
  WEFT_DO(check_is(object, offset, kind, id));
  if (object.form == Stored::chunks) {
    WEFT_TRY(ChunkList list, read_packed_list(bytes, object));
    if (chunks == nullptr) return object_damaged(object, "it is a list of chunks that nobody can read");
    return read_chunks(*chunks, id, std::move(list));
  }
  if (object.form != Stored::blocks && object.end() - offset <= probe.size()) {
    WEFT_TRY(const Record record, decode_record(probe));
    return bytes.groups() != nullptr ? bytes.groups()->content(record) : record_content(record);
  }
  PackedSource source(nullptr, bytes, object);
  Bytes content;
  content.reserve(std::min(object.raw_size, kTrustedBytes));
  for (;;) {  // by the source's own pieces: memory grows with what is there, not with what a header claims
    const std::size_t before = content.size();
    content.resize(before + std::min<std::uint64_t>(object.raw_size - before, kBlockBytes));
    WEFT_TRY(const std::size_t got, read_fully(source, std::span(content).subspan(before)));
    WEFT_CHECK(before + got == content.size());  // it ends early only with an error
    if (content.size() == object.raw_size) break;
  }
  char none = 0;
  WEFT_TRY(const std::size_t more, source.read({&none, 1}));
  WEFT_CHECK(more == 0);
  return content;
}

}  // namespace weft::object
