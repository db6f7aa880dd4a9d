// Threads for work that shares itself out: how many are worth having, and running them to the end.
//
// Threading: run_workers() returns when every thread it started has ended.
#pragma once

#include <functional>

namespace weft {

inline constexpr unsigned kMinWorkers = 2;
inline constexpr unsigned kMaxWorkers = 8;

/// The processors this process may run on, within the two bounds: waiting for a disk is worth a second thread on one.
unsigned worker_count();

/// Calls work(0) on this thread and work(1) to work(count - 1) on threads of their own, which do not take the process's
/// signals. Where the system gives fewer threads, the rest is not called: no part of the work may depend on one of
/// them.
void run_workers(unsigned count, const std::function<void(unsigned worker)>& work);

}  // namespace weft
