// A mutex between processes that survives its owner's death, over SharedControl.
//
// The word is 0 (free) or the owner's token, with bit 0 set while somebody may be waiting. Uncontended lock and unlock
// are one atomic operation each. Waiters sleep on the futex; they look whether the owner is alive when they find it
// held for the first time in this process, and whenever a wait has timed out. Whoever takes the mutex from a dead owner
// is told so and must repair what the mutex guards before relying on it. Lock order: docs/ARCHITECTURE.md, "Locks".
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/env.h"
#include "base/shared_control.h"

namespace weft::log {

struct SharedMutexWord {
  SharedControl::Word word;
};

/// Longest sleep before looking again whether the owner lives: how long a killed process can block others (G3).
inline constexpr std::int64_t kOwnerCheckNs = 50'000'000;
/// After this long, `notice` says for whom we wait.
inline constexpr std::int64_t kWaitNoticeNs = 1'000'000'000;

class SharedMutex {
 public:
  struct Acquired {
    bool from_dead_owner = false;
    bool waited = false;  ///< it was not free at once
  };

  SharedMutex(SharedControl& control, Clock& clock, SharedMutexWord& word)
      : control_(control), clock_(clock), word_(word.word) {}

  /// `token` is this process's. `notice(process)` is called about once a second while waiting for a live owner. Throws
  /// nothing: what waits here may hold other locks.
  Acquired lock(OwnerToken token, const std::function<void(std::uint32_t process)>& notice);
  /// False when a live owner holds it.
  bool try_lock(OwnerToken token, Acquired& acquired);
  void unlock();

 private:
  SharedControl& control_;
  Clock& clock_;
  SharedControl::Word& word_;
  std::atomic<bool> looked_ = false;
};

/// Unlocks at the end of its scope, however that is left: memory can run out anywhere, and a lock taken along by an
/// exception would stop everybody for as long as this process lives.
class SharedUnlock {
 public:
  explicit SharedUnlock(SharedMutex& mutex) : mutex_(&mutex) {}
  SharedUnlock(const SharedUnlock&) = delete;
  SharedUnlock& operator=(const SharedUnlock&) = delete;
  ~SharedUnlock() { now(); }
  void now() {
    if (SharedMutex* const mutex = std::exchange(mutex_, nullptr)) mutex->unlock();
  }

 private:
  SharedMutex* mutex_;
};

}  // namespace weft::log
