// Objects and who reads and writes them. `store/` fills these interfaces; everything between only sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace weft::object {

enum class ObjectKind : std::uint8_t { blob = 1, tree = 2, change = 3 };
std::string_view name(ObjectKind kind);

/// Blobs from this size on are kept as chunks (chunk_list.h); they are never asked for as one Bytes by code that can
/// avoid it.
inline constexpr std::uint64_t kLargeBlobBytes = 1u << 20;
/// No blob is larger.
inline constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{1} << 42;

struct ChunkList;  // object/chunk_list.h

/// Produces bytes in pieces: read() fills up to out.size() bytes and returns how many; 0 means the end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Result<std::size_t> read(std::span<char> out) = 0;
  /// How many zero bytes come next that are known without being produced (a hole): whoever cares passes over them with
  /// skip(), whoever does not reads them as ever. 0 says nothing.
  virtual Result<std::uint64_t> zeros() { return std::uint64_t{0}; }
  /// Passes over so many bytes, fewer only at the end; returns how many.
  virtual Result<std::uint64_t> skip(std::uint64_t count);
};

/// Read access to objects. Thread-safe.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  /// The object's bytes, verified against what was stored. Code::not_found, Code::damaged.
  virtual Result<Bytes> read(ObjectKind kind, const ObjectId& id) const = 0;
  virtual Result<bool> contains(ObjectKind kind, const ObjectId& id) const = 0;
  /// For blobs of any size, in bounded memory.
  virtual Result<std::unique_ptr<ByteSource>> open_blob(const ObjectId& id) const = 0;
  virtual Result<std::uint64_t> blob_size(const ObjectId& id) const = 0;
  /// What a large blob is made of; nullopt where its content is stored as one. Code::not_found, Code::damaged.
  virtual Result<std::optional<ChunkList>> chunk_list(const ObjectId& blob) const;
};

/// Where new objects go. What was put is readable through the same object's reader side at once (see
/// store::Transaction) and durable only when the transaction is. Not thread-safe unless said otherwise.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Hashes and stores unless present.
  virtual Result<ObjectId> put(ObjectKind kind, ByteView bytes) = 0;
  /// Stores bytes whose id the caller has just computed.
  virtual Result<void> put_with_id(ObjectKind kind, const ObjectId& id, ByteView bytes) = 0;
  struct StoredBlob {
    ObjectId id;
    std::uint64_t size = 0;
  };
  /// Any size, in bounded memory.
  virtual Result<StoredBlob> put_blob(ByteSource& source) = 0;
};

/// In memory, for tests and for building: both sides over a sorted map. Thread-compatible.
class MemoryObjects;  // object/memory_objects.h

}  // namespace weft::object
