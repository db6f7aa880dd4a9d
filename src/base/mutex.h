// Mutex: std::mutex with clang's thread-safety annotations, so that `./dev test --full` checks at compile time that
// what is WEFT_GUARDED_BY a mutex is touched only with it held. With g++ the annotations are nothing.
//
// See https://clang.llvm.org/docs/ThreadSafetyAnalysis.html for what each means.
#pragma once

#include <mutex>

#if defined(__clang__)
#define WEFT_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define WEFT_THREAD_ATTRIBUTE(x)
#endif

/// Of a member: touched only with the mutex held.
#define WEFT_GUARDED_BY(mutex) WEFT_THREAD_ATTRIBUTE(guarded_by(mutex))
/// Of a function: called only with the mutex held.
#define WEFT_REQUIRES(...) WEFT_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// Of a function: called only without the mutex, which it takes itself.
#define WEFT_EXCLUDES(...) WEFT_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// Lock order: this one before the others.
#define WEFT_ACQUIRED_BEFORE(...) WEFT_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
#define WEFT_NO_THREAD_SAFETY_ANALYSIS WEFT_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace weft {

class WEFT_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() WEFT_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() WEFT_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() WEFT_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope. A std::condition_variable_any can wait on the Mutex itself.
class WEFT_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEFT_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() WEFT_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace weft
