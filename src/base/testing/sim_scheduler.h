// SimScheduler: several flows of control of which exactly one runs at a time, the next one chosen by a seed, in
// simulated time. What they do then depends on the seed alone.
//
// Each flow is a fiber (its own stack, one operating system thread for all): it goes on until it calls a switching
// function. Time stands still while somebody can run, but for the ticks others add; when all wait it jumps to the
// earliest deadline. Invariants:
//   SS1  A flow is never switched away from but in maybe_switch() and wait(). Do not hold a lock across them.
//   SS2  Same seed, same flows: same end hash.
// Threading: everything on the thread that called run().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/testing/fake_env.h"

namespace weft {

class SimScheduler {
 public:
  SimScheduler(std::uint64_t seed, FakeClock& clock);
  ~SimScheduler();
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  /// Before run(), or from a running flow. No exception may leave `body`.
  void add(std::function<void()> body);
  /// Until every flow has ended. False when that took more than `max_steps` switches: the flows are then left as they
  /// are (their stacks are given back, their destructors never run).
  bool run(std::uint64_t max_steps);

  /// Perhaps lets another flow go on. `name` enters the end hash.
  void maybe_switch(std::string_view name);
  /// As futex(2): returns when woken, at once when the word has another value, after `timeout_ns`, or rarely for no
  /// reason.
  void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns);
  void wake(std::atomic<std::uint32_t>& word, int count);

  /// True inside a flow.
  bool inside() const { return current_ != nullptr; }
  FakeRandom& random() { return random_; }
  std::uint64_t end_hash() const { return hash_; }
  std::uint64_t time_jumps() const { return time_jumps_; }

 private:
  struct Flow;
  static void enter(unsigned high, unsigned low);
  void mix(std::uint64_t value);
  void to_scheduler();
  Flow* choose();

  FakeClock& clock_;
  FakeRandom random_;
  std::vector<std::unique_ptr<Flow>> flows_;
  Flow* current_ = nullptr;
  struct Main;
  std::unique_ptr<Main> main_;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::uint64_t time_jumps_ = 0;
};

}  // namespace weft
