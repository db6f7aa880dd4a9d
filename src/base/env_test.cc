#include "base/env.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "base/ids.h"

namespace weft {
namespace {

TEST(SystemRandom, NeverRepeatsAcrossThreadsAndRefills) {
  std::set<NodeId> seen;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const auto id = system_random().id<NodeId>();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(seen.insert(id).second);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  Bytes large(10'000, '\0');
  system_random().fill(large);
  EXPECT_LT(std::count(large.begin(), large.end(), '\0'), 200);
}

TEST(SystemRandom, AForkedChildDrawsItsOwn) {
  (void)system_random().id<NodeId>();  // the buffer is filled now
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto id = system_random().id<NodeId>();
    ::_exit(::write(fds[1], id.bytes.data(), id.bytes.size()) == 16 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  NodeId theirs;
  ASSERT_EQ(::read(fds[0], theirs.bytes.data(), theirs.bytes.size()), 16);
  EXPECT_NE(theirs, system_random().id<NodeId>());
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST(SystemClock, AgreesWithTheSystemAndNeverGoesBack) {
  const auto before = ::time(nullptr);
  const std::int64_t now = system_clock().now_ns();
  EXPECT_GE(now / 1'000'000'000, before - 1);
  EXPECT_LE(now / 1'000'000'000, before + 60);
  std::int64_t last = system_clock().monotonic_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t next = system_clock().monotonic_ns();
    EXPECT_GE(next, last);
    last = next;
  }
}

TEST(SystemClock, KnowsTheZone) {
  const char* const saved = ::getenv("TZ");
  const std::string before = saved != nullptr ? saved : "";
  ::setenv("TZ", "XYZ-05:30", 1);  // POSIX sign: west positive
  ::tzset();
  EXPECT_EQ(system_clock().zone_offset_min(0), 330);
  EXPECT_EQ(system_clock().zone_offset_min(-1), 330);
  if (saved != nullptr) {
    ::setenv("TZ", before.c_str(), 1);
  } else {
    ::unsetenv("TZ");
  }
  ::tzset();
}

}  // namespace
}  // namespace weft
