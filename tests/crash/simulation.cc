#include "simulation.h"

#include <cstdlib>
#include <iostream>

#include "base/hash.h"

namespace weft::store {
namespace {

using Outcome = Attempt::Outcome;

/// Small, so that the history index is extended all the time.
constexpr std::uint64_t kHistoryStepHere = 3;

}  // namespace

SimulationPlan plan_of(std::uint64_t seed) {
  FakeRandom random(seed * 7919);
  SimulationPlan plan;
  plan.seed = seed;
  plan.processes = 2 + random.below(5);
  plan.transactions = 4 + random.below(14);
  if (random.below(4) != 0) plan.kill_one_in = 60 + random.below(600);
  if (random.below(2) == 0) plan.fault_one_in = 4 + random.below(20);
  plan.many_objects = random.below(3) == 0;
  plan.large = random.below(3) != 0;
  plan.power_losses = random.below(4);
  if (plan.power_losses > 0) plan.transactions = 3 + plan.transactions / 2;
  if (seed % 16 == 7) {
    plan.crowded = true;
    plan.processes = 7;
    plan.transactions = 5;
    plan.segment_bytes = 4u << 20;
    plan.kill_one_in *= 2;
    plan.power_losses = 0;
  }
  return plan;
}

struct Simulation::Epoch {
  Epoch(std::unique_ptr<SimFileSystem> left, std::uint64_t seed, FakeClock& clock, Sabotage sabotage)
      : fs(std::move(left)), disk(fs.get(), sabotage), scheduler(seed, clock), block(clock, &scheduler) {}

  std::unique_ptr<SimFileSystem> fs;
  SabotagedFileSystem disk;
  SimScheduler scheduler;
  HeapBlock block;
  std::size_t power_until = SIZE_MAX;  ///< operations of the disk
};

Simulation::Simulation(const SimulationPlan& plan) : plan_(plan), random_(plan.seed) { clock_.set_tick(700); }
Simulation::~Simulation() = default;

std::vector<std::string> Simulation::run() {
  begin_epoch(std::make_unique<SimFileSystem>(plan_.seed));
  {
    StoreProcess first(epoch_->block, epoch_->disk, clock_, random_, 0);
    first.history_step = kHistoryStepHere;
    if (auto made = first.create({.segment_bytes = plan_.segment_bytes}); !made)
      return {"create: " + made.error().message};
    epoch_->fs->settle();
  }
  for (;;) {
    if (!last_epoch()) {
      // Often while the store recovers from the loss before, else at some time.
      const bool soon = random_.chance(2) && epoch_number_ > 0;
      epoch_->power_until = 1 + random_.below(!soon ? 60 * plan_.processes : random_.chance(3) ? 12 : 2);
    }
    if (!run_processes()) return problems_;
    if (last_epoch()) break;
    lose_power();
  }
  StoreProcess last(epoch_->block, epoch_->disk, clock_, random_, 0);
  last.history_step = kHistoryStepHere;
  // A last one, on a sound disk: whatever failed is recovered.
  epoch_->fs->clear_faults();
  final_commit(last);
  if (last.has_store()) {
    for (auto& text : check_store(last.store(), journal_, {})) problem(std::move(text));
  }
  crash();
  last.close();
  end_epoch();
  return problems_;
}

void Simulation::problem(std::string text) {
  if (problems_.size() < 10) problems_.push_back(std::move(text));
}
void Simulation::count(const char* name) { ++points_[name]; }
bool Simulation::power_is_off() const { return epoch_->fs->operation_count() >= epoch_->power_until; }

void Simulation::begin_epoch(std::unique_ptr<SimFileSystem> disk) {
  epoch_ = std::make_unique<Epoch>(std::move(disk), plan_.seed + epoch_number_ * 1'000'003, clock_, plan_.sabotage);
}

bool Simulation::run_processes() {
  epoch_->fs->set_before_sync([this](const std::string&) { flush_time(); });
  for (std::uint64_t i = 0; i < plan_.processes; ++i) epoch_->scheduler.add([this, i] { live(i + 1); });
  constexpr std::uint64_t kMaxSteps = 3'000'000;
  if (epoch_->scheduler.run(kMaxSteps)) return true;
  problem("the processes did not come to an end");
  end_epoch();
  return false;
}

void Simulation::end_epoch() {
  hash_ = (hash_ * 31 + epoch_->fs->history_hash()) * 31 + epoch_->scheduler.end_hash();
  for (const auto& [name, times] : epoch_->block.points()) points_[name] += times;
}

void Simulation::lose_power() {
  const std::size_t end = epoch_->fs->operation_count();
  const std::size_t cut = std::min(end, epoch_->power_until);
  count("sim:power-lost");
  SimCrash crash{.kind = SimCrash::Kind::torn, .seed = random_.below(1000)};
  if (random_.chance(6)) crash = {};
  auto disk = epoch_->fs->after_crash(cut, crash);
  end_epoch();

  for (const auto& attempt : journal_.attempts()) {
    if (attempt->settled) continue;
    const bool told = attempt->operations_when_told <= cut;
    if (attempt->outcome == Outcome::acked && told) {
      attempt->settled = true;
    } else if (attempt->outcome != Outcome::refused) {
      attempt->outcome = Outcome::unknown;  // what failed, too, may have become durable all the same
    }
    attempt->operations_when_told = 0;
  }
  const std::string where = "after power loss " + std::to_string(epoch_number_ + 1) + " at operation " +
                            std::to_string(cut) + ", " + describe(crash) + ": ";
  {
    const auto copy = disk->after_crash(0, {});
    HeapBlock block(clock_);
    StoreProcess process(block, *copy, clock_, random_);
    process.history_step = kHistoryStepHere;
    if (auto opened = process.open(); !opened) {
      problem(where + opened.error().message);
    } else {
      if (process.store().damage()) problem(where + "reported as damaged: " + process.store().damage()->message);
      if (auto settled = settle(process.store()); !settled) problem(where + settled.error().message);
      for (const auto& text : check_store(process.store(), journal_, {})) problem(where + text);
    }
  }
  ++epoch_number_;
  begin_epoch(std::move(disk));
}

Result<void> Simulation::settle(Store& store) {
  WEFT_TRY(const Snapshot snapshot, store.snapshot());
  std::set<std::string> listed;
  WEFT_DO(snapshot.operations([&](const Operation& operation) {
    listed.insert(operation.label);
    return true;
  }));
  for (const auto& attempt : journal_.attempts()) {
    if (attempt->settled || attempt->outcome != Outcome::unknown) continue;
    if (attempt->change.is_zero()) continue;  // never got as far as that
    if (attempt->late) {
      attempt->settled = listed.contains("t" + std::to_string(attempt->number));
    } else {
      WEFT_TRY(attempt->settled, snapshot.contains(ObjectKind::change, attempt->change));
    }
    count(*attempt->settled ? "sim:unknown-was-there" : "sim:unknown-was-gone");
  }
  return {};
}

/// A flush takes from 50 microseconds to 2 ms, rarely much longer; the others go on meanwhile.
void Simulation::flush_time() {
  std::int64_t took = 50'000 + static_cast<std::int64_t>(random_.below(random_.chance(20) ? 120'000'000 : 2'000'000));
  if (!epoch_->scheduler.inside()) {
    clock_.advance(took);
    return;
  }
  const std::int64_t until = clock_.monotonic_ns() + took;
  std::atomic<std::uint32_t> nobody_wakes_us = 0;
  while ((took = until - clock_.monotonic_ns()) > 0) epoch_->scheduler.wait(nobody_wakes_us, 0, took);
}

void Simulation::final_commit(StoreProcess& process) {
  Result<void> opened;
  // The first try may be the one that meets the failure still pending.
  for (int i = 0; i < 3 && !process.has_store(); ++i) opened = process.open();
  if (!opened) return problem("the last opening failed: " + opened.error().message);
  Attempt& attempt = journal_.add({});
  attempt.edits.push_back({.ref = "last"});
  for (int i = 0; i < 3 && attempt.outcome != Outcome::acked; ++i) perform(process.store(), attempt, plan_.seed);
  attempt.operations_when_told = epoch_->fs->operation_count();
  if (attempt.outcome != Outcome::acked) problem("the last commit failed: " + attempt.message);
}

/// One line of processes: when one is killed, another takes its place, until the power goes.
void Simulation::live(std::uint64_t number) {
  std::uint64_t left = plan_.transactions;
  constexpr int kMaxLives = 200;
  for (int lives = 0; left > 0 && lives < kMaxLives && !power_is_off(); ++lives) {
    StoreProcess process(epoch_->block, epoch_->disk, clock_, random_, static_cast<std::uint32_t>(number));
    process.history_step = kHistoryStepHere;
    std::string place;
    if (plan_.kill_one_in != 0) {
      // Some die anywhere, some at a place that is rarely passed: one of those known to be, or any that was passed.
      static constexpr const char* kPlaces[] = {"history:graph-written",
                                                "history:run-written",
                                                "history:manifest-written",
                                                "append:copying",
                                                "append:placed",
                                                "append:published",
                                                "append:from-dead-owner",
                                                "lead:closed",
                                                "lead:written",
                                                "lead:flushed",
                                                "lead:indexed",
                                                "lead:published",
                                                "lead:failed",
                                                "lead:from-dead-owner",
                                                "fail:marked",
                                                "fail:reset",
                                                "recover:done",
                                                "exclusive:drained",
                                                "exclusive:written",
                                                "exclusive:flushed",
                                                "exclusive:durable",
                                                "exclusive:rolled",
                                                "roll:durable",
                                                "merge:frozen",
                                                "merge:run-written",
                                                "merge:resumed",
                                                "merge:manifest-written",
                                                "merge:published",
                                                "extend:locked",
                                                "append:full-ring",
                                                "refuse:judged-again"};
      place = random_.chance(2) ? kPlaces[random_.below(std::size(kPlaces))] : "";
      if (!points_.empty() && random_.chance(4)) {
        place = std::next(points_.begin(), static_cast<std::ptrdiff_t>(random_.below(points_.size())))->first;
      }
      if (plan_.many_objects && random_.chance(2)) {
        place = random_.chance(2) ? "merge:frozen" : "merge:manifest-written";
      }
    }
    std::uint64_t passes = 1 + random_.below(3);
    process.process.dies_at = [this, place, passes](const char* name) mutable { return dies(name, place, passes); };
    try {
      work(process, left);
    } catch (const Killed&) {
      if (!power_is_off()) count("sim:killed");
    }
  }
}

bool Simulation::dies(const char* name, std::string_view place, std::uint64_t& passes) {
  if (power_is_off()) {
    if (epoch_->block.initialising()) count("sim:power-lost-while-recovering");
    return true;
  }
  if (plan_.kill_one_in == 0) return false;
  const std::string_view at(name);
  const bool here = at == place && --passes == 0;
  if (!here && !random_.chance(plan_.kill_one_in)) return false;
  if (at.starts_with("lead:")) count("sim:leader-killed");
  if (at.starts_with("append:") && at != "append:before-lock" && at != "append:leading")
    count("sim:append-owner-killed");
  if (at.starts_with("exclusive:")) count("sim:exclusive-killed");
  if (at.starts_with("merge:")) count("sim:merger-killed");
  if (at.starts_with("extend:")) count("sim:extender-killed");
  if (epoch_->block.initialising()) count("sim:recoverer-killed");
  return true;
}

void Simulation::work(StoreProcess& process, std::uint64_t& left) {
  const auto opened = process.open();
  if (!opened) {
    // Opening reads only; a fault may hit it.
    if (plan_.fault_one_in == 0) problem("open: " + opened.error().message);
    return;
  }
  if (process.store().damage()) return problem("reported as damaged: " + process.store().damage()->message);
  for (; left > 0; --left) {
    if (plan_.fault_one_in != 0 && random_.chance(plan_.fault_one_in)) {
      epoch_->fs->add_fault(
          {.calls = kWritingSimCalls, .nth = 1 + random_.below(6), .errnum = random_.chance(3) ? 28 : 5});
    }
    const auto snapshot = process.store().snapshot();
    if (!snapshot) return problem("snapshot: " + snapshot.error().message);
    if (random_.below(6) == 0) {
      look(process.store(), *snapshot);
    } else {
      commit(process.store(), *snapshot);
    }
  }
}

Attempt Simulation::plan_attempt(const std::map<std::string, Version>& refs) {
  Attempt attempt;
  attempt.small_blobs = random_.below(4);
  if (plan_.many_objects && random_.chance(3)) attempt.small_blobs = 500 + random_.below(1500);
  const auto edit = [&](const std::string& ref, bool skip) {
    Attempt::Edit result{.ref = ref, .skip = skip};
    if (const auto found = refs.find(ref); found != refs.end()) {
      result.expect = RefEdit::Expect::exactly;
      result.expected = found->second;
      result.remove = random_.chance(12);
    } else {
      result.expect = RefEdit::Expect::absent;
    }
    return result;
  };
  if (plan_.crowded) {
    attempt.small_blobs = 0;
    attempt.large_blob_bytes = 230'000 + random_.below(25'000);
    attempt.edits = {edit("own/" + std::to_string(random_.below(9)), true)};
    return attempt;
  }
  switch (random_.below(8)) {
    case 0:  // the pair moves together or not at all
      attempt.late = random_.chance(2);
      attempt.edits = {edit("pair/a", false), edit("pair/b", false)};
      for (auto& each : attempt.edits) each.remove = false;
      break;
    case 1:
      attempt.edits = {edit("main", true), edit("own/" + std::to_string(random_.below(4)), false)};
      break;
    case 2:
      attempt.late = true;
      attempt.edits = {{.ref = "main"}};
      break;
    case 3:
      attempt.operation = false;
      attempt.small_blobs = 1 + random_.below(3);
      break;
    case 4:
      if (plan_.large) {
        if (random_.chance(2)) {
          attempt.large_blob_bytes = 300'000;
        } else {
          attempt.large_blob_bytes = 200'000;
          attempt.edits = {{.ref = "big", .extra_bytes = 90'000}};
          break;
        }
      }
      attempt.edits = {edit("main", false)};
      break;
    case 5:
      if (plan_.large) attempt.large_blob_bytes = 60'000 + random_.below(120'000);
      [[fallthrough]];
    default:
      attempt.edits = {edit(random_.chance(2) ? "main" : "own/" + std::to_string(random_.below(4)), false)};
  }
  return attempt;
}

void Simulation::commit(Store& store, const Snapshot& snapshot) {
  const auto refs = snapshot.refs();
  if (!refs) {
    problem("refs: " + refs.error().message);
    return;
  }
  std::map<std::string, Version> held;
  for (const auto& ref : *refs) held[ref.name] = ref.value.version;
  const bool recovering = epoch_->fs->fault_hits() > 0;
  Attempt& attempt = journal_.add(plan_attempt(held));
  attempt.operations_when_told = SIZE_MAX;
  perform(store, attempt, plan_.seed);
  attempt.operations_when_told = epoch_->fs->operation_count();
  switch (attempt.outcome) {
    case Outcome::acked: {
      count(recovering ? "sim:acked-after-fault" : "sim:acked");
      // G2: what is acknowledged is visible to the next snapshot.
      const auto now = store.snapshot();
      if (!now) break;
      const auto there = now->contains(ObjectKind::change, attempt.change);
      if (!there || !*there) {
        problem(describe(attempt) + " cannot be seen by its own author" + (there ? "" : ": " + there.error().message));
      }
      break;
    }
    case Outcome::refused:
      count("sim:refused");
      winner_is_durable(store, attempt);
      break;
    case Outcome::failed:
      count("sim:failed");
      if (plan_.fault_one_in == 0) problem(describe(attempt) + " although the disk is sound");
      if (attempt.code != Code::store_failed && attempt.code != Code::no_space && attempt.code != Code::io) {
        problem(describe(attempt) + ": not an error of the disk");
      }
      break;
    case Outcome::unknown:
      break;
  }
}

/// G7: the winner named by a refusal is there for everybody, and stays.
void Simulation::winner_is_durable(Store& store, const Attempt& attempt) {
  const auto id = ChangeId::parse(attempt.winner);
  if (!id) return;  // the ref was deleted
  const auto now = store.snapshot();
  if (!now) return;
  const auto there = now->contains(ObjectKind::change, *id);
  if (!there) {
    problem("after a refusal: " + there.error().message);
  } else if (!*there) {
    problem(describe(attempt) + " names a winner that is not durable");
  }
}

/// S4: a snapshot shows the pair together, and never changes.
void Simulation::look(Store& store, const Snapshot& snapshot) {
  count("sim:look");
  std::optional<std::map<std::string, Version>> seen;
  for (int i = 0; i < 3; ++i) {
    const auto refs = snapshot.refs();
    if (!refs) {
      problem("a snapshot's refs: " + refs.error().message);
      return;
    }
    std::map<std::string, Version> now;
    for (const auto& ref : *refs) now[ref.name] = ref.value.version;
    if (now.contains("pair/a") != now.contains("pair/b") ||
        (now.contains("pair/a") && now["pair/a"] != now["pair/b"])) {
      problem("a snapshot shows half of a transaction: pair/a is not at pair/b");
    }
    if (seen && *seen != now) problem("a snapshot changed");
    seen = now;
    for (const auto& [name, version] : now) {
      const auto change = snapshot.change(version.changes.front());
      if (!change) problem("ref " + name + " of a snapshot: " + change.error().message);
    }
    std::size_t operations = 0;
    const auto listed = snapshot.operations([&](const Operation&) { return ++operations < 20; });
    if (!listed) problem("a snapshot's operations: " + listed.error().message);
    epoch_->scheduler.maybe_switch("look");
  }
  if (random_.chance(4)) {
    const auto report = store.verify(false, {});
    if (!report) {
      problem("verify beside writers: " + report.error().message);
    } else if (!report->clean()) {
      problem("verify beside writers: " + report->findings.front().what);
    }
  }
}

/// The power fails at the end, and at some moment before.
void Simulation::crash() {
  const std::size_t end = epoch_->fs->operation_count();
  for (int i = 0; i < 3; ++i) {
    const std::size_t cut = i == 0 ? end : random_.below(end + 1);
    SimCrash crash{.kind = SimCrash::Kind::torn, .seed = random_.below(1000)};
    if (i == 1) crash = {};
    const auto disk = epoch_->fs->after_crash(cut, crash);
    HeapBlock block(clock_);
    StoreProcess process(block, *disk, clock_, random_);
    process.history_step = kHistoryStepHere;
    if (std::getenv("WEFT_SIM_OPS") != nullptr) {
      for (std::size_t o = 0; o < end && i == 0; ++o) {
        const auto operation = epoch_->fs->operation(o);
        std::cout << o << " " << describe(operation) << (operation.dropped ? " DROPPED" : "") << "\n";
      }
    }
    const std::string where = "after power loss at operation " + std::to_string(cut) + ", " + describe(crash) + ": ";
    if (auto opened = process.open(); !opened) {
      problem(where + opened.error().message);
      continue;
    }
    if (process.store().damage()) problem(where + "reported as damaged: " + process.store().damage()->message);
    for (const auto& text : check_store(process.store(), journal_, {.cut = cut, .power_lost = true}))
      problem(where + text);
  }
}

}  // namespace weft::store
