// BW3 lookups, BW4 open and kill, BW5 size after loading, BW6 a reader beside a busy writer.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "suites.h"
#include "workload.h"

namespace weft::bench {
namespace {

/// Changes a transaction while loading: a hundredth of them, so that 10 million can be loaded in minutes. (In small
/// transactions of random keys, trees that copy pages would write each of them thousands of times.)
std::uint64_t load_batch(std::uint64_t count) { return std::clamp<std::uint64_t>(count / 100, 1000, 100'000); }

/// Loaded stores: directory per contender, and the keys to ask for, in shared memory.
struct Loaded {
  std::string directory;
  Id32* ids = nullptr;
  Id32* deltas = nullptr;
  std::uint64_t count = 0;
};

Loaded load_store(const Options& options, const Contender& contender, std::uint64_t count, const std::string& name) {
  Loaded loaded;
  loaded.directory = fresh_directory(options, name);
  loaded.count = count;
  loaded.ids = shared_array<Id32>(count);
  loaded.deltas = shared_array<Id32>(count);
  in_child([&] {
    contender.create(loaded.directory);
    const auto database = contender.open(loaded.directory);
    const auto session = database->session();
    SmallRandom random(options.seed);
    std::vector<NewChange> batch;
    for (std::uint64_t done = 0; done < count;) {
      batch.clear();
      while (batch.size() < load_batch(count) && done + batch.size() < count)
        batch.push_back(random_change(random, {}, 1));
      const std::vector<Id32> ids = session->load(batch);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        loaded.ids[done + i] = ids[i];
        loaded.deltas[done + i] = batch[i].delta;
      }
      done += batch.size();
    }
    database->settle();
  });
  return loaded;
}

std::int64_t clock_overhead_ns() {
  Histogram* histogram = shared_array<Histogram>(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t start = now_ns();
    histogram->add(now_ns() - start);
  }
  return static_cast<std::int64_t>(histogram->quantile_us(0.5) * 1000);
}

/// p50 and p99 of `count` calls (or as many as fit in 2 s, for what is slow), each timed by itself less what the clock
/// takes.
template <typename Call>
void time_calls(Metrics& metrics, const std::string& name, int count, const Call& call) {
  static const std::int64_t overhead = clock_overhead_ns();
  auto histogram = std::make_unique<Histogram>();
  std::uint64_t sum = 0;
  const std::int64_t began = now_ns(), warm = began + 500'000'000, until = began + 2'000'000'000;
  for (int i = 0; i < count / 10 && now_ns() < warm; ++i) sum += call(false).bytes;
  for (int i = 0; i < count; ++i) {
    const std::int64_t start = now_ns();
    if (start > until) break;
    const Found found = call(true);
    histogram->add(now_ns() - start - overhead);
    sum += found.bytes;
  }
  metrics[name + "_p50_us"] = histogram->quantile_us(0.5);
  metrics[name + "_p99_us"] = histogram->quantile_us(0.99);
  metrics[name + "_bytes_sum"] = static_cast<double>(sum);
}

Found expect(Found found, bool wanted, const char* what) {
  if (found.found != wanted) throw std::runtime_error(std::string("wrong answer to a lookup: ") + what);
  return found;
}

/// Metrics made in a child, handed back through shared memory.
Metrics metrics_of_child(const std::function<Metrics()>& body) {
  struct Entry {
    char name[48];
    double value;
  };
  constexpr std::size_t kMaxMetrics = 64;
  auto* entries = shared_array<Entry>(kMaxMetrics);
  in_child([&] {
    std::size_t i = 0;
    for (const auto& [name, value] : body()) {
      if (i == kMaxMetrics) throw std::runtime_error("too many metrics");
      std::snprintf(entries[i].name, sizeof(entries[i].name), "%s", name.c_str());
      entries[i++].value = value;
    }
  });
  Metrics metrics;
  for (std::size_t i = 0; i < kMaxMetrics && entries[i].name[0]; ++i) metrics[entries[i].name] = entries[i].value;
  return metrics;
}

Metrics lookups(const Contender& contender, const Loaded& loaded, std::uint64_t seed) {
  constexpr int kCalls = 100'000;
  const auto database = contender.open(loaded.directory);
  const auto session = database->session();
  SmallRandom random(seed ^ 0x6c6f6f6b7570ull);  // another stream than loading used: a miss must be none of its ids
  const auto any_id = [&]() -> const Id32& { return loaded.ids[random.below(loaded.count)]; };
  Metrics m;
  session->begin_reads();
  // Everything once, so that all contenders are measured with what they cache cached.
  for (std::uint64_t i = 0; i < loaded.count; i += 3) expect(session->find_id(loaded.ids[i]), true, "warm-up");
  time_calls(m, "id", kCalls, [&](bool) { return expect(session->find_id(any_id()), true, "id"); });
  time_calls(m, "prefix", kCalls,
             [&](bool) { return expect(session->find_prefix(any_id().view().substr(0, 6)), true, "prefix"); });
  time_calls(m, "delta", kCalls, [&](bool) {
    return expect(session->find_delta(loaded.deltas[random.below(loaded.count)]), true, "delta");
  });
  time_calls(m, "miss", kCalls, [&](bool) { return expect(session->find_id(random_id(random)), false, "miss"); });
  session->end_reads();
  time_calls(m, "fresh", kCalls, [&](bool) { return expect(session->find_fresh(any_id()), true, "fresh"); });
  const TreeSize size = tree_size(loaded.directory);
  m["disk_bytes_per_change"] = static_cast<double>(size.allocated) / static_cast<double>(loaded.count);
  m["max_rss_mb"] = static_cast<double>(Usage::self().max_rss_kb) / 1024;
  return m;
}

/// In a new process: from nothing to the first answer.
Metrics open_and_find(const Contender& contender, const Loaded& loaded, std::uint64_t seed) {
  constexpr int kTries = 21;
  std::vector<double> times;
  for (int i = 0; i < kTries; ++i) {
    SmallRandom random(seed * 1000 + static_cast<std::uint64_t>(i));
    const Id32& id = loaded.ids[random.below(loaded.count)];
    const Metrics one = metrics_of_child([&]() -> Metrics {
      const std::int64_t start = now_ns();
      const auto database = contender.open(loaded.directory);
      const auto session = database->session();
      expect(session->find_fresh(id), true, "first lookup");
      return {{"us", static_cast<double>(now_ns() - start) / 1e3}};
    });
    times.push_back(one.at("us"));
  }
  return {{"open_find_us", median(times)}, {"open_find_worst_us", *std::max_element(times.begin(), times.end())}};
}

/// A writer is killed in the midst of its commits; then a new process opens and commits.
Metrics kill_and_commit(const Options& options, const Contender& contender, const Loaded& loaded, std::uint64_t seed) {
  std::vector<double> times;
  SmallRandom random(seed);
  for (int i = 0; i < options.kills; ++i) {
    auto* commits = shared_array<std::atomic<std::uint64_t>>(1);
    const std::uint64_t victim_seed = random.next();
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork");
    if (pid == 0) {
      try {
        const auto database = contender.open(loaded.directory);
        const auto session = database->session();
        SmallRandom mine(victim_seed);
        while (true) {
          session->commit({random_change(mine, {}, 1), "bench/victim", Move::from_whatever, {}});
          commits->fetch_add(1);
        }
      } catch (const std::exception& error) {
        std::fprintf(stderr, "victim: %s\n", error.what());
      }
      ::_exit(1);
    }
    for (int waits = 0; commits->load() < 3 && waits < 10'000 && ::waitpid(pid, nullptr, WNOHANG) == 0; ++waits)
      ::usleep(1000);
    ::usleep(static_cast<useconds_t>(random.below(20'000)));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    if (commits->load() < 3) throw std::runtime_error("the victim did not commit");
    const Metrics one = metrics_of_child([&]() -> Metrics {
      SmallRandom mine(victim_seed + 1);
      const NewChange change = random_change(mine, {}, 1);
      const std::int64_t start = now_ns();
      const auto database = contender.open(loaded.directory);
      const auto session = database->session();
      session->commit({change, "bench/after", Move::from_whatever, {}});
      return {{"us", static_cast<double>(now_ns() - start) / 1e3}};
    });
    times.push_back(one.at("us"));
  }
  return {{"kill_commit_us", median(times)}, {"kill_commit_worst_us", *std::max_element(times.begin(), times.end())}};
}

std::string thousands(std::uint64_t n) { return std::to_string(n / 1000) + "k"; }

}  // namespace

std::vector<SuiteResult> run_lookup_suites(const Options& options) {
  std::vector<SuiteResult> suites;
  for (const std::uint64_t count : options.records) {
    std::map<std::string, Loaded> stores;
    SuiteResult found, opened;
    found.id = "bw3-" + thousands(count);
    found.title = "Lookups in " + std::to_string(count) +
                  " changes, warm, us: by id (and the record), 6-byte prefix, delta id, "
                  "a miss, a fresh snapshot and id; bytes on disk after loading (and checkpoint or compaction).";
    found.key = "id_p50_us";
    found.higher_is_better = false;
    found.columns = {{"prefix_p50_us", "prefix", 2},
                     {"delta_p50_us", "delta", 2},
                     {"miss_p50_us", "miss", 2},
                     {"fresh_p50_us", "fresh", 2},
                     {"id_p99_us", "id p99", 2},
                     {"fresh_p99_us", "fresh p99", 2},
                     {"disk_bytes_per_change", "bytes on disk"},
                     {"max_rss_mb", "peak MB"}};
    run_interleaved(options, found, [&](const Contender& contender, int round) {
      if (!stores.contains(contender.name())) {
        stores.emplace(contender.name(), load_store(options, contender, count, found.id));
      }
      return metrics_of_child([&] {
        return lookups(contender, stores.at(contender.name()), options.seed + static_cast<std::uint64_t>(round));
      });
    });
    opened.id = "bw4-" + thousands(count);
    opened.title = "Open " + std::to_string(count) +
                   " changes in a new process and find one, us; open and commit after a SIGKILL in a "
                   "writer's commits.";
    opened.key = "open_find_us";
    opened.higher_is_better = false;
    opened.columns = {{"open_find_worst_us", "worst"},
                      {"kill_commit_us", "open + commit after a kill"},
                      {"kill_commit_worst_us", "worst"}};
    run_interleaved(options, opened, [&](const Contender& contender, int round) {
      const Loaded& loaded = stores.at(contender.name());
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round) * 7;
      Metrics m = open_and_find(contender, loaded, seed);
      m.merge(kill_and_commit(options, contender, loaded, seed));
      return m;
    });
    suites.push_back(std::move(found));
    suites.push_back(std::move(opened));
  }
  return suites;
}

SuiteResult run_reader_suite(const Options& options) {
  constexpr std::uint64_t kRecords = 100'000;
  std::map<std::string, Loaded> stores;
  SuiteResult suite;
  suite.id = "bw6";
  suite.title =
      "A reader (fresh snapshot and id, 100,000 changes), idle and beside one writer that commits as fast as it can.";
  suite.key = "busy_p50_us";
  suite.higher_is_better = false;
  suite.columns = {{"idle_p50_us", "idle p50", 2},     {"busy_to_idle", "busy to idle", 2},
                   {"idle_p999_us", "idle p99.9", 1},  {"busy_p999_us", "busy p99.9", 1},
                   {"busy_worst_us", "busy worst", 0}, {"writer_per_second", "writer, commits/s", 0}};
  run_interleaved(options, suite, [&](const Contender& contender, int round) {
    if (!stores.contains(contender.name())) {
      stores.emplace(contender.name(), load_store(options, contender, kRecords, suite.id));
    }
    const Loaded& loaded = stores.at(contender.name());
    struct Shared {
      Histogram idle, busy;
      std::atomic<bool> stop;
      std::atomic<std::uint64_t> commits;
    };
    auto* shared = shared_array<Shared>(1);
    const auto read = [&](Session& session, Histogram& histogram, int salt) {
      SmallRandom random(options.seed + static_cast<std::uint64_t>(round * 2 + salt));
      const std::int64_t until = now_ns() + static_cast<std::int64_t>(options.seconds * 1e9);
      for (std::int64_t start = now_ns(); start < until;) {
        expect(session.find_fresh(loaded.ids[random.below(loaded.count)]), true, "beside a writer");
        const std::int64_t end = now_ns();
        histogram.add(end - start);
        start = end;
      }
    };
    const auto write = [&](Session& session) {
      SmallRandom random(options.seed * 31 + static_cast<std::uint64_t>(round) + 1'000'000);
      while (!shared->stop) {
        session.commit({random_change(random, {}, 1), "bench/busy", Move::from_whatever, {}});
        ++shared->commits;
      }
    };
    in_child([&] {
      // The writer is a process of its own, or a thread where only one process may open the store.
      pid_t pid = 0;
      if (!contender.threads_only()) {
        int gate[2];
        if (::pipe(gate) != 0) throw std::runtime_error("pipe");
        pid = ::fork();
        if (pid == 0) {
          char byte = 0;
          ::close(gate[1]);
          if (::read(gate[0], &byte, 1) == 1) {
            const auto database = contender.open(loaded.directory);
            write(*database->session());
          }
          ::_exit(0);
        }
        ::close(gate[0]);
        const auto database = contender.open(loaded.directory);
        const auto session = database->session();
        read(*session, shared->idle, 0);
        if (::write(gate[1], "g", 1) != 1) throw std::runtime_error("gate");
        while (shared->commits < 10) ::usleep(1000);
        read(*session, shared->busy, 1);
        shared->stop = true;
        ::close(gate[1]);
        ::waitpid(pid, nullptr, 0);
        return;
      }
      const auto database = contender.open(loaded.directory);
      const auto session = database->session();
      read(*session, shared->idle, 0);
      std::thread writer([&] { write(*database->session()); });
      while (shared->commits < 10) ::usleep(1000);
      read(*session, shared->busy, 1);
      shared->stop = true;
      writer.join();
    });
    const double idle = shared->idle.quantile_us(0.5), busy = shared->busy.quantile_us(0.5);
    return Metrics{{"idle_p50_us", idle},
                   {"busy_p50_us", busy},
                   {"busy_to_idle", busy / idle},
                   {"idle_p999_us", shared->idle.quantile_us(0.999)},
                   {"busy_p999_us", shared->busy.quantile_us(0.999)},
                   {"busy_worst_us", shared->busy.worst_us()},
                   {"writer_per_second", static_cast<double>(shared->commits.load()) / options.seconds}};
  });
  return suite;
}

}  // namespace weft::bench
