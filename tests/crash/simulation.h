// Several processes on one store, in simulated time, from a seed: random transactions, processes killed at random
// points, flushes that fail, reads beside, the power going several times, also while the store recovers from the last
// time; after each loss the disk is one that D1 to D5 (sim_file_system.h) allow: writes torn, renames and names lost.
// Everything is compared with a simple model (store_world.h).
//
// Invariants:
//   SIM1  A seed decides everything: the same seed gives the same end hash.
//   SIM2  What a loss of power left of a transaction whose author was not told stays so: there for good, or gone for
//         good.
// Threading: one thread.
#pragma once

#include <set>

#include "sabotage.h"
#include "store_world.h"

namespace weft::store {

struct SimulationPlan {
  std::uint64_t seed = 1;
  std::uint64_t processes = 3;
  std::uint64_t transactions = 12;  ///< of each, between two losses of power
  std::uint64_t kill_one_in = 0;    ///< points; 0: nobody dies
  std::uint64_t fault_one_in = 0;   ///< transactions; 0: the disk is sound
  std::uint64_t power_losses = 0;   ///< in the middle; at the end there is one in any case
  bool many_objects = false;        ///< so that merges happen
  bool large = true;
  std::uint64_t segment_bytes = 1u << 20;
  bool crowded = false;                ///< all with frames near a quarter of the ring at once: it gets full
  Sabotage sabotage = Sabotage::none;  ///< a bug put in on purpose
};

SimulationPlan plan_of(std::uint64_t seed);

class Simulation {
 public:
  using Points = std::map<std::string, std::uint64_t, std::less<>>;

  explicit Simulation(const SimulationPlan& plan);
  ~Simulation();

  /// What is wrong, empty when nothing is.
  std::vector<std::string> run();

  std::uint64_t end_hash() const { return hash_; }
  /// How often each point was passed, and what else happened ("sim:...").
  const Points& points() const { return points_; }
  const Journal& journal() const { return journal_; }

 private:
  /// From one loss of power to the next.
  struct Epoch;

  void problem(std::string text);
  void count(const char* name);
  bool power_is_off() const;
  bool last_epoch() const { return epoch_number_ == plan_.power_losses; }

  void begin_epoch(std::unique_ptr<SimFileSystem> disk);
  bool run_processes();
  void end_epoch();
  void lose_power();
  /// SIM2: what the first look after a loss of power finds is what holds from then on.
  Result<void> settle(Store& store);
  void flush_time();
  void final_commit(StoreProcess& process);
  void live(std::uint64_t number);
  bool dies(const char* name, std::string_view place, std::uint64_t& passes);
  void work(StoreProcess& process, std::uint64_t& left);
  Attempt plan_attempt(const std::map<std::string, Version>& refs);
  void commit(Store& store, const Snapshot& snapshot);
  void winner_is_durable(Store& store, const Attempt& attempt);
  void look(Store& store, const Snapshot& snapshot);
  void crash();

  SimulationPlan plan_;
  FakeClock clock_;
  FakeRandom random_;
  std::uint64_t epoch_number_ = 0;
  std::unique_ptr<Epoch> epoch_;
  Journal journal_;
  Points points_;
  std::uint64_t hash_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace weft::store
