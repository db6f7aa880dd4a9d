// Groups: several objects of one kind compressed together, against an object that lies before them where that pays.
//
// Versions of one file or directory differ in little. Beside each other in one zstd frame each costs what is new in it;
// with the newest version as the frame's reference (its *base*) that one need not be stored twice. Many small objects
// share one frame for the same reason.
//
// Invariants:
//   GR1  A base lies before the group that refers to it: there are no cycles, whatever the bytes say.
//   GR2  Reading takes bounded memory and time, whatever the bytes say: a group has at most kMaxGroupBytes of content,
//        and no object needs more than kMaxChainGroups groups or kMaxChainBytes of content decoded. Writers stay below.
//   GR3  Content is given out only after the checksums of its group and of all that this one refers to were found
//        right. Which member is meant is told by its tag, four bytes of its id, unique within a group.
// Threading: a GroupCache is shared by threads; all else are values.
// Format: docs/FORMATS.md, "Pack".
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "object/record.h"

namespace weft::object {

class PackBytes;

inline constexpr std::size_t kMaxGroupMembers = 1024;
inline constexpr std::uint64_t kMaxGroupBytes = kLargeBlobBytes;
inline constexpr std::uint32_t kMaxChainGroups = 64;
inline constexpr std::uint64_t kMaxChainBytes = 16u << 20;
/// Kind, form; members, stored size, base's distance and member; each member's size and tag; checksum.
inline constexpr std::size_t kMaxGroupHeadBytes = 2 + 2 + 4 + 7 + 2 + kMaxGroupMembers * (3 + 4) + 8;

/// What a group's head says of one object in it.
struct GroupMember {
  std::uint64_t size = 0;
  std::uint32_t tag = 0;
};
std::uint32_t group_tag(const ObjectId& id);

struct GroupHead {
  ObjectKind kind = ObjectKind::blob;
  std::vector<GroupMember> members;
  std::uint64_t stored_size = 0;
  std::uint64_t base_distance = 0;  ///< from the base's offset to this one's; 0: there is none
  std::uint32_t base_member = 0;    ///< where the base lies in its group
  std::uint64_t checksum = 0;       ///< of head and stored bytes

  std::uint64_t raw_size = 0;   ///< sum of the members'
  std::uint64_t head_hash = 0;  ///< of the fields before the checksum
  std::size_t head_bytes = 0;
  /// The place of the member with this id, if there is one.
  std::optional<std::size_t> find(const ObjectId& id) const;
};
/// Fills in the checksum; sizes are the caller's to get right.
Bytes encode_group_head(const GroupHead& head, ByteView stored);
/// `bytes` begin with it; kMaxGroupHeadBytes are always enough.
Result<GroupHead> decode_group_head(ByteView bytes);

/// Compresses groups, keeping zstd's working memory from one to the next.
class GroupEncoder {
 public:
  GroupEncoder();
  ~GroupEncoder();
  GroupEncoder(const GroupEncoder&) = delete;
  GroupEncoder& operator=(const GroupEncoder&) = delete;
  /// `base` may be empty. `level` of zstd.
  Result<Bytes> compress(ByteView content, ByteView base, int level);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// A group's content, checked.
struct DecodedGroup {
  GroupHead head;
  Bytes content;
  std::uint64_t end = 0;           ///< where it ends in the pack
  std::uint32_t chain_groups = 1;  ///< with those it refers to
  std::uint64_t chain_bytes = 0;
  ByteView member(std::size_t index) const;
};

/// Groups decoded lately, and zstd's working memory, for the readers of one pack. Thread-safe.
class GroupCache {
 public:
  GroupCache();
  ~GroupCache();

  std::shared_ptr<const DecodedGroup> find(std::uint64_t offset);
  /// Of what is kept the least recently used goes (kCachedBytes, kCachedGroups).
  void keep(std::uint64_t offset, std::shared_ptr<const DecodedGroup> group);
  /// Exactly raw_size bytes, or damaged.
  Result<Bytes> decompress(ByteView stored, ByteView base, std::uint64_t raw_size);

  /// RecordCodec::content() with working memory that is kept.
  Result<Bytes> content(const Record& record);

  std::uint64_t bytes();

  static constexpr std::size_t kCachedGroups = 32;
  static constexpr std::uint64_t kCachedBytes = 2u << 20;

 private:
  struct Slot {
    std::uint64_t offset = 0;
    std::uint64_t used = 0;
    std::shared_ptr<const DecodedGroup> group;
  };
  struct Decoder;
  Mutex mutex_;
  std::vector<Slot> slots_ WEFT_GUARDED_BY(mutex_);
  std::uint64_t bytes_ WEFT_GUARDED_BY(mutex_) = 0;
  std::uint64_t clock_ WEFT_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Decoder>> idle_ WEFT_GUARDED_BY(mutex_);
  std::vector<RecordCodec> idle_codecs_ WEFT_GUARDED_BY(mutex_);
};

/// The head of the group at `offset` in a pack.
Result<GroupHead> read_group_head(const PackBytes& bytes, std::uint64_t offset);
/// The group at `offset` with all it refers to decoded (GR2, GR3). Damaged ones name the place that is.
Result<std::shared_ptr<const DecodedGroup>> read_group(const PackBytes& bytes, std::uint64_t offset);

}  // namespace weft::object
