// Reading and verifying packs (pack.h, P2 and P3).
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace weft::object {

struct PackReader::State final : PackBytes {
  std::string path;
  FileSystem* fs = nullptr;
  std::unique_ptr<File> file;  // none: opened for each read
  std::shared_ptr<Mapping> mapping;
  PackFooter footer;
  PackSummary summary;
  mutable GroupCache group_cache;  // thread-safe

  TableView table() const {
    const std::uint64_t length = summary.bytes - kPackFooterBytes - footer.table_offset;
    return {mapping->bytes().substr(footer.table_offset, length), footer.objects};
  }
  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    if (file) return file->read_some_at(offset, out);
    const auto opened = fs->open(path, OpenMode::read);
    if (opened) return (*opened)->read_some_at(offset, out);
    if (opened.error().code != Code::not_found) return opened.error();
    // A gc took its name away meanwhile; what is mapped stays.
    const ByteView rest = mapping->bytes().substr(std::min<std::uint64_t>(offset, mapping->bytes().size()));
    const std::size_t length = std::min(out.size(), rest.size());
    std::copy_n(rest.data(), length, out.data());
    return length;
  }
  std::uint64_t end() const override { return footer.table_offset; }
  GroupCache* groups() const override { return &group_cache; }

  /// The same error, naming the pack it is about.
  Error located(Error error) const {
    error.message = fmt::format("{}: {}", path, error.message);
    if (error.code == Code::damaged) error.details.emplace_back("path", path);
    return error;
  }
  template <typename T>
  Result<T> located(Result<T> result) const {
    if (result) return result;
    return located(std::move(result).error());
  }

  Result<void> load(const ObjectId& id);
  bool verify_table(const std::function<void(const Error&)>& report) const;
  void verify_objects(const std::function<void(const Error&)>& report) const;
  Result<void> verify_object(const std::shared_ptr<const PackBytes>& self, const PackedObject& object) const;
};

Result<void> PackReader::State::load(const ObjectId& id) {
  WEFT_TRY(const std::uint64_t size, file->size());
  if (size < kPackHeaderBytes + kPackFooterBytes) return damaged("it is too short for a pack");
  Bytes encoded(kPackFooterBytes, '\0');
  WEFT_DO(file->read_at(size - kPackFooterBytes, encoded));
  if (sha256(encoded) != id) return damaged("it is cut off or not the pack its name says");
  WEFT_TRY(footer, decode_footer(encoded, size));
  Bytes header(kPackHeaderBytes, '\0');
  WEFT_DO(file->read_at(0, header));
  ByteReader reader(header);
  if (reader.raw(kPackMagic.size()) != kPackMagic || reader.u32() != kPackVersion || reader.u32() != 0) {
    return damaged("it does not begin like a pack");
  }
  WEFT_TRY(mapping, file->map(size));
  summary = {id, footer.objects, size};
  return {};
}

Result<PackReader> PackReader::open(FileSystem& fs, const std::string& path, const ObjectId& id, bool keeps_file) {
  auto state = std::make_shared<State>();
  state->path = path;
  state->fs = &fs;
  WEFT_TRY(state->file, fs.open(path, OpenMode::read));
  WEFT_DO(state->located(state->load(id)));
  if (!keeps_file) state->file.reset();
  return PackReader(std::move(state));
}

const PackSummary& PackReader::summary() const { return state_->summary; }
std::uint64_t PackReader::content_bytes() const { return state_->footer.content_bytes; }

Result<std::optional<std::uint64_t>> PackReader::find(ObjectKind kind, const ObjectId& id) const {
  WEFT_TRY(const auto place, find_place(kind, id));
  if (!place) return std::optional<std::uint64_t>();
  return std::optional(state_->table().entry(*place).offset);
}

Result<std::optional<std::uint64_t>> PackReader::find_place(ObjectKind kind, const ObjectId& id) const {
  return state_->located(state_->table().find_place(kind, id));
}

Result<std::uint64_t> PackReader::first_place(std::uint64_t prefix) const {
  return state_->located(state_->table().first_place(prefix));
}

Result<PackReader::Entry> PackReader::entry(std::uint64_t place) const {
  if (place >= state_->footer.objects) {
    return state_->located<Entry>(damaged(fmt::format("its table has no entry {}", place)));
  }
  const TableView::Entry entry = state_->table().entry(place);
  if (entry.kind < 1 || entry.kind > 3) {
    return state_->located<Entry>(
        damaged(fmt::format("entry {} of its table has the unknown kind {}", place, entry.kind)));
  }
  return Entry{static_cast<ObjectKind>(entry.kind), entry.id, entry.offset};
}

Result<Bytes> PackReader::read_at(std::uint64_t offset, ObjectKind kind, const ObjectId& id,
                                  const ObjectReader* chunks) const {
  return state_->located(read_packed(*state_, offset, kind, id, chunks));
}

Result<std::uint64_t> PackReader::size_at(std::uint64_t offset, ObjectKind kind, const ObjectId& id) const {
  auto object = inspect_packed(*state_, offset, kind, id);
  if (!object) return state_->located(std::move(object).error());
  return object->raw_size;
}

Result<std::unique_ptr<ByteSource>> PackReader::open_blob_at(std::uint64_t offset, const ObjectId& id,
                                                             std::shared_ptr<const ObjectReader> chunks) const {
  return state_->located(open_packed_blob(state_, offset, id, std::move(chunks)));
}

Result<std::optional<ChunkList>> PackReader::chunk_list_at(std::uint64_t offset, const ObjectId& id) const {
  return state_->located(find_packed_list(*state_, offset, id));
}

Result<void> PackReader::for_each(const Visit& visit) const {
  for (std::uint64_t i = 0; i < state_->footer.objects; ++i) {
    WEFT_TRY(const Entry each, entry(i));
    WEFT_DO(visit(each.kind, each.id, each.offset));
  }
  return {};
}

void PackReader::verify(bool deep, const std::function<void(const Error&)>& report) const {
  const auto located = [&](const Error& error) { report(state_->located(error)); };
  // A table that is not what was written gives offsets that are worth nothing.
  if (state_->verify_table(located) && deep) state_->verify_objects(located);
}

bool PackReader::State::verify_table(const std::function<void(const Error&)>& report) const {
  const ByteView bytes =
      mapping->bytes().substr(footer.table_offset, summary.bytes - kPackFooterBytes - footer.table_offset);
  if (sha256(bytes) != footer.table_hash) {
    report(damaged("its table does not match its checksum", "objects of other packs and of the log are unaffected"));
    return false;
  }
  // From here on only a writer's mistake can be found, not a disk's.
  const TableView view = table();
  const std::uint64_t buckets = std::uint64_t{1} << view.layout().bits;
  TableView::Entry last;
  std::uint64_t bucket = 0;
  for (std::uint64_t i = 0; i < footer.objects; ++i) {
    const TableView::Entry entry = view.entry(i);
    const bool ordered = i == 0 || last.id < entry.id || (last.id == entry.id && last.kind < entry.kind);
    const bool placed = entry.kind >= 1 && entry.kind <= 3 && entry.offset >= kPackHeaderBytes && entry.offset < end();
    const std::uint64_t own_bucket = view.layout().bucket(id_prefix(entry.id));
    while (bucket <= own_bucket && view.bucket_start(bucket) == i) ++bucket;
    if (!ordered || !placed || bucket != own_bucket + 1) {
      report(damaged(fmt::format("entry {} of its table is out of order or out of bounds", i)));
      return false;
    }
    last = entry;
  }
  while (bucket <= buckets && view.bucket_start(bucket) == footer.objects) ++bucket;
  if (bucket != buckets + 1) report(damaged("the buckets of its table are out of order"));
  return bucket == buckets + 1;
}

void PackReader::State::verify_objects(const std::function<void(const Error&)>& report) const {
  const TableView view = table();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // in the order of the file: one sequential read
  places.reserve(footer.objects);
  for (std::uint64_t i = 0; i < footer.objects; ++i) places.emplace_back(view.entry(i).offset, i);
  std::sort(places.begin(), places.end());
  // Lent, not owned: nothing here outlives this call.
  const std::shared_ptr<const PackBytes> self(std::shared_ptr<void>(), this);
  std::uint64_t expected = kPackHeaderBytes;
  std::uint64_t content = 0;
  std::uint64_t last = 0, unnamed = 0;  // P5: members of the group at `last` that the table has not named
  const auto leave = [&] {
    if (unnamed > 0) report(damaged(fmt::format("of the group at {} its table does not name {}", last, unnamed)));
    unnamed = 0;
  };
  for (const auto& [offset, index] : places) {
    const bool same = offset == last;
    if (!same) {
      leave();
      if (offset != expected) report(damaged(fmt::format("bytes that belong to no object lie at {}", expected)));
    }
    last = offset;
    const TableView::Entry entry = view.entry(index);
    auto object = inspect_packed(*this, offset, static_cast<ObjectKind>(entry.kind), entry.id);
    if (!object) {
      report(object.error());
      const auto next = std::upper_bound(places.begin(), places.end(), std::pair(offset, ~std::uint64_t{0}));
      expected = next == places.end() ? end() : next->first;  // whatever it was, it is reported
      continue;
    }
    if (!same) unnamed = std::max<std::uint64_t>(object->group_members, 1);
    if (unnamed == 0) {
      report(damaged(fmt::format("its table names more objects at {} than lie there", offset)));
    } else {
      --unnamed;
    }
    expected = object->end();
    content += object->content_bytes();
    if (auto done = verify_object(self, *object); !done) report(done.error());
  }
  leave();
  if (end() - expected >= 8) report(damaged(fmt::format("bytes that belong to no object lie at {}", expected)));
  if (content != footer.content_bytes) {
    report(damaged(fmt::format("its objects have {} bytes, its footer says {}", content, footer.content_bytes)));
  }
}

Result<void> PackReader::State::verify_object(const std::shared_ptr<const PackBytes>& self,
                                              const PackedObject& object) const {
  if (object.form ==
      Stored::chunks) {  // its chunks may lie anywhere: whoever sees the whole store compares the content
    const auto list = read_packed_list(*self, object);
    return list ? Result<void>() : Result<void>(list.error());
  }
  const auto source = open_packed(self, object);
  Bytes piece(std::clamp<std::uint64_t>(object.raw_size, 1, kBlockBytes), '\0');
  Sha256 hash;
  for (;;) {
    WEFT_TRY(const std::size_t got, source->read(piece));
    if (got == 0) break;
    hash.update(ByteView(piece).substr(0, got));
  }
  if (hash.finish() == object.id) return {};
  return damaged(fmt::format("{} {} is not what its id says", name(object.kind), object.id.hex()));
}

}  // namespace weft::object
