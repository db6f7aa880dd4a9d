#include "object/group.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/hash.h"
#include "object/pack_format.h"

namespace weft::object {

std::uint32_t group_tag(const ObjectId& id) {
  std::uint32_t tag = 0;
  std::memcpy(&tag, id.bytes.data() + ObjectId::kSize - sizeof(tag), sizeof(tag));
  return tag;
}

std::optional<std::size_t> GroupHead::find(const ObjectId& id) const {
  const std::uint32_t tag = group_tag(id);
  const auto found = std::find_if(members.begin(), members.end(), [&](const GroupMember& m) { return m.tag == tag; });
  if (found == members.end()) return std::nullopt;
  return static_cast<std::size_t>(found - members.begin());
}

Bytes encode_group_head(const GroupHead& head, ByteView stored) {
  Bytes out;
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(head.kind));
  writer.u8(static_cast<std::uint8_t>(Stored::group));
  writer.varint(head.members.size());
  writer.varint(stored.size());
  writer.varint(head.base_distance);
  if (head.base_distance != 0) writer.varint(head.base_member);
  for (const GroupMember& member : head.members) {
    writer.varint(member.size);
    writer.u32(member.tag);
  }
  writer.u64(xxh3(stored, xxh3(out)));
  return out;
}

Result<GroupHead> decode_group_head(ByteView bytes) {
  ByteReader reader(bytes);
  GroupHead head;
  const std::uint8_t kind = reader.u8();
  const std::uint8_t form = reader.u8();
  const std::uint64_t members = reader.varint();
  head.stored_size = reader.varint();
  head.base_distance = reader.varint();
  if (head.base_distance != 0) {
    head.base_member = static_cast<std::uint32_t>(reader.varint_max(kMaxGroupMembers - 1));
  }
  if (!reader.ok()) return damaged("a group is cut off in its header");
  if (kind < 1 || kind > 3 || form != static_cast<std::uint8_t>(Stored::group)) {
    return damaged("a group has an unknown kind or form");
  }
  head.kind = static_cast<ObjectKind>(kind);
  if (members == 0 || members > kMaxGroupMembers || head.stored_size > ZSTD_COMPRESSBOUND(kMaxGroupBytes)) {
    return damaged("a group exceeds a limit");
  }
  head.members.reserve(members);
  for (std::uint64_t i = 0; i < members; ++i) {
    GroupMember member;
    member.size = reader.varint();
    member.tag = reader.u32();
    if (!reader.ok()) return damaged("a group is cut off in its header");
    if (member.size > kMaxGroupBytes - head.raw_size) return damaged("a group claims more content than it may have");
    head.raw_size += member.size;
    head.members.push_back(member);
  }
  head.head_hash = xxh3(bytes.substr(0, reader.position()));
  head.checksum = reader.u64();
  if (!reader.ok()) return damaged("a group is cut off in its header");
  head.head_bytes = reader.position();
  return head;
}

struct GroupEncoder::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { ZSTD_freeCCtx(zstd); }
};

GroupEncoder::GroupEncoder() = default;
GroupEncoder::~GroupEncoder() = default;

Result<Bytes> GroupEncoder::compress(ByteView content, ByteView base, int level) {
  if (!context_) context_ = std::make_unique<Context>();
  ZSTD_CCtx* zstd = context_->zstd;
  if (zstd == nullptr) return make_error(Code::io, "there is no memory to compress objects");
  std::size_t status = ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
  if (ZSTD_isError(status) == 0 && !base.empty()) status = ZSTD_CCtx_refPrefix(zstd, base.data(), base.size());
  Bytes out;
  if (ZSTD_isError(status) == 0) {
    out.resize(ZSTD_compressBound(content.size()));
    status = ZSTD_compress2(zstd, out.data(), out.size(), content.data(), content.size());
  }
  if (ZSTD_isError(status) != 0) {
    return make_error(Code::io, fmt::format("objects cannot be compressed: {}", ZSTD_getErrorName(status)));
  }
  out.resize(status);
  return out;
}

ByteView DecodedGroup::member(std::size_t index) const {
  std::uint64_t start = 0;
  for (std::size_t i = 0; i < index; ++i) start += head.members[i].size;
  return ByteView(content).substr(start, head.members[index].size);
}

struct GroupCache::Decoder {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { ZSTD_freeDCtx(zstd); }
};

GroupCache::GroupCache() = default;
GroupCache::~GroupCache() = default;

std::shared_ptr<const DecodedGroup> GroupCache::find(std::uint64_t offset) {
  const MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.offset != offset) continue;
    slot.used = ++clock_;
    return slot.group;
  }
  return nullptr;
}

void GroupCache::keep(std::uint64_t offset, std::shared_ptr<const DecodedGroup> group) {
  const MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.offset == offset) return;  // another thread was as slow
  }
  bytes_ += group->content.size();
  slots_.push_back({offset, ++clock_, std::move(group)});
  while (slots_.size() > 1 && (slots_.size() > kCachedGroups || bytes_ > kCachedBytes)) {
    const auto oldest =
        std::min_element(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.used < b.used; });
    bytes_ -= oldest->group->content.size();
    slots_.erase(oldest);
  }
}

Result<Bytes> GroupCache::content(const Record& record) {
  if (record.form == Stored::plain) return record_content(record);
  std::optional<RecordCodec> codec;
  {
    const MutexLock lock(mutex_);
    if (!idle_codecs_.empty()) {
      codec = std::move(idle_codecs_.back());
      idle_codecs_.pop_back();
    }
  }
  if (!codec) codec.emplace();
  auto content = codec->content(record);
  const MutexLock lock(mutex_);
  idle_codecs_.push_back(*std::move(codec));
  return content;
}

std::uint64_t GroupCache::bytes() {
  const MutexLock lock(mutex_);
  return bytes_;
}

Result<Bytes> GroupCache::decompress(ByteView stored, ByteView base, std::uint64_t raw_size) {
  // Before memory is taken for what a header claims: what the frame itself says.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size) {
    return damaged("its compressed bytes are not of the size it claims");
  }
  std::unique_ptr<Decoder> decoder;
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      decoder = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!decoder) decoder = std::make_unique<Decoder>();
  if (decoder->zstd == nullptr) return make_error(Code::io, "there is no memory to decompress objects");
  std::size_t status = 0;
  if (!base.empty()) status = ZSTD_DCtx_refPrefix(decoder->zstd, base.data(), base.size());
  Bytes out;
  if (ZSTD_isError(status) == 0) {
    out.resize_and_overwrite(raw_size, [&](char* data, std::size_t) {
      status = ZSTD_decompressDCtx(decoder->zstd, data, raw_size, stored.data(), stored.size());
      return status == raw_size ? raw_size : 0;
    });
  }
  if (ZSTD_isError(status) != 0) {  // its state is not worth keeping
    if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation) {
      return make_error(Code::io, "there is no memory to decompress objects");
    }
    return damaged("its compressed bytes do not decompress");
  }
  {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(decoder));
  }
  if (status != raw_size) return damaged("its compressed bytes do not decompress to its size");
  return out;
}

namespace {

Error at_offset(std::uint64_t offset, const Error& error) {
  Error located = error;
  located.message = fmt::format("at {}: {}", offset, error.message);
  return located;
}

/// A group to be decoded, with what was read to see its head.
struct Link {
  std::uint64_t offset = 0;
  GroupHead head;
  Bytes begin;
};

Result<Link> read_link(const PackBytes& bytes, std::uint64_t offset) {
  Link link;
  link.offset = offset;
  WEFT_TRY(link.begin, read_bounded(bytes, offset, kMaxGroupHeadBytes));
  auto head = decode_group_head(link.begin);
  if (!head) return at_offset(offset, head.error());
  link.head = *std::move(head);
  if (link.head.stored_size > bytes.end() - offset ||
      link.head.head_bytes > bytes.end() - offset - link.head.stored_size) {
    return at_offset(offset, damaged("a group goes on behind the last object"));
  }
  const std::uint64_t distance = link.head.base_distance;
  if (distance > offset || (distance != 0 && offset - distance < kPackHeaderBytes)) {
    return at_offset(offset, damaged("a group refers to something before the first object"));  // GR1
  }
  return link;
}

/// Decodes one group whose base is at hand.
Result<std::shared_ptr<DecodedGroup>> decode_group(const PackBytes& bytes, GroupCache& cache, Link link,
                                                   ByteView base) {
  const GroupHead& head = link.head;
  link.begin.erase(0, head.head_bytes);
  Bytes& stored = link.begin;
  if (stored.size() < head.stored_size) {
    const std::uint64_t more = head.stored_size - stored.size();
    WEFT_TRY(const Bytes rest, read_bounded(bytes, link.offset + head.head_bytes + stored.size(), more));
    if (rest.size() != more) return damaged("it goes on behind the last object");
    stored += rest;
  }
  stored.resize(head.stored_size);
  if (xxh3(stored, head.head_hash) != head.checksum) return damaged("it does not match its checksum");
  auto group = std::make_shared<DecodedGroup>();
  WEFT_TRY(group->content, cache.decompress(stored, base, head.raw_size));
  group->end = link.offset + head.head_bytes + head.stored_size;
  group->chain_bytes = head.raw_size;
  group->head = std::move(link.head);
  return group;
}

/// Decodes from the last link, which needs `below` or nothing, to the first.
Result<std::shared_ptr<const DecodedGroup>> decode_chain(const PackBytes& bytes, GroupCache& cache,
                                                         std::vector<Link> chain,
                                                         std::shared_ptr<const DecodedGroup> below) {
  while (!chain.empty()) {
    Link link = std::move(chain.back());
    chain.pop_back();
    ByteView base;
    if (link.head.base_distance != 0) {
      if (link.head.base_member >= below->head.members.size()) {
        return at_offset(link.offset, damaged("the group refers to an object that is not there"));
      }
      base = below->member(link.head.base_member);
    }
    const std::uint64_t offset = link.offset;
    auto decoded = decode_group(bytes, cache, std::move(link), base);
    if (!decoded) return decoded.error().code == Code::damaged ? at_offset(offset, decoded.error()) : decoded.error();
    DecodedGroup& group = **decoded;
    if (below) {
      group.chain_groups += below->chain_groups;
      group.chain_bytes += below->chain_bytes;
    }
    if (group.chain_groups > kMaxChainGroups || group.chain_bytes > kMaxChainBytes) {  // also of what was cached
      return at_offset(offset, damaged("too much would have to be decoded for it"));
    }
    below = *std::move(decoded);
    cache.keep(offset, below);
  }
  return below;
}

}  // namespace

Result<GroupHead> read_group_head(const PackBytes& bytes, std::uint64_t offset) {
  WEFT_TRY(Link link, read_link(bytes, offset));
  return std::move(link.head);
}

Result<std::shared_ptr<const DecodedGroup>> read_group(const PackBytes& bytes, std::uint64_t offset) {
  GroupCache own;
  GroupCache& cache = bytes.groups() != nullptr ? *bytes.groups() : own;
  std::vector<Link> chain;
  std::shared_ptr<const DecodedGroup> below;
  std::uint64_t content = 0;
  for (std::uint64_t at = offset;;) {
    below = cache.find(at);
    if (below) break;
    WEFT_TRY(Link link, read_link(bytes, at));
    content += link.head.raw_size;
    if (chain.size() == kMaxChainGroups || content > kMaxChainBytes) {
      return at_offset(offset, damaged("too much would have to be decoded for it"));
    }
    const std::uint64_t distance = link.head.base_distance;
    chain.push_back(std::move(link));
    if (distance == 0) break;
    at -= distance;
  }
  return decode_chain(bytes, cache, std::move(chain), std::move(below));
}

}  // namespace weft::object
