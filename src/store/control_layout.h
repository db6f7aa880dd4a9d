// Where things lie in the control block of a store.
#pragma once

#include <atomic>

#include "log/log.h"
#include "store/tail_table.h"

namespace weft::store {

inline constexpr std::uint32_t kControlLayout = 7;

/// A merge is due when the tail holds this many entries (fewer while the table is small).
inline constexpr std::uint64_t kMergeEntries = 32'768;
inline constexpr std::uint64_t kFirstTableCapacity = 8'192;
inline constexpr std::uint64_t kMaxTableCapacity = 65'536;
/// Packs the tail may name before a merge is due, and at the most.
inline constexpr std::uint32_t kMergePacks = 16;
inline constexpr std::uint32_t kMaxTailPacks = 64;

struct SharedStoreState {
  log::SharedMutexWord merge;
  log::SharedMutexWord history;  ///< held while the history index is extended
  log::SharedMutexWord collect;  ///< held by the gc at work
  /// Generation << 8 | frozen << 1 | active: which table takes new entries, and whether the other one still counts.
  std::atomic<std::uint64_t> tables;
  std::atomic<std::uint64_t> capacity[2];
  std::atomic<std::uint64_t> count[2];
  std::atomic<std::uint32_t> dirty[2];
  std::atomic<std::uint64_t> cut;  ///< the frozen table holds what lies before it
  /// The tables hold nothing before it: a manifest that does not reach so far is not the one that belongs here.
  std::atomic<std::uint64_t> indexed;
  std::atomic<std::uint32_t> pack_count[2];
  std::atomic<std::uint64_t> packs[2][kMaxTailPacks];  ///< positions of frames that name packs
  /// Set when the log has lost bytes the runs know of: what runs place at or behind it does not count. 0: nothing lost.
  std::atomic<std::uint64_t> runs_bound;
  char damage[512];  ///< what was lost, for those who open the store later; written before `damaged` is set
};

/// Of `tables`.
inline int active_of(std::uint64_t tables) { return static_cast<int>(tables & 1); }
inline bool frozen_of(std::uint64_t tables) { return (tables & 2) != 0; }

inline constexpr std::size_t kLogStateOffset = 0;
inline constexpr std::size_t kStoreStateOffset = 8192;
inline constexpr std::size_t kRingOffset = 16384;
inline constexpr std::size_t kTableBytes = kMaxTableCapacity * sizeof(TailEntry);
inline constexpr std::size_t kTableOffset[2] = {kRingOffset + log::kRingBytes,
                                                kRingOffset + log::kRingBytes + kTableBytes};
inline constexpr std::size_t kControlBytes = kTableOffset[1] + kTableBytes;
static_assert(sizeof(log::SharedLogState) <= kStoreStateOffset - kLogStateOffset);
static_assert(sizeof(SharedStoreState) <= kRingOffset - kStoreStateOffset);

inline constexpr log::ControlLayout kLogLayout{kLogStateOffset, kRingOffset};

/// Meaning of the log's client words.
enum ClientWord : std::size_t {
  kLastOperation = 0,  ///< position of the newest operation's frame, plus one
  kObjects = 1,        ///< objects put so far
  kChanges = 2,        ///< changes among them
  kCheckpoint = 3,     ///< position of the newest checkpoint frame, plus one
};

}  // namespace weft::store
