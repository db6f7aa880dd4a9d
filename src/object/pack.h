// Packs: immutable files of many objects, for content too large for a log frame and for what gc moves out of the log.
//
// Invariants:
//   P1  A pack is complete, flushed, and under its final name before its id is known to anybody; a writer that ends in
//   any
//       other way leaves at most a temporary (kPackTemporaryPrefix), which means nothing.
//   P2  Writing and reading take bounded memory whatever an object's size: large ones lie as blocks of 256 KiB, each
//       compressed and checksummed by itself. (The writer keeps about 50 bytes per object, 100 while it writes the
//       table.)
//   P3  The pack id is the SHA-256 of the footer, which holds the table's SHA-256: opening compares the former,
//   verify() the
//       latter. Nothing read from an unverified table is trusted: every offset is checked, every record names its
//       object.
//   P4  An object is there at most once.
//   P5  Objects of a group (group.h) share one offset.
// Threading: a PackReader may be used by many threads; a PackWriter by one.
// Format: docs/FORMATS.md, "Pack".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/env.h"
#include "object/record.h"

namespace weft::object {

/// A pack's id, which is also its file's name.
std::string pack_file_name(const ObjectId& pack);
/// Of files that a killed writer may have left: the next one removes those nothing was written to for an hour.
inline constexpr std::string_view kPackTemporaryPrefix = "tmp-pack-";
/// Raw bytes of every block but the last of an object.
inline constexpr std::size_t kBlockBytes = 256u << 10;
/// A pack's length, so that an offset fits 44 bits.
inline constexpr std::uint64_t kMaxPackBytes = std::uint64_t{1} << 44;

struct PackSummary {
  ObjectId id;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< of the file
};

class PackWriter {
 public:
  /// The file is made when the first object comes. `level`: see RecordCodec.
  PackWriter(Env env, std::string directory, int level = 1);
  ~PackWriter();
  PackWriter(PackWriter&&) noexcept;
  PackWriter& operator=(PackWriter&&) noexcept;

  /// Bytes whose id the caller has computed. Does nothing when the object is there already (P4).
  Result<void> add(ObjectKind kind, const ObjectId& id, ByteView bytes);
  /// The same with its record, as RecordCodec::encode or encode_chunks_record makes it.
  Result<void> add_encoded(ObjectKind kind, const ObjectId& id, ByteView record);
  /// Several objects as one group (group.h); all new, sizes and ids as in `head`, compressed by a GroupEncoder. A base
  /// is named by where it lies (0: none). Where the group lies is returned.
  struct Group {
    ObjectKind kind = ObjectKind::blob;
    std::span<const ObjectId> ids;
    std::span<const std::uint64_t> sizes;
    ByteView stored;
    std::uint64_t base_offset = 0;
    std::uint32_t base_member = 0;
  };
  Result<std::uint64_t> add_group(const Group& group);
  /// A blob of any size, hashed on the way (P2). If the source fails, the pack is as it was and can be gone on with.
  Result<ObjectWriter::StoredBlob> add_blob(ByteSource& source);

  bool contains(ObjectKind kind, const ObjectId& id) const;
  /// Reading back what was added. not_found when it was not. `chunks` as PackReader::read_at has it.
  Result<Bytes> read(ObjectKind kind, const ObjectId& id, const ObjectReader* chunks = nullptr) const;
  Result<std::uint64_t> size(ObjectKind kind, const ObjectId& id) const;
  /// The source must not outlive the writer, nor be used after finish().
  Result<std::unique_ptr<ByteSource>> open_blob(const ObjectId& id,
                                                std::shared_ptr<const ObjectReader> chunks = nullptr) const;
  Result<std::optional<ChunkList>> chunk_list(const ObjectId& id) const;

  std::uint64_t objects() const;
  /// Written so far, the table not counted.
  std::uint64_t bytes() const;

  /// Writes the table, flushes, gives the file its name and flushes the directory (P1). Once; Code::invalid without
  /// objects.
  Result<PackSummary> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class PackReader {
 public:
  /// not_found; damaged when it is not the pack `id`, or cut off.
  /// `keeps_file`: it stays open until the reader goes; otherwise each read opens it again, for stores of more packs
  /// than a process may have files open.
  static Result<PackReader> open(FileSystem& fs, const std::string& path, const ObjectId& id, bool keeps_file = true);

  const PackSummary& summary() const;
  /// Sum of all objects' sizes; of lists of chunks, their own.
  std::uint64_t content_bytes() const;

  /// Where the object lies.
  Result<std::optional<std::uint64_t>> find(ObjectKind kind, const ObjectId& id) const;
  /// The table is sorted by id; an object's place in it is a number below summary().objects.
  struct Entry {
    ObjectKind kind = ObjectKind::blob;
    ObjectId id;
    std::uint64_t offset = 0;
  };
  Result<std::optional<std::uint64_t>> find_place(ObjectKind kind, const ObjectId& id) const;
  Result<Entry> entry(std::uint64_t place) const;
  /// The first place whose id's first 8 bytes, as a big-endian number, are `prefix` or more.
  Result<std::uint64_t> first_place(std::uint64_t prefix) const;
  /// The object that lies at `offset`; damaged when it is another one. Of a blob kept as a list of chunks the chunks
  /// are read from `chunks`, here and below; without, the list is damaged.
  Result<Bytes> read_at(std::uint64_t offset, ObjectKind kind, const ObjectId& id,
                        const ObjectReader* chunks = nullptr) const;
  Result<std::uint64_t> size_at(std::uint64_t offset, ObjectKind kind, const ObjectId& id) const;
  /// The source may outlive the reader.
  Result<std::unique_ptr<ByteSource>> open_blob_at(std::uint64_t offset, const ObjectId& id,
                                                   std::shared_ptr<const ObjectReader> chunks = nullptr) const;
  /// The list of chunks at `offset`; nullopt when the blob there is kept in another form.
  Result<std::optional<ChunkList>> chunk_list_at(std::uint64_t offset, const ObjectId& id) const;

  /// In order of ids.
  using Visit = std::function<Result<void>(ObjectKind, const ObjectId&, std::uint64_t offset)>;
  Result<void> for_each(const Visit& visit) const;

  /// The table (its hash, order and offsets); `deep`: every object read and hashed, nothing between them. Calls
  /// `report` for each thing that is wrong, and goes on where that makes sense.
  void verify(bool deep, const std::function<void(const Error&)>& report) const;

 private:
  struct State;
  explicit PackReader(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace weft::object
