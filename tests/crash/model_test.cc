// Random lists of commands on a store and on a model of it (model.h). RC_PARAMS="seed=N max_success=N max_size=N" says
// which, how many and how long; a failing list is shrunk to what the failure needs.
#include "model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iostream>

#include "base/testing/fake_random.h"

namespace weft::store {

void showValue(const ModelCommand& command, std::ostream& out) { out << "\n  " << describe(command); }

}  // namespace weft::store

namespace rc {
template <>
struct Arbitrary<weft::store::ModelCommand> {
  static Gen<weft::store::ModelCommand> arbitrary() {
    using weft::store::ModelCommand;
    return gen::build<ModelCommand>(
        gen::set(&ModelCommand::kind, gen::resize(100, gen::inRange<std::uint32_t>(0, 19))),
        gen::set(&ModelCommand::who, gen::resize(100, gen::inRange<std::uint32_t>(0, 3))),
        gen::set(&ModelCommand::what, gen::resize(100, gen::inRange<std::uint32_t>(0, 1'000'000))));
  }
};
}  // namespace rc

namespace weft::store {
namespace {

void print(const ModelCounts& counts) {
  std::cout << fmt::format(
      "{} commands: {} acknowledged, {} refused, {} failed; {} processes killed, power lost {} times ({} while "
      "recovering), {} merges, {} old snapshots\n",
      counts.commands, counts.acknowledged, counts.refused, counts.failed, counts.killed, counts.power_lost,
      counts.power_lost_recovering, counts.merges, counts.old_snapshots);
}

TEST(Model, RandomCommandsAgreeWithMapsAndLists) {
  ModelCounts counts;
  const bool agrees = rc::check("the store is what the maps say", [&](const std::vector<ModelCommand>& commands) {
    const std::string wrong = run_model(commands, counts);
    if (!wrong.empty()) RC_FAIL(wrong);
  });
  EXPECT_TRUE(agrees);
  print(counts);
  EXPECT_GT(counts.acknowledged, 0u);
  EXPECT_GT(counts.refused, 0u);
  EXPECT_GT(counts.failed, 0u);
  EXPECT_GT(counts.killed, 0u);
  EXPECT_GT(counts.power_lost_recovering, 0u);
  EXPECT_GT(counts.old_snapshots, 0u);
}

/// Canary: bugs put in on purpose, in the disk's way and in the store's, are found within a few lists.
TEST(Model, FindsBugsPutInOnPurpose) {
  struct Canary {
    const char* name;
    ModelOptions options;
  };
  const Canary canaries[] = {{"nothing wrong", {}},
                             {"no flush of the log", {.disk = Sabotage::no_log_flush}},
                             {"flush of the log too late", {.disk = Sabotage::late_log_flush}},
                             {"errors of flushes lost", {.disk = Sabotage::flush_errors_lost}},
                             {"expectations not judged", {.store = ModelSabotage::no_judging}},
                             {"half of a transaction", {.store = ModelSabotage::half_of_it}},
                             {"other bytes", {.store = ModelSabotage::wrong_bytes}}};
  for (const Canary& canary : canaries) {
    std::string found;
    std::uint64_t seed = 1;
    for (; seed <= 50 && found.empty(); ++seed) {
      FakeRandom random(seed);
      std::vector<ModelCommand> commands(30);
      for (auto& command : commands) {
        command.kind = static_cast<std::uint32_t>(random.below(19));
        command.who = static_cast<std::uint32_t>(random.below(3));
        command.what = static_cast<std::uint32_t>(random.below(1'000'000));
      }
      ModelCounts counts;
      found = run_model(commands, counts, canary.options);
    }
    if (canary.options.disk == Sabotage::none && canary.options.store == ModelSabotage::none) {
      EXPECT_TRUE(found.empty()) << found;
      continue;
    }
    EXPECT_FALSE(found.empty()) << "the model does not notice: " << canary.name;
    std::cout << canary.name << ": list " << seed - 1 << ": " << found << "\n";
  }
}

}  // namespace
}  // namespace weft::store
