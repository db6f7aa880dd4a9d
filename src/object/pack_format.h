// What pack writer and pack reader share: the layout of header, table and footer, and objects read from a pack's bytes.
//
// Threading: values and const access.
// Format: docs/FORMATS.md, "Pack".
#pragma once

#include <memory>
#include <optional>

#include "base/file_system.h"
#include "object/chunk_list.h"
#include "object/group.h"
#include "object/pack.h"

namespace weft::object {

inline constexpr ByteView kPackMagic = "weftpack";
inline constexpr ByteView kPackEndMagic = "weftpend";
inline constexpr std::uint32_t kPackVersion = 1;
inline constexpr std::size_t kPackHeaderBytes = 16;
inline constexpr std::size_t kPackFooterBytes = 8 + 8 + 8 + 4 + 4 + 32 + 8;
inline constexpr std::size_t kPrefixBytes = 8;
inline constexpr std::size_t kTailBytes = ObjectId::kSize - kPrefixBytes;
/// Above the offset in a table's value.
inline constexpr unsigned kPackKindShift = 56;
/// Buckets are counted in 32 bits.
inline constexpr std::uint64_t kMaxPackObjects = 0xffff'ffff;

struct PackFooter {
  std::uint64_t table_offset = 0;
  std::uint64_t objects = 0;
  std::uint64_t content_bytes = 0;
  ObjectId table_hash;
};
Bytes encode_footer(const PackFooter& footer);
/// `file_bytes`: everything must fit exactly.
Result<PackFooter> decode_footer(ByteView encoded, std::uint64_t file_bytes);

/// The first 8 bytes of an id as a number that sorts as the bytes do.
std::uint64_t id_prefix(const ObjectId& id);

/// Where the arrays of a table begin, relative to the table.
struct TableLayout {
  explicit TableLayout(std::uint64_t objects);
  std::uint64_t objects;
  unsigned bits = 0;  ///< of the prefix that choose a bucket: about 8 objects each
  std::uint64_t prefixes = 0, values = 0, tails = 0, end = 0;
  std::uint64_t bucket(std::uint64_t prefix) const { return bits == 0 ? 0 : prefix >> (64 - bits); }
};

/// A table in memory or mapped; the bytes may be anything of the right length.
class TableView {
 public:
  TableView(ByteView bytes, std::uint64_t objects) : layout_(objects), bytes_(bytes) {}

  struct Entry {
    ObjectId id;
    std::uint8_t kind = 0;
    std::uint64_t offset = 0;
  };
  Entry entry(std::uint64_t index) const;
  std::uint32_t bucket_start(std::uint64_t bucket) const;
  /// The first entry whose id's first 8 bytes are this number or more. damaged when the buckets are nonsense.
  Result<std::uint64_t> first_place(std::uint64_t prefix) const;
  Result<std::optional<std::uint64_t>> find_place(ObjectKind kind, const ObjectId& id) const;
  const TableLayout& layout() const { return layout_; }

 private:
  std::uint64_t word(std::uint64_t position) const;
  TableLayout layout_;
  ByteView bytes_;
};

/// A pack's bytes, finished or being written.
class PackBytes {
 public:
  virtual ~PackBytes() = default;
  /// As File::read_some_at.
  virtual Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const = 0;
  /// Where the records end.
  virtual std::uint64_t end() const = 0;
  /// What readers share; may be null.
  virtual GroupCache* groups() const { return nullptr; }
};
/// Up to `size` bytes at `offset`, none of them behind the records; damaged when there are none.
Result<Bytes> read_bounded(const PackBytes& bytes, std::uint64_t offset, std::uint64_t size);

/// Header of an object that lies as blocks.
inline constexpr std::size_t kBlocksHeadBytes = 1 + 1 + ObjectId::kSize + 8 + 8 + 8;
inline constexpr std::size_t kBlockHeadBytes = 4 + 4 + 8;
/// Top bit of a block's stored size: compressed.
inline constexpr std::uint32_t kBlockCompressed = 1u << 31;
Bytes encode_blocks_head(ObjectKind kind, const ObjectId& id, std::uint64_t raw_size, std::uint64_t stored_size);

/// An object as it lies in a pack, its content not looked at.
struct PackedObject {
  ObjectKind kind = ObjectKind::blob;
  Stored form = Stored::plain;
  ObjectId id;
  std::uint64_t raw_size = 0;
  std::uint64_t stored_size = 0;    ///< with the blocks' headers
  std::uint64_t stored_offset = 0;  ///< in the pack
  std::uint64_t checksum = 0;       ///< of a record
  std::size_t group_members = 0;    ///< how many lie in its group, with it; 0: it is in none
  std::uint64_t group_offset = 0;   ///< of its group; `stored` is then the group's
  std::uint64_t end() const { return stored_offset + stored_size; }
  /// What it counts for in PackFooter::content_bytes.
  std::uint64_t content_bytes() const { return form == Stored::chunks ? stored_size : raw_size; }
};
/// What lies at `offset`, which may be anything. A group is given as a whole, without an id: see read_group().
Result<PackedObject> inspect_packed(const PackBytes& bytes, std::uint64_t offset);
/// The same, and it must be this object.
Result<PackedObject> inspect_packed(const PackBytes& bytes, std::uint64_t offset, ObjectKind kind, const ObjectId& id);
/// Bounded memory (P2). Not of a list of chunks.
std::unique_ptr<ByteSource> open_packed(std::shared_ptr<const PackBytes> bytes, const PackedObject& object);
/// The same of any blob.
Result<std::unique_ptr<ByteSource>> open_packed_blob(std::shared_ptr<const PackBytes> bytes, std::uint64_t offset,
                                                     const ObjectId& id, std::shared_ptr<const ObjectReader> chunks);
/// The whole object at `offset`, which must be this one; a small one in a single read.
Result<Bytes> read_packed(const PackBytes& bytes, std::uint64_t offset, ObjectKind kind, const ObjectId& id,
                          const ObjectReader* chunks);
Result<ChunkList> read_packed_list(const PackBytes& bytes, const PackedObject& object);
/// nullopt when the blob at `offset` is no list.
Result<std::optional<ChunkList>> find_packed_list(const PackBytes& bytes, std::uint64_t offset, const ObjectId& id);

}  // namespace weft::object
