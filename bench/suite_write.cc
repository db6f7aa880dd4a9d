// BW1, BW2 (a), BW2 (b), BW2b: writers.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "suites.h"

namespace weft::bench {
namespace {

/// Keeps CPUs busy beside the writers while it lives.
class Hogs {
 public:
  explicit Hogs(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        for (std::uint64_t n = 0;; ++n) asm volatile("" : "+r"(n));
      }
      if (pid > 0) pids_.push_back(pid);
    }
  }
  ~Hogs() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Hogs(const Hogs&) = delete;
  Hogs& operator=(const Hogs&) = delete;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace

SuiteResult run_writers_suite(const Options& options, const std::string& id) {
  SuiteResult suite;
  suite.id = id;
  suite.key = "per_second";
  suite.columns = {{"p50_us", "p50 us"},
                   {"p99_us", "p99 us"},
                   {"worst_us", "worst us"},
                   {"fastest_to_slowest", "fastest to slowest writer", 2},
                   {"busy", "busy or conflict"},
                   {"flushes_per_commit", "flushes a commit", 3},
                   {"writes_per_commit", "writes a commit", 2},
                   {"written_bytes_per_commit", "bytes written a commit"},
                   {"zero_bytes_per_commit", "of them zero-filled ahead"},
                   {"device_bytes_per_commit", "bytes to the device a commit"},
                   {"context_switches_per_commit", "context switches a commit", 2},
                   {"cpu_us_per_commit", "CPU us a commit", 1},
                   {"store_bytes_per_commit", "bytes on disk a commit"}};
  WriteRun run;
  run.seconds = options.seconds;
  run.writers = options.writers;
  const std::string writers = std::to_string(options.writers) + " writers";
  if (id == "bw1") {
    suite.title = "One writer, " + std::to_string(options.count) + " commits.";
    run.writers = 1;
    run.count = options.count;
  } else if (id == "bw2a") {
    suite.title = writers + ", a ref each, moved by compare-and-swap.";
    run.work = Work::own_ref;
  } else if (id == "bw2b-ledger") {
    suite.title = writers + ", one ref, moved from whatever it holds inside the transaction.";
    run.work = Work::shared_ref;
  } else if (id == "bw2b") {
    suite.title = writers +
                  " land on one ref; a change that loses is made again on the new value (weft: inside the lock that "
                  "orders transactions).";
    run.work = Work::shared_land;
    suite.columns.insert(suite.columns.begin(), {"attempts_per_commit", "attempts a landing", 2});
  } else {
    throw std::runtime_error("no suite " + id);
  }
  if (options.hogs) suite.title += " Beside " + std::to_string(options.hogs) + " busy processes.";
  const Hogs hogs(options.hogs);
  run_interleaved(options, suite, [&](const Contender& contender, int round) {
    WriteRun one = run;
    one.contender = &contender;
    one.directory = fresh_directory(options, id);
    one.seed = options.seed * 100 + static_cast<std::uint64_t>(round);
    in_child([&] { contender.create(one.directory); });
    return run_writers(one);
  });
  return suite;
}

}  // namespace weft::bench
