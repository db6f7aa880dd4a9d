// The three encodings of trees: a plain directory, a chunk of a large one, and the table of its chunks (tree.h, T1 to
// T4).
//
// A decoder checks everything the bytes at hand can tell: order, names, limits, shortest varints, and that the chunks
// are cut where the names say, so that a set of entries has exactly one encoding that is accepted (T2). Errors say
// which entry and byte; the caller adds which object. Threading: values. Format: docs/FORMATS.md, "Tree".
#pragma once

#include <vector>

#include "object/tree.h"

namespace weft::object {

inline constexpr ByteView kDirectoryMagic = "weftdir1";
inline constexpr ByteView kChunkMagic = "weftchk1";
inline constexpr ByteView kTableMagic = "wefttbl1";

enum class TreeForm : std::uint8_t { directory, chunk, table };
Result<TreeForm> tree_form(ByteView encoded);

/// Whether a chunk ends behind an entry of this name: a pure function of the name, true for one in 256.
bool ends_chunk(ByteView name);

/// An entry inside an encoding.
struct EntryView {
  ByteView name;
  EntryKind kind = EntryKind::file;
  std::uint32_t mode = 0;
  NodeId node;
  ObjectId id;
  std::uint64_t size = 0;

  TreeEntry entry() const { return {std::string(name), kind, mode, node, id, size}; }
};

/// Bytes of the entry's encoding.
std::size_t encoded_size(const TreeEntry& entry);
/// Of a plain directory with so many entries, whose encodings are `entry_bytes` together.
std::uint64_t plain_size(std::uint64_t entries, std::uint64_t entry_bytes);

/// Sorted, checked entries as one plain directory, or as one chunk.
Bytes encode_entries(TreeForm form, std::span<const TreeEntry> entries);

/// What the table says of one chunk.
struct ChunkRef {
  std::string last_name;
  ObjectId id;
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;  ///< of the chunk's encoding without its header
};
struct ChunkTable {
  std::vector<ChunkRef> chunks;
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  void add(ChunkRef chunk);
};
Bytes encode_table(const ChunkTable& table);
Result<ChunkTable> decode_table(ByteView encoded);

/// The entries of an encoded directory or chunk, one after the other, without copying.
///   while (const EntryView* entry = cursor.next()) ...;  WEFT_DO(cursor.finish());
class EntryCursor {
 public:
  /// Refuses a chunk.
  static Result<EntryCursor> directory(ByteView encoded);
  /// `expected`: what its table says (may be null). `after`: the last name of the chunk before (empty: none).
  static Result<EntryCursor> chunk(ByteView encoded, const ChunkRef* expected, ByteView after);

  std::uint64_t count() const { return count_; }
  /// Null at the end and at the first problem.
  const EntryView* next();
  /// The first problem; after a full walk also what only the end can tell. T1, T3.
  Result<void> finish() const;

 private:
  EntryCursor(ByteView encoded, TreeForm form) : reader_(encoded), form_(form) {}
  Result<void> open(std::uint64_t max_entries);
  const EntryView* stop(std::string_view problem);

  ByteReader reader_;
  TreeForm form_;
  const ChunkRef* expected_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t index_ = 0;
  ByteView previous_name_;
  std::size_t entry_start_ = 0;
  std::string_view problem_;
  EntryView entry_;
};

/// Appends all of a cursor's entries, checking T4 among them.
Result<void> read_entries(EntryCursor cursor, Entries& out);

/// Whether two entries have the same node (T4).
bool has_duplicate_node(std::span<const TreeEntry> entries);

/// The same error, naming the tree it is about.
Error in_tree(const ObjectId& tree, Error error);

}  // namespace weft::object
