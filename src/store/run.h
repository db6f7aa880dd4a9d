// Index runs: immutable sorted files of (kind, key, value), mapped and searched in place.
//
// Each kind has three arrays: a fan-out of about N/8 buckets over the first 64 key bits, of every key those 64 bits
// with its value, and the rest of every key. A lookup waits for memory twice: for the bucket and for its few pairs. The
// rest of the key is not looked at where what the value leads to names its key itself. Where there are several runs,
// Run::ready() and Run::bucket() have the memory of all of them fetched at once.
//
// Invariants:
//   IR1  A run is flushed before a manifest names it; it never changes.
//   IR2  Runs are derived: a run that fails its checks is ignored and the index rebuilt from the log.
// Threading: a Run is immutable.
// Format: docs/FORMATS.md, "Index".
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
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
  /// Writes and flushes `path` (a new file): sorted lists and the entries of `older` runs as one, keeping what
  /// sort_entries() would. Takes memory for the fan-outs and a few buffers. Returns the number of entries.
  static Result<std::uint64_t> write(FileSystem& fs, const std::string& path, const EntryLists& lists,
                                     const std::vector<std::shared_ptr<const Run>>& older = {});

  std::size_t count(EntryKind kind) const { return sections_[static_cast<std::size_t>(kind)].count; }
  std::size_t total() const;
  std::uint64_t bytes() const { return bytes_.size(); }

  /// Entries among which a key with these first 64 bits is.
  struct Bucket {
    std::size_t begin = 0, end = 0;
  };
  /// Has the fan-out of this prefix fetched into the cache.
  void ready(EntryKind kind, std::uint64_t prefix) const {
    const Section& section = sections_[static_cast<std::size_t>(kind)];
    if (section.count != 0) __builtin_prefetch(section.fan + bucket_of(prefix, section.fan_bits) * 4);
  }
  /// The bucket, and its pairs fetched into the cache.
  Bucket bucket(EntryKind kind, std::uint64_t prefix) const {
    const Section& section = sections_[static_cast<std::size_t>(kind)];
    if (section.count == 0) return {};
    const char* const fan = section.fan + bucket_of(prefix, section.fan_bits) * 4;
    // Bounded again: the fan-out comes from a file.
    const Bucket bucket{std::min<std::size_t>(load<std::uint32_t>(fan), section.count),
                        std::min<std::size_t>(load<std::uint32_t>(fan + 4), section.count)};
    if (bucket.begin < bucket.end) {
      const char* const end = section.pairs + bucket.end * kPairBytes;
      for (const char* at = section.pairs + bucket.begin * kPairBytes; at < end; at += 64) __builtin_prefetch(at);
    }
    return bucket;
  }
  enum class Match : std::uint8_t {
    whole,
    prefix,  ///< the first 64 bits, where others are told apart by what the value leads to
  };
  /// Values stored under `key`; visit returns false to stop.
  template <typename Visit>
  void find(EntryKind kind, const Key& key, Match match, const Bucket& bucket, const Visit& visit) const {
    const Section& section = sections_[static_cast<std::size_t>(kind)];
    const std::uint64_t prefix = key_word(key, 0);
    for (std::size_t i = lower_bound(section, bucket, prefix); i < section.count; ++i) {
      const char* const pair = section.pairs + i * kPairBytes;
      if (load<std::uint64_t>(pair) != prefix) return;
      if (match == Match::whole) {
        const int order = std::memcmp(section.rests + i * kRestBytes, key.bytes.data() + 8, kRestBytes);
        if (order > 0) return;
        if (order != 0) continue;
      }
      if (!visit(load<std::uint64_t>(pair + 8))) return;
    }
  }
  template <typename Visit>
  void find(EntryKind kind, const Key& key, const Visit& visit) const {
    find(kind, key, Match::whole, bucket(kind, key_word(key, 0)), visit);
  }
  /// Index of the first entry whose first 64 key bits are >= prefix.
  std::size_t lower_bound(EntryKind kind, std::uint64_t prefix) const {
    return lower_bound(sections_[static_cast<std::size_t>(kind)], bucket(kind, prefix), prefix);
  }
  std::uint64_t prefix(EntryKind kind, std::size_t index) const {
    return load<std::uint64_t>(sections_[static_cast<std::size_t>(kind)].pairs + index * kPairBytes);
  }
  std::uint64_t value(EntryKind kind, std::size_t index) const {
    return load<std::uint64_t>(sections_[static_cast<std::size_t>(kind)].pairs + index * kPairBytes + 8);
  }
  IndexEntry entry(EntryKind kind, std::size_t index) const;

  static std::size_t bucket_of(std::uint64_t prefix, int fan_bits) {
    return fan_bits == 0 ? 0 : static_cast<std::size_t>(prefix >> (64 - fan_bits));
  }
  static constexpr std::size_t kPairBytes = 16;
  static constexpr std::size_t kRestBytes = Key::kSize - 8;

 private:
  struct Section {
    std::size_t count = 0;
    int fan_bits = 0;
    const char* fan = nullptr;
    const char* pairs = nullptr;
    const char* rests = nullptr;
  };
  template <typename T>
  static T load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
  static std::size_t lower_bound(const Section& section, const Bucket& bucket, std::uint64_t prefix) {
    std::size_t low = bucket.begin, high = bucket.end;
    while (high > low && high - low > 16) {
      const std::size_t middle = low + (high - low) / 2;
      if (load<std::uint64_t>(section.pairs + middle * kPairBytes) < prefix) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    while (low < high && load<std::uint64_t>(section.pairs + low * kPairBytes) < prefix) ++low;
    return low;
  }

  std::shared_ptr<Mapping> mapping_;
  ByteView bytes_;
  std::array<Section, kEntryKinds> sections_{};
};

}  // namespace weft::store
