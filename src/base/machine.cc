#include "base/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/host_dir.h"
#include "base/posix_calls.h"

namespace weft {
namespace {

constexpr std::size_t kMaxStatBytes = 4096;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

/// Calls `use` with every name; returns early when it says so.
template <typename Use>
void for_each_name(const std::string& path, Use use) {
  const Directory directory(::opendir(path.c_str()));
  if (!directory) return;
  while (const dirent* const entry = ::readdir(directory.get())) {
    if (!use(std::string_view(entry->d_name))) return;
  }
}

std::optional<std::uint64_t> limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

}  // namespace

// "1234 (name) S 1 ...": the name may hold anything, also parentheses and blanks.
std::optional<ProcessLook> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open || open < 2 ||
      close + 2 >= text.size()) {
    return std::nullopt;
  }
  const auto id = number(text.substr(0, open - 1));
  if (!id) return std::nullopt;
  return ProcessLook{*id, std::string(text.substr(open + 1, close - open - 1)), text[close + 2]};
}

std::optional<ProcessLook> look_at_process(std::uint32_t id) {
  const std::string path = "/proc/" + std::to_string(id) + "/stat";
  const Fd fd(retry_eintr([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!fd) return std::nullopt;
  std::string text(kMaxStatBytes, '\0');
  const auto got = read_some(fd, text, path);
  if (!got) return std::nullopt;
  return parse_process_stat(std::string_view(text).substr(0, *got));
}

std::vector<ProcessLook> processes_with(std::uint64_t device, std::uint64_t inode) {
  std::vector<ProcessLook> out;
  for_each_name("/proc", [&](std::string_view name) {
    const auto id = number(name);
    if (!id) return true;
    const std::string descriptors = "/proc/" + std::string(name) + "/fd";
    bool has = false;
    for_each_name(descriptors, [&](std::string_view descriptor) {
      struct stat status{};
      has = ::stat((descriptors + "/" + std::string(descriptor)).c_str(), &status) == 0 && status.st_ino == inode &&
            status.st_dev == device;
      return !has;
    });
    if (!has) return true;
    if (auto process = look_at_process(*id)) out.push_back(*std::move(process));
    return true;
  });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return out;
}

MachineLimits machine_limits() {
  return {
      .open_files = limit_of(RLIMIT_NOFILE), .address_space = limit_of(RLIMIT_AS), .file_size = limit_of(RLIMIT_FSIZE)};
}

bool may_read(const std::string& path) { return ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0; }
bool may_write(const std::string& path) { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

std::optional<std::uint64_t> free_inodes(const std::string& path) {
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0 || status.f_files == 0) return std::nullopt;
  return status.f_favail;
}

}  // namespace weft
