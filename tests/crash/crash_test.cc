// Power loss at every operation of the disk: what was acknowledged is there, nothing is there in part, and the store
// goes on. Guarantees cited: G1, G2 (log/log.h), S-1, S-2 (store/store.h), L1 (log/segments.h).
#include <gtest/gtest.h>

#include <iostream>

#include "sabotage.h"
#include "store_world.h"

namespace weft::store {
namespace {

using Outcome = Attempt::Outcome;

Attempt move_of(const std::string& ref, RefEdit::Expect expect = RefEdit::Expect::anything,
                const Version& expected = {}) {
  Attempt attempt;
  attempt.edits.push_back({.ref = ref, .expect = expect, .expected = expected});
  return attempt;
}

/// One process, one disk, a list of what it did.
struct World {
  explicit World(std::uint64_t world_seed, FileSystem* wrapped = nullptr)
      : seed(world_seed),
        fs(world_seed),
        random(world_seed),
        block(clock),
        process(block, wrapped ? *wrapped : fs, clock, random) {
    clock.set_tick(1000);
  }
  Attempt& commit(Attempt plan) {
    Attempt& attempt = journal.add(std::move(plan));
    perform(process.store(), attempt, seed);
    attempt.operations_when_told = fs.operation_count();
    EXPECT_NE(attempt.outcome, Outcome::failed) << describe(attempt);
    return attempt;
  }

  std::uint64_t seed;
  SimFileSystem fs;
  FakeClock clock;
  FakeRandom random;
  HeapBlock block;
  StoreProcess process;
  Journal journal;
};

/// Every kind of transaction once; `merge` brings the index over its threshold, `roll` the log into a second segment.
struct Script {
  bool merge = false;
  bool roll = false;
};
void run_script(World& world, const Script& script) {
  Attempt& first = world.commit(move_of("main", RefEdit::Expect::absent));
  Attempt& second = world.commit(move_of("main", RefEdit::Expect::exactly, Version(first.change)));
  {
    Attempt several = move_of("main", RefEdit::Expect::exactly, Version(second.change));
    several.edits.push_back({.ref = "workspaces/a", .expect = RefEdit::Expect::absent});
    several.edits.push_back(
        {.ref = "workspaces/b", .expect = RefEdit::Expect::exactly, .expected = Version(first.change), .skip = true});
    several.small_blobs = 20;
    world.commit(several);
  }
  EXPECT_EQ(world.commit(move_of("main", RefEdit::Expect::exactly, Version(first.change))).outcome, Outcome::refused);
  {
    Attempt pack = move_of("packs");
    pack.large_blob_bytes = 300'000;  // above a quarter of the segment: a pack of its own
    world.commit(pack);
  }
  {
    Attempt objects;
    objects.operation = false;
    objects.small_blobs = 3;
    world.commit(objects);
  }
  for (int i = 0; i < (script.roll ? 4 : 1); ++i) {
    Attempt big = move_of("big");
    big.large_blob_bytes = 200'000;
    big.edits.front().extra_bytes = 90'000;  // together above a quarter of the ring: its author writes the frame
    world.commit(big);
  }
  if (script.merge) {
    for (int i = 0; i < 2; ++i) {
      Attempt many = move_of("many");
      many.small_blobs = 2100;
      world.commit(many);
    }
  }
  Attempt late = move_of("main");
  late.late = true;
  world.commit(late);
  {
    Attempt removal = move_of("workspaces/a");
    removal.edits.front().remove = true;
    world.commit(removal);
  }
}

/// Opens the store on a disk as after a reboot and checks it; then writes, reopens cleanly, and checks again.
std::vector<std::string> check_disk(FileSystem& disk, const World& world, CheckRules rules) {
  FakeClock clock;
  clock.set_tick(1000);
  FakeRandom random(99);
  HeapBlock block(clock);
  StoreProcess process(block, disk, clock, random);
  process.history_step = world.process.history_step;
  rules.power_lost = true;
  const auto told = [&](const Attempt& attempt) {
    return attempt.outcome == Outcome::acked && attempt.operations_when_told <= rules.cut;
  };
  if (auto opened = process.open(); !opened) {
    for (const auto& attempt : world.journal.attempts()) {
      if (told(*attempt)) return {"the store does not open: " + opened.error().message};
    }
    // Cut while it was made: then it is no store yet, and can be made.
    if (opened.error().code != Code::not_found) return {"a store half made does not open: " + opened.error().message};
    if (auto made = process.create({.segment_bytes = 1u << 20}); !made)
      return {"it cannot be made again: " + made.error().message};
    return {};
  }
  if (process.store().damage()) return {"reported as damaged: " + process.store().damage()->message};
  auto problems = check_store(process.store(), world.journal, rules);
  if (!problems.empty()) return problems;

  Journal further;
  Attempt& after = further.add(move_of("after"));
  after.small_blobs = 5;
  const auto before = refs_of(process.store());
  perform(process.store(), after, 7);
  if (after.outcome != Outcome::acked) return {"a further commit fails: " + after.message};
  process.close();
  block.reboot();
  if (auto again = process.open(); !again) return {"the store does not open again: " + again.error().message};
  if (!process.store().notices().empty()) return {"after a clean end: " + process.store().notices().front()};
  const auto refs = refs_of(process.store());
  if (!before || !refs) return {"refs cannot be read"};
  auto expected = *before;
  expected["after"] = Version(after.change);
  if (*refs != expected) return {"refs changed from one opening to the next"};
  const auto report = process.store().verify(true, {});
  if (!report) return {"verify fails: " + report.error().message};
  if (!report->clean()) return {"verify after a further commit: " + report->findings.front().what};
  return {};
}

void crash_everywhere(World& world, unsigned torn, std::size_t from) {
  int failures = 0;
  world.fs.for_each_crash(from, torn, [&](SimFileSystem& disk, std::size_t cut, const std::string& text) {
    if (failures >= 3) return;
    const auto problems = check_disk(disk, world, {.cut = cut});
    if (!problems.empty()) {
      ++failures;
      ADD_FAILURE() << "seed " << world.seed << ", " << text << "\n" << join(problems);
    }
  });
}

TEST(Crash, AtEveryOperationOfCreatingAndCommitting) {
  World world(1);
  ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
  run_script(world, {});
  ASSERT_TRUE(check_store(world.process.store(), world.journal, {}).empty());
  crash_everywhere(world, 4, 0);
}

TEST(Crash, AtEveryOperationOfASegmentRoll) {
  World world(2);
  ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
  world.fs.settle();
  run_script(world, {.roll = true});
  EXPECT_GT(world.block.points().count("exclusive:rolled") + world.block.points().count("roll:durable"), 0u);
  const auto problems = check_store(world.process.store(), world.journal, {});
  ASSERT_TRUE(problems.empty()) << join(problems);
  crash_everywhere(world, 2, 0);
}

TEST(Crash, AtEveryOperationOfAnIndexMerge) {
  World world(3);
  ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
  world.fs.settle();
  run_script(world, {.merge = true});
  EXPECT_GT(world.block.points().count("merge:manifest-written"), 0u);
  const auto problems = check_store(world.process.store(), world.journal, {});
  ASSERT_TRUE(problems.empty()) << join(problems);
  crash_everywhere(world, 2, 0);
}

/// What derives from the log may be behind it, never wrong: check_disk() has it compared with the changes (HI2, HI3).
TEST(Crash, AtEveryOperationOfExtendingTheHistoryIndex) {
  World world(7);
  world.process.history_step = 2;
  ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
  world.fs.settle();
  run_script(world, {});
  EXPECT_GT(world.block.points().count("history:manifest-written"), 0u);
  const auto problems = check_store(world.process.store(), world.journal, {});
  ASSERT_TRUE(problems.empty()) << join(problems);
  crash_everywhere(world, 2, 0);
}

/// The power fails again while the store recovers from the first failure.
TEST(Crash, AgainAtEveryOperationOfTheRecovery) {
  World world(4);
  ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
  world.fs.settle();
  run_script(world, {});
  std::size_t recoveries = 0;
  int failures = 0;
  world.fs.for_each_crash(1, 3, [&](SimFileSystem& disk, std::size_t cut, const std::string& text) {
    if (failures >= 3) return;
    FakeClock clock;
    FakeRandom random(5);
    HeapBlock block(clock);
    StoreProcess process(block, disk, clock, random);
    if (!process.open()) return;
    recoveries += disk.operation_count();
    disk.for_each_crash(1, 1, [&](SimFileSystem& second, std::size_t second_cut, const std::string& second_text) {
      const auto problems = check_disk(second, world, {.cut = cut, .verify = second_cut % 3 == 0});
      if (!problems.empty()) {
        ++failures;
        ADD_FAILURE() << "seed " << world.seed << ", " << text << ", then " << second_text << "\n" << join(problems);
      }
    });
  });
  EXPECT_GT(recoveries, 10u) << "recovery wrote nothing: this test tests nothing";
}

/// The control block is lost while the machine runs on: recovery finds bytes that are written but not flushed, and must
/// flush them before it shows or names them anywhere (in an index run, too).
TEST(Crash, RecoveryFlushesWhatItAccepts) {
  World world(5);
  ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
  world.fs.settle();
  const auto packed = [] {
    Attempt attempt = move_of("packs");
    attempt.large_blob_bytes = 270'000;
    return attempt;
  };
  for (int i = 0; i < 15; ++i) world.commit(packed());
  {
    // The leader dies between write and flush of its batch: a frame with the sixteenth pack, so that a merge is due.
    Attempt& attempt = world.journal.add(packed());
    world.process.process.dies_at = [](const char* name) { return std::string_view(name) == "lead:written"; };
    EXPECT_THROW(perform(world.process.store(), attempt, world.seed), Killed);
    attempt.operations_when_told = SIZE_MAX;
  }
  world.process.close();
  world.block.reboot();
  const std::size_t from = world.fs.operation_count();
  StoreProcess second(world.block, world.fs, world.clock, world.random, 2);
  ASSERT_TRUE(second.open());
  ASSERT_TRUE(world.fs.status(kStoreDirectory + "/index/manifest")) << "recovery was to merge the index";
  crash_everywhere(world, 2, from);
}

/// Canary: bugs put in on purpose are found.
TEST(Crash, FindsBugsPutInOnPurpose) {
  for (const Sabotage sabotage : {Sabotage::no_flush, Sabotage::no_log_flush, Sabotage::late_log_flush,
                                  Sabotage::no_pack_flush, Sabotage::no_directory_flush}) {
    SabotagedFileSystem disk;
    World world(6, &disk);
    disk.inner = &world.fs;
    ASSERT_TRUE(world.process.create({.segment_bytes = 1u << 20}));
    world.fs.settle();
    disk.sabotage = sabotage;
    world.process.close();
    ASSERT_TRUE(world.process.open());
    run_script(world, {});
    std::string found;
    world.fs.for_each_crash(0, 1, [&](SimFileSystem& left, std::size_t cut, const std::string& text) {
      if (!found.empty()) return;
      if (const auto problems = check_disk(left, world, {.cut = cut}); !problems.empty())
        found = text + ": " + problems.front();
    });
    EXPECT_FALSE(found.empty()) << "cutting everywhere does not notice: " << describe(sabotage);
    std::cout << describe(sabotage) << ": " << found << "\n";
  }
}

}  // namespace
}  // namespace weft::store
