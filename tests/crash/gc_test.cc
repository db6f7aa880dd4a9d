// gc under power loss at every operation, kills at every point and failing calls: nothing live is ever lost, and the
// next gc goes on. Invariants cited: GC1 to GC4 (store/gc.cc), CP1 to CP3 (store/checkpoint.h), L4 (log/segments.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "store/gc.h"
#include "store_world.h"

namespace weft::store {
namespace {

using Outcome = Attempt::Outcome;
constexpr std::int64_t kDayNs = std::int64_t{24} * 3600 * 1'000'000'000;

Attempt move_of(const std::string& ref, RefEdit::Expect expect = RefEdit::Expect::anything,
                const Version& expected = {}) {
  Attempt attempt;
  attempt.edits.push_back({.ref = ref, .expect = expect, .expected = expected});
  return attempt;
}

struct World {
  explicit World(std::uint64_t world_seed)
      : seed(world_seed), fs(world_seed), random(world_seed), block(clock), process(block, fs, clock, random) {
    clock.set_tick(1000);
  }
  void create() { ASSERT_TRUE(process.create({.segment_bytes = 1u << 20})); }
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

Result<GcReport> collect(StoreProcess& process, const GcOptions& options) {
  WEFT_TRY(const Snapshot now, process.store().snapshot());
  return gc(now, options);
}

GcOptions quiet() {
  GcOptions options;
  options.tolerate_missing = false;
  return options;
}

/// Every kind of thing a gc moves: small objects, a pack, refs that are deleted, a transaction without an operation.
void fill(World& world, int commits = 6) {
  for (int i = 0; i < commits; ++i) {
    world.commit(move_of("main"));
    Attempt several = move_of("workspaces/" + std::to_string(i));
    several.small_blobs = 5;
    world.commit(several);
  }
  Attempt pack = move_of("packs");
  pack.large_blob_bytes = 300'000;
  world.commit(pack);
  Attempt removal = move_of("workspaces/0");
  removal.edits.front().remove = true;
  world.commit(removal);
  Attempt objects;
  objects.operation = false;
  objects.small_blobs = 3;
  world.commit(objects);
}

std::size_t files_in(FileSystem& fs, const std::string& directory, std::string_view suffix) {
  std::size_t count = 0;
  const auto entries = fs.list(directory);
  if (!entries) return 0;
  for (const auto& entry : *entries) count += entry.name.ends_with(suffix) ? 1 : 0;
  return count;
}

TEST(Gc, TheLogGoesAndEverythingInsideTheWindowStays) {
  World world(1);
  world.create();
  fill(world);
  const auto report = collect(world.process, quiet());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->nothing_to_do);
  EXPECT_EQ(report->objects_dropped, 0u);
  EXPECT_GT(report->objects_moved, 0u);
  EXPECT_EQ(report->segments_removed, 1u);
  EXPECT_EQ(files_in(world.fs, kStoreDirectory + "/log", ".seg"), 1u);
  EXPECT_FALSE(world.fs.status(kStoreDirectory + "/log/0000000001.seg"));
  auto problems = check_store(world.process.store(), world.journal, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
  // And it goes on: commits, reopening, another gc.
  world.commit(move_of("main"));
  world.process.close();
  world.block.reboot();
  ASSERT_TRUE(world.process.open());
  EXPECT_FALSE(world.process.store().damage());
  problems = check_store(world.process.store(), world.journal, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
  const auto again = collect(world.process, quiet());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->nothing_to_do);
  problems = check_store(world.process.store(), world.journal, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
}

TEST(Gc, RightAfterAnotherItDoesNothing) {
  World world(2);
  world.create();
  EXPECT_TRUE(collect(world.process, quiet())->nothing_to_do);
  fill(world);
  ASSERT_FALSE(collect(world.process, quiet())->nothing_to_do);
  const std::size_t before = world.fs.operation_count();
  const auto again = collect(world.process, quiet());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->nothing_to_do);
  EXPECT_EQ(world.fs.operation_count(), before);
}

TEST(Gc, ADryRunSaysTheSameAndChangesNothing) {
  World world(3);
  world.create();
  fill(world);
  GcOptions options;
  options.keep_ns = 0;
  options.dry_run = true;
  const auto dry = collect(world.process, options);
  ASSERT_TRUE(dry) << dry.error().message;
  EXPECT_GT(dry->objects_dropped, 0u);
  auto problems = check_store(world.process.store(), world.journal, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
  options.dry_run = false;
  const auto wet = collect(world.process, options);
  ASSERT_TRUE(wet) << wet.error().message;
  EXPECT_EQ(wet->objects_dropped, dry->objects_dropped);
  EXPECT_EQ(wet->changes_dropped, dry->changes_dropped);
  EXPECT_EQ(wet->operations_dropped, dry->operations_dropped);
}

/// What is live without a window: the refs' values and what they lead to.
void expect_only_refs(World& world) {
  const auto snapshot = world.process.store().snapshot().value();
  std::set<ChangeId> held;
  const auto refs = snapshot.refs().value();
  for (const auto& ref : refs) {
    for (const auto& change : ref.value.version.changes) {
      EXPECT_TRUE(snapshot.contains(ObjectKind::change, change).value()) << ref.name;
      held.insert(change);
    }
  }
  for (const auto& attempt : world.journal.attempts()) {
    if (attempt->change.is_zero() || held.contains(attempt->change)) continue;
    EXPECT_FALSE(snapshot.contains(ObjectKind::change, attempt->change).value()) << describe(*attempt);
  }
  const auto report = world.process.store().verify(true, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->clean()) << report->findings.front().what;
}

TEST(Gc, BeyondTheWindowOnlyWhatRefsHoldStays) {
  World world(4);
  world.create();
  fill(world);
  const auto before = refs_of(world.process.store()).value();
  world.clock.advance(31 * kDayNs);
  const auto report = collect(world.process, quiet());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->changes_dropped, 0u);
  EXPECT_GT(report->operations_dropped, 0u);
  EXPECT_EQ(refs_of(world.process.store()).value(), before);
  expect_only_refs(world);
  std::size_t operations = 0;
  ASSERT_TRUE(world.process.store().snapshot().value().operations([&](const Operation&) { return ++operations > 0; }));
  EXPECT_EQ(operations, 0u);
  // Refs go on from what they hold.
  world.commit(move_of("main", RefEdit::Expect::exactly, before.at("main")));
  std::size_t moves = 0;
  ASSERT_TRUE(world.process.store().snapshot().value().reflog("main", [&](const RefMoveRecord& record) {
    ++moves;
    EXPECT_EQ(record.before->version, before.at("main"));
    return true;
  }));
  EXPECT_EQ(moves, 1u);
}

TEST(Gc, ASecondOneDropsWhatHasGrownOldSince) {
  World world(5);
  world.create();
  fill(world);
  ASSERT_TRUE(collect(world.process, quiet()));
  world.clock.advance(31 * kDayNs);
  const auto report = collect(world.process, quiet());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->changes_dropped, 0u);
  expect_only_refs(world);
  EXPECT_TRUE(collect(world.process, quiet())->nothing_to_do);
}

TEST(Gc, WithoutIndexAndControlEverythingIsFoundAgain) {
  for (const bool old : {false, true}) {
    World world(6);
    world.create();
    fill(world);
    if (old) world.clock.advance(31 * kDayNs);
    ASSERT_TRUE(collect(world.process, quiet()));
    world.commit(move_of("main"));
    const auto refs = refs_of(world.process.store()).value();
    std::set<std::pair<int, std::string>> objects;
    const auto list = [&](Store& store) {
      std::set<std::pair<int, std::string>> found;
      EXPECT_TRUE(store.snapshot().value().for_each_object([&](ObjectKind kind, const ObjectId& id) -> Result<void> {
        found.emplace(static_cast<int>(kind), id.hex());
        return {};
      }));
      return found;
    };
    const auto before = list(world.process.store());
    const auto info = world.process.store().info().value();
    world.process.close();
    const auto repaired = Store::repair(world.process.env(), kStoreDirectory, {}, world.process.hooks());
    ASSERT_TRUE(repaired) << repaired.error().message;
    ASSERT_TRUE(world.process.open());
    EXPECT_EQ(list(world.process.store()), before);
    EXPECT_EQ(refs_of(world.process.store()).value(), refs);
    const auto now = world.process.store().info().value();
    EXPECT_EQ(now.store, info.store);
    EXPECT_EQ(now.replica, info.replica);
    EXPECT_EQ(now.objects, info.objects);
    EXPECT_EQ(now.changes, info.changes);
    const auto report = world.process.store().verify(true, {}).value();
    EXPECT_TRUE(report.clean()) << report.findings.front().what;
  }
}

/// GC3: on the disk that power loss at operation k leaves.
std::vector<std::string> check_disk(FileSystem& disk, const World& world, CheckRules rules) {
  FakeClock clock;
  clock.set_tick(1000);
  FakeRandom random(99);
  HeapBlock block(clock);
  StoreProcess process(block, disk, clock, random);
  rules.power_lost = true;
  if (auto opened = process.open(); !opened) return {"does not open: " + opened.error().message};
  if (process.store().damage()) return {"reported as damaged: " + process.store().damage()->message};
  auto problems = check_store(process.store(), world.journal, rules);
  if (!problems.empty()) return problems;
  const auto before = refs_of(process.store());
  // The next gc goes on, whatever the one before left lying about.
  GcOptions options;
  options.keep_ns = 3650 * kDayNs;
  if (auto report = collect(process, options); !report) return {"a gc fails: " + report.error().message};
  Journal further;
  Attempt& after = further.add(move_of("after"));
  perform(process.store(), after, 7);
  if (after.outcome != Outcome::acked) return {"a further commit fails: " + after.message};
  process.close();
  block.reboot();
  if (auto again = process.open(); !again) return {"does not open again: " + again.error().message};
  auto expected = *before;
  expected["after"] = Version(after.change);
  const auto refs = refs_of(process.store());
  if (!refs || *refs != expected) return {"refs changed over a gc"};
  const auto report = process.store().verify(true, {});
  if (!report) return {"verify fails: " + report.error().message};
  if (!report->clean()) return {"verify: " + report->findings.front().what + " / " + report->findings.front().affects};
  if (files_in(disk, kStoreDirectory + "/log", ".kept") != 1) return {"kept files are left"};
  if (files_in(disk, kStoreDirectory + "/log", ".seg") != 1) return {"segments are left"};
  return {};
}

/// Two gcs with commits before, between and behind; the second one moves what the first packed.
void two_gcs(World& world) {
  ASSERT_TRUE(collect(world.process, quiet()));
  world.commit(move_of("main"));
  Attempt pack = move_of("packs");
  pack.large_blob_bytes = 280'000;
  world.commit(pack);
  ASSERT_TRUE(collect(world.process, quiet()));
  world.commit(move_of("main"));
}

/// At every operation, or every so many.
void cut_everywhere(World& world, std::size_t every, std::size_t from) {
  int failures = 0;
  world.fs.for_each_crash(from, every == 1 ? 1 : 0, [&](SimFileSystem& disk, std::size_t cut, const std::string& text) {
    if (failures >= 3 || cut % every != 0) return;
    const auto problems = check_disk(disk, world, {.cut = cut, .verify = cut % 7 == 0});
    if (problems.empty()) return;
    ++failures;
    ADD_FAILURE() << "seed " << world.seed << ", " << text << "\n" << join(problems);
  });
}

TEST(GcCrash, AtEveryOperationOfTwoGcs) {
  for (const std::uint64_t history_step : {0u, 2u}) {
    World world(7);
    world.process.history_step = history_step;
    world.create();
    fill(world, 1);
    world.fs.settle();
    const std::size_t from = world.fs.operation_count();
    two_gcs(world);
    EXPECT_GT(world.fs.operation_count() - from, 50u);
    cut_everywhere(world, history_step == 0 ? 1 : 9, from);
  }
}

TEST(GcCrash, AgainAtEveryOperationOfTheRecoveryFromIt) {
  World world(8);
  world.create();
  fill(world, 2);
  world.fs.settle();
  const std::size_t from = world.fs.operation_count();
  two_gcs(world);
  std::size_t recoveries = 0;
  int failures = 0;
  world.fs.for_each_crash(from, 1, [&](SimFileSystem& disk, std::size_t cut, const std::string& text) {
    if (failures >= 3 || cut % 29 != 0) return;
    FakeClock clock;
    FakeRandom random(5);
    HeapBlock block(clock);
    StoreProcess process(block, disk, clock, random);
    ASSERT_TRUE(process.open());
    GcOptions options;
    options.keep_ns = 3650 * kDayNs;
    ASSERT_TRUE(collect(process, options));
    recoveries += disk.operation_count();
    disk.for_each_crash(1, 0, [&](SimFileSystem& second, std::size_t second_cut, const std::string& second_text) {
      const auto problems = check_disk(second, world, {.cut = cut, .verify = second_cut % 11 == 0});
      if (problems.empty()) return;
      ++failures;
      ADD_FAILURE() << "seed " << world.seed << ", " << text << ", then " << second_text << "\n" << join(problems);
    });
  });
  EXPECT_GT(recoveries, 100u);
}

/// The check must be able to fail: a gc that lets go of the log before its checkpoint is durable.
TEST(GcCrash, AGcThatRemovesTooEarlyIsFoundOut) {
  World world(20);
  world.create();
  fill(world, 2);
  world.fs.settle();
  const std::size_t from = world.fs.operation_count();
  world.process.process.at_point = [&](const char* name) {
    if (std::string_view(name) != "gc:written") return;
    ASSERT_TRUE(world.fs.unlink(kStoreDirectory + "/log/0000000001.seg"));
    ASSERT_TRUE(world.fs.sync_directory(kStoreDirectory + "/log"));
  };
  ASSERT_TRUE(collect(world.process, quiet()));
  std::size_t found = 0;
  world.fs.for_each_crash(from, 0, [&](SimFileSystem& disk, std::size_t cut, const std::string&) {
    if (found == 0 && !check_disk(disk, world, {.cut = cut}).empty()) ++found;
  });
  EXPECT_GT(found, 0u);
}

/// GC3: the process dies, the machine and the other processes go on.
TEST(GcCrash, KilledAtEveryPoint) {
  std::set<std::string> points;
  {
    World world(9);
    world.create();
    fill(world, 2);
    world.process.process.at_point = [&](const char* name) { points.insert(name); };
    ASSERT_TRUE(collect(world.process, quiet()));
  }
  for (const char* const name : {"gc:segment-begun", "gc:merged", "gc:written", "gc:checkpoint", "merge:run-written",
                                 "merge:manifest-written", "gc:published", "gc:segments-removed", "gc:packs-removed",
                                 "segment:prepared", "segment:drained", "roll:durable"}) {
    EXPECT_TRUE(points.contains(name)) << name;
  }
  for (const auto& point : points) {
    for (const std::size_t run : {0u, 1u, 2u, 3u}) {
      const std::size_t nth = 1 + run / 2;
      const bool commits_between = run % 2 == 0;
      SCOPED_TRACE(point + ", passed " + std::to_string(nth) + " times");
      World world(9);
      world.create();
      fill(world, 2);
      std::size_t passed = 0;
      world.process.process.dies_at = [&](const char* name) { return name == point && ++passed == nth; };
      bool died = false;
      try {
        (void)collect(world.process, quiet()).has_value();
      } catch (const Killed&) {
        died = true;
      }
      if (!died) continue;
      StoreProcess other(world.block, world.fs, world.clock, world.random, 2);
      ASSERT_TRUE(other.open());
      std::vector<std::string> problems;
      if (commits_between) {
        Attempt& attempt = world.journal.add(move_of("main"));
        perform(other.store(), attempt, world.seed);
        ASSERT_EQ(attempt.outcome, Outcome::acked) << describe(attempt);
        problems = check_store(other.store(), world.journal, {});
        ASSERT_TRUE(problems.empty()) << join(problems);
      }
      const auto report = collect(other, quiet());
      ASSERT_TRUE(report) << report.error().message;
      problems = check_store(other.store(), world.journal, {});
      ASSERT_TRUE(problems.empty()) << join(problems);
      EXPECT_EQ(files_in(world.fs, kStoreDirectory + "/log", ".kept"), 1u);
      EXPECT_EQ(files_in(world.fs, kStoreDirectory + "/log", ".seg"), 1u);
    }
  }
}

/// CASES C6: any call fails, once or from then on; what was recorded stays, and with room again the next gc works.
void every_call_fails(SimFault fault) {
  for (std::uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    World world(10);
    world.create();
    fill(world, 2);
    fault.nth = nth;
    world.fs.add_fault(fault);
    const auto report = collect(world.process, quiet());
    const bool met = world.fs.fault_hits() > 0;
    world.fs.clear_faults();
    auto problems = check_store(world.process.store(), world.journal, {.verify = nth % 4 == 1});
    ASSERT_TRUE(problems.empty()) << join(problems) << (report ? "" : report.error().message);
    world.commit(move_of("main"));
    const auto again = collect(world.process, quiet());
    ASSERT_TRUE(again) << again.error().message;
    problems = check_store(world.process.store(), world.journal, {.verify = nth % 4 == 1});
    ASSERT_TRUE(problems.empty()) << join(problems);
    EXPECT_EQ(files_in(world.fs, kStoreDirectory + "/log", ".seg"), 1u);
    if (!met) return;
  }
}
TEST(GcFaults, EveryWritingCallOnceWithEio) { every_call_fails({.calls = kWritingSimCalls, .errnum = 5}); }
TEST(GcFaults, EveryWritingCallFromThereOnWithEnospc) {
  every_call_fails({.calls = kWritingSimCalls, .for_good = true, .errnum = 28});
}

TEST(GcFaults, C6AFullDiskRefusesAndIsForgiven) {
  World world(11);
  world.create();
  fill(world, 20);
  world.fs.set_free_bytes(100'000);
  const auto report = collect(world.process, quiet());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::no_space) << report.error().message;
  auto problems = check_store(world.process.store(), world.journal, {});
  ASSERT_TRUE(problems.empty()) << join(problems);
  world.fs.set_free_bytes(std::uint64_t{1} << 30);
  ASSERT_TRUE(collect(world.process, quiet()));
  problems = check_store(world.process.store(), world.journal, {});
  ASSERT_TRUE(problems.empty()) << join(problems);
}

/// Runs `action` once, when the gc of the world's process passes the point.
void at_point(World& world, std::string_view point, const std::function<void()>& action) {
  world.process.process.at_point = [&world, point, action, done = false](const char* name) mutable {
    if (done || point != name) return;
    done = true;
    action();
  };
}

/// GC2, from both sides: a transaction that relies on garbage commits while the gc marks, or after it.
TEST(GcRaces, WhatATransactionReliesOnIsNotDropped) {
  for (const char* const begins : {"gc:segment-begun", "gc:merged", "gc:written", "gc:checkpoint", "gc:published"}) {
    for (const char* const ends :
         {"gc:segment-begun", "gc:merged", "gc:written", "gc:checkpoint", "gc:published", ""}) {
      SCOPED_TRACE(std::string("begun at ") + begins + ", committed at " + (*ends != '\0' ? ends : "the end"));
      World world(12);
      world.create();
      fill(world, 2);
      // Nothing refers to it any more: a change with a ref that was deleted long ago.
      Attempt garbage = move_of("gone");
      garbage.small_blobs = 3;
      const Attempt& dead = world.commit(garbage);
      Attempt removal = move_of("gone");
      removal.edits.front().remove = true;
      world.commit(removal);
      world.clock.advance(31 * kDayNs);
      StoreProcess other(world.block, world.fs, world.clock, world.random, 2);
      ASSERT_TRUE(other.open());
      std::optional<Transaction> transaction;
      std::optional<Result<Committed>> committed;
      bool saw_it = false;
      const auto begin = [&] {
        transaction.emplace(other.store().begin().value());
        saw_it = transaction->snapshot().contains(ObjectKind::change, dead.change).value();
        if (!saw_it) return;
        transaction->set_operation({.label = "t999", .author = "A <a@example.org>"});
        RefEdit edit;
        edit.name = "again";
        edit.expect = RefEdit::Expect::absent;
        edit.after = RefValue{Version(dead.change), {}};
        transaction->edit_ref(std::move(edit));
      };
      const auto end = [&] {
        if (transaction && saw_it && !committed) committed.emplace(transaction->commit());
      };
      world.process.process.at_point = [&](const char* name) {
        if (std::string_view(name) == begins && !transaction) begin();
        if (std::string_view(name) == ends) end();
      };
      const auto report = collect(world.process, quiet());
      world.process.process.at_point = {};
      ASSERT_TRUE(report) << report.error().message;
      end();
      const auto snapshot = other.store().snapshot().value();
      if (committed && *committed) {
        EXPECT_TRUE(snapshot.contains(ObjectKind::change, dead.change).value()) << "a dangling ref was committed";
        EXPECT_EQ(snapshot.ref("again").value()->version, Version(dead.change));
      } else if (committed) {
        EXPECT_EQ((*committed).error().code, Code::busy) << (*committed).error().message;
        EXPECT_FALSE(snapshot.ref("again").value());
      }
      const auto verified = other.store().verify(true, {}).value();
      EXPECT_TRUE(verified.clean()) << verified.findings.front().what << verified.findings.front().affects;
    }
  }
}

/// A ref that was deleted before the window comes back while the gc is at work: what it held before is known.
TEST(GcRaces, ARefThatComesBackMeanwhileKeepsItsLastMove) {
  World world(13);
  world.create();
  fill(world, 1);
  world.commit(move_of("gone"));
  Attempt removal = move_of("gone");
  removal.edits.front().remove = true;
  world.commit(removal);
  world.clock.advance(31 * kDayNs);
  StoreProcess other(world.block, world.fs, world.clock, world.random, 2);
  ASSERT_TRUE(other.open());
  at_point(world, "gc:written", [&] {
    Attempt& attempt = world.journal.add(move_of("gone"));
    perform(other.store(), attempt, world.seed);
    EXPECT_EQ(attempt.outcome, Outcome::acked);
  });
  ASSERT_TRUE(collect(world.process, quiet()));
  std::size_t moves = 0;
  ASSERT_TRUE(other.store().snapshot().value().reflog("gone", [&](const RefMoveRecord& record) {
    EXPECT_FALSE(record.before);
    EXPECT_TRUE(record.after);
    return ++moves > 0;
  }));
  EXPECT_EQ(moves, 1u);
}

/// A second gc is told so; writers and readers go on through all of it.
TEST(GcRaces, OthersGoOn) {
  World world(14);
  world.create();
  fill(world, 4);
  StoreProcess other(world.block, world.fs, world.clock, world.random, 2);
  ASSERT_TRUE(other.open());
  const Snapshot before = other.store().snapshot().value();
  std::size_t looked = 0;
  world.process.process.at_point = [&](const char* name) {
    if (!std::string_view(name).starts_with("gc:")) return;
    const auto second = collect(other, quiet());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::busy);
    Attempt plan = move_of("main");
    plan.small_blobs = 3;
    Attempt& attempt = world.journal.add(plan);
    perform(other.store(), attempt, world.seed);
    ASSERT_EQ(attempt.outcome, Outcome::acked) << describe(attempt);
    const auto problems = check_store(other.store(), world.journal, {});
    ASSERT_TRUE(problems.empty()) << name << ": " << join(problems);
    // A view from before reads on.
    for (const auto& old : world.journal.attempts()) {
      if (old->number >= 4) break;
      EXPECT_TRUE(before.change(old->change)) << name;
    }
    EXPECT_TRUE(before.ref("main").value());
    ++looked;
  };
  const auto report = collect(world.process, quiet());
  world.process.process.at_point = {};
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GE(looked, 5u);
  const auto problems = check_store(world.process.store(), world.journal, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
}

/// CASES C9: a list is whole, or an error.
TEST(GcRaces, C9AListOfAllObjectsIsNeverShort) {
  World world(15);
  world.create();
  fill(world, 4);
  StoreProcess other(world.block, world.fs, world.clock, world.random, 2);
  ASSERT_TRUE(other.open());
  const auto list = [&](const Snapshot& snapshot) -> std::optional<std::size_t> {
    std::set<std::pair<ObjectKind, ObjectId>> objects;
    const auto done = snapshot.for_each_object([&](ObjectKind kind, const ObjectId& id) -> Result<void> {
      objects.emplace(kind, id);
      return {};
    });
    if (!done) {
      EXPECT_EQ(done.error().code, Code::busy) << done.error().message;
      return std::nullopt;
    }
    return objects.size();
  };
  const Snapshot old = other.store().snapshot().value();
  const std::size_t all = *list(old);
  std::size_t lists = 0;
  world.process.process.at_point = [&](const char*) {
    const auto now = list(other.store().snapshot().value());
    if (now) {
      EXPECT_EQ(*now, all);
      ++lists;
    }
    const auto then = list(old);
    if (then) {
      EXPECT_EQ(*then, all);
    }
  };
  ASSERT_TRUE(collect(world.process, quiet()));
  world.process.process.at_point = {};
  EXPECT_GT(lists, 5u);
  // What is dropped is missing from a list that begins before: an error then.
  world.clock.advance(31 * kDayNs);
  world.commit(move_of("main"));
  const Snapshot later = other.store().snapshot().value();
  ASSERT_GT(collect(world.process, quiet())->objects_dropped, 0u);
  EXPECT_FALSE(list(later));
  EXPECT_TRUE(list(other.store().snapshot().value()));
}

/// Ctrl-C at any moment: an error, and nothing has changed.
TEST(Gc, StoppedAnywhereItChangesNothing) {
  for (std::size_t stop = 1;; ++stop) {
    World world(16);
    world.create();
    fill(world, 2);
    std::size_t told = 0;
    GcOptions options;
    options.progress = [&](std::string_view, std::uint64_t, std::uint64_t) -> Result<void> {
      return ++told == stop ? Result<void>(make_error(Code::interrupted, "stopped")) : Result<void>();
    };
    const auto report = collect(world.process, options);
    const auto problems = check_store(world.process.store(), world.journal, {});
    ASSERT_TRUE(problems.empty()) << join(problems);
    if (report) {
      EXPECT_GT(stop, 5u);
      break;
    }
    EXPECT_EQ(report.error().code, Code::interrupted);
    EXPECT_EQ(files_in(world.fs, kStoreDirectory + "/log", ".kept"), 0u);
    EXPECT_EQ(files_in(world.fs, kStoreDirectory + "/packs", ".pack"), 1u);
  }
}

/// Packs that no frame names are a killed writer's, once they are old.
TEST(Gc, LeftoversGo) {
  World world(17);
  world.create();
  fill(world, 2);
  {
    StoreProcess dead(world.block, world.fs, world.clock, world.random, 2);
    ASSERT_TRUE(dead.open());
    Attempt plan = move_of("never");
    plan.large_blob_bytes = 300'000;
    dead.process.dies_at = [](const char* name) { return std::string_view(name) == "append:before-lock"; };
    EXPECT_THROW(perform(dead.store(), world.journal.add(plan), world.seed), Killed);
  }
  const std::string packs = kStoreDirectory + "/packs";
  ASSERT_TRUE(collect(world.process, quiet()));
  const std::size_t with_leftover = files_in(world.fs, packs, ".pack");
  world.clock.advance(2 * kDayNs);
  world.commit(move_of("main"));
  ASSERT_TRUE(collect(world.process, quiet()));
  EXPECT_LT(files_in(world.fs, packs, ".pack"), with_leftover + 1);
  const auto problems = check_store(world.process.store(), world.journal, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
}

/// L4: a segment behind the start that is missing is damage, one before it is not.
TEST(Gc, AMissingSegmentBehindTheStartIsDamage) {
  World world(18);
  world.create();
  fill(world, 2);
  ASSERT_TRUE(collect(world.process, quiet()));
  for (int i = 0; i < 8; ++i) {
    Attempt big = move_of("big");
    big.large_blob_bytes = 200'000;
    world.commit(big);
  }
  ASSERT_GE(files_in(world.fs, kStoreDirectory + "/log", ".seg"), 2u);
  world.process.close();
  world.block.reboot();
  ASSERT_TRUE(world.fs.unlink(kStoreDirectory + "/log/0000000002.seg"));
  ASSERT_TRUE(world.process.open());
  EXPECT_TRUE(world.process.store().damage());
  world.process.close();
  world.block.reboot();
  // Without an index as well.
  ASSERT_TRUE(world.fs.unlink(kStoreDirectory + "/index/manifest"));
  const auto opened = world.process.open();
  EXPECT_TRUE(!opened || world.process.store().damage());
  if (!opened) {
    EXPECT_EQ(opened.error().code, Code::damaged) << opened.error().message;
  }
}

/// A kept file that is lost is damage: reads of what it held are errors, never "there is none".
TEST(Gc, ALostKeptFileIsDamage) {
  World world(19);
  world.create();
  fill(world, 2);
  ASSERT_TRUE(collect(world.process, quiet()));
  world.process.close();
  world.block.reboot();
  std::string name;
  const auto logs = world.fs.list(kStoreDirectory + "/log").value();
  for (const auto& entry : logs) {
    if (entry.name.ends_with(".kept")) name = entry.name;
  }
  ASSERT_TRUE(world.fs.unlink(kStoreDirectory + "/log/" + name));
  ASSERT_TRUE(world.process.open());
  ASSERT_TRUE(world.process.store().damage());
  const auto snapshot = world.process.store().snapshot().value();
  EXPECT_EQ(snapshot.ref("main").error().code, Code::damaged);
  EXPECT_EQ(snapshot.contains(ObjectKind::change, world.journal.attempts().front()->change).error().code,
            Code::damaged);
  EXPECT_FALSE(world.process.store().begin());
}

}  // namespace
}  // namespace weft::store
