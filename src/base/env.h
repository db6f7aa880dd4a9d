// Env: everything a piece of weft may ask of the outside world, passed explicitly and first.
#pragma once

#include <cstdint>
#include <span>

#include "base/file_system.h"

namespace weft {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall clock, nanoseconds since 1970 UTC. May jump.
  virtual std::int64_t now_ns() = 0;
  /// Never goes back; no relation to the wall clock.
  virtual std::int64_t monotonic_ns() = 0;
  /// Offset of local time from UTC at `unix_ns`, in minutes east.
  virtual std::int32_t zone_offset_min(std::int64_t unix_ns) = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<char> out) = 0;

  template <typename IdType>
  IdType id() {
    IdType result;
    fill({reinterpret_cast<char*>(result.bytes.data()), IdType::kSize});
    return result;
  }
};

struct Env {
  FileSystem& fs;
  Clock& clock;
  Random& random;
};

Clock& system_clock();
/// getrandom(2), buffered per process (and refilled after fork).
Random& system_random();
Env system_env();

}  // namespace weft
