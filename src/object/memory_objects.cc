#include "object/memory_objects.h"

#include <limits>

#include <fmt/format.h>

#include "base/hash.h"
#include "object/byte_source.h"

namespace weft::object {

Result<const Bytes*> MemoryObjects::find(ObjectKind kind, const ObjectId& id) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = objects_.find({kind, id});
  if (found == objects_.end()) {
    return make_error(Code::not_found, fmt::format("there is no {} {}", name(kind), id.hex()));
  }
  return &found->second;
}

Result<Bytes> MemoryObjects::read(ObjectKind kind, const ObjectId& id) const {
  WEFT_TRY(const Bytes* bytes, find(kind, id));
  ++reads_;
  read_bytes_ += bytes->size();
  return *bytes;
}

Result<bool> MemoryObjects::contains(ObjectKind kind, const ObjectId& id) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return objects_.contains({kind, id});
}

Result<std::unique_ptr<ByteSource>> MemoryObjects::open_blob(const ObjectId& id) const {
  WEFT_TRY(Bytes bytes, read(ObjectKind::blob, id));
  return std::unique_ptr<ByteSource>(std::make_unique<OwnedSource>(std::move(bytes)));
}

Result<std::uint64_t> MemoryObjects::blob_size(const ObjectId& id) const {
  WEFT_TRY(const Bytes* bytes, find(ObjectKind::blob, id));
  return std::uint64_t{bytes->size()};
}

void MemoryObjects::store(ObjectKind kind, const ObjectId& id, ByteView bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++written_.puts;
  const auto [place, fresh] = objects_.try_emplace({kind, id}, bytes);
  if (fresh) {
    ++written_.stored;
    written_.stored_bytes += bytes.size();
  }
}

Result<ObjectId> MemoryObjects::put(ObjectKind kind, ByteView bytes) {
  const ObjectId id = sha256(bytes);
  store(kind, id, bytes);
  return id;
}

Result<void> MemoryObjects::put_with_id(ObjectKind kind, const ObjectId& id, ByteView bytes) {
  WEFT_CHECK(sha256(bytes) == id);
  store(kind, id, bytes);
  return {};
}

Result<ObjectWriter::StoredBlob> MemoryObjects::put_blob(ByteSource& source) {
  WEFT_TRY(const Bytes bytes, read_all(source, std::numeric_limits<std::uint64_t>::max()));
  WEFT_TRY(const ObjectId id, put(ObjectKind::blob, bytes));
  return StoredBlob{id, bytes.size()};
}

MemoryObjects::Counts MemoryObjects::counts() const {
  Counts counts = written_;
  counts.reads = reads_;
  counts.read_bytes = read_bytes_;
  return counts;
}

void MemoryObjects::reset_counts() {
  written_ = {};
  reads_ = 0;
  read_bytes_ = 0;
}

}  // namespace weft::object
