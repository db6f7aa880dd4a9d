#include "object/chunk_builder.h"

#include <fmt/format.h>

namespace weft::object {

Result<void> ChunkBuilder::add(TreeEntry entry) {
  if (const auto problem = entry_problem(entry); !problem.empty()) {
    return make_error(Code::invalid,
                      fmt::format("{} cannot be an entry of a directory: it {}", quoted(entry.name), problem));
  }
  pending_bytes_ += encoded_size(entry);
  const bool ends = ends_chunk(entry.name);
  pending_.push_back(std::move(entry));
  if (!ends && pending_.size() < kMaxChunkEntries) return {};
  cut();
  return is_plain() ? Result<void>() : put_held();
}

Result<void> ChunkBuilder::add_chunk(ChunkRef chunk) {
  WEFT_CHECK(at_chunk_end());
  table_.add(std::move(chunk));
  return is_plain() ? Result<void>() : put_held();
}

bool ChunkBuilder::is_plain() const {
  return plain_size(table_.entries + pending_.size(), table_.entry_bytes + pending_bytes_) <= kMaxPlainDirectoryBytes;
}

void ChunkBuilder::cut() {
  table_.add({pending_.back().name, ObjectId{}, pending_.size(), pending_bytes_});
  held_.emplace_back(table_.chunks.size() - 1, std::move(pending_));
  pending_.clear();
  pending_bytes_ = 0;
}

Result<void> ChunkBuilder::put_held() {
  for (const auto& [place, entries] : held_) {
    WEFT_TRY(table_.chunks[place].id, put_entries(TreeForm::chunk, entries));
  }
  held_.clear();
  return {};
}

Result<ObjectId> ChunkBuilder::put_entries(TreeForm form, std::span<const TreeEntry> entries) {
  if (has_duplicate_node(entries)) {
    return make_error(Code::invalid, fmt::format("a directory cannot hold one node under two names (near {})",
                                                 quoted(entries.front().name)));
  }
  return writer_.put(ObjectKind::tree, encode_entries(form, entries));
}

Result<ObjectId> ChunkBuilder::finish(const ObjectReader* reader) {
  if (is_plain()) return finish_plain(reader);
  if (!pending_.empty()) cut();
  WEFT_DO(put_held());
  if (table_.entries > kMaxDirectoryEntries || table_.chunks.size() > kMaxChunks) {
    return make_error(Code::invalid,
                      fmt::format("a directory cannot hold {} entries in {} chunks (at most {} in {})", table_.entries,
                                  table_.chunks.size(), kMaxDirectoryEntries, kMaxChunks));
  }
  return writer_.put(ObjectKind::tree, encode_table(table_));
}

Result<ObjectId> ChunkBuilder::finish_plain(const ObjectReader* reader) {
  Entries entries;
  entries.reserve(table_.entries + pending_.size());
  auto held = held_.begin();
  for (std::size_t i = 0; i < table_.chunks.size(); ++i) {
    if (held != held_.end() && held->first == i) {
      std::move(held->second.begin(), held->second.end(), std::back_inserter(entries));
      ++held;
      continue;
    }
    WEFT_CHECK(reader != nullptr);
    const ByteView after = entries.empty() ? ByteView() : ByteView(entries.back().name);
    WEFT_DO(read_chunk(*reader, table_.chunks[i], Bytes(after), entries));
  }
  std::move(pending_.begin(), pending_.end(), std::back_inserter(entries));
  return put_entries(TreeForm::directory, entries);
}

Result<void> read_chunk(const ObjectReader& reader, const ChunkRef& chunk, ByteView after, Entries& out) {
  WEFT_TRY(const Bytes encoded, reader.read(ObjectKind::tree, chunk.id));
  auto cursor = EntryCursor::chunk(encoded, &chunk, after);
  auto done = cursor ? read_entries(*cursor, out) : Result<void>(std::move(cursor).error());
  if (!done) {
    Error error = std::move(done).error();
    error.message = fmt::format("chunk {}: {}", chunk.id.hex(), error.message);
    return error;
  }
  return {};
}

}  // namespace weft::object
