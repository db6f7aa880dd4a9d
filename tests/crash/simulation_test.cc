// Seeds of the simulation (simulation.h). WEFT_SIM_SEEDS=n runs n seeds (default: a few seconds' worth) from
// WEFT_SIM_FIRST on, WEFT_SIM_SEED=s exactly that one.
// Guarantees cited: G1 to G7 (log/log.h), IX1 to IX3 (store/index.h), S-2, S-3 (store/store.h), SIM1.
#include "simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace weft::store {
namespace {

using Outcome = Attempt::Outcome;

std::uint64_t environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, RandomProcessesFailuresAndDeathsAgreeWithTheModel) {
  const std::uint64_t one = environment("WEFT_SIM_SEED", 0);
  const std::uint64_t first = one != 0 ? one : environment("WEFT_SIM_FIRST", 1);
  const std::uint64_t count = one != 0 ? 1 : environment("WEFT_SIM_SEEDS", 48);
  Simulation::Points reached;
  std::uint64_t transactions = 0;
  std::uint64_t hash = 0;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    Simulation simulation(plan_of(seed));
    const auto problems = simulation.run();
    if (!problems.empty()) {
      ++failures;
      ADD_FAILURE() << "WEFT_SIM_SEED=" << seed << "\n" << join(problems);
    }
    for (const auto& [name, times] : simulation.points()) reached[name] += times;
    transactions += simulation.journal().attempts().size();
    hash = hash * 31 + simulation.end_hash();
  }
  std::cout << fmt::format(
      "{} seeds from {}: {} transactions, {} acknowledged, {} failed, {} refused; {} processes killed ({} leading), "
      "power lost {} times ({} while recovering), end hash {:016x}\n",
      count, first, transactions, reached["sim:acked"] + reached["sim:acked-after-fault"], reached["sim:failed"],
      reached["sim:refused"], reached["sim:killed"], reached["sim:leader-killed"], reached["sim:power-lost"],
      reached["sim:power-lost-while-recovering"], hash);
  if (one != 0 || std::getenv("WEFT_SIM_SEEDS") != nullptr) {
    for (const auto& [name, times] : reached) std::cout << name << " " << times << "\n";
  }
  if (count < 48) return;
  for (const char* const name : {"sim:killed",
                                 "sim:leader-killed",
                                 "sim:append-owner-killed",
                                 "sim:exclusive-killed",
                                 "sim:refused",
                                 "sim:failed",
                                 "sim:acked-after-fault",
                                 "sim:power-lost",
                                 "sim:power-lost-while-recovering",
                                 "sim:unknown-was-there",
                                 "sim:unknown-was-gone",
                                 "lead:published",
                                 "exclusive:durable",
                                 "roll:durable",
                                 "merge:manifest-written",
                                 "append:full-ring",
                                 "append:from-dead-owner",
                                 "lead:from-dead-owner",
                                 "lead:failed",
                                 "recover:done",
                                 "refuse:judged-again",
                                 "merge:resumed",
                                 "history:manifest-written"}) {
    EXPECT_GT(reached[name], 0u) << name << " was never reached in " << count << " seeds";
  }
}

TEST(Simulation, TheSameSeedGivesTheSameEnd) {  // SIM1
  std::set<std::uint64_t> ends;
  for (const std::uint64_t seed : {3, 4, 5, 8}) {
    Simulation once(plan_of(seed));
    Simulation again(plan_of(seed));
    (void)once.run();
    (void)again.run();
    EXPECT_EQ(once.end_hash(), again.end_hash()) << "seed " << seed;
    ends.insert(once.end_hash());
  }
  EXPECT_EQ(ends.size(), 4u);
}

/// Canary: a bug put in on purpose is found within a few seeds.
TEST(Simulation, FindsBugsPutInOnPurpose) {
  for (const Sabotage sabotage : {Sabotage::no_log_flush, Sabotage::late_log_flush, Sabotage::no_pack_flush,
                                  Sabotage::no_directory_flush, Sabotage::flush_errors_lost}) {
    std::uint64_t tried = 0;
    std::string found;
    for (std::uint64_t seed = 1; seed <= 60 && found.empty(); ++seed, ++tried) {
      SimulationPlan plan = plan_of(seed);
      if (plan.crowded) continue;
      plan.sabotage = sabotage;
      Simulation simulation(plan);
      if (const auto problems = simulation.run(); !problems.empty()) found = problems.front();
    }
    EXPECT_FALSE(found.empty()) << "the simulation does not notice: " << describe(sabotage);
    std::cout << describe(sabotage) << ": found with seed " << tried << ": " << found << "\n";
  }
}

}  // namespace
}  // namespace weft::store
