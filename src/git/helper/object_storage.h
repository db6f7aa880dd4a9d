// Where an export's objects go: packs made by libgit2, delta compression and all, a portion at a time.
//
// A portion is collected in memory (libgit2's mempack backend, readable beside what the repository has), then packed
// as `git gc` would: similar objects under similar paths become deltas of each other. Blobs too large to be collected
// become loose objects, streamed.
//
// Invariants:
//   OS1  What the repository has already is not written again.
//   OS2  When keep() returns everything written is durable: packs, their indexes and loose objects are flushed, and so
//        are the directories they are in. A pack appears whole, by a rename.
//   OS3  Killed anywhere, the repository holds whole packs and loose objects that nothing names yet (`git gc` removes
//        them in time), and at most one temporary file, which a later export removes.
// Memory: kPortionBytes, and what delta compression of as much takes. Threading: one thread (packing uses more).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "git/helper/repository.h"
#include "git/wire.h"

struct git_odb_backend;

namespace weft::git::helper {

class ObjectStorage {
 public:
  static constexpr std::size_t kPortionBytes = 64u << 20;
  static constexpr std::size_t kPortionObjects = 100'000;
  /// Larger blobs are streamed.
  static constexpr std::uint64_t kCollectedBytes = 16u << 20;

  /// `repository` must outlive it.
  static Result<ObjectStorage> open(const Repository& repository);
  ObjectStorage(ObjectStorage&&) = default;

  bool has(const Sha1& id) const;
  /// `id`: as weft computed it from these bytes.
  Result<void> write(git_object_t type, const Sha1& id, std::string_view hint, ByteView bytes);
  /// A blob of any size, from pieces: `next` gives them until `size` bytes have come.
  Result<void> write_blob(const Sha1& id, std::string_view hint, std::uint64_t size,
                          const std::function<Result<ByteView>()>& next);
  Result<void> keep();

  std::uint64_t objects() const { return objects_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit ObjectStorage(const Repository& repository) : repository_(&repository) {}
  void remove_leftovers() const;
  Result<void> stream_blob(const Sha1& id, std::uint64_t size, const std::function<Result<ByteView>()>& next);

  const Repository* repository_;
  git_odb_backend* collected_ = nullptr;  ///< owned by the repository's object database
  std::string pack_directory_;
  std::vector<std::pair<Sha1, std::string>> pending_;  ///< id and hint
  std::size_t pending_bytes_ = 0;
  std::uint64_t objects_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::git::helper
