#include "base/workers.h"

#include <signal.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {

unsigned worker_count() { return std::clamp(std::thread::hardware_concurrency(), kMinWorkers, kMaxWorkers); }

void run_workers(unsigned count, const std::function<void(unsigned worker)>& work) {
  std::vector<std::jthread> threads;
  if (count > 1) {
    // Handlers run on the thread that called, as they would without the others.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      threads.reserve(count - 1);
      for (unsigned worker = 1; worker < count; ++worker) threads.emplace_back([&work, worker] { work(worker); });
    } catch (const std::system_error&) {
      // As many as there are.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  work(0);
}

}  // namespace weft
