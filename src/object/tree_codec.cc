#include "object/tree_codec.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"

namespace weft::object {

namespace {

// Part of the format: another seed or mask gives every large directory another id.
constexpr std::uint64_t kBoundarySeed = 0x7765667463686b31;  // "weftchk1"
constexpr std::uint64_t kBoundaryMask = 0xff;

constexpr std::size_t kMagicBytes = 8;
// Length, one byte of name, kind and mode, node, id, size.
constexpr std::size_t kMinEntryBytes = 1 + 1 + 2 + NodeId::kSize + ObjectId::kSize + 1;
constexpr std::size_t kMaxEntryBytes = 2 + kMaxNameBytes + 2 + NodeId::kSize + ObjectId::kSize + 10;
constexpr std::size_t kMinChunkRefBytes = 1 + 1 + ObjectId::kSize + 1 + 1;
constexpr unsigned kKindShift = 12;  // above the mode bits

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

ByteView magic_of(TreeForm form) {
  switch (form) {
    case TreeForm::directory:
      return kDirectoryMagic;
    case TreeForm::chunk:
      return kChunkMagic;
    case TreeForm::table:
      break;
  }
  return kTableMagic;
}

std::string_view kind_problem(EntryKind kind, std::uint32_t mode, std::uint64_t size) {
  switch (kind) {
    case EntryKind::file:
      return {};
    case EntryKind::directory:
      return size == 0 ? std::string_view{} : "is a directory with a size";
    case EntryKind::symlink:
      return mode == 0777 ? std::string_view{} : "is a symlink whose mode is not 0777";
    case EntryKind::submodule:
      return mode == 0 ? std::string_view{} : "is a submodule with a mode";
  }
  return "has an unknown kind";
}

std::string_view problem_of(ByteView name, EntryKind kind, std::uint32_t mode, const NodeId& node, std::uint64_t size) {
  if (const auto problem = name_problem(name); !problem.empty()) return problem;
  if (mode > kModeMask) return "has a mode beyond 07777";
  if (node.is_zero()) return "has the root's node id";
  return kind_problem(kind, mode, size);
}

Error table_damaged(std::uint64_t index, std::size_t position, std::string_view problem) {
  return damaged(fmt::format("chunk {} at byte {} {}", index, position, problem));
}

}  // namespace

std::string_view entry_problem(const TreeEntry& entry) {
  return problem_of(entry.name, entry.kind, entry.mode, entry.node, entry.size);
}

Result<TreeForm> tree_form(ByteView encoded) {
  const ByteView magic = encoded.substr(0, kMagicBytes);
  for (const TreeForm form : {TreeForm::directory, TreeForm::chunk, TreeForm::table}) {
    if (magic == magic_of(form)) return form;
  }
  return damaged("it does not begin like a directory, a chunk or a chunk table");
}

bool ends_chunk(ByteView name) { return (xxh3(name, kBoundarySeed) & kBoundaryMask) == 0; }

std::size_t encoded_size(const TreeEntry& entry) {
  return varint_size(entry.name.size()) + entry.name.size() + 2 + NodeId::kSize + ObjectId::kSize +
         varint_size(entry.size);
}

std::uint64_t plain_size(std::uint64_t entries, std::uint64_t entry_bytes) {
  return kMagicBytes + varint_size(entries) + entry_bytes;
}

Bytes encode_entries(TreeForm form, std::span<const TreeEntry> entries) {
  std::size_t total = 0;
  for (const TreeEntry& entry : entries) total += encoded_size(entry);
  Bytes out;
  out.reserve(plain_size(entries.size(), total));
  ByteWriter writer(out);
  writer.raw(magic_of(form));
  writer.varint(entries.size());
  for (const TreeEntry& entry : entries) {
    writer.sized(entry.name);
    writer.u16(static_cast<std::uint16_t>(static_cast<unsigned>(entry.kind) << kKindShift | entry.mode));
    writer.raw(entry.node.view());
    writer.raw(entry.id.view());
    writer.varint(entry.size);
  }
  return out;
}

void ChunkTable::add(ChunkRef chunk) {
  entries += chunk.entries;
  entry_bytes += chunk.entry_bytes;
  chunks.push_back(std::move(chunk));
}

Bytes encode_table(const ChunkTable& table) {
  Bytes out;
  out.reserve(kMagicBytes + 4 + table.chunks.size() * 64);
  ByteWriter writer(out);
  writer.raw(kTableMagic);
  writer.varint(table.chunks.size());
  for (const ChunkRef& chunk : table.chunks) {
    writer.sized(chunk.last_name);
    writer.raw(chunk.id.view());
    writer.varint(chunk.entries);
    writer.varint(chunk.entry_bytes);
  }
  return out;
}

Result<ChunkTable> decode_table(ByteView encoded) {
  ByteReader reader(encoded);
  if (reader.raw(kMagicBytes) != kTableMagic) return damaged("it does not begin like a chunk table");
  const std::uint64_t count =
      reader.varint_max(std::min<std::uint64_t>(kMaxChunks, encoded.size() / kMinChunkRefBytes));
  if (!reader.ok() || count == 0) return damaged("its number of chunks is wrong");

  ChunkTable table;
  table.chunks.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t start = reader.position();
    ChunkRef chunk;
    chunk.last_name = reader.sized(kMaxNameBytes);
    chunk.id = read_id<ObjectId>(reader);
    chunk.entries = reader.varint_max(kMaxChunkEntries);
    chunk.entry_bytes = reader.varint_max(kMaxChunkEntries * kMaxEntryBytes);
    if (!reader.ok()) return table_damaged(i, start, "is cut off or exceeds a limit");
    if (const auto problem = name_problem(chunk.last_name); !problem.empty()) {
      return table_damaged(i, start, fmt::format("ends with a name that {}", problem));
    }
    if (i > 0 && chunk.last_name <= table.chunks.back().last_name) return table_damaged(i, start, "is out of order");
    if (chunk.entries == 0 || chunk.entry_bytes < chunk.entries * kMinEntryBytes ||
        chunk.entry_bytes > chunk.entries * kMaxEntryBytes) {
      return table_damaged(i, start, "has a number of entries that does not fit its size");
    }
    if (i + 1 < count && !ends_chunk(chunk.last_name) && chunk.entries != kMaxChunkEntries) {
      return table_damaged(i, start, "ends where no chunk ends");
    }
    table.add(std::move(chunk));
  }
  if (!reader.at_end()) return damaged(fmt::format("bytes follow its last chunk, from byte {}", reader.position()));
  if (table.entries > kMaxDirectoryEntries) {
    return damaged(fmt::format("it has {} entries, more than {}", table.entries, kMaxDirectoryEntries));
  }
  if (plain_size(table.entries, table.entry_bytes) <= kMaxPlainDirectoryBytes) {
    return damaged("it is a chunk table over a directory too small for one");
  }
  return table;
}

Result<EntryCursor> EntryCursor::directory(ByteView encoded) {
  EntryCursor cursor(encoded, TreeForm::directory);
  if (encoded.size() > kMaxPlainDirectoryBytes) {
    return damaged(
        fmt::format("it is a directory of {} bytes in one piece, above {}", encoded.size(), kMaxPlainDirectoryBytes));
  }
  WEFT_DO(cursor.open(kMaxPlainDirectoryBytes / kMinEntryBytes));
  return cursor;
}

Result<EntryCursor> EntryCursor::chunk(ByteView encoded, const ChunkRef* expected, ByteView after) {
  EntryCursor cursor(encoded, TreeForm::chunk);
  cursor.expected_ = expected;
  cursor.previous_name_ = after;
  WEFT_DO(cursor.open(kMaxChunkEntries));
  if (cursor.count_ == 0) return damaged("it is a chunk without entries");
  if (expected != nullptr &&
      (cursor.count_ != expected->entries || cursor.reader_.remaining() != expected->entry_bytes)) {
    return damaged(fmt::format("the chunk has {} entries in {} bytes, its table says {} in {}", cursor.count_,
                               cursor.reader_.remaining(), expected->entries, expected->entry_bytes));
  }
  return cursor;
}

Result<void> EntryCursor::open(std::uint64_t max_entries) {
  if (reader_.raw(kMagicBytes) != magic_of(form_)) {
    return damaged(form_ == TreeForm::chunk ? "it does not begin like a chunk" : "it does not begin like a directory");
  }
  count_ = reader_.varint_max(max_entries);
  if (!reader_.ok() || count_ > reader_.remaining() / kMinEntryBytes) return damaged("its number of entries is wrong");
  return {};
}

const EntryView* EntryCursor::stop(std::string_view problem) {
  problem_ = problem;
  return nullptr;
}

const EntryView* EntryCursor::next() {
  if (index_ == count_ || !problem_.empty()) return nullptr;
  entry_start_ = reader_.position();
  entry_.name = reader_.sized(kMaxNameBytes);
  const std::uint16_t packed = reader_.u16();
  entry_.node = read_id<NodeId>(reader_);
  entry_.id = read_id<ObjectId>(reader_);
  entry_.size = reader_.varint();
  if (!reader_.ok()) return stop("is cut off or has a length out of bounds");
  entry_.kind = static_cast<EntryKind>(packed >> kKindShift);
  entry_.mode = packed & kModeMask;
  if (const auto problem = problem_of(entry_.name, entry_.kind, entry_.mode, entry_.node, entry_.size);
      !problem.empty()) {
    return stop(problem);
  }
  if (entry_.name <= previous_name_) return stop("is out of order or there twice");
  previous_name_ = entry_.name;
  ++index_;
  if (form_ == TreeForm::chunk && index_ < count_ && ends_chunk(entry_.name))
    return stop("is not where its chunk ends");
  return &entry_;
}

Result<void> EntryCursor::finish() const {
  if (!problem_.empty()) {
    return damaged(fmt::format("entry {} at byte {} ({}) {}", index_, entry_start_, quoted(entry_.name), problem_));
  }
  if (index_ < count_) return {};  // the caller stopped early
  if (!reader_.at_end()) return damaged(fmt::format("bytes follow its last entry, from byte {}", reader_.position()));
  if (expected_ != nullptr && previous_name_ != expected_->last_name) {
    return damaged(
        fmt::format("the chunk ends with {}, its table says {}", quoted(previous_name_), quoted(expected_->last_name)));
  }
  return {};
}

Result<void> read_entries(EntryCursor cursor, Entries& out) {
  const std::size_t first = out.size();
  out.reserve(first + cursor.count());
  while (const EntryView* entry = cursor.next()) out.push_back(entry->entry());
  WEFT_DO(cursor.finish());
  if (has_duplicate_node(std::span(out).subspan(first))) return damaged("two of its entries have the same node id");
  return {};
}

bool has_duplicate_node(std::span<const TreeEntry> entries) {
  if (entries.size() < 2) return false;
  // Sorted as pairs of numbers: only equality matters, and this runs for every directory a commit touches.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> nodes(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    static_assert(sizeof(nodes[i].first) + sizeof(nodes[i].second) == NodeId::kSize);
    std::memcpy(&nodes[i].first, entries[i].node.bytes.data(), sizeof(nodes[i].first));
    std::memcpy(&nodes[i].second, entries[i].node.bytes.data() + sizeof(nodes[i].first), sizeof(nodes[i].second));
  }
  std::sort(nodes.begin(), nodes.end());
  return std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end();
}

Error in_tree(const ObjectId& tree, Error error) {
  if (error.code == Code::damaged) {
    error.message = fmt::format("tree {} is damaged: {}", tree.hex(), error.message);
    if (error.hint.empty()) error.hint = "other trees are unaffected; `weft verify --deep` lists what needs this one";
    error.details.emplace_back("tree", tree.hex());
  }
  return error;
}

}  // namespace weft::object
