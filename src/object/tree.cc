// Directories read and written as a whole, one entry looked up, and one tree object checked (tree.h).
#include "object/tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "object/chunk_builder.h"
#include "object/tree_codec.h"

namespace weft::object {

Result<ObjectId> write_directory(ObjectWriter& writer, Entries entries) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i - 1].name == entries[i].name) {
      return make_error(Code::invalid, fmt::format("a directory cannot hold {} twice", quoted(entries[i].name)));
    }
  }
  ChunkBuilder builder(writer);
  for (TreeEntry& entry : entries) WEFT_DO(builder.add(std::move(entry)));
  return builder.finish(nullptr);
}

ObjectId empty_tree_id() { return sha256(encode_entries(TreeForm::directory, {})); }

Result<Entries> read_directory(const ObjectReader& reader, const ObjectId& tree) {
  WEFT_TRY(const Bytes encoded, reader.read(ObjectKind::tree, tree));
  Entries entries;
  const auto read = [&]() -> Result<void> {
    WEFT_TRY(const TreeForm form, tree_form(encoded));
    if (form != TreeForm::table) {
      WEFT_TRY(const EntryCursor cursor, EntryCursor::directory(encoded));
      return read_entries(cursor, entries);
    }
    WEFT_TRY(const ChunkTable table, decode_table(encoded));
    ByteView after;
    for (const ChunkRef& chunk : table.chunks) {
      WEFT_DO(read_chunk(reader, chunk, after, entries));
      after = chunk.last_name;
    }
    return {};
  };
  if (auto done = read(); !done) return in_tree(tree, std::move(done).error());
  return entries;
}

namespace {

/// Looks at entries up to `name` only: what follows is checked by whoever needs it.
Result<std::optional<TreeEntry>> find_in(EntryCursor cursor, ByteView name) {
  while (const EntryView* entry = cursor.next()) {
    if (entry->name == name) return std::optional(entry->entry());
    if (entry->name > name) return std::optional<TreeEntry>();
  }
  WEFT_DO(cursor.finish());
  return std::optional<TreeEntry>();
}

Result<std::optional<TreeEntry>> find_in_tree(const ObjectReader& reader, ByteView encoded, ByteView name) {
  WEFT_TRY(const TreeForm form, tree_form(encoded));
  if (form != TreeForm::table) {
    WEFT_TRY(const EntryCursor cursor, EntryCursor::directory(encoded));
    return find_in(cursor, name);
  }
  WEFT_TRY(const ChunkTable table, decode_table(encoded));
  const auto chunk = std::lower_bound(table.chunks.begin(), table.chunks.end(), name,
                                      [](const ChunkRef& ref, ByteView wanted) { return ref.last_name < wanted; });
  if (chunk == table.chunks.end()) return std::optional<TreeEntry>();
  WEFT_TRY(const Bytes bytes, reader.read(ObjectKind::tree, chunk->id));
  const ByteView after = chunk == table.chunks.begin() ? ByteView() : ByteView(std::prev(chunk)->last_name);
  WEFT_TRY(const EntryCursor cursor, EntryCursor::chunk(bytes, &*chunk, after));
  return find_in(cursor, name);
}

}  // namespace

Result<std::optional<TreeEntry>> find_entry(const ObjectReader& reader, const ObjectId& tree, ByteView name) {
  WEFT_TRY(const Bytes encoded, reader.read(ObjectKind::tree, tree));
  auto found = find_in_tree(reader, encoded, name);
  if (!found) return in_tree(tree, std::move(found).error());
  return found;
}

Result<TreeReferences> tree_references(ByteView encoded) {
  TreeReferences references;
  WEFT_TRY(const TreeForm form, tree_form(encoded));
  if (form == TreeForm::table) {
    WEFT_TRY(const ChunkTable table, decode_table(encoded));
    for (const ChunkRef& chunk : table.chunks) references.trees.push_back(chunk.id);
    return references;
  }
  WEFT_TRY(const EntryCursor cursor,
           form == TreeForm::chunk ? EntryCursor::chunk(encoded, nullptr, {}) : EntryCursor::directory(encoded));
  Entries entries;
  WEFT_DO(read_entries(cursor, entries));
  for (const TreeEntry& entry : entries) {
    (entry.kind == EntryKind::directory ? references.trees : references.blobs).push_back(entry.id);
  }
  return references;
}

}  // namespace weft::object
