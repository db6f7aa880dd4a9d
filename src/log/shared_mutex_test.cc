#include "log/shared_mutex.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/testing/heap_control.h"
#include "log/shared_state.h"

namespace weft::log {
namespace {

/// Processes that share one mutex, in simulated time.
class SharedMutexTest : public testing::Test {
 protected:
  std::unique_ptr<SharedControl> open(SimProcess& process) {
    SharedControlOptions options;
    options.size = 4096;
    options.initialise = [](SharedControl&) { return Result<void>(); };
    return process.open_control(options).value();
  }
  static SharedMutexWord& word(SharedControl& control) { return *reinterpret_cast<SharedMutexWord*>(control.base()); }

  SimFileSystem disk_;
  FakeClock clock_;
  SimScheduler scheduler_{11, clock_};
  HeapBlock block_{clock_, &scheduler_};
};

TEST_F(SharedMutexTest, OneAtATimeAlsoThroughDeaths) {
  clock_.set_tick(1000);
  SimProcess first(block_, disk_);
  const auto keep = open(first);
  int inside = 0;
  int entered = 0;
  int died = 0;
  int told = 0;
  for (std::uint32_t number = 1; number <= 5; ++number) {
    scheduler_.add([&, number] {
      for (int life = 0; life < 20; ++life) {
        SimProcess process(block_, disk_, number);
        const auto control = open(process);
        const OwnerToken token = control->token().value();
        SharedMutex mutex(*control, clock_, word(*control));
        const bool dies = scheduler_.random().chance(3);
        process.dies_at = [dies](const char* name) { return dies && std::string_view(name) == "inside"; };
        try {
          const auto acquired = mutex.lock(token, {});
          if (acquired.from_dead_owner) {
            ++told;
            inside = 0;  // what the dead one left
          }
          EXPECT_EQ(inside, 0);
          ++inside;
          ++entered;
          process.point("inside");
          process.point("still inside");
          EXPECT_EQ(inside, 1);
          --inside;
          mutex.unlock();
        } catch (const Killed&) {
          ++died;
        }
      }
    });
  }
  ASSERT_TRUE(scheduler_.run(1'000'000)) << "they wait for ever";
  EXPECT_EQ(entered, 100);
  EXPECT_GT(died, 10);
  EXPECT_GE(told, died - 1);  // of the last one, nobody may have come to know
}

TEST_F(SharedMutexTest, ADeadOwnerHoldsUpNobodyForLong) {  // G3
  auto dead = std::make_unique<SimProcess>(block_, disk_, 1);
  auto control = open(*dead);
  SharedMutex theirs(*control, clock_, word(*control));
  theirs.lock(control->token().value(), {});
  std::int64_t waited = 0;
  scheduler_.add([&] {
    SimProcess process(block_, disk_, 2);
    const auto own = open(process);
    SharedMutex mutex(*own, clock_, word(*own));
    // It is alive at the first look, and dies while we sleep.
    const std::int64_t before = clock_.monotonic_ns();
    EXPECT_TRUE(mutex.lock(own->token().value(), {}).from_dead_owner);
    waited = clock_.monotonic_ns() - before;
    mutex.unlock();
  });
  scheduler_.add([&] {
    control.reset();
    dead.reset();
  });
  ASSERT_TRUE(scheduler_.run(10'000));
  EXPECT_LE(waited, 2 * kOwnerCheckNs);
}

TEST_F(SharedMutexTest, WaitingForALiveOwnerIsSaidOnceASecond) {
  SimProcess owner(block_, disk_, 1);
  const auto control = open(owner);
  SharedMutex theirs(*control, clock_, word(*control));
  theirs.lock(control->token().value(), {});
  int notices = 0;
  scheduler_.add([&] {
    SimProcess process(block_, disk_, 2);
    const auto own = open(process);
    SharedMutex mutex(*own, clock_, word(*own));
    const auto acquired = mutex.lock(own->token().value(), [&](std::uint32_t) {
      if (++notices == 3) theirs.unlock();
    });
    EXPECT_FALSE(acquired.from_dead_owner);
    EXPECT_TRUE(acquired.waited);
    mutex.unlock();
  });
  const std::int64_t before = clock_.monotonic_ns();
  ASSERT_TRUE(scheduler_.run(10'000));
  EXPECT_EQ(notices, 3);
  EXPECT_GE(clock_.monotonic_ns() - before, 3 * kWaitNoticeNs);
}

TEST_F(SharedMutexTest, TryLockTakesOnlyWhatIsFreeOrDead) {
  SimProcess a(block_, disk_, 1);
  SimProcess b(block_, disk_, 2);
  auto control_a = open(a);
  const auto control_b = open(b);
  SharedMutex mutex_a(*control_a, clock_, word(*control_a));
  SharedMutex mutex_b(*control_b, clock_, word(*control_b));
  SharedMutex::Acquired acquired;
  EXPECT_TRUE(mutex_a.try_lock(control_a->token().value(), acquired));
  EXPECT_FALSE(mutex_b.try_lock(control_b->token().value(), acquired));
  control_a.reset();
  EXPECT_TRUE(mutex_b.try_lock(control_b->token().value(), acquired));
  EXPECT_TRUE(acquired.from_dead_owner);
  mutex_b.unlock();
  EXPECT_TRUE(mutex_b.try_lock(control_b->token().value(), acquired));
  EXPECT_FALSE(acquired.from_dead_owner);
}

/// Real threads: what is read together was written together.
TEST(PublishedWords, AreNeverSeenMixed) {
  PublishedWords<6> words{};
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i)
      words.store({i, i + 1, i + 2, i + 3, i + 4, i + 5});
  });
  std::uint64_t last = 0;
  std::uint64_t changes = 0;
  for (std::uint64_t reads = 0; reads < 200'000 || (changes < 100 && reads < 50'000'000); ++reads) {
    const auto seen = words.load();
    if (seen[0] == 0) continue;
    for (std::uint64_t i = 0; i < 6; ++i) ASSERT_EQ(seen[i], seen[0] + i);
    ASSERT_GE(seen[0], last);
    changes += seen[0] != last ? 1 : 0;
    last = seen[0];
  }
  stop = true;
  writer.join();
  EXPECT_GE(changes, 100u);
}

}  // namespace
}  // namespace weft::log
