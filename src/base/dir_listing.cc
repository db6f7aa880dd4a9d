#include "base/dir_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/host_dir.h"
#include "base/posix_calls.h"

namespace weft {
namespace {

constexpr std::size_t kBufferBytes = 32u << 10;

}  // namespace

Result<void> DirListing::read(const HostDir& directory, Descriptor descriptor) {
  names_.clear();
  entries_.clear();
  buffer_.resize(kBufferBytes);
  Fd another;
  if (descriptor == Descriptor::shared) {
    another = Fd(retry_eintr([&] { return ::openat(directory.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!another) return system_error(errno, "open directory", directory.path());
  }
  const int fd = another ? another.get() : directory.fd();
  for (;;) {
    const ssize_t got = retry_eintr([&] { return ::getdents64(fd, buffer_.data(), buffer_.size()); });
    if (got < 0) return system_error(errno, "list", directory.path());
    if (got == 0) return {};
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer_.data() + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      ListedName listed{static_cast<std::uint32_t>(names_.size()), static_cast<std::uint16_t>(name.size()),
                        kind_from_d_type(entry->d_type), entry->d_ino};
      if (entry->d_type == DT_UNKNOWN) {
        struct stat status{};
        if (::fstatat(directory.fd(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
          if (errno == ENOENT) continue;  // gone meanwhile
          return system_error(errno, "read the status of", join_path(directory.path(), name));
        }
        listed.kind = kind_from_mode(status.st_mode);
      }
      if (names_.size() + name.size() + 1 > std::numeric_limits<std::uint32_t>::max()) {
        return make_error(Code::invalid, quoted(directory.path()) + " holds more names than fit in 4 GiB");
      }
      names_.append(name);
      names_ += '\0';
      entries_.push_back(listed);
    }
  }
}

void DirListing::sorted(std::vector<std::uint32_t>& order) const {
  order.resize(entries_.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
}

bool status_of_listed(const HostDir& directory, const char* name, FileStatus& status) {
  struct stat found{};
  if (::fstatat(directory.fd(), name, &found, AT_SYMLINK_NOFOLLOW) != 0) return false;
  status = status_from_stat(found);
  return true;
}

}  // namespace weft
