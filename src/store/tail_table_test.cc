#include "store/tail_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/testing/fake_random.h"

namespace weft::store {
namespace {

constexpr std::size_t kCapacity = 256;

Key key_of(std::uint64_t n) {
  // Many keys share their first word, as prefixes of a few bits do.
  Key key;
  key.bytes[0] = static_cast<std::uint8_t>(n % 7);
  key.bytes[8] = static_cast<std::uint8_t>(n);
  return key;
}

/// What the table should hold, from the frames placed so far.
struct Model {
  struct Entry {
    EntryKind kind;
    std::uint64_t key;
    std::uint64_t position;
  };
  std::vector<Entry> entries;
  std::uint64_t durable = 1000;
  std::uint64_t end = 1000;

  std::vector<std::uint64_t> places(EntryKind kind, std::uint64_t key) const {
    std::vector<std::uint64_t> result;
    for (const auto& entry : entries) {
      if (entry.kind == kind && entry.key == key) result.push_back(entry.position);
    }
    return result;
  }
  std::uint64_t newest_ref(std::uint64_t key, std::uint64_t before) const {
    std::uint64_t newest = 0;
    for (const auto position : places(EntryKind::ref, key)) {
      if (position < before) newest = std::max(newest, position);
    }
    return newest;
  }
  void forget_from(std::uint64_t position) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.position >= position; });
    end = position;
  }
};

TEST(TailTable, AgreesWithAListOfEntries) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeRandom random(seed);
    std::vector<TailEntry> memory(kCapacity);
    std::atomic<std::uint64_t> count = 0;
    TailTable table(memory.data(), kCapacity, count);
    Model model;
    const auto move_durable = [&](bool publish) {
      for (const auto& entry : model.entries) {
        if (entry.kind == EntryKind::ref && entry.position >= model.durable) {
          table.ref_durable(key_of(entry.key), entry.position, model.durable);
        }
      }
      if (publish) model.durable = model.end;
    };
    for (int step = 0; step < 60; ++step) {
      switch (random.below(5)) {
        case 0:  // a leader publishes, or dies before it does
          move_durable(!random.chance(4));
          break;
        case 1:  // a flush fails
          if (random.chance(3)) {
            table.forget_from(model.durable);
            model.forget_from(model.durable);
          }
          break;
        case 2:  // an author dies while placing: what it placed behind the end is forgotten
          if (random.chance(2)) {
            const std::uint64_t end = model.end;
            table.move_ref(key_of(random.below(20)), end);
            table.insert(EntryKind::blob, key_of(random.below(20)), end + 1);
            table.forget_from(end);
          }
          break;
        default:
          if (!table.has_room(3)) break;
          const std::uint64_t ref = random.below(20);
          const std::uint64_t blob = random.below(40);
          table.move_ref(key_of(ref), model.end);
          table.insert(EntryKind::blob, key_of(blob), model.end + 1);
          table.insert(EntryKind::delta, key_of(blob % 5), model.end + 2);
          model.entries.push_back({EntryKind::ref, ref, model.end});
          model.entries.push_back({EntryKind::blob, blob, model.end + 1});
          model.entries.push_back({EntryKind::delta, blob % 5, model.end + 2});
          model.end += 3;
      }
      for (std::uint64_t key = 0; key < 40; ++key) {
        for (const EntryKind kind : {EntryKind::blob, EntryKind::delta}) {
          std::vector<std::uint64_t> found;
          table.find(kind, key_of(key), [&](std::uint64_t position) { return found.push_back(position), true; });
          std::sort(found.begin(), found.end());
          ASSERT_EQ(found, model.places(kind, key));
        }
        const TailEntry* const entry = table.find_ref(key_of(key));
        const std::uint64_t newest = model.newest_ref(key, UINT64_MAX);
        ASSERT_EQ(entry == nullptr ? 0 : entry->newest.load() & kPositionMask, newest) << "ref " << key;
        if (entry != nullptr) {
          // What a reader begins with: at or behind the newest durable move, never before it.
          ASSERT_GE(entry->durable.load(), model.newest_ref(key, model.durable)) << "ref " << key;
          ASSERT_LE(entry->durable.load(), newest);
        }
      }
    }
  }
}

TEST(TailTable, EverythingIsForgottenAndClearedAsNeeded) {
  std::vector<TailEntry> memory(kCapacity);
  std::atomic<std::uint64_t> count = 0;
  TailTable table(memory.data(), kCapacity, count);
  for (std::uint64_t i = 0; i < 100; ++i) table.insert(EntryKind::tree, key_of(i), 10 + i);
  EXPECT_EQ(table.count(), 100u);
  table.forget_from(60);
  EXPECT_EQ(table.count(), 50u);
  // Places forgotten are used again, and hide nothing behind them.
  for (std::uint64_t i = 50; i < 100; ++i) table.insert(EntryKind::tree, key_of(i), 10 + i);
  for (std::uint64_t i = 0; i < 100; ++i) {
    int found = 0;
    table.find(EntryKind::tree, key_of(i),
               [&](std::uint64_t position) { return found += position == 10 + i ? 1 : 0, true; });
    EXPECT_EQ(found, 1) << i;
  }
  table.clear();
  EXPECT_EQ(table.count(), 0u);
  EXPECT_EQ(table.find_ref(key_of(1)), nullptr);
}

}  // namespace
}  // namespace weft::store
