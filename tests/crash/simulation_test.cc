// Several processes on one store, in simulated time, from a seed: random transactions, processes killed at random
// points, flushes that fail, reads beside; then everything is compared with a simple model (store_world.h), and the
// disk that a power failure at some moment would have left is checked as well.
//
// WEFT_SIM_SEEDS=n runs n seeds (default: a few seconds' worth) from WEFT_SIM_FIRST on, WEFT_SIM_SEED=s exactly that
// one. Guarantees cited: G1 to G7 (log/log.h), IX1 to IX3 (store/index.h), S-2, S-3 (store/store.h).
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "store_world.h"

namespace weft::store {
namespace {

using Outcome = Attempt::Outcome;
using Points = std::map<std::string, std::uint64_t, std::less<>>;

/// Small, so that the history index is extended all the time.
constexpr std::uint64_t kHistoryStepHere = 3;

struct Plan {
  std::uint64_t seed = 1;
  std::uint64_t processes = 3;
  std::uint64_t transactions = 12;  ///< of each
  std::uint64_t kill_one_in = 0;    ///< points; 0: nobody dies
  std::uint64_t fault_one_in = 0;   ///< transactions; 0: the disk is sound
  bool many_objects = false;        ///< so that merges happen
  bool large = true;
  std::uint64_t segment_bytes = 1u << 20;
  bool crowded = false;  ///< all with frames near a quarter of the ring at once: it gets full
};

Plan plan_of(std::uint64_t seed) {
  FakeRandom random(seed * 7919);
  Plan plan;
  plan.seed = seed;
  plan.processes = 2 + random.below(5);
  plan.transactions = 4 + random.below(14);
  if (random.below(4) != 0) plan.kill_one_in = 60 + random.below(600);
  if (random.below(2) == 0) plan.fault_one_in = 4 + random.below(20);
  plan.many_objects = random.below(3) == 0;
  plan.large = random.below(3) != 0;
  if (seed % 16 == 7) {
    plan.crowded = true;
    plan.processes = 7;
    plan.transactions = 5;
    plan.segment_bytes = 4u << 20;
    plan.kill_one_in *= 2;
  }
  return plan;
}

class Simulation {
 public:
  explicit Simulation(const Plan& plan)
      : plan_(plan), fs_(plan.seed), random_(plan.seed), scheduler_(plan.seed, clock_), block_(clock_, &scheduler_) {
    clock_.set_tick(700);
  }

  /// What is wrong, empty when nothing is.
  std::vector<std::string> run() {
    StoreProcess first(block_, fs_, clock_, random_, 0);
    first.history_step = kHistoryStepHere;
    if (auto made = first.create({.segment_bytes = plan_.segment_bytes}); !made)
      return {"create: " + made.error().message};
    fs_.settle();
    fs_.set_before_sync([this](const std::string&) { flush_time(); });
    for (std::uint64_t i = 0; i < plan_.processes; ++i) scheduler_.add([this, i] { live(i + 1); });
    constexpr std::uint64_t kMaxSteps = 3'000'000;
    if (!scheduler_.run(kMaxSteps)) {
      problems_.push_back("the processes did not come to an end");
      return problems_;
    }
    // A last one, on a sound disk: whatever failed is recovered.
    fs_.clear_faults();
    if (auto last = final_commit(first); !last) problems_.push_back("the last commit failed: " + last.error().message);
    for (auto& text : check_store(first.store(), journal_, {})) problems_.push_back(std::move(text));
    crash();
    first.close();
    return problems_;
  }

  std::uint64_t end_hash() const { return fs_.history_hash() * 31 + scheduler_.end_hash(); }
  const Points& points() const { return block_.points(); }
  const Journal& journal() const { return journal_; }

 private:
  void problem(std::string text) {
    if (problems_.size() < 10) problems_.push_back(std::move(text));
  }
  void count(const char* name) { block_.count(name); }

  /// A flush takes from 50 microseconds to 2 ms, rarely much longer; the others go on meanwhile.
  void flush_time() {
    std::int64_t took = 50'000 + static_cast<std::int64_t>(random_.below(random_.chance(20) ? 120'000'000 : 2'000'000));
    if (!scheduler_.inside()) {
      clock_.advance(took);
      return;
    }
    const std::int64_t until = clock_.monotonic_ns() + took;
    std::atomic<std::uint32_t> nobody_wakes_us = 0;
    while ((took = until - clock_.monotonic_ns()) > 0) scheduler_.wait(nobody_wakes_us, 0, took);
  }

  Result<void> final_commit(StoreProcess& process) {
    Attempt& attempt = journal_.add({});
    attempt.edits.push_back({.ref = "last"});
    // The first try may be the one that meets the failure still pending.
    for (int i = 0; i < 3 && attempt.outcome != Outcome::acked; ++i) perform(process.store(), attempt, plan_.seed);
    if (attempt.outcome != Outcome::acked) return make_error(attempt.code, attempt.message);
    return {};
  }

  /// One line of processes: when one is killed, another takes its place.
  void live(std::uint64_t number) {
    std::uint64_t left = plan_.transactions;
    constexpr int kMaxLives = 200;
    for (int lives = 0; left > 0 && lives < kMaxLives; ++lives) {
      StoreProcess process(block_, fs_, clock_, random_, static_cast<std::uint32_t>(number));
      process.history_step = kHistoryStepHere;
      if (plan_.kill_one_in != 0) {
        // Some die anywhere, some at a place that is rarely passed.
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
        std::string_view place = random_.chance(2) ? kPlaces[random_.below(std::size(kPlaces))] : "";
        if (plan_.many_objects && random_.chance(2))
          place = random_.chance(2) ? "merge:frozen" : "merge:manifest-written";
        std::uint64_t passes = 1 + random_.below(3);
        process.process.dies_at = [this, place, passes](const char* name) mutable { return dies(name, place, passes); };
      }
      try {
        work(process, left);
      } catch (const Killed&) {
        count("sim:killed");
      }
    }
  }

  bool dies(const char* name, std::string_view place, std::uint64_t& passes) {
    const std::string_view at(name);
    const bool here = at == place && --passes == 0;
    if (!here && !random_.chance(plan_.kill_one_in)) return false;
    if (at.starts_with("lead:")) count("sim:leader-killed");
    if (at.starts_with("append:") && at != "append:before-lock" && at != "append:leading")
      count("sim:append-owner-killed");
    if (at.starts_with("exclusive:")) count("sim:exclusive-killed");
    if (at.starts_with("merge:")) count("sim:merger-killed");
    if (at.starts_with("extend:")) count("sim:extender-killed");
    return true;
  }

  void work(StoreProcess& process, std::uint64_t& left) {
    const auto opened = process.open();
    if (!opened) {
      // Opening reads only; a fault may hit it.
      if (plan_.fault_one_in == 0) problem("open: " + opened.error().message);
      return;
    }
    for (; left > 0; --left) {
      if (plan_.fault_one_in != 0 && random_.chance(plan_.fault_one_in)) {
        fs_.add_fault({.calls = kWritingSimCalls, .nth = 1 + random_.below(6), .errnum = random_.chance(3) ? 28 : 5});
      }
      const auto snapshot = process.store().snapshot();
      if (!snapshot) {
        problem("snapshot: " + snapshot.error().message);
        return;
      }
      switch (random_.below(6)) {
        case 0:
          look(process.store(), *snapshot);
          break;
        default:
          commit(process.store(), *snapshot);
      }
    }
  }

  Attempt plan_attempt(const std::map<std::string, Version>& refs) {
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

  void commit(Store& store, const Snapshot& snapshot) {
    const auto refs = snapshot.refs();
    if (!refs) {
      problem("refs: " + refs.error().message);
      return;
    }
    std::map<std::string, Version> held;
    for (const auto& ref : *refs) held[ref.name] = ref.value.version;
    const bool recovering = fs_.fault_hits() > 0;
    Attempt& attempt = journal_.add(plan_attempt(held));
    attempt.operations_when_told = SIZE_MAX;
    perform(store, attempt, plan_.seed);
    attempt.operations_when_told = fs_.operation_count();
    switch (attempt.outcome) {
      case Outcome::acked: {
        count(recovering ? "sim:acked-after-fault" : "sim:acked");
        // G2: what is acknowledged is visible to the next snapshot.
        const auto now = store.snapshot();
        if (!now) break;
        const auto there = now->contains(ObjectKind::change, attempt.change);
        if (!there || !*there) {
          problem(describe(attempt) + " cannot be seen by its own author" +
                  (there ? "" : ": " + there.error().message));
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
  void winner_is_durable(Store& store, const Attempt& attempt) {
    const auto id = ChangeId::parse(attempt.winner);
    if (!id) return;  // the ref was deleted
    const auto now = store.snapshot();
    if (!now) return;
    const auto there = now->contains(ObjectKind::change, *id);
    if (!there) {
      problem("after a refusal: " + there.error().message);
    } else if (!*there) {
      problem(describe(attempt) + " names a winner that is not durable");
    } else {
      winners_.insert(*id);
    }
  }

  /// S4: a snapshot shows the pair together, and never changes.
  void look(Store& store, const Snapshot& snapshot) {
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
      scheduler_.maybe_switch("look");
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
  void crash() {
    for (const auto& attempt : journal_.attempts()) {
      if (attempt->outcome == Outcome::acked && attempt->operations_when_told == 0)
        attempt->operations_when_told = fs_.operation_count();
    }
    const std::size_t end = fs_.operation_count();
    for (int i = 0; i < 3; ++i) {
      const std::size_t cut = i == 0 ? end : random_.below(end + 1);
      SimCrash crash{.kind = SimCrash::Kind::torn, .seed = random_.below(1000)};
      if (i == 1) crash = {};
      const auto disk = fs_.after_crash(cut, crash);
      HeapBlock block(clock_);
      StoreProcess process(block, *disk, clock_, random_);
      process.history_step = kHistoryStepHere;
      if (std::getenv("WEFT_SIM_OPS") != nullptr) {
        for (std::size_t o = 0; o < end && i == 0; ++o) {
          const auto operation = fs_.operation(o);
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

  Plan plan_;
  SimFileSystem fs_;
  FakeClock clock_;
  FakeRandom random_;
  SimScheduler scheduler_;
  HeapBlock block_;
  Journal journal_;
  std::set<ChangeId> winners_;
  std::vector<std::string> problems_;
};

std::uint64_t environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, RandomProcessesFailuresAndDeathsAgreeWithTheModel) {
  const std::uint64_t one = environment("WEFT_SIM_SEED", 0);
  const std::uint64_t first = one != 0 ? one : environment("WEFT_SIM_FIRST", 1);
  const std::uint64_t count = one != 0 ? 1 : environment("WEFT_SIM_SEEDS", 48);
  Points reached;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    Simulation simulation(plan_of(seed));
    const auto problems = simulation.run();
    if (!problems.empty()) {
      ++failures;
      ADD_FAILURE() << "WEFT_SIM_SEED=" << seed << "\n" << join(problems);
    }
    for (const auto& [name, times] : simulation.points()) reached[name] += times;
  }
  if (one != 0 || std::getenv("WEFT_SIM_SEEDS") != nullptr) {
    for (const auto& [name, times] : reached) std::cout << name << " " << times << "\n";
  }
  if (one != 0) return;
  for (const char* const name :
       {"sim:killed", "sim:leader-killed", "sim:append-owner-killed", "sim:exclusive-killed", "sim:refused",
        "sim:failed", "sim:acked-after-fault", "lead:published", "exclusive:durable", "roll:durable",
        "merge:manifest-written", "append:full-ring", "append:from-dead-owner", "lead:from-dead-owner", "lead:failed",
        "recover:done", "refuse:judged-again", "merge:resumed", "history:manifest-written"}) {
    EXPECT_GT(reached[name], 0u) << name << " was never reached in " << count << " seeds";
  }
}

TEST(Simulation, TheSameSeedGivesTheSameEnd) {
  for (const std::uint64_t seed : {3, 8}) {
    Simulation once(plan_of(seed));
    Simulation again(plan_of(seed));
    (void)once.run();
    (void)again.run();
    EXPECT_EQ(once.end_hash(), again.end_hash()) << "seed " << seed;
  }
  Simulation other(plan_of(4));
  Simulation another(plan_of(5));
  (void)other.run();
  (void)another.run();
  EXPECT_NE(other.end_hash(), another.end_hash());
}

}  // namespace
}  // namespace weft::store
