// Builds a directory from its entries in order, taking over chunks that did not change (tree.h, T2 and T3).
//
// Invariant: where a chunk ends depends on the entries since the chunk before it ended, and on nothing else. So behind
// an end, an old chunk whose entries are untouched is the chunk that building would give, and can be referred to
// unread. Threading: one thread.
#pragma once

#include <utility>

#include "object/tree_codec.h"

namespace weft::object {

class ChunkBuilder {
 public:
  explicit ChunkBuilder(ObjectWriter& writer) : writer_(writer) {}

  /// In name order, names unique. Code::invalid for an entry that can stand in no directory.
  Result<void> add(TreeEntry entry);
  /// Whether a whole old chunk can come next.
  bool at_chunk_end() const { return pending_.empty(); }
  /// Only at_chunk_end().
  Result<void> add_chunk(ChunkRef chunk);
  /// The directory's id, everything new put. `reader` is needed only if chunks were taken over: when the directory has
  /// become small enough for one object, they are read.
  Result<ObjectId> finish(const ObjectReader* reader);

 private:
  bool is_plain() const;
  void cut();
  Result<void> put_held();
  Result<ObjectId> put_entries(TreeForm form, std::span<const TreeEntry> entries);
  Result<ObjectId> finish_plain(const ObjectReader* reader);

  ObjectWriter& writer_;
  ChunkTable table_;
  Entries pending_;  // of the chunk being built
  std::uint64_t pending_bytes_ = 0;
  // Chunks (by place in table_) that are put only when the directory is known to be too large for one object: a small
  // one puts nothing but itself. Never more than kMaxPlainDirectoryBytes of encoding.
  std::vector<std::pair<std::size_t, Entries>> held_;
};

/// Appends the entries of one chunk, checked against its table.
Result<void> read_chunk(const ObjectReader& reader, const ChunkRef& chunk, ByteView after, Entries& out);

}  // namespace weft::object
