#include "base/env.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/immortal.h"
#include "base/mutex.h"

namespace weft {

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  WEFT_CHECK(::clock_gettime(clock, &now) == 0);
  return static_cast<std::int64_t>(now.tv_sec) * kNsPerSecond + now.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() override { return read_clock(CLOCK_REALTIME); }
  std::int64_t monotonic_ns() override { return read_clock(CLOCK_MONOTONIC); }
  std::int32_t zone_offset_min(std::int64_t unix_ns) override {
    std::int64_t seconds = unix_ns / kNsPerSecond;
    if (unix_ns % kNsPerSecond < 0) --seconds;
    const time_t time = seconds;
    tm local{};
    if (::localtime_r(&time, &local) == nullptr) return 0;
    return static_cast<std::int32_t>(local.tm_gmtoff / 60);
  }
};

/// Small requests are served from a buffer, so that the ids of one commit cost one system call.
class SystemRandom final : public Random {
 public:
  constexpr SystemRandom() = default;

  void fill(std::span<char> out) override {
    if (out.size() > kBufferSize / 2) {
      from_kernel(out);
      return;
    }
    const MutexLock lock(mutex_);
    // A forked child must not hand out the bytes its parent will hand out.
    const pid_t pid = ::getpid();
    if (pid != owner_ || left_ < out.size()) {
      from_kernel(buffer_);
      left_ = kBufferSize;
      owner_ = pid;
    }
    char* const source = buffer_.data() + (kBufferSize - left_);
    std::copy_n(source, out.size(), out.data());
    std::fill_n(source, out.size(), '\0');  // what was given away is not kept
    left_ -= out.size();
  }

 private:
  static constexpr std::size_t kBufferSize = 256;

  static void from_kernel(std::span<char> out) {
    while (!out.empty()) {
      const ssize_t got = ::getrandom(out.data(), out.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      WEFT_CHECK(got > 0);  // without randomness ids could collide: nothing sensible can go on
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }

  Mutex mutex_;
  std::array<char, kBufferSize> buffer_ WEFT_GUARDED_BY(mutex_){};
  std::size_t left_ WEFT_GUARDED_BY(mutex_) = 0;
  pid_t owner_ WEFT_GUARDED_BY(mutex_) = 0;
};

constinit Immortal<SystemClock> the_clock;
constinit Immortal<SystemRandom> the_random;

}  // namespace

Clock& system_clock() { return the_clock.value; }
Random& system_random() { return the_random.value; }
Env system_env() { return {posix_file_system(), system_clock(), system_random()}; }

}  // namespace weft
