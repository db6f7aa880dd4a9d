// Objects in memory: a reader and a writer over one map, for tests and for building trees that are not stored yet.
//
// Counts what was asked of it, so that tests can state how many objects and bytes an operation may touch (CASES C32).
// read() returns what the map holds without hashing it again: replace() puts damaged bytes before a decoder.
// Threading: reading and putting from many threads; everything else by one thread alone.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "object/object.h"

namespace weft::object {

class MemoryObjects final : public ObjectReader, public ObjectWriter {
 public:
  using Key = std::pair<ObjectKind, ObjectId>;

  struct Counts {
    std::uint64_t reads = 0;       ///< calls of read() and open_blob() that found their object
    std::uint64_t read_bytes = 0;  ///< bytes of those objects
    std::uint64_t puts = 0;        ///< calls of put(), put_with_id() and put_blob()
    std::uint64_t stored = 0;      ///< those that stored something new
    std::uint64_t stored_bytes = 0;
  };

  MemoryObjects() = default;
  MemoryObjects(const MemoryObjects&) = delete;
  MemoryObjects& operator=(const MemoryObjects&) = delete;

  Result<Bytes> read(ObjectKind kind, const ObjectId& id) const override;
  Result<bool> contains(ObjectKind kind, const ObjectId& id) const override;
  Result<std::unique_ptr<ByteSource>> open_blob(const ObjectId& id) const override;
  Result<std::uint64_t> blob_size(const ObjectId& id) const override;

  Result<ObjectId> put(ObjectKind kind, ByteView bytes) override;
  Result<void> put_with_id(ObjectKind kind, const ObjectId& id, ByteView bytes) override;
  Result<StoredBlob> put_blob(ByteSource& source) override;

  Counts counts() const;
  void reset_counts();

  /// Stores `bytes` under `id` whatever their hash: for tests of damaged bytes.
  void replace(ObjectKind kind, const ObjectId& id, Bytes bytes) { objects_[{kind, id}] = std::move(bytes); }
  void remove(ObjectKind kind, const ObjectId& id) { objects_.erase({kind, id}); }
  const std::map<Key, Bytes>& objects() const { return objects_; }

 private:
  Result<const Bytes*> find(ObjectKind kind, const ObjectId& id) const;
  void store(ObjectKind kind, const ObjectId& id, ByteView bytes);

  mutable std::mutex mutex_;  ///< of the map's shape; what it holds stays where it is
  std::map<Key, Bytes> objects_;
  mutable std::atomic<std::uint64_t> reads_{0};
  mutable std::atomic<std::uint64_t> read_bytes_{0};
  Counts written_;  // the fields of writing only
};

}  // namespace weft::object
