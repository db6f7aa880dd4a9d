#include "measure.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "slow_flush.h"

namespace weft::bench {

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
  worst_ = std::max(worst_, other.worst_);
}

double Histogram::quantile_us(double q) const {
  if (total_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(q * static_cast<double>(total_ - 1)) + 1;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < wanted) continue;
    if (i < (1u << kSubBits)) return static_cast<double>(i) / 1e3;
    const std::size_t shift = (i >> kSubBits) - 1;
    const std::uint64_t low = ((std::uint64_t{1} << kSubBits) + (i & ((1u << kSubBits) - 1))) << shift;
    return (static_cast<double>(low) + static_cast<double>(std::uint64_t{1} << shift) / 2) / 1e3;
  }
  return worst_us();
}

Usage Usage::self() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Usage out;
  out.involuntary = static_cast<std::uint64_t>(usage.ru_nivcsw);
  out.context_switches = static_cast<std::uint64_t>(usage.ru_nvcsw) + out.involuntary;
  out.user_us = static_cast<std::uint64_t>(usage.ru_utime.tv_sec * 1'000'000 + usage.ru_utime.tv_usec);
  out.system_us = static_cast<std::uint64_t>(usage.ru_stime.tv_sec * 1'000'000 + usage.ru_stime.tv_usec);
  out.max_rss_kb = static_cast<std::uint64_t>(usage.ru_maxrss);
  out.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  std::ifstream io("/proc/self/io");
  for (std::string key; io >> key;) {
    std::uint64_t value = 0;
    io >> value;
    if (key == "write_bytes:") out.io_write_bytes = value;
  }
  return out;
}

Usage Usage::operator-(const Usage& before) const {
  Usage out = *this;
  out.context_switches -= before.context_switches;
  out.involuntary -= before.involuntary;
  out.user_us -= before.user_us;
  out.system_us -= before.system_us;
  out.minor_faults -= before.minor_faults;
  out.io_write_bytes -= before.io_write_bytes;
  return out;
}

namespace {
weft_flush_block* flush_block() {
  using Getter = weft_flush_block* (*)();
  static const auto getter = reinterpret_cast<Getter>(dlsym(RTLD_DEFAULT, "weft_slow_flush_block"));
  return getter ? getter() : nullptr;
}
std::uint64_t load(const std::uint64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }
}  // namespace

bool flush_shim_loaded() { return flush_block() != nullptr; }

void set_flush_delay_us(std::uint32_t us) {
  if (auto* block = flush_block()) __atomic_store_n(&block->delay_us, us, __ATOMIC_RELAXED);
}

FlushCounts FlushCounts::now() {
  FlushCounts out;
  const auto* block = flush_block();
  if (!block) return out;
  for (const auto& slot : block->slots) {
    out.flushes += load(slot.flushes);
    out.range_syncs += load(slot.range_syncs);
    out.writes += load(slot.writes);
    out.write_bytes += load(slot.write_bytes);
  }
  return out;
}

FlushCounts FlushCounts::operator-(const FlushCounts& before) const {
  return {flushes - before.flushes, range_syncs - before.range_syncs, writes - before.writes,
          write_bytes - before.write_bytes};
}

DiskCounts DiskCounts::of(const std::string& directory) {
  DiskCounts out;
  struct stat status{};
  if (stat(directory.c_str(), &status) != 0) return out;
  std::ifstream lines("/proc/diskstats");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    unsigned major_number = 0, minor_number = 0;
    std::string name;
    std::uint64_t n[17] = {};
    fields >> major_number >> minor_number >> name;
    for (auto& value : n) fields >> value;
    if (major_number != major(status.st_dev) || minor_number != minor(status.st_dev)) continue;
    out.writes = n[4];
    out.written_bytes = n[6] * 512;
    out.flushes = n[15];
  }
  return out;
}

DiskCounts DiskCounts::operator-(const DiskCounts& before) const {
  return {written_bytes - before.written_bytes, writes - before.writes, flushes - before.flushes};
}

DiskProbe probe_disk(const std::string& directory) {
  const auto run = [](int fd, int count, bool grow) {
    std::vector<char> block(4096, 'p');
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      block[0] = static_cast<char>(i);
      const std::int64_t start = now_ns();
      if (pwrite(fd, block.data(), block.size(), grow ? 4096ll * i : 4096ll * (i % 16)) != 4096 || fdatasync(fd) != 0) {
        throw std::runtime_error("disk probe failed");
      }
      times.push_back(static_cast<double>(now_ns() - start) / 1e3);
    }
    return median(times);
  };
  const std::string path = directory + "/probe";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error("cannot make " + path);
  DiskProbe probe;
  probe.grow_us = run(fd, 100, true);
  probe.overwrite_us = run(fd, 200, false);
  close(fd);
  return probe;
}

TreeSize tree_size(const std::string& directory) {
  TreeSize size;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat status{};
    if (lstat(entry.path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    size.apparent += static_cast<std::uint64_t>(status.st_size);
    size.allocated += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return size;
}

namespace {
std::string first_line(const std::string& path, const std::string& beginning = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(beginning, 0) == 0) return line;
  }
  return {};
}
std::string output_of(const char* command) {
  std::string text;
  if (FILE* pipe = popen(command, "r")) {
    char buffer[256];
    while (fgets(buffer, sizeof(buffer), pipe)) text += buffer;
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}
/// Type and options of the mount that holds `directory`: the longest mount point it lies below.
std::string mount_of(const std::string& directory) {
  const std::string path = std::filesystem::weakly_canonical(directory).string();
  std::ifstream mounts("/proc/self/mounts");
  std::string best, found;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device, point, type, options;
    fields >> device >> point >> type >> options;
    const bool below = point == "/" || path == point || path.rfind(point + "/", 0) == 0;
    if (below && point.size() >= best.size()) {
      best = point;
      found = type + " (" + options + ") on " + device;
    }
  }
  return found;
}
}  // namespace

std::map<std::string, std::string> machine_facts(const std::string& directory) {
  std::map<std::string, std::string> facts;
  utsname system{};
  uname(&system);
  facts["kernel"] = std::string(system.sysname) + " " + system.release + " " + system.machine;
  const std::string cpu = first_line("/proc/cpuinfo", "model name");
  facts["cpu"] = cpu.substr(std::min(cpu.size(), cpu.find(':') + 2));
  facts["cpus"] = std::to_string(std::thread::hardware_concurrency());
  facts["memory"] = first_line("/proc/meminfo", "MemTotal");
  facts["file_system"] = mount_of(directory);
  facts["load"] = first_line("/proc/loadavg");
  facts["compiler"] = std::string("g++ ") + __VERSION__;
  facts["revision"] = output_of("git rev-parse --short=12 HEAD 2>/dev/null");
  char date[64] = {};
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &parts);
  facts["date"] = date;
  return facts;
}

void* shared_memory(std::size_t bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("no shared memory");
  return mapped;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace weft::bench
