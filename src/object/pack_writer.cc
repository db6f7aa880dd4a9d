// Writing packs (pack.h, P1, P2, P4).
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace weft::object {

namespace {

constexpr std::size_t kBufferBytes = 1u << 20;
constexpr std::int64_t kOldTemporaryNs = std::int64_t{3600} * 1'000'000'000;

/// The file being written: a buffer over its end, readable and patchable everywhere.
class GrowingFile final : public PackBytes {
 public:
  std::uint64_t end() const override { return flushed_ + buffer_.size(); }

  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    std::size_t got = 0;
    if (offset < flushed_) {
      got = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), flushed_ - offset));
      WEFT_DO(file_->read_at(offset, out.first(got)));
    }
    const std::uint64_t position = offset + got;
    if (position < end() && position >= flushed_) {
      const ByteView rest = ByteView(buffer_).substr(position - flushed_, out.size() - got);
      std::copy(rest.begin(), rest.end(), out.begin() + static_cast<std::ptrdiff_t>(got));
      got += rest.size();
    }
    return got;
  }

  bool is_open() const { return file_ != nullptr; }
  void open(std::unique_ptr<File> file) { file_ = std::move(file); }
  File& file() { return *file_; }
  /// Appending writes into this, then calls flush_if_full(): a piece is never torn between buffer and file.
  Bytes& buffer() { return buffer_; }

  Result<void> flush_if_full() { return buffer_.size() < kBufferBytes ? Result<void>() : flush(); }
  Result<void> flush() {
    if (buffer_.empty()) return {};
    WEFT_DO(file_->write_at(flushed_, buffer_));
    flushed_ += buffer_.size();
    longest_ = std::max(longest_, flushed_);
    buffer_.clear();
    return {};
  }
  /// Over bytes that were appended as one piece.
  Result<void> patch(std::uint64_t offset, ByteView bytes) {
    if (offset < flushed_) return file_->write_at(offset, bytes);
    buffer_.replace(offset - flushed_, bytes.size(), bytes);
    return {};
  }
  /// Forgets everything from `offset` on.
  void cut(std::uint64_t offset) {
    buffer_.resize(offset > flushed_ ? offset - flushed_ : 0);
    flushed_ = std::min(flushed_, offset);
  }
  Result<void> flush_to_disk() {
    WEFT_DO(flush());
    if (longest_ > flushed_) WEFT_DO(file_->set_size(flushed_));
    return file_->sync();
  }

 private:
  std::unique_ptr<File> file_;
  Bytes buffer_;
  std::uint64_t flushed_ = 0;  // the file's bytes that count
  std::uint64_t longest_ = 0;  // the file's length
};

struct TableEntry {
  ObjectId id;
  std::uint64_t value = 0;  // kind and offset
  auto operator<=>(const TableEntry& other) const {
    if (const auto by_id = id <=> other.id; by_id != 0) return by_id;
    return value <=> other.value;  // the kind leads
  }
};

std::uint64_t table_value(ObjectKind kind, std::uint64_t offset) {
  return static_cast<std::uint64_t>(kind) << kPackKindShift | offset;
}

/// What was added: entries in order of arrival, and a hash table of their places (5 to 10 bytes per object).
class AddedObjects {
 public:
  std::optional<std::uint64_t> find(ObjectKind kind, const ObjectId& id) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t place = slots_[slot_of(kind, id)];
    if (place == 0) return std::nullopt;
    return entries_[place - 1].value & ((std::uint64_t{1} << kPackKindShift) - 1);
  }
  /// Must be new.
  void add(ObjectKind kind, const ObjectId& id, std::uint64_t offset) {
    entries_.push_back({id, table_value(kind, offset)});
    if (entries_.size() * 4 > slots_.size() * 3) {
      slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), 0);
      for (std::size_t i = 0; i < entries_.size(); ++i) place(i);
    } else {
      place(entries_.size() - 1);
    }
  }
  std::size_t size() const { return entries_.size(); }
  /// Sorted as the table wants them; nothing can be found or added any more.
  const std::vector<TableEntry>& sort() {
    slots_ = {};
    std::sort(entries_.begin(), entries_.end());
    return entries_;
  }

 private:
  std::size_t slot_of(ObjectKind kind, const ObjectId& id) const {
    const auto kind_of = [](const TableEntry& entry) { return entry.value >> kPackKindShift; };
    std::size_t slot = IdHash()(id) & (slots_.size() - 1);
    while (slots_[slot] != 0) {
      const TableEntry& entry = entries_[slots_[slot] - 1];
      if (entry.id == id && kind_of(entry) == static_cast<std::uint64_t>(kind)) break;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }
  void place(std::size_t index) {
    const TableEntry& entry = entries_[index];
    slots_[slot_of(static_cast<ObjectKind>(entry.value >> kPackKindShift), entry.id)] =
        static_cast<std::uint32_t>(index + 1);
  }

  std::vector<TableEntry> entries_;
  std::vector<std::uint32_t> slots_;  // place + 1; a power of two
};

}  // namespace

struct PackWriter::State {
  Env env;
  std::string directory;
  RecordCodec codec;
  std::string temporary;  // empty: not made, or no longer ours
  GrowingFile out;
  AddedObjects added;
  std::uint64_t content_bytes = 0;
  std::optional<Error> failed;  // of the file: nothing after it can be trusted
  bool finished = false;
  Bytes piece;  // working memory of add_blob()

  State(Env e, std::string d, int level) : env(e), directory(std::move(d)), codec(level) {}

  /// Remembers the first failure of the file.
  Result<void> note(Result<void> done) {
    if (!done) failed = done.error();
    return done;
  }
  Result<void> begin();
  Result<void> create();
  Result<void> make_durable(const std::string& final_path);
  Result<void> add_entry(ObjectKind kind, const ObjectId& id, std::uint64_t offset, std::uint64_t content);
  Result<void> append_block(ByteView raw);
  Result<void> add_blocks(ObjectKind kind, const ObjectId& id, ByteView bytes);
  Result<ObjectWriter::StoredBlob> add_large_blob(ByteSource& source);
  Result<ObjectWriter::StoredBlob> stream_blob(ByteSource& source, std::uint64_t start);
  Result<PackSummary> finish();
  void append_table(PackFooter& footer);
};

namespace {

/// What killed writers left (P1), once nobody can be at it any more: a writer at work writes to its file all the time.
Result<void> remove_old_temporaries(Env& env, const std::string& directory) {
  WEFT_TRY(const auto names, env.fs.list(directory));
  for (const DirectoryEntry& entry : names) {
    if (!entry.name.starts_with(kPackTemporaryPrefix)) continue;
    const std::string path = join_path(directory, entry.name);
    const auto status = env.fs.status(path);
    if (status && status->mtime_ns < env.clock.now_ns() - kOldTemporaryNs) (void)env.fs.unlink(path).has_value();
  }
  return {};
}

}  // namespace

Result<void> PackWriter::State::create() {
  WEFT_DO(remove_old_temporaries(env, directory));
  std::array<char, 8> salt{};
  env.random.fill(salt);
  const std::string path =
      join_path(directory, std::string(kPackTemporaryPrefix) + to_hex(ByteView(salt.data(), salt.size())));
  WEFT_TRY(auto file, env.fs.open(path, OpenMode::create_new));
  temporary = path;
  out.open(std::move(file));
  ByteWriter writer(out.buffer());
  writer.raw(kPackMagic);
  writer.u32(kPackVersion);
  writer.u32(0);
  return {};
}

/// Before every addition.
Result<void> PackWriter::State::begin() {
  WEFT_CHECK(!finished);
  if (failed) return *failed;
  if (!out.is_open()) WEFT_DO(note(create()));
  if (added.size() >= kMaxPackObjects) return make_error(Code::invalid, "a pack cannot hold more objects");
  return {};
}

Result<void> PackWriter::State::add_entry(ObjectKind kind, const ObjectId& id, std::uint64_t offset,
                                          std::uint64_t content) {
  if (out.end() > kMaxPackBytes / 2) {  // the other half is more than any table takes
    out.cut(offset);
    return make_error(Code::invalid, fmt::format("a pack cannot be larger than {} bytes", kMaxPackBytes / 2));
  }
  added.add(kind, id, offset);
  content_bytes += content;
  return note(out.flush_if_full());
}

Result<void> PackWriter::State::append_block(ByteView raw) {
  const RecordCodec::Packed packed = codec.pack(raw);
  ByteWriter writer(out.buffer());
  writer.u32(static_cast<std::uint32_t>(raw.size()));
  writer.u32(static_cast<std::uint32_t>(packed.bytes.size()) | (packed.form == Stored::zstd ? kBlockCompressed : 0));
  writer.u64(xxh3(packed.bytes));
  writer.raw(packed.bytes);
  return note(out.flush_if_full());
}

Result<void> PackWriter::State::add_blocks(ObjectKind kind, const ObjectId& id, ByteView bytes) {
  const std::uint64_t start = out.end();
  out.buffer().append(kBlocksHeadBytes, '\0');
  for (ByteView rest = bytes; !rest.empty(); rest.remove_prefix(std::min(kBlockBytes, rest.size()))) {
    WEFT_DO(append_block(rest.substr(0, kBlockBytes)));
  }
  const std::uint64_t stored = out.end() - start - kBlocksHeadBytes;
  WEFT_DO(note(out.patch(start, encode_blocks_head(kind, id, bytes.size(), stored))));
  return add_entry(kind, id, start, bytes.size());
}

/// `piece` holds the first kLargeBlobBytes.
Result<ObjectWriter::StoredBlob> PackWriter::State::add_large_blob(ByteSource& source) {
  const std::uint64_t start = out.end();
  auto stored = stream_blob(source, start);
  if (!stored) out.cut(start);
  return stored;
}

Result<ObjectWriter::StoredBlob> PackWriter::State::stream_blob(ByteSource& source, std::uint64_t start) {
  out.buffer().append(kBlocksHeadBytes, '\0');
  Sha256 hash;
  std::uint64_t size = 0;
  std::size_t got = kLargeBlobBytes;
  while (got > 0) {
    const ByteView read(piece.data(), got);
    hash.update(read);
    size += got;
    for (ByteView rest = read; !rest.empty(); rest.remove_prefix(std::min(kBlockBytes, rest.size()))) {
      WEFT_DO(append_block(rest.substr(0, kBlockBytes)));
    }
    if (got < piece.size()) break;  // pieces are whole numbers of blocks, but the last
    WEFT_TRY(got, read_fully(source, piece));
  }
  const ObjectId id = hash.finish();
  if (added.find(ObjectKind::blob, id)) {  // P4
    out.cut(start);
    return ObjectWriter::StoredBlob{id, size};
  }
  const std::uint64_t stored = out.end() - start - kBlocksHeadBytes;
  WEFT_DO(note(out.patch(start, encode_blocks_head(ObjectKind::blob, id, size, stored))));
  WEFT_DO(add_entry(ObjectKind::blob, id, start, size));
  return ObjectWriter::StoredBlob{id, size};
}

void PackWriter::State::append_table(PackFooter& footer) {
  const std::vector<TableEntry>& entries = added.sort();
  const TableLayout layout(entries.size());
  Bytes& buffer = out.buffer();
  buffer.append((8 - out.end() % 8) % 8, '\0');
  footer.table_offset = out.end();
  const std::size_t start = buffer.size();
  buffer.reserve(start + layout.end + kPackFooterBytes);
  ByteWriter writer(buffer);
  std::size_t index = 0;
  for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << layout.bits; ++bucket) {
    while (index < entries.size() && layout.bucket(id_prefix(entries[index].id)) < bucket) ++index;
    writer.u32(static_cast<std::uint32_t>(index));
  }
  writer.u32(static_cast<std::uint32_t>(entries.size()));
  buffer.append(start + layout.prefixes - buffer.size(), '\0');
  for (const TableEntry& entry : entries) writer.u64(id_prefix(entry.id));
  for (const TableEntry& entry : entries) writer.u64(entry.value);
  for (const TableEntry& entry : entries) writer.raw(entry.id.view().substr(kPrefixBytes));
  footer.table_hash = sha256(ByteView(buffer).substr(start));
}

Result<PackSummary> PackWriter::State::finish() {
  WEFT_CHECK(!finished);
  if (failed) return *failed;
  if (added.size() == 0) return make_error(Code::invalid, "a pack cannot be empty");
  WEFT_DO(note(out.flush()));
  PackFooter footer{0, added.size(), content_bytes, {}};
  append_table(footer);
  const Bytes encoded = encode_footer(footer);
  out.buffer() += encoded;
  const PackSummary summary{sha256(encoded), footer.objects, out.end()};
  finished = true;
  WEFT_DO(note(make_durable(join_path(directory, pack_file_name(summary.id)))));
  return summary;
}

/// P1
Result<void> PackWriter::State::make_durable(const std::string& final_path) {
  WEFT_DO(out.flush_to_disk());
  WEFT_DO(env.fs.rename(temporary, final_path));
  temporary.clear();
  return env.fs.sync_directory(directory);
}

PackWriter::PackWriter(Env env, std::string directory, int level)
    : state_(std::make_unique<State>(env, std::move(directory), level)) {}

PackWriter::~PackWriter() {
  if (state_ && !state_->temporary.empty()) (void)state_->env.fs.unlink(state_->temporary);
}

PackWriter::PackWriter(PackWriter&&) noexcept = default;

PackWriter& PackWriter::operator=(PackWriter&& other) noexcept {
  std::swap(state_, other.state_);  // the other one's destructor removes what was ours
  return *this;
}

Result<void> PackWriter::add(ObjectKind kind, const ObjectId& id, ByteView bytes) {
  WEFT_DO(state_->begin());
  if (state_->added.find(kind, id)) return {};  // P4
  if (bytes.size() >= kLargeBlobBytes) return state_->add_blocks(kind, id, bytes);
  const std::uint64_t start = state_->out.end();
  WEFT_DO(state_->codec.encode(kind, id, bytes, state_->out.buffer()));
  return state_->add_entry(kind, id, start, bytes.size());
}

Result<void> PackWriter::add_encoded(ObjectKind kind, const ObjectId& id, ByteView record) {
  WEFT_TRY(const RecordHead head, decode_record_head(record));
  WEFT_CHECK(head.record.kind == kind && head.record.id == id && head.record.length == record.size());
  WEFT_DO(state_->begin());
  if (state_->added.find(kind, id)) return {};  // P4
  const std::uint64_t start = state_->out.end();
  state_->out.buffer() += record;
  return state_->add_entry(kind, id, start,
                           head.record.form == Stored::chunks ? head.stored_size : head.record.raw_size);
}

Result<std::uint64_t> PackWriter::add_group(const Group& group) {
  WEFT_CHECK(group.ids.size() == group.sizes.size() && !group.ids.empty() && group.ids.size() <= kMaxGroupMembers);
  WEFT_DO(state_->begin());
  const std::uint64_t start = state_->out.end();
  GroupHead head;
  head.kind = group.kind;
  head.base_distance = group.base_offset == 0 ? 0 : start - group.base_offset;
  head.base_member = group.base_member;
  for (std::size_t i = 0; i < group.ids.size(); ++i) {
    WEFT_CHECK(!state_->added.find(group.kind, group.ids[i]));  // P4
    WEFT_CHECK(!head.find(group.ids[i]));                       // GR3
    head.members.push_back({group.sizes[i], group_tag(group.ids[i])});
    head.raw_size += group.sizes[i];
  }
  WEFT_CHECK(head.raw_size <= kMaxGroupBytes);
  state_->out.buffer() += encode_group_head(head, group.stored);
  state_->out.buffer() += group.stored;
  for (std::size_t i = 0; i < group.ids.size(); ++i) {
    WEFT_DO(state_->add_entry(group.kind, group.ids[i], start, group.sizes[i]));
  }
  return start;
}

Result<ObjectWriter::StoredBlob> PackWriter::add_blob(ByteSource& source) {
  static_assert(kLargeBlobBytes % kBlockBytes == 0);
  WEFT_DO(state_->begin());
  Bytes& piece = state_->piece;
  piece.resize(kLargeBlobBytes);
  WEFT_TRY(const std::size_t got, read_fully(source, piece));
  if (got == piece.size()) return state_->add_large_blob(source);
  const ByteView bytes(piece.data(), got);
  const ObjectId id = sha256(bytes);
  WEFT_DO(add(ObjectKind::blob, id, bytes));
  return ObjectWriter::StoredBlob{id, got};
}

bool PackWriter::contains(ObjectKind kind, const ObjectId& id) const {
  return state_->added.find(kind, id).has_value();
}

namespace {

Error not_in_pack(ObjectKind kind, const ObjectId& id) {
  return make_error(Code::not_found, fmt::format("there is no {} {} in this pack", name(kind), id.hex()));
}

}  // namespace

Result<Bytes> PackWriter::read(ObjectKind kind, const ObjectId& id, const ObjectReader* chunks) const {
  const auto offset = state_->added.find(kind, id);
  if (!offset) return not_in_pack(kind, id);
  return read_packed(state_->out, *offset, kind, id, chunks);
}

Result<std::uint64_t> PackWriter::size(ObjectKind kind, const ObjectId& id) const {
  const auto offset = state_->added.find(kind, id);
  if (!offset) return not_in_pack(kind, id);
  WEFT_TRY(const PackedObject object, inspect_packed(state_->out, *offset, kind, id));
  return object.raw_size;
}

Result<std::unique_ptr<ByteSource>> PackWriter::open_blob(const ObjectId& id,
                                                          std::shared_ptr<const ObjectReader> chunks) const {
  const auto offset = state_->added.find(ObjectKind::blob, id);
  if (!offset) return not_in_pack(ObjectKind::blob, id);
  // Not owned: the writer outlives the source (pack.h).
  return open_packed_blob(std::shared_ptr<const PackBytes>(std::shared_ptr<void>(), &state_->out), *offset, id,
                          std::move(chunks));
}

Result<std::optional<ChunkList>> PackWriter::chunk_list(const ObjectId& id) const {
  const auto offset = state_->added.find(ObjectKind::blob, id);
  if (!offset) return not_in_pack(ObjectKind::blob, id);
  return find_packed_list(state_->out, *offset, id);
}

std::uint64_t PackWriter::objects() const { return state_->added.size(); }
std::uint64_t PackWriter::bytes() const { return state_->out.end(); }

Result<PackSummary> PackWriter::finish() { return state_->finish(); }

}  // namespace weft::object
