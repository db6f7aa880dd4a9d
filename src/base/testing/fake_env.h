// Fakes of the outside world: time and chance that a test decides. Nothing here reads the real ones.
//
// Threading: all of them may be used by many threads (then the order of calls decides who gets which value).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/env.h"
#include "base/testing/fake_random.h"
#include "base/testing/sim_file_system.h"

namespace weft {

/// Stands still unless told: set(), advance(), or a tick added after every reading.
class FakeClock final : public Clock {
 public:
  /// 2001-09-09 01:46:40 UTC.
  static constexpr std::int64_t kStartNs = 1'000'000'000'000'000'000;

  explicit FakeClock(std::int64_t start_ns = kStartNs, std::int64_t tick_ns = 0) : now_(start_ns), tick_(tick_ns) {}

  std::int64_t now_ns() override { return now_.fetch_add(tick_); }
  std::int64_t monotonic_ns() override { return monotonic_.fetch_add(tick_); }
  std::int32_t zone_offset_min(std::int64_t) override { return zone_.load(); }

  /// The wall clock jumps; the monotonic one does not notice.
  void set(std::int64_t unix_ns) { now_ = unix_ns; }
  /// Both go on.
  void advance(std::int64_t ns) {
    now_ += ns;
    monotonic_ += ns;
  }
  void set_tick(std::int64_t ns) { tick_ = ns; }
  void set_zone(std::int32_t minutes_east) { zone_ = minutes_east; }

 private:
  std::atomic<std::int64_t> now_;
  std::atomic<std::int64_t> monotonic_ = 0;
  std::atomic<std::int64_t> tick_;
  std::atomic<std::int32_t> zone_ = 0;
};

/// A whole simulated world from one seed.
struct FakeEnv {
  explicit FakeEnv(std::uint64_t seed = 1) : fs(seed), random(seed) {}
  operator Env() {
    return {fs, clock, random};
  }  // NOLINT(google-explicit-constructor): handed to every function of weft
  Env env() { return *this; }

  SimFileSystem fs;
  FakeClock clock;
  FakeRandom random;
};

}  // namespace weft
