#include "store/pack_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace weft::store {
namespace {

using object::ObjectKind;

/// A compressed record begins so; looking for it makes finding records in garbage cheap.
constexpr ByteView kZstdMagic("\x28\xb5\x2f\xfd", 4);
/// Bytes read at once while looking for the next object.
constexpr std::size_t kWindowBytes = 1u << 20;
constexpr std::size_t kHeadBytes = std::max(object::kMaxRecordHeadBytes, object::kBlocksHeadBytes) + kZstdMagic.size();
constexpr std::uint8_t kGreatestForm = static_cast<std::uint8_t>(object::Stored::chunks);

Result<ObjectId> hash_of(object::ByteSource& source) {
  Bytes piece(object::kBlockBytes, '\0');
  Sha256 hash;
  for (;;) {
    WEFT_TRY(const std::size_t got, source.read(piece));
    if (got == 0) return hash.finish();
    hash.update(ByteView(piece).substr(0, got));
  }
}

}  // namespace

struct PackScan::State final : object::PackBytes {
  std::unique_ptr<File> file;
  std::uint64_t end_of_objects = 0;

  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    return file->read_some_at(offset, out);
  }
  std::uint64_t end() const override { return end_of_objects; }

  /// The object that begins at `offset`, if one does and it is whole.
  std::optional<object::PackedObject> whole_at(std::uint64_t offset) const {
    const auto found = object::inspect_packed(*this, offset);
    if (!found) return std::nullopt;
    if (found->form == object::Stored::chunks) {
      return object::read_packed_list(*this, *found) ? std::optional(*found) : std::nullopt;
    }
    // Lent, not owned: nothing outlives this call.
    const std::shared_ptr<const object::PackBytes> self(std::shared_ptr<void>(), this);
    const auto hash = hash_of(*object::open_packed(self, *found));
    if (!hash || *hash != found->id) return std::nullopt;
    return *found;
  }
};

Result<PackScan> PackScan::open(const Env& env, const std::string& directory, const ObjectId& id) {
  PackScan scan;
  scan.path_ = join_path(directory, object::pack_file_name(id));
  const auto status = env.fs.status(scan.path_);
  if (!status) {
    if (status.error().code != Code::not_found) return status.error();
    scan.gone_ = true;
    scan.problem_ = fmt::format("the pack {} is gone", scan.path_);
    return scan;
  }
  scan.bytes_ = status->size;
  auto reader = object::PackReader::open(env.fs, scan.path_, id);
  if (reader) {
    std::optional<std::string> wrong;
    reader->verify(false, [&](const Error& error) {
      if (!wrong) wrong = error.message;
    });
    if (!wrong) {
      scan.reader_ = std::make_shared<const object::PackReader>(*std::move(reader));
      return scan;
    }
    scan.problem_ = *wrong;
  } else {
    if (reader.error().code != Code::damaged) return std::move(reader).error();
    scan.problem_ = reader.error().message;
  }
  auto raw = std::make_shared<State>();
  WEFT_TRY(raw->file, env.fs.open(scan.path_, OpenMode::read));
  raw->end_of_objects = scan.bytes_;
  scan.raw_ = std::move(raw);
  return scan;
}

Result<void> PackScan::for_each(const std::function<Result<void>(const Object&)>& visit) const {
  if (gone_) return {};
  if (reader_) {
    std::vector<Object> objects;
    objects.reserve(reader_->summary().objects);
    WEFT_DO(reader_->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t offset) -> Result<void> {
      objects.push_back({kind, id, offset, 0, objects.size()});
      return {};
    }));
    std::sort(objects.begin(), objects.end(), [](const Object& a, const Object& b) { return a.offset < b.offset; });
    for (const auto& object : objects) WEFT_DO(visit(object));
    return {};
  }
  Bytes window;
  std::uint64_t window_start = 0;
  for (std::uint64_t at = object::kPackHeaderBytes; at + 2 < bytes_;) {
    if (at < window_start || at + kHeadBytes > window_start + window.size()) {
      window_start = at;
      window.resize(std::min<std::uint64_t>(kWindowBytes, bytes_ - at));
      WEFT_TRY(const std::size_t got, raw_->read_some_at(at, window));
      window.resize(got);
      if (got < 3) return {};
    }
    const ByteView head = ByteView(window).substr(at - window_start, kHeadBytes);
    const auto kind = static_cast<std::uint8_t>(head[0]);
    const auto form = static_cast<std::uint8_t>(head[1]);
    if (kind >= 1 && kind <= 3 && form == static_cast<std::uint8_t>(object::Stored::group)) {
      if (const auto group = object::read_group(*raw_, at)) {
        for (std::size_t member = 0; member < (*group)->head.members.size(); ++member) {
          const auto& named = (*group)->head.members[member];
          // A group's head knows the beginning of each id, its content all of it.
          const ObjectId id = sha256((*group)->member(member));
          if ((*group)->head.find(id) != member) continue;
          WEFT_DO(visit({(*group)->head.kind, id, at, named.size, 0}));
        }
        at += (*group)->head.head_bytes + (*group)->head.stored_size;
        continue;
      }
    }
    bool plausible = kind >= 1 && kind <= 3 && form <= kGreatestForm;
    if (plausible && form == static_cast<std::uint8_t>(object::Stored::zstd)) {
      const auto record = object::decode_record_head(head);
      const std::size_t header = record ? record->record.length - record->stored_size : head.size();
      plausible = record && head.substr(header).starts_with(kZstdMagic);
    }
    if (plausible) {
      if (const auto found = raw_->whole_at(at)) {
        WEFT_DO(visit({found->kind, found->id, at, found->raw_size, 0}));
        at = found->end();
        continue;
      }
    }
    ++at;
  }
  return {};
}

Result<Bytes> PackScan::read(const Object& object) const {
  return reader_ ? reader_->read_at(object.offset, object.kind, object.id)
                 : object::read_packed(*raw_, object.offset, object.kind, object.id, nullptr);
}

Result<std::optional<object::ChunkList>> PackScan::chunk_list(const Object& object) const {
  if (object.kind != ObjectKind::blob) return std::optional<object::ChunkList>{};
  return reader_ ? reader_->chunk_list_at(object.offset, object.id)
                 : object::find_packed_list(*raw_, object.offset, object.id);
}

Result<std::unique_ptr<object::ByteSource>> PackScan::open_blob(const Object& object) const {
  if (reader_) return reader_->open_blob_at(object.offset, object.id);
  WEFT_TRY(const auto packed, object::inspect_packed(*raw_, object.offset, object.kind, object.id));
  return object::open_packed(raw_, packed);
}

Result<void> PackScan::check(const Object& object, Bytes* content) const {
  if (object.kind != ObjectKind::blob) {
    WEFT_TRY(Bytes bytes, read(object));
    if (sha256(bytes) != object.id) {
      return damaged(fmt::format("{} {} is not what its id says", object::name(object.kind), object.id.hex()));
    }
    if (content != nullptr) *content = std::move(bytes);
    return {};
  }
  WEFT_TRY(const auto list, chunk_list(object));
  if (list) return {};
  WEFT_TRY(const auto source, open_blob(object));
  WEFT_TRY(const ObjectId hash, hash_of(*source));
  if (hash != object.id) return damaged(fmt::format("blob {} is not what its id says", object.id.hex()));
  return {};
}

}  // namespace weft::store
