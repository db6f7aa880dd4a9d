// A directory with a few entries changed, at the cost of the chunks concerned (tree.h, T2 and T3; CASES C32).
#include <algorithm>

#include <fmt/format.h>

#include "object/chunk_builder.h"
#include "object/tree.h"
#include "object/tree_codec.h"

namespace weft::object {

namespace {

using Edits = std::span<EntryEdit>;

Result<void> check_edits(std::span<const EntryEdit> edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (i > 0 && edits[i - 1].name >= edits[i].name) {
      return make_error(Code::invalid,
                        fmt::format("edits of a directory are out of order at {}", quoted(edits[i].name)));
    }
    if (edits[i].entry && edits[i].entry->name != edits[i].name) {
      return make_error(Code::invalid, fmt::format("an edit of {} holds an entry named {}", quoted(edits[i].name),
                                                   quoted(edits[i].entry->name)));
    }
  }
  return {};
}

/// Entries and their edits, both in name order, into the builder.
Result<void> add_edited(ChunkBuilder& builder, Entries entries, Edits edits) {
  auto edit = edits.begin();
  const auto add_edit = [&]() -> Result<void> {
    if (edit->entry) WEFT_DO(builder.add(*std::move(edit->entry)));
    ++edit;
    return {};
  };
  for (TreeEntry& entry : entries) {
    while (edit != edits.end() && edit->name < entry.name) WEFT_DO(add_edit());
    if (edit != edits.end() && edit->name == entry.name) {
      WEFT_DO(add_edit());
    } else {
      WEFT_DO(builder.add(std::move(entry)));
    }
  }
  while (edit != edits.end()) WEFT_DO(add_edit());
  return {};
}

Result<ObjectId> edit_chunked(const ObjectReader& reader, ObjectWriter& writer, ChunkTable table, Edits edits) {
  ChunkBuilder builder(writer);
  std::string after;
  for (std::size_t i = 0; i < table.chunks.size(); ++i) {
    ChunkRef& chunk = table.chunks[i];
    // Names behind the last chunk belong to it.
    const auto end = i + 1 == table.chunks.size()
                         ? edits.end()
                         : std::upper_bound(edits.begin(), edits.end(), chunk.last_name,
                                            [](const std::string& last, const EntryEdit& e) { return last < e.name; });
    const Edits own(edits.begin(), end);
    edits = Edits(end, edits.end());
    std::string last_name = chunk.last_name;
    if (own.empty() && builder.at_chunk_end()) {
      WEFT_DO(builder.add_chunk(std::move(chunk)));
    } else {
      Entries entries;
      WEFT_DO(read_chunk(reader, chunk, after, entries));
      WEFT_DO(add_edited(builder, std::move(entries), own));
    }
    after = std::move(last_name);
  }
  return builder.finish(&reader);
}

Result<ObjectId> edit_encoded(const ObjectReader& reader, ObjectWriter& writer, ByteView encoded, Edits edits) {
  WEFT_TRY(const TreeForm form, tree_form(encoded));
  if (form == TreeForm::table) {
    WEFT_TRY(ChunkTable table, decode_table(encoded));
    return edit_chunked(reader, writer, std::move(table), edits);
  }
  WEFT_TRY(const EntryCursor cursor, EntryCursor::directory(encoded));
  Entries entries;
  WEFT_DO(read_entries(cursor, entries));
  ChunkBuilder builder(writer);
  WEFT_DO(add_edited(builder, std::move(entries), edits));
  return builder.finish(nullptr);
}

}  // namespace

Result<ObjectId> edit_directory(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& tree,
                                std::vector<EntryEdit> edits) {
  WEFT_DO(check_edits(edits));
  if (edits.empty()) return tree;
  WEFT_TRY(const Bytes encoded, reader.read(ObjectKind::tree, tree));
  auto edited = edit_encoded(reader, writer, encoded, edits);
  if (!edited) return in_tree(tree, std::move(edited).error());
  return edited;
}

}  // namespace weft::object
