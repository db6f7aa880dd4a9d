// The entries in which two directories differ, reading only chunks they do not share (tree.h; CASES C32).
#include <fmt/format.h>

#include "object/chunk_builder.h"
#include "object/tree.h"
#include "object/tree_codec.h"

namespace weft::object {

namespace {

/// Walks one directory's entries in order, chunk by chunk, reading a chunk when its entries are asked for.
class Side {
 public:
  static Result<Side> open(const ObjectReader& reader, const ObjectId& tree) {
    Side side(reader, tree);
    if (auto done = side.load_tree(); !done) return in_tree(tree, std::move(done).error());
    return side;
  }

  bool at_end() const { return chunk_ == table_.chunks.size(); }
  /// The chunk that begins here; null inside one.
  const ObjectId* whole_chunk() const { return at_end() || entry_ != 0 ? nullptr : &table_.chunks[chunk_].id; }
  void skip_chunk() {
    ++chunk_;
    entry_ = 0;
    loaded_ = false;
  }
  /// Null at the end; valid until the next call of anything.
  Result<const TreeEntry*> peek() {
    if (at_end()) return static_cast<const TreeEntry*>(nullptr);
    if (!loaded_) {
      entries_.clear();
      const std::string after = chunk_ == 0 ? std::string() : table_.chunks[chunk_ - 1].last_name;
      if (auto done = read_chunk(reader_, table_.chunks[chunk_], after, entries_); !done) {
        return in_tree(tree_, std::move(done).error());
      }
      loaded_ = true;
    }
    return static_cast<const TreeEntry*>(&entries_[entry_]);
  }
  void advance() {
    if (++entry_ == entries_.size()) skip_chunk();
  }

 private:
  Side(const ObjectReader& reader, const ObjectId& tree) : reader_(reader), tree_(tree) {}

  Result<void> load_tree() {
    WEFT_TRY(const Bytes encoded, reader_.read(ObjectKind::tree, tree_));
    WEFT_TRY(const TreeForm form, tree_form(encoded));
    if (form == TreeForm::table) {
      WEFT_TRY(table_, decode_table(encoded));
      return {};
    }
    WEFT_TRY(const EntryCursor cursor, EntryCursor::directory(encoded));
    WEFT_DO(read_entries(cursor, entries_));
    if (entries_.empty()) return {};
    // A plain directory walks like a single chunk, whose id no other chunk has.
    table_.add({entries_.back().name, tree_, entries_.size(), 0});
    loaded_ = true;
    return {};
  }

  const ObjectReader& reader_;
  ObjectId tree_;
  ChunkTable table_;
  std::size_t chunk_ = 0;
  std::size_t entry_ = 0;
  Entries entries_;  // of chunk_, when loaded_
  bool loaded_ = false;
};

}  // namespace

Result<void> diff_directories(const ObjectReader& reader, const ObjectId& before, const ObjectId& after,
                              const EntryDifference& visit) {
  if (before == after) return {};
  WEFT_TRY(Side old_side, Side::open(reader, before));
  WEFT_TRY(Side new_side, Side::open(reader, after));
  while (!old_side.at_end() || !new_side.at_end()) {
    const ObjectId* old_chunk = old_side.whole_chunk();
    const ObjectId* new_chunk = new_side.whole_chunk();
    if (old_chunk != nullptr && new_chunk != nullptr && *old_chunk == *new_chunk) {
      old_side.skip_chunk();
      new_side.skip_chunk();
      continue;
    }
    WEFT_TRY(const TreeEntry* old_entry, old_side.peek());
    WEFT_TRY(const TreeEntry* new_entry, new_side.peek());
    const bool take_old = new_entry == nullptr || (old_entry != nullptr && old_entry->name <= new_entry->name);
    const bool take_new = old_entry == nullptr || (new_entry != nullptr && new_entry->name <= old_entry->name);
    if (!take_old || !take_new || !(*old_entry == *new_entry)) {
      WEFT_DO(visit(take_old ? old_entry : nullptr, take_new ? new_entry : nullptr));
    }
    if (take_old) old_side.advance();
    if (take_new) new_side.advance();
  }
  return {};
}

}  // namespace weft::object
