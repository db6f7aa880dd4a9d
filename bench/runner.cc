#include "runner.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "workload.h"

namespace weft::bench {
namespace {

/// What a writer leaves behind, in shared memory.
struct WriterSlot {
  Histogram latency;
  std::uint64_t commits = 0, attempts = 0, busy = 0;
  std::int64_t started_ns = 0, ended_ns = 0;
};
/// One per process.
struct ProcessSlot {
  Usage used;
  char error[256];
};
struct Gate {
  std::atomic<int> ready, ended;
};

std::int64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

void write_loop(const WriteRun& run, Session& session, int writer, WriterSlot& slot) {
  SmallRandom random(run.seed * 1'000'003 + static_cast<std::uint64_t>(writer));
  char own[32];
  std::snprintf(own, sizeof(own), "bench/writer-%02d", writer);
  const std::string ref = run.work == Work::own_ref ? own : "bench/shared";
  Id32 last;
  slot.started_ns = now_ns();
  const std::int64_t until = slot.started_ns + static_cast<std::int64_t>(run.seconds * 1e9);
  std::int64_t start = slot.started_ns;
  while (run.count ? slot.commits < run.count : start < until) {
    CommitReply reply;
    if (run.work == Work::shared_land) {
      const NewChange wanted = random_change(random, Id32{}, wall_ns());
      while (true) {
        if (const auto landed = session.land(wanted, ref)) {
          reply = *landed;
          ++slot.attempts;
          break;
        }
        const std::optional<Id32> seen = session.read_ref(ref);
        const NewChange change = random_change(random, seen.value_or(Id32{}), wall_ns());
        reply = session.commit({change, ref, Move::compare_and_swap, change.parent});
        ++slot.attempts;
        slot.busy += reply.busy;
        if (reply.landed) break;
        if (!run.count && now_ns() > until + 30'000'000'000ll)
          throw std::runtime_error("a change did not land in 30 s");
      }
    } else {
      const NewChange change = random_change(random, last, wall_ns());
      const Move move = run.work == Work::own_ref ? Move::compare_and_swap : Move::from_whatever;
      reply = session.commit({change, ref, move, last});
      ++slot.attempts;
      slot.busy += reply.busy;
      if (!reply.landed) throw std::runtime_error("lost a race that nobody else ran");
      last = reply.id;
    }
    const std::int64_t end = now_ns();
    slot.latency.add(end - start);
    ++slot.commits;
    start = end;
  }
  slot.ended_ns = now_ns();
}

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int which) {
    if (ends[which] >= 0) ::close(std::exchange(ends[which], -1));
  }
  /// Returns when the parent closes its end.
  void wait() const {
    char byte = 0;
    while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
  }
};

/// One process of the run, with one writer or, where the contender needs it, with all.
void writer_process(const WriteRun& run, int first, int count, WriterSlot* slots, ProcessSlot& process, Gate& gate,
                    const Pipe& go, const Pipe& leave) {
  const auto database = run.contender->open(run.directory);
  Usage before;
  if (count == 1) {
    const auto session = database->session();
    gate.ready.fetch_add(1);
    go.wait();
    before = Usage::self();
    write_loop(run, *session, first, slots[first]);
    process.used = Usage::self() - before;
    gate.ended.fetch_add(1);
    leave.wait();
    return;
  }
  std::vector<std::thread> threads;
  std::atomic<bool> failed = false;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto session = database->session();
        gate.ready.fetch_add(1);
        go.wait();
        write_loop(run, *session, first + i, slots[first + i]);
      } catch (const std::exception& error) {
        if (!failed.exchange(true)) std::snprintf(process.error, sizeof(process.error), "%s", error.what());
        ::_exit(1);
      }
    });
  }
  go.wait();
  before = Usage::self();
  for (auto& thread : threads) thread.join();
  process.used = Usage::self() - before;
  gate.ended.fetch_add(count);
  leave.wait();
}

class Children {
 public:
  ~Children() {
    for (const pid_t pid : pids_) {
      if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
    }
  }
  void add(pid_t pid) { pids_.push_back(pid); }
  /// Polls until `counter` reaches `wanted`; throws when a child ends early.
  void wait_for(const std::atomic<int>& counter, int wanted, const ProcessSlot* slots) {
    while (counter.load() < wanted) {
      reap(WNOHANG, slots, true);
      ::usleep(10'000);  // seldom: each look asks after every child
    }
  }
  void wait_all(const ProcessSlot* slots) { reap(0, slots, false); }

 private:
  void reap(int flags, const ProcessSlot* slots, bool early) {
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      int status = 0;
      if (pids_[i] <= 0 || ::waitpid(pids_[i], &status, flags) <= 0) continue;
      pids_[i] = 0;
      if (early || status != 0) {
        throw std::runtime_error(slots[i].error[0] ? slots[i].error
                                                   : "a writer died with status " + std::to_string(status));
      }
    }
  }
  std::vector<pid_t> pids_;
};

}  // namespace

void in_child(const std::function<void()>& body) {
  auto* error = static_cast<char*>(shared_memory(256));
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid == 0) {
    try {
      body();
    } catch (const std::exception& caught) {
      std::snprintf(error, 256, "%s", caught.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error(error[0] ? error : "a child died with status " + std::to_string(status));
}

Metrics run_writers(const WriteRun& run) {
  const int processes = run.contender->threads_only() ? 1 : run.writers;
  const int each = run.contender->threads_only() ? run.writers : 1;
  auto* slots = shared_array<WriterSlot>(static_cast<std::size_t>(run.writers));
  auto* process_slots = shared_array<ProcessSlot>(static_cast<std::size_t>(processes));
  auto* gate = shared_array<Gate>(1);
  Pipe go, leave;
  Children children;
  std::fflush(nullptr);
  for (int i = 0; i < processes; ++i) {
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork");
    if (pid == 0) {
      go.close_end(1);
      leave.close_end(1);
      try {
        writer_process(run, i * each, each, slots, process_slots[i], *gate, go, leave);
      } catch (const std::exception& error) {
        std::snprintf(process_slots[i].error, sizeof(process_slots[i].error), "%s", error.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    children.add(pid);
  }
  children.wait_for(gate->ready, run.writers, process_slots);
  ::usleep(20'000);  // the last ones have to get from the counter to the gate
  const FlushCounts flushes_before = FlushCounts::now();
  const DiskCounts disk_before = DiskCounts::of(run.directory);
  go.close_end(1);
  children.wait_for(gate->ended, run.writers, process_slots);
  const FlushCounts flushes = FlushCounts::now() - flushes_before;
  const DiskCounts disk = DiskCounts::of(run.directory) - disk_before;
  leave.close_end(1);
  children.wait_all(process_slots);

  Histogram latency;
  std::uint64_t commits = 0, attempts = 0, busy = 0, slowest = ~0ull, fastest = 0;
  std::int64_t started = slots[0].started_ns, ended = 0;
  for (int i = 0; i < run.writers; ++i) {
    const WriterSlot& slot = slots[i];
    latency.add(slot.latency);
    commits += slot.commits;
    attempts += slot.attempts;
    busy += slot.busy;
    slowest = std::min(slowest, slot.commits);
    fastest = std::max(fastest, slot.commits);
    started = std::min(started, slot.started_ns);
    ended = std::max(ended, slot.ended_ns);
  }
  Usage used;
  for (int i = 0; i < processes; ++i) {
    const Usage& one = process_slots[i].used;
    used.context_switches += one.context_switches;
    used.involuntary += one.involuntary;
    used.user_us += one.user_us;
    used.system_us += one.system_us;
    used.minor_faults += one.minor_faults;
    used.io_write_bytes += one.io_write_bytes;
    used.max_rss_kb += one.max_rss_kb;
  }
  const auto per_commit = [commits](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(commits); };
  Metrics m;
  const double seconds = static_cast<double>(ended - started) / 1e9;
  m["commits"] = static_cast<double>(commits);
  m["seconds"] = seconds;
  m["per_second"] = static_cast<double>(commits) / seconds;
  m["p50_us"] = latency.quantile_us(0.5);
  m["p99_us"] = latency.quantile_us(0.99);
  m["p999_us"] = latency.quantile_us(0.999);
  m["worst_us"] = latency.worst_us();
  m["fastest_to_slowest"] = slowest ? static_cast<double>(fastest) / static_cast<double>(slowest) : 0;
  m["attempts_per_commit"] = per_commit(attempts);
  m["busy"] = static_cast<double>(busy);
  m["flushes_per_commit"] = per_commit(flushes.flushes + flushes.range_syncs);
  m["writes_per_commit"] = per_commit(flushes.writes);
  m["written_bytes_per_commit"] = per_commit(flushes.write_bytes);
  m["device_bytes_per_commit"] = per_commit(disk.written_bytes);
  m["device_flushes_per_commit"] = per_commit(disk.flushes);
  m["dirtied_bytes_per_commit"] = per_commit(used.io_write_bytes);
  m["context_switches_per_commit"] = per_commit(used.context_switches);
  m["involuntary_per_commit"] = per_commit(used.involuntary);
  m["cpu_us_per_commit"] = per_commit(used.user_us + used.system_us);
  m["system_us_per_commit"] = per_commit(used.system_us);
  m["faults_per_commit"] = per_commit(used.minor_faults);
  m["max_rss_mb_sum"] = static_cast<double>(used.max_rss_kb) / 1024;
  const TreeSize size = tree_size(run.directory);
  m["store_bytes_per_commit"] = per_commit(size.allocated);

  struct After {
    std::uint64_t changes;
    std::uint32_t counters;
    struct {
      char name[48];
      double value;
    } counter[32];
  };
  auto* after = shared_array<After>(1);
  in_child([&] {
    const auto database = run.contender->open(run.directory);
    after->changes = run.check_count ? database->session()->change_count() : 0;
    for (const auto& [name, value] : database->counters()) {
      auto& counter = after->counter[after->counters++ % std::size(after->counter)];
      std::snprintf(counter.name, sizeof(counter.name), "own_%s", name.c_str());
      counter.value = value;
    }
  });
  for (std::uint32_t i = 0; i < after->counters; ++i) m[after->counter[i].name] = after->counter[i].value;
  if (m.contains("own_zero_bytes")) {
    // All of the store's life, its creation too; the peers do not write zeros ahead.
    m["zero_bytes_per_commit"] = m["own_zero_bytes"] / static_cast<double>(commits);
    m["own_flushes_per_commit"] = m["own_flushes"] / static_cast<double>(commits);
    m["log_bytes_per_commit"] = m["own_bytes_written"] / static_cast<double>(commits);
  }
  if (run.check_count && after->changes < commits) {  // R2
    throw std::runtime_error(run.contender->name() + " acknowledged " + std::to_string(commits) +
                             " changes and holds " + std::to_string(after->changes));
  }
  return m;
}

}  // namespace weft::bench
