#include "scratch.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "measure.h"

namespace weft::bench {

Scratch::Scratch(const std::string& parent) {
  const char* environment = std::getenv("WEFT_BENCH_DIR");
  const std::string where = !parent.empty() ? parent : environment && *environment ? environment : "/var/tmp";
  std::string pattern = std::filesystem::absolute(where).string() + "/weft-bench-XXXXXX";
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("cannot make a directory in " + where);
  path_ = pattern;
}

Scratch::~Scratch() {
  const std::string name = std::filesystem::path(path_).filename().string();
  if (path_.empty() || path_[0] != '/' || name.rfind("weft-bench-", 0) != 0) std::abort();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string own_directory() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

void start_with_flush_shim(char** argv) {
  if (flush_shim_loaded()) {
    // Mapped by now: nobody needs the name of the counters, and what this program starts later does not want the shim.
    if (const char* counters = std::getenv("WEFT_SLOW_FLUSH_COUNTERS")) ::unlink(counters);
    ::unsetenv("WEFT_SLOW_FLUSH_COUNTERS");
    ::unsetenv("LD_PRELOAD");
    return;
  }
  const std::string shim = own_directory() + "/slow_flush.so";
  if (::access(shim.c_str(), R_OK) != 0) throw std::runtime_error("no " + shim);
  std::string counters = "/dev/shm/weft-bench-counters-XXXXXX";
  const int fd = ::mkstemp(counters.data());
  if (fd < 0) throw std::runtime_error("cannot make a file in /dev/shm");
  ::close(fd);
  ::setenv("LD_PRELOAD", shim.c_str(), 1);
  ::setenv("WEFT_SLOW_FLUSH_COUNTERS", counters.c_str(), 1);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();  // its name is what perf shows
  ::execv(program.c_str(), argv);
  throw std::runtime_error("cannot start again with " + shim);
}

}  // namespace weft::bench
