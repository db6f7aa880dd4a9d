#include "log/shared_mutex.h"

#include <new>

namespace weft::log {
namespace {
constexpr std::uint32_t kWaiters = 1;
/// A mutex is held for microseconds (append) or one flush (leader): the first look at the owner comes soon after that.
constexpr std::int64_t kFirstCheckNs = 4'000'000;
}  // namespace

SharedMutex::Acquired SharedMutex::lock(OwnerToken token, const std::function<void(std::uint32_t)>& notice) {
  std::uint32_t held = 0;
  if (word_.compare_exchange_strong(held, token, std::memory_order_acquire)) return {};
  bool check = !looked_.exchange(true, std::memory_order_relaxed);
  std::int64_t timeout = kFirstCheckNs;
  std::int64_t started = 0;
  for (;;) {
    held = word_.load(std::memory_order_relaxed);
    if (held == 0) {
      // Others may still be asleep on the word: keep their mark.
      if (word_.compare_exchange_strong(held, token | kWaiters, std::memory_order_acquire)) return {.waited = true};
      continue;
    }
    const OwnerToken owner = held & ~kWaiters;
    if (check && !control_.alive(owner)) {
      if (word_.compare_exchange_strong(held, token | kWaiters, std::memory_order_acquire))
        return {.from_dead_owner = true, .waited = true};
      continue;
    }
    check = false;
    if ((held & kWaiters) == 0 && !word_.compare_exchange_strong(held, held | kWaiters, std::memory_order_relaxed)) {
      continue;
    }
    const std::int64_t before = clock_.monotonic_ns();
    if (started == 0) started = before;
    control_.wait(word_, owner | kWaiters, timeout);
    const std::int64_t now = clock_.monotonic_ns();
    if (now - before >= timeout) {
      check = true;
      timeout = kOwnerCheckNs;
    }
    if (notice && now - started >= kWaitNoticeNs) {
      started = now;
      try {
        notice(control_.process_of(owner));
      } catch (const std::bad_alloc&) {  // then nobody is told
      }
    }
  }
}

bool SharedMutex::try_lock(OwnerToken token, Acquired& acquired) {
  std::uint32_t held = 0;
  acquired = {};
  if (word_.compare_exchange_strong(held, token, std::memory_order_acquire)) return true;
  if (control_.alive(held & ~kWaiters)) return false;
  acquired = {.from_dead_owner = true, .waited = true};
  return word_.compare_exchange_strong(held, token | kWaiters, std::memory_order_acquire);
}

void SharedMutex::unlock() {
  if (control_.killed()) return;
  const std::uint32_t held = word_.exchange(0, std::memory_order_release);
  if ((held & kWaiters) != 0) control_.wake(word_, 1);
}

}  // namespace weft::log
