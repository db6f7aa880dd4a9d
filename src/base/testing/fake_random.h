// Chance that repeats: SplitMix64 (Steele, Lea, Flood 2014). The same seed gives the same bytes; seeds next to each
// other give unrelated ones. Also for tests' own choices.
#pragma once

#include <cstdint>
#include <span>

#include "base/env.h"
#include "base/mutex.h"

namespace weft {

class FakeRandom final : public Random {
 public:
  explicit FakeRandom(std::uint64_t seed = 1) : state_(seed) {}

  void fill(std::span<char> out) override;
  std::uint64_t next();
  /// 0 .. bound - 1; `bound` > 0.
  std::uint64_t below(std::uint64_t bound);
  /// True once in `one_in` calls.
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  Mutex mutex_;
  std::uint64_t state_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
