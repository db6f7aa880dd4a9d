#include "base/testing/fake_env.h"

#include <gtest/gtest.h>

#include "base/ids.h"

namespace weft {
namespace {

TEST(FakeClock, StandsStillUntilTold) {
  FakeClock clock;
  EXPECT_EQ(clock.now_ns(), FakeClock::kStartNs);
  EXPECT_EQ(clock.now_ns(), FakeClock::kStartNs);
  clock.advance(5);
  EXPECT_EQ(clock.now_ns(), FakeClock::kStartNs + 5);
  EXPECT_EQ(clock.monotonic_ns(), 5);
  clock.set(7);
  EXPECT_EQ(clock.now_ns(), 7);
  EXPECT_EQ(clock.monotonic_ns(), 5) << "a jump of the wall clock";
  clock.set_zone(-90);
  EXPECT_EQ(clock.zone_offset_min(0), -90);
}

TEST(FakeClock, Ticks) {
  FakeClock clock(100, 10);
  EXPECT_EQ(clock.now_ns(), 100);
  EXPECT_EQ(clock.now_ns(), 110);
  EXPECT_EQ(clock.monotonic_ns(), 0);
  EXPECT_EQ(clock.monotonic_ns(), 10);
}

TEST(FakeRandom, RepeatsBySeed) {
  FakeRandom a(3), b(3), c(4);
  const auto first = a.id<NodeId>();
  EXPECT_EQ(first, b.id<NodeId>());
  EXPECT_NE(first, c.id<NodeId>());
  EXPECT_NE(first, a.id<NodeId>());
  for (int i = 0; i < 1000; ++i) EXPECT_LT(a.below(7), 7u);
}

TEST(FakeEnv, IsAnEnv) {
  FakeEnv world;
  const Env env = world;
  EXPECT_TRUE(write_file_durably(env.fs, "a", "x"));
  EXPECT_EQ(world.fs.content("a"), "x");
}

}  // namespace
}  // namespace weft
