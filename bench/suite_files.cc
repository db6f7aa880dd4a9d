// BW7: 256 new files of 4 KiB made durable together: loose files as object stores keep them, one pack, and one commit
// of weft.
//
// The loose ways write `xx/name` below 64 directories, as git does with its objects: temporary, rename, and
//   fsync-each   fsync of every file, then of every directory
//   threads-32   the same by 32 threads
//   git-batch    core.fsyncMethod=batch: write-out started for each, one fsync of a file of their own, then the renames
//   syncfs       all written, one syncfs, the renames, one syncfs
//   pack         one append to a zeroed file and one fdatasync: the floor for any store that keeps them in one place
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "suites.h"
#include "workload.h"

namespace weft::bench {
namespace {

constexpr int kFiles = 256;
constexpr int kDirectories = 64;
constexpr std::size_t kFileBytes = 4096;

void must(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("files: ") + what);
}

std::string directory_name(const std::string& root, int i) {
  char name[16];
  std::snprintf(name, sizeof(name), "/%02x", i % kDirectories);
  return root + name;
}
std::string file_name(const std::string& root, int i) {
  return directory_name(root, i) + "/object" + std::to_string(i);
}

int write_temporary(const std::string& root, int i, const std::string& content) {
  const int fd = ::open((file_name(root, i) + ".tmp").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  must(fd >= 0, "create");
  must(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "write");
  return fd;
}
void rename_in_place(const std::string& root, int i) {
  const std::string name = file_name(root, i);
  must(::rename((name + ".tmp").c_str(), name.c_str()) == 0, "rename");
}
void flush_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(fd >= 0 && ::fsync(fd) == 0, "fsync of a directory");
  ::close(fd);
}

void write_flush_rename(const std::string& root, int i, const std::string& content) {
  const int fd = write_temporary(root, i, content);
  must(::fsync(fd) == 0, "fsync");
  ::close(fd);
  rename_in_place(root, i);
}

void by_threads(const std::string& root, const std::vector<std::string>& contents, int count) {
  std::atomic<int> next = 0, next_directory = 0;
  const auto pool = [count](const auto& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work);
    for (auto& thread : threads) thread.join();
  };
  pool([&] {
    for (int i = next++; i < kFiles; i = next++) write_flush_rename(root, i, contents[static_cast<std::size_t>(i)]);
  });
  pool([&] {
    for (int i = next_directory++; i < kDirectories; i = next_directory++) flush_directory(directory_name(root, i));
  });
}

void git_batch(const std::string& root, const std::vector<std::string>& contents) {
  for (int i = 0; i < kFiles; ++i) {
    const int fd = write_temporary(root, i, contents[static_cast<std::size_t>(i)]);
    must(::sync_file_range(fd, 0, 0,
                           SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0,
         "sync_file_range");
    ::close(fd);
  }
  const int fd = ::open((root + "/bulk_fsync").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  must(fd >= 0 && ::write(fd, "x", 1) == 1 && ::fsync(fd) == 0, "bulk fsync");
  ::close(fd);
  for (int i = 0; i < kFiles; ++i) rename_in_place(root, i);
}

void by_syncfs(const std::string& root, const std::vector<std::string>& contents) {
  const int top = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(top >= 0, "open");
  for (int i = 0; i < kFiles; ++i) ::close(write_temporary(root, i, contents[static_cast<std::size_t>(i)]));
  must(::syncfs(top) == 0, "syncfs");
  for (int i = 0; i < kFiles; ++i) rename_in_place(root, i);
  must(::syncfs(top) == 0, "syncfs");
  ::close(top);
}

/// Milliseconds, and what was flushed and written in them: the counters are read when all is prepared.
double one_round(const std::string& way, const std::string& root, const std::vector<std::string>& contents,
                 FlushCounts& used) {
  if (way == "weft") {
    const auto weft = make_weft();
    if (!weft) return -1;
    weft->create(root);
    const FlushCounts before = FlushCounts::now();
    const double ms = static_cast<double>(weft_commit_files(root, contents)) / 1e6;
    used = FlushCounts::now() - before;
    return ms;
  }
  int pack = -1;
  if (way == "pack") {
    pack = ::open((root + "/pack").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(pack >= 0, "create pack");
    const std::string zeros(kFileBytes, '\0');
    for (int i = 0; i < kFiles; ++i)
      must(::write(pack, zeros.data(), zeros.size()) == static_cast<ssize_t>(zeros.size()), "zero");
    must(::fsync(pack) == 0, "fsync pack");
  } else {
    for (int i = 0; i < kDirectories; ++i) must(::mkdir(directory_name(root, i).c_str(), 0700) == 0, "mkdir");
    flush_directory(root);
  }
  const FlushCounts before = FlushCounts::now();
  const std::int64_t start = now_ns();
  if (way == "pack") {
    std::string all;
    for (const std::string& content : contents) all += content;
    must(::pwrite(pack, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()) && ::fdatasync(pack) == 0,
         "append");
  } else if (way == "fsync-each") {
    for (int i = 0; i < kFiles; ++i) write_flush_rename(root, i, contents[static_cast<std::size_t>(i)]);
    for (int i = 0; i < kDirectories; ++i) flush_directory(directory_name(root, i));
  } else if (way == "threads-32") {
    by_threads(root, contents, 32);
  } else if (way == "git-batch") {
    git_batch(root, contents);
  } else {
    by_syncfs(root, contents);
  }
  const double ms = static_cast<double>(now_ns() - start) / 1e6;
  used = FlushCounts::now() - before;
  return ms;
}

}  // namespace

SuiteResult run_files_suite(const Options& options) {
  SuiteResult suite;
  suite.id = "bw7";
  suite.title =
      "256 new files of 4 KiB, one commit, ms. Loose files in five ways, an append to a zeroed pack, and weft.";
  suite.key = "ms";
  suite.higher_is_better = false;
  suite.columns = {{"flushes", "flushes"}, {"range_syncs", "sync_file_range"}, {"writes", "writes"}};
  suite.contenders = {"weft", "fsync-each", "threads-32", "git-batch", "syncfs", "pack"};
  constexpr int kTries = 5;
  for (int round = 0; round < options.rounds * kTries; ++round) {
    for (const std::string& way : suite.contenders) {
      if (suite.errors.contains(way)) continue;
      SmallRandom random(options.seed + static_cast<std::uint64_t>(round));
      std::vector<std::string> contents(kFiles);
      for (std::string& content : contents) {
        while (content.size() < kFileBytes) {
          const NewChange change = random_change(random, {}, 1);
          content.append(change.body.data(), std::min(change.body.size(), kFileBytes - content.size()));
        }
      }
      const std::string root = fresh_directory(options, suite.id);
      auto* milliseconds = shared_array<double>(1);
      try {
        auto* counts = shared_array<FlushCounts>(1);
        in_child([&] { *milliseconds = one_round(way, root, contents, *counts); });
        const FlushCounts used = *counts;
        if (*milliseconds < 0) {
          suite.errors[way] = "not in this build";
          continue;
        }
        suite.rounds[way].push_back({{"ms", *milliseconds},
                                     {"flushes", static_cast<double>(used.flushes)},
                                     {"range_syncs", static_cast<double>(used.range_syncs)},
                                     {"writes", static_cast<double>(used.writes)}});
      } catch (const std::exception& error) {
        suite.errors[way] = error.what();
      }
    }
  }
  return suite;
}

}  // namespace weft::bench
