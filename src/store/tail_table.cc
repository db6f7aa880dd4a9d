#include "store/tail_table.h"

#include <cstring>

namespace weft::store {
namespace {

std::uint64_t pack_value(EntryKind kind, std::uint64_t position) {
  return (static_cast<std::uint64_t>(kind) << 56) | position;
}

}  // namespace

void TailTable::insert(EntryKind kind, const Key& key, std::uint64_t position) {
  const std::uint64_t word0 = word0_of(key);
  std::size_t slot = slot_of(word0);
  for (;; slot = (slot + 1) & (capacity_ - 1)) {
    TailEntry& entry = entries_[slot];
    if (entry.newest.load(std::memory_order_relaxed) != 0) continue;
    entry.word0.store(word0, std::memory_order_relaxed);
    entry.word1.store(key_word(key, 1), std::memory_order_relaxed);
    entry.durable.store(0, std::memory_order_relaxed);
    entry.previous.store(0, std::memory_order_relaxed);
    entry.settled.store(0, std::memory_order_relaxed);
    entry.newest.store(pack_value(kind, position), std::memory_order_release);
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
}

const TailEntry* TailTable::find_ref(const Key& key) const {
  const std::uint64_t word0 = word0_of(key);
  const std::uint64_t word1 = key_word(key, 1);
  std::size_t slot = slot_of(word0);
  for (std::size_t probes = 0; probes < capacity_; ++probes, slot = (slot + 1) & (capacity_ - 1)) {
    const TailEntry& entry = entries_[slot];
    const std::uint64_t value = entry.newest.load(std::memory_order_acquire);
    const std::uint64_t first = entry.word0.load(std::memory_order_relaxed);
    if (value == 0 && first == 0) return nullptr;
    if (value != 0 && kind_of(value) == EntryKind::ref && first == word0 &&
        entry.word1.load(std::memory_order_relaxed) == word1) {
      return &entry;
    }
  }
  return nullptr;
}

void TailTable::move_ref(const Key& key, std::uint64_t position) {
  if (const TailEntry* found = find_ref(key)) {
    auto& entry = const_cast<TailEntry&>(*found);
    entry.previous.store(entry.newest.load(std::memory_order_relaxed), std::memory_order_relaxed);
    entry.newest.store(pack_value(EntryKind::ref, position), std::memory_order_release);
    return;
  }
  insert(EntryKind::ref, key, position);
}

void TailTable::ref_durable(const Key& key, std::uint64_t position, std::uint64_t durable_end) {
  const TailEntry* found = find_ref(key);
  if (found == nullptr) return;
  auto& entry = const_cast<TailEntry&>(*found);
  const std::uint64_t durable = entry.durable.load(std::memory_order_relaxed);
  if (durable >= position) return;
  if (durable < durable_end) entry.settled.store(durable, std::memory_order_relaxed);
  entry.durable.store(position, std::memory_order_release);
}

void TailTable::forget_from(std::uint64_t position) {
  std::uint64_t count = 0;
  for (std::size_t slot = 0; slot < capacity_; ++slot) {
    TailEntry& entry = entries_[slot];
    const std::uint64_t value = entry.newest.load(std::memory_order_relaxed);
    if (value == 0) continue;
    if ((value & kPositionMask) < position) {
      ++count;
      continue;
    }
    std::uint64_t kept = 0;
    if (kind_of(value) == EntryKind::ref) {
      const std::uint64_t previous = entry.previous.load(std::memory_order_relaxed);
      const std::uint64_t durable = entry.durable.load(std::memory_order_relaxed);
      const std::uint64_t settled = entry.settled.load(std::memory_order_relaxed);
      if (previous != 0 && (previous & kPositionMask) < position) {
        kept = previous;
      } else if (durable != 0 && durable < position) {
        kept = pack_value(EntryKind::ref, durable);
      } else if (settled != 0 && settled < position) {
        kept = pack_value(EntryKind::ref, settled);
      }
      if (durable >= position) entry.durable.store(kept & kPositionMask, std::memory_order_relaxed);
    }
    entry.newest.store(kept, std::memory_order_release);
    if (kept != 0) ++count;
  }
  count_.store(count, std::memory_order_relaxed);
}

void TailTable::clear() {
  std::memset(static_cast<void*>(entries_), 0, capacity_ * sizeof(TailEntry));
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace weft::store
