// Objects of the working tree on top of those of the store, for as long as a diff lasts. Content too large to be shown
// as text is hashed and let go: a diff only says that it differs.
// Threading: as object::MemoryObjects.
#pragma once

#include "object/memory_objects.h"
#include "store/store.h"

namespace weft::cli {

class ScratchObjects final : public object::ObjectReader, public object::ObjectWriter {
 public:
  /// `below` must outlive it.
  explicit ScratchObjects(const store::Snapshot& below) : below_(below) {}

  Result<Bytes> read(object::ObjectKind kind, const ObjectId& id) const override;
  Result<bool> contains(object::ObjectKind kind, const ObjectId& id) const override;
  Result<std::unique_ptr<object::ByteSource>> open_blob(const ObjectId& id) const override;
  Result<std::uint64_t> blob_size(const ObjectId& id) const override;

  Result<ObjectId> put(object::ObjectKind kind, ByteView bytes) override;
  Result<void> put_with_id(object::ObjectKind kind, const ObjectId& id, ByteView bytes) override;
  Result<StoredBlob> put_blob(object::ByteSource& source) override;

 private:
  const store::Snapshot& below_;
  object::MemoryObjects memory_;
};

}  // namespace weft::cli
