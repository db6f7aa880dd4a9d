// History runs: immutable sorted files of (key, ordinal), mapped and searched in place. What they lead to is the graph
// file's record of a change (history_index.h); a key may have any number of ordinals.
//
// Each kind has three arrays: a fan-out of about N/8 buckets over the first 64 key bits, the keys, the ordinals.
//
// Invariants:
//   HR1  A run is flushed before the history manifest names it; it never changes.
//   HR2  Entries are sorted by (key, ordinal), each there once; within one index the ordinals of a newer run are
//   greater
//        than all those of an older one.
// Threading: a HistoryRun is immutable.
// Format: docs/FORMATS.md, "History index".
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/ids.h"
#include "store/touch.h"

namespace weft::store {

/// A change's number in the graph file; parents have smaller ones than their children.
using Ordinal = std::uint32_t;

enum class HistoryKind : std::uint8_t {
  id = 0,     ///< key: first half of a change's id
  child = 1,  ///< key: first half of the id of a parent; ordinal: of the child
  touch = 2,  ///< key: what was touched; ordinal: of the change that did
};
inline constexpr std::size_t kHistoryKinds = 3;
inline constexpr std::size_t kMaxHistoryEntries = std::size_t{1} << 32;

/// First half of an id.
TouchKey half_key(const ObjectId& id);

struct HistoryEntry {
  TouchKey key;
  Ordinal ordinal = 0;
  auto operator<=>(const HistoryEntry&) const = default;
};
using HistoryLists = std::array<std::vector<HistoryEntry>, kHistoryKinds>;

class HistoryRun {
 public:
  /// damaged when header or sizes, or (with `whole`) the body's checksum or the order of its entries, are wrong.
  static Result<std::shared_ptr<const HistoryRun>> open(FileSystem& fs, const std::string& path, bool whole);
  /// Writes and flushes a new file `path` with what `lists` (sorted) and the runs hold together, in memory that does
  /// not grow with the runs. Returns the number of entries.
  static Result<std::uint64_t> write(FileSystem& fs, const std::string& path, const HistoryLists& lists,
                                     const std::vector<std::shared_ptr<const HistoryRun>>& runs);

  std::size_t count(HistoryKind kind) const { return sections_[static_cast<std::size_t>(kind)].count; }
  std::size_t total() const;
  std::uint64_t bytes() const { return bytes_.size(); }
  HistoryEntry entry(HistoryKind kind, std::size_t index) const;
  /// The place of the first entry that is not before (key, ordinal).
  std::size_t lower_bound(HistoryKind kind, const TouchKey& key, Ordinal ordinal) const;

 private:
  struct Section {
    std::size_t count = 0;
    int fan_bits = 0;
    const char* fan = nullptr;
    const char* keys = nullptr;
    const char* ordinals = nullptr;
  };
  bool in_order() const;

  std::shared_ptr<Mapping> mapping_;
  ByteView bytes_;
  std::array<Section, kHistoryKinds> sections_{};
};

}  // namespace weft::store
