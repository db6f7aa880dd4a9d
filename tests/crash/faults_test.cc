// Calls of the disk that fail, one after the other; and, by name, the holes that simulation found once.
// Guarantees cited: G3, G6, G7 (log/log.h), IX3 (store/index.h).
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

/// A disk and a block, for processes one after the other or (with a scheduler) beside each other.
struct World {
  explicit World(std::uint64_t world_seed, bool scheduled = false, Sabotage sabotage = Sabotage::none)
      : seed(world_seed),
        fs(world_seed),
        disk(&fs, sabotage),
        random(world_seed),
        scheduler(world_seed, clock),
        block(clock, scheduled ? &scheduler : nullptr) {
    clock.set_tick(1000);
  }
  std::unique_ptr<StoreProcess> process(std::uint32_t number = 1) {
    auto made = std::make_unique<StoreProcess>(block, disk, clock, random, number);
    made->history_step = history_step;
    return made;
  }
  std::unique_ptr<StoreProcess> opened(std::uint32_t number = 1) {
    auto made = process(number);
    const auto done = made->open();
    EXPECT_TRUE(done) << done.error().message;
    return made;
  }
  void create(std::uint64_t segment_bytes = 1u << 20) {
    const auto done = process()->create({.segment_bytes = segment_bytes});
    ASSERT_TRUE(done) << done.error().message;
  }
  Attempt& commit(StoreProcess& in, Attempt plan) {
    Attempt& attempt = journal.add(std::move(plan));
    perform(in.store(), attempt, seed);
    attempt.operations_when_told = fs.operation_count();
    return attempt;
  }
  void expect_sound(StoreProcess& in) {
    const auto problems = check_store(in.store(), journal, {});
    EXPECT_TRUE(problems.empty()) << join(problems);
  }

  std::uint64_t seed;
  std::uint64_t history_step = 0;
  SimFileSystem fs;
  SabotagedFileSystem disk;
  FakeClock clock;
  FakeRandom random;
  SimScheduler scheduler;
  HeapBlock block;
  Journal journal;
};

/// Kills at the n-th pass of a point.
std::function<bool(const char*)> at(std::string name, int pass = 1) {
  return [name = std::move(name), pass](const char* point) mutable { return name == point && --pass == 0; };
}

/// Commits of every kind; nothing is expected of them one by one.
void commits(World& world, StoreProcess& process) {
  world.commit(process, move_of("main"));
  {
    Attempt several = move_of("main");
    several.edits.push_back({.ref = "other"});
    several.small_blobs = 10;
    world.commit(process, several);
  }
  Attempt pack = move_of("packs");
  pack.large_blob_bytes = 300'000;
  world.commit(process, pack);
  for (int i = 0; i < 4; ++i) {
    Attempt big = move_of("big");
    big.large_blob_bytes = 200'000;
    big.edits.front().extra_bytes = 90'000;
    world.commit(process, big);
  }
  for (int i = 0; i < 2; ++i) {
    Attempt many = move_of("many");
    many.small_blobs = 2100;
    world.commit(process, many);
  }
}

struct FaultCase {
  SimCalls calls;
  int errnum;
  bool for_good;
  std::uint64_t history_step = 0;
  Sabotage sabotage = Sabotage::none;
};

/// What is wrong after the n-th call failed, empty when nothing is; nothing at all when no call failed.
std::optional<std::string> one_call_fails(const FaultCase& fault, std::uint64_t nth) {
  World world(nth, false, fault.sabotage);
  world.history_step = fault.history_step;
  world.create();
  const bool verify = nth % 4 == 1;
  {
    auto process = world.opened();
    world.fs.add_fault({.calls = fault.calls, .nth = nth, .for_good = fault.for_good, .errnum = fault.errnum});
    commits(world, *process);
    const bool met = world.fs.fault_hits() > 0;
    world.fs.clear_faults();
    if (!met) {
      for (const auto& attempt : world.journal.attempts())
        EXPECT_EQ(attempt->outcome, Outcome::acked) << describe(*attempt);
      return std::nullopt;
    }
    // The same process goes on: at most the failure still pending is met.
    if (world.commit(*process, move_of("after")).outcome != Outcome::acked) {
      Attempt& second = world.commit(*process, move_of("after"));
      if (second.outcome != Outcome::acked) return describe(second);
    }
    const auto problems = check_store(process->store(), world.journal, {.verify = verify});
    if (!problems.empty()) return join(problems);
  }
  // And so does one after power loss.
  const auto disk = world.fs.after_crash(world.fs.operation_count(), {});
  HeapBlock block(world.clock);
  StoreProcess later(block, *disk, world.clock, world.random);
  later.history_step = fault.history_step;
  if (const auto opened = later.open(); !opened) return opened.error().message;
  if (later.store().damage()) return later.store().damage()->message;
  return join(check_store(later.store(), world.journal, {.power_lost = true, .verify = verify}));
}

/// Fails the n-th call for n = 1, 2, ... until a run meets no fault.
void every_call_fails(const FaultCase& fault, std::uint64_t stride) {
  for (std::uint64_t nth = 1;; nth += stride) {
    ASSERT_LT(nth, 100'000u);
    const auto wrong = one_call_fails(fault, nth);
    if (!wrong) return;
    ASSERT_TRUE(wrong->empty()) << "call " << nth << ", errno " << fault.errnum << (fault.for_good ? ", for good" : "")
                                << "\n"
                                << *wrong;
  }
}

TEST(Faults, EveryWritingCallOnceWithEio) { every_call_fails({kWritingSimCalls, 5, false}, 1); }
TEST(Faults, EveryWritingCallFromThereOnWithEnospc) { every_call_fails({kWritingSimCalls, 28, true}, 1); }
TEST(Faults, EveryCallOfAnyKindOnce) { every_call_fails({kAllSimCalls, 5, false}, 3); }
TEST(Faults, EveryWritingCallOnceWhileHistoryIsIndexed) { every_call_fails({kWritingSimCalls, 5, false, 2}, 1); }
TEST(Faults, EveryCallOfAnyKindFromThereOn) { every_call_fails({kAllSimCalls, 5, true}, 3); }

/// Canary: a store that does not listen to its disk is found out.
TEST(Faults, FindsBugsPutInOnPurpose) {
  struct Canary {
    Sabotage sabotage;
    SimCall call;
  };
  for (const auto& [sabotage, call] :
       {Canary{Sabotage::flush_errors_lost, SimCall::sync}, Canary{Sabotage::write_errors_lost, SimCall::write}}) {
    std::string found;
    std::uint64_t nth = 1;
    for (; found.empty(); ++nth) {
      const auto wrong = one_call_fails({sim_calls({call}), 5, false, 0, sabotage}, nth);
      if (!wrong) break;
      found = *wrong;
    }
    EXPECT_FALSE(found.empty()) << "failing calls do not show: " << describe(sabotage);
    std::cout << describe(sabotage) << ": call " << nth - 1 << ": " << found << "\n";
  }
}

/// Making and opening a store on a failing disk: an error, and afterwards it can be made.
TEST(Faults, CreatingFailsCleanly) {
  for (std::uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    World world(nth);
    world.fs.add_fault({.nth = nth});
    auto process = world.process();
    const auto made = process->create({.segment_bytes = 1u << 20});
    const bool met = world.fs.fault_hits() > 0;
    world.fs.clear_faults();
    if (!made) {
      auto again = world.process();
      const auto second = again->create({.segment_bytes = 1u << 20});
      // The store may have been complete already when the call failed.
      if (!second) {
        ASSERT_EQ(second.error().code, Code::exists) << second.error().message;
        const auto opened = again->open();
        ASSERT_TRUE(opened) << opened.error().message;
      }
      EXPECT_EQ(world.commit(*again, move_of("main")).outcome, Outcome::acked);
    }
    if (!met) return;
  }
}

/// G6: the failure stops everybody, and everybody can end it.
TEST(Faults, AfterAFailedFlushAnotherProcessRecoversAndTheFirstGoesOn) {
  World world(1);
  world.create();
  auto a = world.opened(1);
  auto b = world.opened(2);
  ASSERT_EQ(world.commit(*a, move_of("main")).outcome, Outcome::acked);
  ASSERT_EQ(world.commit(*b, move_of("main")).outcome, Outcome::acked);
  // Once: the other one recovers. The handles of the first died with its flush, and that recovery must do for it as
  // well.
  world.fs.add_fault({.calls = sim_calls({SimCall::sync})});
  EXPECT_EQ(world.commit(*a, move_of("main")).code, Code::store_failed);
  EXPECT_EQ(world.commit(*b, move_of("main")).outcome, Outcome::acked);
  const Attempt& afterwards = world.commit(*a, move_of("main"));
  EXPECT_EQ(afterwards.outcome, Outcome::acked) << describe(afterwards);
  world.fs.add_fault({.calls = sim_calls({SimCall::sync}), .for_good = true});
  EXPECT_EQ(world.commit(*a, move_of("main")).code, Code::store_failed);
  // While the disk stays bad everybody is refused, by the recovery that fails.
  EXPECT_EQ(world.commit(*b, move_of("main")).code, Code::store_failed);
  EXPECT_EQ(world.commit(*a, move_of("main")).code, Code::store_failed);
  world.fs.clear_faults();
  EXPECT_EQ(world.commit(*b, move_of("main")).outcome, Outcome::acked);
  const Attempt& later = world.commit(*a, move_of("main"));
  EXPECT_EQ(later.outcome, Outcome::acked) << describe(later);
  world.expect_sound(*a);
}

/// A full disk refuses; room made again is enough to go on.
TEST(Faults, AFullDiskRefusesAndIsForgiven) {
  World world(2);
  world.create();
  auto process = world.opened();
  world.fs.set_free_bytes(300'000);
  std::size_t refused = 0;
  for (int i = 0; i < 12; ++i) {
    Attempt plan = move_of("main");
    plan.large_blob_bytes = 100'000;
    const Attempt& attempt = world.commit(*process, plan);
    if (attempt.outcome == Outcome::failed) {
      EXPECT_EQ(attempt.code, Code::no_space) << describe(attempt);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
  // Small ones still fit where zeros were written ahead.
  world.fs.set_free_bytes(std::uint64_t{1} << 30);
  const Attempt& after = world.commit(*process, move_of("main"));
  EXPECT_EQ(after.outcome, Outcome::acked) << describe(after);
  world.expect_sound(*process);
}

/// G3, G6: the leader meets the failure and dies before it has told anybody; the others all wait already.
TEST(Faults, WaitersRecoverWhenTheOneThatMetTheFailureDied) {
  for (const char* const place : {"lead:failed", "fail:marked", "fail:reset"}) {
    SCOPED_TRACE(place);
    World world(3, true);
    world.create();
    bool leader_waits = true;
    std::size_t ended = 0;
    // The leader's flush fails only once the others have their frames in the ring.
    world.scheduler.add([&] {
      auto leader = world.opened(1);
      leader->process.dies_at = at(place);
      leader->process.at_point = [&](const char* name) {
        while (leader_waits && std::string_view(name) == "lead:closed") world.scheduler.maybe_switch("hold");
        if (std::string_view(name) == "lead:written") world.fs.add_fault({.calls = sim_calls({SimCall::sync})});
      };
      Attempt& attempt = world.journal.add(move_of("leader"));
      attempt.operations_when_told = SIZE_MAX;
      EXPECT_THROW(perform(leader->store(), attempt, world.seed), Killed);
    });
    for (std::uint32_t number = 2; number < 5; ++number) {
      world.scheduler.add([&, number] {
        auto follower = world.opened(number);
        follower->process.at_point = [&](const char* name) {
          if (std::string_view(name) == "append:published" && ++ended == 3) leader_waits = false;
        };
        while (world.block.points().count("lead:closed") == 0) world.scheduler.maybe_switch("await the leader");
        const Attempt& attempt = world.commit(*follower, move_of("own/" + std::to_string(number)));
        EXPECT_NE(attempt.outcome, Outcome::unknown);
      });
    }
    const std::int64_t before = world.clock.monotonic_ns();
    ASSERT_TRUE(world.scheduler.run(200'000)) << "they wait for ever";
    EXPECT_LT(world.clock.monotonic_ns() - before, 1'000'000'000)
        << "blocked for longer than finding out about a death takes";
    world.fs.clear_faults();
    auto last = world.opened(9);
    EXPECT_EQ(world.commit(*last, move_of("main")).outcome, Outcome::acked);
    world.expect_sound(*last);
  }
}

/// A leader moves the refs in the tables, then dies before it publishes; the flush of the one that takes over fails.
/// The refs must be back where the last durable batch left them, not lost.
TEST(Faults, ARefKeepsItsDurableMoveThroughADeathAndAFailedFlush) {
  World world(4);
  world.create();
  {
    auto before = world.opened(1);
    ASSERT_EQ(world.commit(*before, move_of("main", RefEdit::Expect::absent)).outcome, Outcome::acked);
  }
  const Version first(world.journal.attempts().front()->change);
  {
    auto leader = world.opened(2);
    // Two moves in one batch, so that the entry's own memory of the move before is of no help.
    Attempt& unled = world.journal.add(move_of("main"));
    leader->process.dies_at = at("append:leading");
    EXPECT_THROW(perform(leader->store(), unled, world.seed), Killed);
  }
  {
    auto leader = world.opened(3);
    Attempt& attempt = world.journal.add(move_of("main"));
    leader->process.dies_at = at("lead:indexed");
    EXPECT_THROW(perform(leader->store(), attempt, world.seed), Killed);
  }
  auto last = world.opened(4);
  world.fs.add_fault({.calls = sim_calls({SimCall::sync})});
  EXPECT_EQ(world.commit(*last, move_of("other")).outcome, Outcome::failed);
  world.fs.clear_faults();
  const Attempt& after = world.commit(*last, move_of("main", RefEdit::Expect::exactly, first));
  EXPECT_EQ(after.outcome, Outcome::acked) << describe(after);
  world.expect_sound(*last);
}

/// An author dies with its frame in the ring, over bytes of a lap before: those must be read from the files from then
/// on.
TEST(Faults, ADeadAuthorsFrameIsNotTakenForOlderBytesOfTheRing) {
  World world(9);
  world.create(4u << 20);
  {
    auto before = world.opened(1);
    ASSERT_EQ(world.commit(*before, move_of("main", RefEdit::Expect::absent)).outcome, Outcome::acked);
    for (int i = 0; i < 4; ++i) {
      Attempt large = move_of("other");
      large.large_blob_bytes = 230'000;
      ASSERT_EQ(world.commit(*before, large).outcome, Outcome::acked);
    }
  }
  const Version first(world.journal.attempts().front()->change);
  {
    auto author = world.opened(2);
    Attempt large = move_of("other");
    large.large_blob_bytes = 230'000;
    author->process.dies_at = at("append:placed");
    EXPECT_THROW(perform(author->store(), world.journal.add(large), world.seed), Killed);
  }
  auto last = world.opened(3);
  const Attempt& after = world.commit(*last, move_of("main", RefEdit::Expect::exactly, first));
  EXPECT_EQ(after.outcome, Outcome::acked) << describe(after);
  world.expect_sound(*last);
}

/// A merge freezes its table while somebody's frame is enqueued; that frame's flush fails, and another process has
/// recovered before the merge comes to wait for it. What it waits for will never be: it must do with less.
TEST(Faults, AMergeGoesOnWhenWhatItWaitsForWasGivenUp) {
  World world(10);
  world.create();
  auto merger = world.opened(1);
  auto other = world.opened(3);
  Attempt many = move_of("many");
  many.small_blobs = 2100;
  ASSERT_EQ(world.commit(*merger, many).outcome, Outcome::acked);
  std::unique_ptr<StoreProcess> dead;
  bool failed = false;
  merger->process.at_point = [&](const char* name) {
    if (std::string_view(name) == "lead:published" && dead == nullptr) {
      dead = world.opened(2);
      dead->process.dies_at = at("append:leading");
      EXPECT_THROW(perform(dead->store(), world.journal.add(move_of("dead")), world.seed), Killed);
    }
    if (std::string_view(name) == "merge:frozen" && !failed) {
      failed = true;
      world.fs.add_fault({.calls = sim_calls({SimCall::sync})});
      EXPECT_EQ(world.commit(*other, move_of("other")).outcome, Outcome::failed);
      // Refused, but recovered: nothing new lies where the frames given up were.
      EXPECT_EQ(world.commit(*other, move_of("many", RefEdit::Expect::absent)).outcome, Outcome::refused);
    }
  };
  ASSERT_EQ(world.commit(*merger, many).outcome, Outcome::acked);
  EXPECT_TRUE(failed);
  EXPECT_TRUE(world.fs.status(kStoreDirectory + "/index/manifest")) << "the merge gave up";
  EXPECT_EQ(world.commit(*other, move_of("many")).outcome, Outcome::acked);
  world.expect_sound(*other);
}

/// G7, driven by hand: the winner is enqueued and its leader holds still; the loser may not be told before the flush.
struct RefusalRun {
  Outcome winner = Outcome::unknown, loser = Outcome::unknown;
  bool told_too_early = false;
};
RefusalRun refuse_against_enqueued(World& world, bool flush_fails) {
  RefusalRun run;
  bool told = false;
  bool durable = false;
  int waited = 0;
  world.create();
  world.scheduler.add([&] {
    auto winner = world.opened(1);
    winner->process.at_point = [&](const char* name) {
      if (std::string_view(name) == "lead:written") {
        // Long enough for the other to judge, and to be told if it were told now.
        while (waited < 1000 && ++waited > 0) world.scheduler.maybe_switch("hold");
        run.told_too_early = told;
        if (flush_fails) world.fs.add_fault({.calls = sim_calls({SimCall::sync})});
        durable = true;
      }
    };
    run.winner = world.commit(*winner, move_of("main", RefEdit::Expect::absent)).outcome;
  });
  world.scheduler.add([&] {
    auto loser = world.opened(2);
    while (world.block.points().count("lead:written") == 0) world.scheduler.maybe_switch("await the winner");
    run.loser = world.commit(*loser, move_of("main", RefEdit::Expect::absent)).outcome;
    told = true;
  });
  EXPECT_TRUE(world.scheduler.run(1'000'000));
  EXPECT_TRUE(durable);
  return run;
}

TEST(Faults, ARefusalIsToldOnlyWhenTheWinnerIsDurable) {
  World world(5, true);
  const RefusalRun run = refuse_against_enqueued(world, false);
  EXPECT_FALSE(run.told_too_early);
  EXPECT_EQ(run.winner, Outcome::acked);
  EXPECT_EQ(run.loser, Outcome::refused);
}

TEST(Faults, TheLoserIsJudgedAgainWhenTheWinnersFlushFails) {
  World world(6, true);
  const RefusalRun run = refuse_against_enqueued(world, true);
  EXPECT_FALSE(run.told_too_early);
  EXPECT_EQ(run.winner, Outcome::failed);
  EXPECT_EQ(run.loser, Outcome::acked);
  EXPECT_GT(world.block.points().count("refuse:judged-again"), 0u);
  auto last = world.opened(3);
  world.expect_sound(*last);
}

/// Costs: a lone writer's commit is one write and one flush; opening does not walk history.
TEST(Costs, ALoneWriterPaysOneWriteAndOneFlush) {
  World world(7);
  world.create(64u << 20);
  auto process = world.opened();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(world.commit(*process, move_of("main")).outcome, Outcome::acked);
  world.fs.reset_counts();
  constexpr std::uint64_t kCommits = 20;
  for (std::uint64_t i = 0; i < kCommits; ++i)
    ASSERT_EQ(world.commit(*process, move_of("main")).outcome, Outcome::acked);
  const SimCounts counts = world.fs.counts();
  EXPECT_EQ(counts[SimCall::sync], kCommits);
  EXPECT_EQ(counts[SimCall::write], kCommits);
  EXPECT_EQ(counts[SimCall::sync_directory], 0u);
  EXPECT_EQ(counts.bytes_written, kCommits * 4096);
}

TEST(Costs, OpeningDoesNotDependOnHistory) {
  std::uint64_t calls[2] = {};
  for (const int commits : {0, 300}) {
    World world(8);
    world.create(64u << 20);
    auto process = world.opened();
    for (int i = 0; i < commits; ++i) ASSERT_EQ(world.commit(*process, move_of("main")).outcome, Outcome::acked);
    world.fs.reset_counts();
    auto reader = world.opened(2);
    const auto refs = refs_of(reader->store());
    ASSERT_TRUE(refs);
    EXPECT_EQ(refs->size(), commits == 0 ? 0u : 1u);
    const SimCounts counts = world.fs.counts();
    for (const auto each : counts.calls) calls[commits == 0 ? 0 : 1] += each;
    EXPECT_EQ(counts.bytes_written, 0u);
  }
  // Reading a ref maps the segment its move lies in: that is all there is more.
  EXPECT_LE(calls[1], calls[0] + 4);
}

}  // namespace
}  // namespace weft::store
