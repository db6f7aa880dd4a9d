#include "object/chunk_list.h"

#include <algorithm>

#include <fmt/format.h>

#include "object/byte_source.h"
#include "object/chunker.h"

namespace weft::object {
namespace {

using Kind = ChunkEntry::Kind;

constexpr unsigned kKindBits = 2;
/// Of the shortest entry, a run of zeros.
constexpr std::size_t kMinEntryBytes = 1;
/// A page ends behind its 64th or a later entry whose chunk's id ends in seven zero bits: 192 entries, more or less.
constexpr std::size_t kMinPageEntries = 64;
constexpr unsigned kPageEndMask = 0x7f;

constexpr const char* kUnaffected = "other objects are unaffected; `weft verify --deep` lists what needs this one";

void append_entries(const std::vector<ChunkEntry>& entries, Bytes& out) {
  ByteWriter writer(out);
  writer.varint(entries.size());
  for (const ChunkEntry& entry : entries) {
    writer.varint(entry.size << kKindBits | static_cast<std::uint64_t>(entry.kind));
    if (entry.kind != Kind::zeros) writer.raw(entry.id.view());
  }
}

Result<ChunkList> decode_entries(ByteReader& reader, ByteView bytes, std::uint64_t size, bool is_page) {
  ChunkList list;
  const std::uint64_t count = reader.varint();
  if (!reader.ok() || count > bytes.size() / kMinEntryBytes || count > (is_page ? kMaxPageEntries : kMaxListEntries)) {
    return damaged("a list of chunks claims more entries than it can hold");
  }
  list.entries.reserve(std::min<std::uint64_t>(count, bytes.size() / ObjectId::kSize + 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t head = reader.varint();
    ChunkEntry entry;
    const std::uint64_t kind = head & ((1u << kKindBits) - 1);
    entry.size = head >> kKindBits;
    if (kind > static_cast<std::uint64_t>(is_page ? Kind::chunk : Kind::page)) {
      return damaged("a list of chunks has an entry of an unknown kind");
    }
    entry.kind = static_cast<Kind>(kind);
    if (entry.kind != Kind::zeros) entry.id = read_id<ObjectId>(reader);
    if (!reader.ok()) return damaged("a list of chunks is cut off");
    const bool fits = entry.size > 0 && entry.size <= kMaxBlobBytes - list.size &&
                      (entry.kind != Kind::chunk || entry.size < kLargeBlobBytes);
    if (!fits) return damaged("a list of chunks has an entry of an impossible size");
    list.size += entry.size;
    list.entries.push_back(entry);
  }
  if (reader.position() != bytes.size()) return damaged("bytes follow a list of chunks");
  if (list.size != size) {
    return damaged(fmt::format("a list of chunks stands for {} bytes instead of {}", list.size, size));
  }
  return list;
}

Error about(const ObjectId& blob, Error error) {
  error.message = fmt::format("blob {}: {}", blob.hex(), error.message);
  return error;
}

/// A chunk or page as the entry has it: there, and of the size it says.
Result<Bytes> read_entry(const ObjectReader& reader, const ChunkEntry& entry) {
  auto bytes = reader.read(ObjectKind::blob, entry.id);
  if (!bytes) {
    if (bytes.error().code != Code::not_found) return bytes;
    return damaged(fmt::format("its chunk {} is missing", entry.id.hex()), kUnaffected);
  }
  if (entry.kind == Kind::chunk && bytes->size() != entry.size) {
    return damaged(fmt::format("its chunk {} has {} bytes instead of {}", entry.id.hex(), bytes->size(), entry.size));
  }
  return bytes;
}

Result<ChunkList> read_page(const ObjectReader& reader, const ChunkEntry& entry) {
  WEFT_TRY(const std::uint64_t size, reader.blob_size(entry.id));
  if (size >= kLargeBlobBytes) return damaged(fmt::format("{} is no page of a list of chunks", entry.id.hex()));
  WEFT_TRY(const Bytes bytes, read_entry(reader, entry));
  return decode_page(bytes, entry.size);
}

/// CL2, CL3.
class ChunkSource final : public ByteSource {
 public:
  ChunkSource(std::shared_ptr<const ObjectReader> owner, const ObjectReader& reader, const ObjectId& id, ChunkList list)
      : owner_(std::move(owner)), reader_(reader), id_(id), list_(std::move(list)) {}

  Result<std::size_t> read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      WEFT_TRY(const std::uint64_t left, advance(true));
      if (left == 0) break;
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, out.size() - filled));
      char* const to = out.data() + filled;
      if (entry_.kind == Kind::zeros) {
        if (filled > 0) break;  // whoever asks zeros() before each read is told of all of them
        std::fill_n(to, count, '\0');
      } else {
        std::copy_n(chunk_.data() + (entry_.size - left), count, to);
      }
      if (whole_) hash_.update(ByteView(to, count));
      left_ -= count;
      filled += count;
    }
    if (filled == 0 && !out.empty()) WEFT_DO(check_whole());
    return filled;
  }

  Result<std::uint64_t> zeros() override {
    WEFT_TRY(const std::uint64_t left, advance(false));
    return entry_.kind == Kind::zeros ? left : 0;
  }

  Result<std::uint64_t> skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    while (passed < count) {
      WEFT_TRY(const std::uint64_t left, advance(false, count - passed));
      if (left == 0) break;
      const std::uint64_t here = std::min(left, count - passed);
      if (entry_.kind == Kind::zeros) {
        if (whole_) hash_zeros(hash_, here);
      } else {
        whole_ = false;
      }
      left_ -= here;
      passed += here;
    }
    return passed;
  }

 private:
  /// What is left of the entry that stands next, 0 at the end; with `read` its chunk is in memory. A page is opened
  /// unless `passing` goes beyond it.
  Result<std::uint64_t> advance(bool read, std::uint64_t passing = 0) {
    while (left_ == 0) {
      const bool in_page = next_in_page_ < page_.entries.size();
      if (!in_page && next_ == list_.entries.size()) {
        entry_ = {};
        return std::uint64_t{0};
      }
      const ChunkEntry entry = in_page ? page_.entries[next_in_page_++] : list_.entries[next_++];
      loaded_ = false;
      if (entry.kind == Kind::page && entry.size > passing) {
        auto page = read_page(reader_, entry);
        if (!page) return about(id_, std::move(page).error());
        page_ = *std::move(page);
        next_in_page_ = 0;
        continue;
      }
      entry_ = entry;
      left_ = entry.size;
    }
    if (read && !loaded_ && entry_.kind == Kind::chunk) {
      auto chunk = read_entry(reader_, entry_);
      if (!chunk) return about(id_, std::move(chunk).error());
      chunk_ = *std::move(chunk);
      loaded_ = true;
    }
    return left_;
  }

  Result<void> check_whole() {
    if (!whole_) return {};
    whole_ = false;
    if (hash_.finish() == id_) return {};
    return about(id_, damaged("its chunks are whole, but not this blob's content", kUnaffected));
  }

  std::shared_ptr<const ObjectReader> owner_;  // null when the caller keeps the reader alive
  const ObjectReader& reader_;
  ObjectId id_;
  ChunkList list_, page_;
  std::size_t next_ = 0, next_in_page_ = 0;
  ChunkEntry entry_;
  std::uint64_t left_ = 0;  // of entry_
  bool loaded_ = false;     // chunk_ is entry_'s
  Bytes chunk_;
  bool whole_ = true;  // nothing was passed over that the hash does not know
  Sha256 hash_;
};

/// The list while it is made; full pages are put as soon as there is more than one.
class ListBuilder {
 public:
  explicit ListBuilder(ObjectWriter& writer) : writer_(writer) {}

  Result<void> add(const ChunkEntry& entry) {
    if (full_) WEFT_DO(put_page());
    list_.size += entry.size;
    page_.push_back(entry);
    full_ =
        page_.size() == kMaxPageEntries || (page_.size() >= kMinPageEntries && entry.kind == Kind::chunk &&
                                            (static_cast<unsigned char>(entry.id.view().back()) & kPageEndMask) == 0);
    return {};
  }
  Result<ChunkList> finish() {
    if (list_.entries.empty()) {
      list_.entries = std::move(page_);
    } else if (!page_.empty()) {
      WEFT_DO(put_page());
    }
    return std::move(list_);
  }
  std::uint64_t size() const { return list_.size; }

 private:
  Result<void> put_page() {
    ChunkEntry entry;
    entry.kind = Kind::page;
    for (const ChunkEntry& part : page_) entry.size += part.size;
    WEFT_TRY(entry.id, writer_.put(ObjectKind::blob, encode_page(page_)));
    list_.entries.push_back(entry);
    page_.clear();
    full_ = false;
    return {};
  }

  ObjectWriter& writer_;
  ChunkList list_;
  std::vector<ChunkEntry> page_;
  bool full_ = false;
};

}  // namespace

Bytes encode_chunk_list(const std::vector<ChunkEntry>& entries) {
  Bytes out;
  append_entries(entries, out);
  return out;
}

Result<ChunkList> decode_chunk_list(ByteView bytes, std::uint64_t size) {
  ByteReader reader(bytes);
  return decode_entries(reader, bytes, size, false);
}

Bytes encode_page(const std::vector<ChunkEntry>& entries) {
  Bytes out(kPageMagic);
  append_entries(entries, out);
  return out;
}

Result<ChunkList> decode_page(ByteView bytes, std::uint64_t size) {
  ByteReader reader(bytes);
  if (reader.raw(kPageMagic.size()) != kPageMagic) return damaged("a page of a list of chunks does not begin like one");
  return decode_entries(reader, bytes, size, true);
}

Result<ChunkList> chunk_list_of(const Record& record) {
  WEFT_CHECK(record.form == Stored::chunks);
  auto list = xxh3(record.stored) == record.checksum ? decode_chunk_list(record.stored, record.raw_size)
                                                     : Result<ChunkList>(damaged("it does not match its checksum"));
  if (list) return list;
  Error error = std::move(list).error();
  error.message = fmt::format("the record of blob {} is damaged: {}", record.id.hex(), error.message);
  error.hint = kUnaffected;
  return error;
}

Result<void> for_each_chunk(const ObjectReader& reader, const ChunkList& list,
                            const std::function<Result<void>(const ChunkEntry&)>& visit) {
  for (const ChunkEntry& entry : list.entries) {
    if (entry.kind == Kind::zeros) continue;
    WEFT_DO(visit(entry));
    if (entry.kind != Kind::page) continue;
    WEFT_TRY(const ChunkList page, read_page(reader, entry));
    for (const ChunkEntry& part : page.entries) {
      if (part.kind != Kind::zeros) WEFT_DO(visit(part));
    }
  }
  return {};
}

Result<void> check_chunks(const ObjectReader& reader, const ObjectId& blob, const ChunkList& list, bool whole) {
  const auto check = [&]() -> Result<void> {
    return for_each_chunk(reader, list, [&](const ChunkEntry& entry) -> Result<void> {
      if (entry.kind == Kind::page) return {};
      const auto size = reader.blob_size(entry.id);
      if (!size && size.error().code != Code::not_found) return size.error();
      if (!size || *size != entry.size) {
        return damaged(fmt::format("its chunk {} {}", entry.id.hex(), size ? "has another size" : "is missing"),
                       kUnaffected);
      }
      return {};
    });
  };
  if (auto checked = check(); !checked) return about(blob, std::move(checked).error());
  if (!whole) return {};
  ChunkSource source(nullptr, reader, blob, list);
  Bytes buffer(kLargeBlobBytes, '\0');
  for (;;) {
    WEFT_TRY(const std::size_t got, source.read(buffer));
    if (got == 0) return {};  // CL2: compared with the id
  }
}

std::unique_ptr<ByteSource> open_chunks(std::shared_ptr<const ObjectReader> reader, const ObjectId& id,
                                        ChunkList list) {
  const ObjectReader& reference = *reader;
  return std::make_unique<ChunkSource>(std::move(reader), reference, id, std::move(list));
}

Result<Bytes> read_chunks(const ObjectReader& reader, const ObjectId& id, ChunkList list) {
  if (list.size > kMaxWholeBytes) {
    return make_error(Code::invalid,
                      fmt::format("blob {} has {} bytes; what needs all of them in memory takes {} at most", id.hex(),
                                  list.size, kMaxWholeBytes));
  }
  ChunkSource source(nullptr, reader, id, std::move(list));
  return read_all(source, kMaxWholeBytes);
}

Result<Bytes> whole_content(RecordCodec& codec, const Record& record, const ObjectReader* reader) {
  if (record.form != Stored::chunks) return codec.content(record);
  WEFT_TRY(ChunkList list, chunk_list_of(record));
  if (reader == nullptr) return damaged(fmt::format("blob {} is a list of chunks here", record.id.hex()));
  return read_chunks(*reader, record.id, std::move(list));
}

Result<ChunkedBlob> put_chunks(ByteSource& source, ObjectWriter& writer) {
  Chunker chunker(source);
  ListBuilder list(writer);
  Sha256 whole;
  for (;;) {
    WEFT_TRY(const auto piece, chunker.next());
    if (!piece) break;
    if (piece->size > kMaxBlobBytes - list.size()) {
      return make_error(Code::invalid, fmt::format("content of more than {} bytes cannot be stored", kMaxBlobBytes));
    }
    ChunkEntry entry;
    entry.size = piece->size;
    if (piece->bytes.empty()) {
      hash_zeros(whole, piece->size);
    } else {
      entry.kind = Kind::chunk;
      whole.update(piece->bytes);
      WEFT_TRY(entry.id, writer.put(ObjectKind::blob, piece->bytes));
    }
    WEFT_DO(list.add(entry));
  }
  ChunkedBlob blob;
  blob.id = whole.finish();
  WEFT_TRY(blob.list, list.finish());
  if (blob.list.entries.size() > kMaxListEntries) {
    return make_error(Code::invalid,
                      fmt::format("content of {} bytes has too many parts to be stored", blob.list.size));
  }
  return blob;
}

}  // namespace weft::object
