// Index runs: immutable sorted files of (kind, key, value), mapped and searched in place.
//
// Each kind has four arrays: a fan-out of about N/8 buckets over the first 64 key bits, those 64 bits of every key, the
// whole keys, the values. A lookup touches one bucket, its few 8-byte prefixes, one key, one value.
//
// Invariants:
//   IR1  A run is flushed before a manifest names it; it never changes.
//   IR2  Runs are derived: a run that fails its checks is ignored and the index rebuilt from the log.
// Threading: a Run is immutable.
// Format: docs/FORMATS.md, "Index".
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/env.h"
#include "store/transaction_codec.h"

namespace weft::store {

/// Where a thing is: a position in the log, or an offset in one of the manifest's packs.
class Location {
 public:
  static constexpr std::uint64_t kInPack = 1ULL << 63;
  static constexpr int kOffsetBits = 44;
  static constexpr std::uint64_t kMaxPacks = 1ULL << (63 - kOffsetBits);

  static Location in_log(std::uint64_t position) { return Location(position); }
  static Location in_pack(std::uint64_t ordinal, std::uint64_t offset) {
    return Location(kInPack | (ordinal << kOffsetBits) | offset);
  }
  explicit Location(std::uint64_t value) : value_(value) {}
  bool is_in_pack() const { return (value_ & kInPack) != 0; }
  std::uint64_t position() const { return value_; }
  std::uint64_t pack_ordinal() const { return (value_ & ~kInPack) >> kOffsetBits; }
  std::uint64_t pack_offset() const { return value_ & ((1ULL << kOffsetBits) - 1); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

struct IndexEntry {
  Key key;
  std::uint64_t value = 0;
  bool operator==(const IndexEntry&) const = default;
  auto operator<=>(const IndexEntry&) const = default;
};

/// Entries by kind; sorted by key, then value, once sort_entries() has run.
using EntryLists = std::array<std::vector<IndexEntry>, kEntryKinds>;

/// Sorts; of several entries with one key keeps what lookups need: a ref's newest move, all of a delta's changes, one
/// of everything else.
void sort_entries(EntryLists& lists);
std::size_t count_entries(const EntryLists& lists);

class Run {
 public:
  /// damaged when header, sizes or (with `whole`) the body's checksum are wrong.
  static Result<std::shared_ptr<const Run>> open(FileSystem& fs, const std::string& path, bool whole);
  /// Writes and flushes `path` (a new file). Returns its size.
  static Result<std::uint64_t> write(FileSystem& fs, const std::string& path, const EntryLists& lists);

  std::size_t count(EntryKind kind) const { return sections_[static_cast<std::size_t>(kind)].count; }
  std::size_t total() const;
  std::uint64_t bytes() const { return bytes_.size(); }
  /// Values stored under `key`; visit returns false to stop.
  void find(EntryKind kind, const Key& key, const std::function<bool(std::uint64_t value)>& visit) const;
  /// Index of the first entry whose first 64 key bits are >= prefix.
  std::size_t lower_bound(EntryKind kind, std::uint64_t prefix) const;
  IndexEntry entry(EntryKind kind, std::size_t index) const;
  std::uint64_t value(EntryKind kind, std::size_t index) const;

 private:
  struct Section {
    std::size_t count = 0;
    int fan_bits = 0;
    const char* fan = nullptr;
    const char* prefixes = nullptr;
    const char* keys = nullptr;
    const char* values = nullptr;
  };
  std::shared_ptr<Mapping> mapping_;
  ByteView bytes_;
  std::array<Section, kEntryKinds> sections_{};
};

/// Merges an older run into sorted lists.
void merge_into(EntryLists& lists, const Run& older);

}  // namespace weft::store
