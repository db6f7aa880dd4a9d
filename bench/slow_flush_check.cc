// Does slow_flush.so do what it says? Every call it slows and counts, then every contender: the flushes of 20 commits
// are the same with and without the delay, at least one a commit, and the delayed run takes at least that much longer.
// Exit code 0 when all holds. `slow_flush_check [DIR]`
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "contender.h"
#include "runner.h"
#include "scratch.h"
#include "suites.h"

namespace weft::bench {
namespace {

int failures = 0;

void check(bool holds, const std::string& what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what.c_str());
  if (!holds) ++failures;
}

void check_call(const char* name, bool flush, const std::function<long()>& call) {
  constexpr std::uint32_t kDelayUs = 20'000;
  set_flush_delay_us(kDelayUs);
  const FlushCounts before = FlushCounts::now();
  const std::int64_t start = now_ns();
  const long result = call();
  const bool slow = now_ns() - start >= kDelayUs * 1000ll;
  const FlushCounts used = FlushCounts::now() - before;
  set_flush_delay_us(0);
  check(result >= 0 && slow == flush && used.flushes + used.range_syncs == (flush ? 1u : 0u),
        std::string(name) + (flush ? " is slowed and counted" : " is left alone"));
}

void check_calls(const std::string& directory) {
  const std::string path = directory + "/file";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int durable = ::open(path.c_str(), O_RDWR | O_DSYNC | O_CLOEXEC);
  if (fd < 0 || durable < 0) throw std::runtime_error("cannot make " + path);
  char block[4096] = "x";
  const iovec part{block, sizeof(block)};
  check_call("write", false, [&] { return ::write(fd, block, sizeof(block)); });
  check_call("fsync", true, [&] { return ::fsync(fd); });
  check_call("fdatasync", true, [&] { return ::fdatasync(fd); });
  check_call("sync_file_range", true, [&] { return ::sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE); });
  check_call("pwritev2", false, [&] { return ::pwritev2(fd, &part, 1, 0, 0); });
  check_call("pwritev2 RWF_DSYNC", true, [&] { return ::pwritev2(fd, &part, 1, 0, RWF_DSYNC); });
  check_call("pwritev2 RWF_SYNC", true, [&] { return ::pwritev2(fd, &part, 1, 0, RWF_SYNC); });
  check_call("pwrite to an O_DSYNC file", true, [&] { return ::pwrite(durable, block, sizeof(block), 0); });
  check_call("pwritev to an O_DSYNC file", true, [&] { return ::pwritev(durable, &part, 1, 0); });
  void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  check_call("msync MS_SYNC", true, [&] { return ::msync(mapped, 4096, MS_SYNC); });
  check_call("msync MS_ASYNC", false, [&] { return ::msync(mapped, 4096, MS_ASYNC); });
  check_call("syncfs", true, [&] { return ::syncfs(fd); });
  ::munmap(mapped, 4096);
  ::close(durable);
  const int again = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // takes the number of the O_DSYNC one
  check_call("write after a close", false, [&] { return ::write(again, block, sizeof(block)); });
  ::close(again);
  ::close(fd);
}

void check_contender(const Options& options, const Contender& contender) {
  constexpr std::uint64_t kCommits = 20;
  constexpr std::uint32_t kDelayUs = 5'000;
  Metrics metrics[2];
  for (const int slowed : {0, 1}) {
    WriteRun run;
    run.contender = &contender;
    run.directory = fresh_directory(options, contender.name());
    run.count = kCommits;
    in_child([&] { contender.create(run.directory); });
    set_flush_delay_us(slowed ? kDelayUs : 0);
    metrics[slowed] = run_writers(run);
    set_flush_delay_us(0);
  }
  const double flushes = metrics[0]["flushes_per_commit"];
  char text[256];
  std::snprintf(text, sizeof(text), "%s: %.2f flushes a commit (%.2f slowed), %.1f ms for 20 commits, %.1f slowed",
                contender.name().c_str(), flushes, metrics[1]["flushes_per_commit"], metrics[0]["seconds"] * 1e3,
                metrics[1]["seconds"] * 1e3);
  check(flushes >= 1 && metrics[1]["flushes_per_commit"] >= 1 && metrics[1]["seconds"] >= kCommits * kDelayUs / 1e6,
        text);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  try {
    start_with_flush_shim(argv);
    const Scratch scratch(argc > 1 ? argv[1] : "");
    Options options;
    options.directory = scratch.path();
    check_calls(scratch.path());
    for (const char* name : {"weft", "sqlite", "lmdb", "lmdb:writemap", "rocksdb"}) {
      if (const auto contender = make_contender(name)) check_contender(options, *contender);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slow_flush_check: %s\n", error.what());
    return 1;
  }
  return failures ? 1 : 0;
}
