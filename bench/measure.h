// Measuring: latencies, counters of flushes and writes, what the kernel says of a process and of a disk, facts of the
// machine.
//
// Threading: a Histogram and a WriterSlot belong to one writer until it has ended; everything else is the parent's.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::bench {

std::int64_t now_ns();  ///< CLOCK_MONOTONIC

/// Latencies in buckets 1.6 % wide; lives in memory shared between processes.
class Histogram {
 public:
  void add(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(ns < 0 ? 0 : ns);
    ++counts_[bucket(value)];
    ++total_;
    if (value > worst_) worst_ = value;
  }
  void add(const Histogram& other);
  /// Middle of the bucket that holds the quantile, in microseconds.
  double quantile_us(double q) const;
  double worst_us() const { return static_cast<double>(worst_) / 1e3; }
  std::uint64_t total() const { return total_; }

 private:
  static constexpr unsigned kSubBits = 6;
  static std::size_t bucket(std::uint64_t value) {
    if (value < (1u << kSubBits)) return value;
    const unsigned shift = 63 - static_cast<unsigned>(std::countl_zero(value)) - kSubBits;
    return ((shift + 1) << kSubBits) + ((value >> shift) & ((1u << kSubBits) - 1));
  }
  std::array<std::uint32_t, (64 - kSubBits + 1) << kSubBits> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t worst_ = 0;
};

/// Names and numbers of one round of one contender.
using Metrics = std::map<std::string, double>;

/// What getrusage and /proc/self/io say.
struct Usage {
  std::uint64_t context_switches = 0, involuntary = 0, user_us = 0, system_us = 0, max_rss_kb = 0, minor_faults = 0;
  std::uint64_t io_write_bytes = 0;
  static Usage self();
  Usage operator-(const Usage& before) const;
};

/// Sums over all processes of the run, from slow_flush.so; zeros when it is not loaded.
struct FlushCounts {
  std::uint64_t flushes = 0, range_syncs = 0, writes = 0, write_bytes = 0;
  static FlushCounts now();
  FlushCounts operator-(const FlushCounts& before) const;
};
bool flush_shim_loaded();
void set_flush_delay_us(std::uint32_t us);

/// Of the disk that holds a directory, from /proc/diskstats (all processes of the machine write there).
struct DiskCounts {
  std::uint64_t written_bytes = 0, writes = 0, flushes = 0;
  static DiskCounts of(const std::string& directory);
  DiskCounts operator-(const DiskCounts& before) const;
};

/// p50 in us of one 4 KiB pwrite and fdatasync, over existing bytes and growing the file; in `directory`, files kept.
struct DiskProbe {
  double overwrite_us = 0, grow_us = 0;
};
DiskProbe probe_disk(const std::string& directory);

/// Bytes of all files below: what they say they hold, and what they occupy.
struct TreeSize {
  std::uint64_t apparent = 0, allocated = 0;
};
TreeSize tree_size(const std::string& directory);

/// kernel, cpu, cpus, memory, file system of `directory`, load, compiler, source revision.
std::map<std::string, std::string> machine_facts(const std::string& directory);

/// Memory shared with the processes forked later; zeroed.
void* shared_memory(std::size_t bytes);
template <typename T>
T* shared_array(std::size_t count) {
  return static_cast<T*>(shared_memory(sizeof(T) * count));
}

double median(std::vector<double> values);

}  // namespace weft::bench
