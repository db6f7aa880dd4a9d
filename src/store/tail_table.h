// Tail table: a hash table in the control block for what the log holds behind the last merge. Open addressing, linear
// probing, six words an entry. Keys are hashes or random, so their first bits are the slot: entries of one prefix lie
// together, and looking for a prefix reads only those.
//
// Invariants:
//   TT1  Written only inside the append lock, except `durable`, which the leader moves forward. Readers take no lock.
//   TT2  An entry counts for a reader only up to the durable position it looks with; what it finds there is checked
//   against
//        the log, so a stale entry can cost a read but never give a wrong answer.
//   TT3  One entry for a ref, moved in place: `newest` (enqueued), `durable` (the newest a flush covers), `previous`
//   (what
//        newest was before the transaction now being placed), `settled` (what durable was before the batch that moved
//        it: a leader moves `durable` before it publishes, and may die in between). All other kinds: one entry a
//        record.
// Threading: as TT1.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "store/transaction_codec.h"

namespace weft::store {

struct TailEntry {
  std::atomic<std::uint64_t> word0;     ///< first 8 key bytes
  std::atomic<std::uint64_t> word1;     ///< next 8
  std::atomic<std::uint64_t> newest;    ///< kind << 56 | position; 0: never used, or forgotten when word0 is set
  std::atomic<std::uint64_t> durable;   ///< refs only
  std::atomic<std::uint64_t> previous;  ///< refs only
  std::atomic<std::uint64_t> settled;   ///< refs only
};
static_assert(sizeof(TailEntry) == 48);

inline constexpr std::uint64_t kPositionMask = (1ULL << 56) - 1;

class TailTable {
 public:
  /// `capacity` is a power of two. The memory is zeros or an earlier table.
  TailTable(TailEntry* entries, std::size_t capacity, std::atomic<std::uint64_t>& count)
      : entries_(entries), capacity_(capacity), count_(count) {}

  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return capacity_; }
  /// Above this, probing gets long.
  bool has_room(std::size_t more) const { return count() + more <= capacity_ / 4 * 3; }

  void insert(EntryKind kind, const Key& key, std::uint64_t position);
  /// Moves or makes the ref's entry.
  void move_ref(const Key& key, std::uint64_t position);
  /// `durable_end`: the durable position that is published while this is called.
  void ref_durable(const Key& key, std::uint64_t position, std::uint64_t durable_end);
  /// The ref's entry, or null.
  const TailEntry* find_ref(const Key& key) const;
  /// Has the place of a key with this first word fetched into the cache.
  void ready(std::uint64_t word0) const { __builtin_prefetch(entries_ + slot_of(std::max<std::uint64_t>(word0, 1))); }
  /// Positions of entries of this kind whose first 16 key bytes are these; visit returns false to stop.
  template <typename Visit>
  void find(EntryKind kind, const Key& key, const Visit& visit) const {
    const std::uint64_t word0 = word0_of(key);
    const std::uint64_t word1 = key_word(key, 1);
    std::size_t slot = slot_of(word0);
    for (std::size_t probes = 0; probes < capacity_; ++probes, slot = (slot + 1) & (capacity_ - 1)) {
      const TailEntry& entry = entries_[slot];
      const std::uint64_t value = entry.newest.load(std::memory_order_acquire);
      const std::uint64_t first = entry.word0.load(std::memory_order_relaxed);
      if (value == 0 && first == 0) return;
      if (first == word0 && value != 0 && kind_of(value) == kind &&
          entry.word1.load(std::memory_order_relaxed) == word1) {
        if (!visit(value & kPositionMask)) return;
      }
    }
  }
  /// Every entry of the kind whose first key word is in [low, high]. For a ref `position` is `durable`; 0 (nothing
  /// durable yet) is left out.
  template <typename Visit>
  void find_range(EntryKind kind, std::uint64_t low, std::uint64_t high, const Visit& visit) const {
    const std::size_t last = slot_of(high);
    std::size_t slot = slot_of(low);
    // Probing may have carried entries past their slot, but never past one that was not used.
    for (std::size_t probes = 0, beyond = slot; probes < capacity_;
         ++probes, ++beyond, slot = (slot + 1) & (capacity_ - 1)) {
      const TailEntry& entry = entries_[slot];
      const std::uint64_t value = entry.newest.load(std::memory_order_acquire);
      const std::uint64_t word0 = entry.word0.load(std::memory_order_relaxed);
      if (value == 0 && word0 == 0 && beyond >= last) return;
      if (word0 < low || word0 > high || value == 0 || kind_of(value) != kind) continue;
      const std::uint64_t position =
          kind == EntryKind::ref ? entry.durable.load(std::memory_order_acquire) : value & kPositionMask;
      if (position != 0) visit(position);
    }
  }
  void forget_from(std::uint64_t position);
  void clear();

 private:
  static EntryKind kind_of(std::uint64_t value) { return static_cast<EntryKind>(value >> 56); }
  /// A key of zeros must not look like an unused slot.
  static std::uint64_t word0_of(const Key& key) { return std::max<std::uint64_t>(key_word(key, 0), 1); }
  std::size_t slot_of(std::uint64_t word0) const {
    return static_cast<std::size_t>(word0 >> (64 - std::countr_zero(capacity_)));
  }
  TailEntry* entries_;
  std::size_t capacity_;
  std::atomic<std::uint64_t>& count_;
};

}  // namespace weft::store
