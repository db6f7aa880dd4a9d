#include "cli/scratch_objects.h"

#include "base/hash.h"
#include "text/diff.h"

namespace weft::cli {

Result<Bytes> ScratchObjects::read(object::ObjectKind kind, const ObjectId& id) const {
  WEFT_TRY(const bool here, memory_.contains(kind, id));
  return here ? memory_.read(kind, id) : below_.read(kind, id);
}

Result<bool> ScratchObjects::contains(object::ObjectKind kind, const ObjectId& id) const {
  WEFT_TRY(const bool here, memory_.contains(kind, id));
  if (here) return true;
  return below_.contains(kind, id);
}

Result<std::unique_ptr<object::ByteSource>> ScratchObjects::open_blob(const ObjectId& id) const {
  WEFT_TRY(const bool here, memory_.contains(object::ObjectKind::blob, id));
  return here ? memory_.open_blob(id) : below_.open_blob(id);
}

Result<std::uint64_t> ScratchObjects::blob_size(const ObjectId& id) const {
  WEFT_TRY(const bool here, memory_.contains(object::ObjectKind::blob, id));
  return here ? memory_.blob_size(id) : below_.blob_size(id);
}

Result<ObjectId> ScratchObjects::put(object::ObjectKind kind, ByteView bytes) {
  if (kind == object::ObjectKind::blob && bytes.size() > text::kMaxTextBytes) return sha256(bytes);
  return memory_.put(kind, bytes);
}

Result<void> ScratchObjects::put_with_id(object::ObjectKind kind, const ObjectId& id, ByteView bytes) {
  if (kind == object::ObjectKind::blob && bytes.size() > text::kMaxTextBytes) return {};
  return memory_.put_with_id(kind, id, bytes);
}

Result<object::ObjectWriter::StoredBlob> ScratchObjects::put_blob(object::ByteSource& source) {
  Sha256 hash;
  Bytes kept;
  StoredBlob stored;
  std::string piece(256 << 10, '\0');
  for (;;) {
    WEFT_TRY(const std::size_t got, source.read(piece));
    if (got == 0) break;
    const ByteView bytes(piece.data(), got);
    hash.update(bytes);
    stored.size += got;
    if (stored.size <= text::kMaxTextBytes) {
      kept += bytes;
    } else {
      kept = Bytes();
    }
  }
  stored.id = hash.finish();
  if (stored.size <= text::kMaxTextBytes) WEFT_DO(memory_.put_with_id(object::ObjectKind::blob, stored.id, kept));
  return stored;
}

}  // namespace weft::cli
