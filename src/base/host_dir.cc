#include "base/host_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/posix_calls.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452  // Linux 6.6, newer than Debian 12's headers
#endif

namespace weft {

namespace {

constexpr std::size_t kDirectoryBuffer = 64 * 1024;
constexpr int kLockAttempts = 5;
constexpr timespec kLockPause{0, 2'000'000};
/// A link target is at most PATH_MAX on Linux; some file systems report no size for links, so the buffer starts here.
constexpr std::size_t kMaxLinkTarget = 64 * 1024;

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

Error not_regular(const std::string& path) {
  return make_error(Code::invalid, quoted(path) + " is not a regular file").with("path", path);
}

std::int64_t to_ns(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileKind kind_from_d_type(unsigned char type) {
  switch (type) {
    case DT_REG:
      return FileKind::file;
    case DT_DIR:
      return FileKind::directory;
    case DT_LNK:
      return FileKind::symlink;
    default:
      return FileKind::other;
  }
}

FileKind kind_from_mode(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::file;
  if (S_ISDIR(mode)) return FileKind::directory;
  if (S_ISLNK(mode)) return FileKind::symlink;
  return FileKind::other;
}

FileStatus status_from_stat(const struct stat& status) {
  return {.kind = kind_from_mode(status.st_mode),
          .size = static_cast<std::uint64_t>(status.st_size),
          .mode = status.st_mode & 07777u,
          .uid = status.st_uid,
          .device = status.st_dev,
          .inode = status.st_ino,
          .mtime_ns = to_ns(status.st_mtim),
          .ctime_ns = to_ns(status.st_ctim),
          .links = status.st_nlink,
          .gid = status.st_gid};
}

Result<std::vector<DirectoryEntry>> list_directory(int fd, std::string_view path) {
  std::vector<DirectoryEntry> entries;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kDirectoryBuffer);
  for (;;) {
    const ssize_t got = retry_eintr([&] { return ::getdents64(fd, buffer.get(), kDirectoryBuffer); });
    if (got < 0) return system_error(errno, "list", path);
    if (got == 0) return entries;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer.get() + at);
      at += entry->d_reclen;
      const std::string_view entry_name = entry->d_name;
      if (entry_name == "." || entry_name == "..") continue;
      FileKind kind = kind_from_d_type(entry->d_type);
      if (entry->d_type == DT_UNKNOWN) {
        struct stat status{};
        if (::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
          if (errno == ENOENT) continue;  // gone meanwhile
          return system_error(errno, "read the status of", join_path(path, entry_name));
        }
        kind = kind_from_mode(status.st_mode);
      }
      entries.push_back({std::string(entry_name), kind});
    }
  }
}

void Fd::reset() {
  // Linux closes the descriptor even when close() is interrupted; trying again could close somebody else's.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> HostDir::component(std::string_view name) const {
  const char* problem = nullptr;
  if (name.empty())
    problem = "is empty";
  else if (name == "." || name == "..")
    problem = "names a directory itself, not something in it";
  else if (name.find('/') != std::string_view::npos)
    problem = "contains a slash";
  else if (name.find('\0') != std::string_view::npos)
    problem = "contains a NUL byte";
  if (problem != nullptr) {
    return make_error(Code::invalid,
                      "the name " + (name.empty() ? "\"\"" : quoted(name)) + " in " + quoted(path_) + " " + problem)
        .with("path", join_path(path_, name));
  }
  if (name.size() > names_.max_bytes) return system_error(ENAMETOOLONG, "use the name", join_path(path_, name));
  if (names_.fold_case) {
    WEFT_TRY(const auto listing, list());
    for (const DirectoryEntry& entry : listing) {
      if (same_but_for_case(entry.name, name)) return entry.name;
    }
  }
  return std::string(name);
}

Result<HostDir> HostDir::open(const std::string& path) {
  Fd fd(retry_eintr([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return system_error(errno, "open directory", path);
  return HostDir(std::move(fd), path, Names{});
}

Result<HostDir> HostDir::open_dir(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  std::string path = join_path(path_, name);
  Fd fd(retry_eintr(
      [&] { return ::openat(fd_.get(), checked.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (!fd) return system_error(errno, "open directory", path);
  return HostDir(std::move(fd), std::move(path), names_);
}

Result<Fd> HostDir::open_file(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  const std::string path = join_path(path_, name);
  Fd fd(retry_eintr(
      [&] { return ::openat(fd_.get(), checked.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!fd) {
    // A link, a socket, a device without a driver.
    if (errno == ELOOP || errno == ENXIO || errno == ENODEV) return not_regular(path);
    return system_error(errno, "open", path);
  }
  WEFT_TRY(const FileStatus status, file_status(fd, path));
  if (status.kind != FileKind::file) return not_regular(path);
  return fd;
}

Result<FileStatus> HostDir::status(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  struct stat status{};
  if (::fstatat(fd_.get(), checked.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error(errno, "read the status of", join_path(path_, name));
  }
  return status_from_stat(status);
}

Result<FileStatus> HostDir::self_status() const { return file_status(fd_, path_); }

Result<std::vector<DirectoryEntry>> HostDir::list() const {
  // A descriptor of its own: the position belongs to the open file, and others may be listing too.
  const Fd fd(retry_eintr([&] { return ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return system_error(errno, "open directory", path_);
  return list_directory(fd.get(), path_);
}

Result<std::string> HostDir::read_link(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  for (std::size_t capacity = 256; capacity <= kMaxLinkTarget; capacity *= 4) {
    std::string target(capacity, '\0');
    const ssize_t got = ::readlinkat(fd_.get(), checked.c_str(), target.data(), target.size());
    if (got < 0) return system_error(errno, "read the link", join_path(path_, name));
    if (static_cast<std::size_t>(got) < capacity) {
      target.resize(static_cast<std::size_t>(got));
      return target;
    }
  }
  return system_error(ENAMETOOLONG, "read the link", join_path(path_, name));
}

Result<void> HostDir::make_dir(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  if (::mkdirat(fd_.get(), checked.c_str(), 0777) != 0) {
    return system_error(errno, "make directory", join_path(path_, name));
  }
  return {};
}

Result<void> HostDir::make_symlink(std::string_view name, std::string_view target) const {
  WEFT_TRY(const std::string checked, component(name));
  const std::string path = join_path(path_, name);
  if (target.find('\0') != std::string_view::npos) {
    return make_error(Code::invalid, "the target of the link " + quoted(path) + " contains a NUL byte")
        .with("path", path);
  }
  if (::symlinkat(std::string(target).c_str(), fd_.get(), checked.c_str()) != 0) {
    return system_error(errno, "make the link", path);
  }
  return {};
}

Result<void> HostDir::remove_file(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  if (::unlinkat(fd_.get(), checked.c_str(), 0) != 0) return system_error(errno, "remove", join_path(path_, name));
  return {};
}

Result<void> HostDir::remove_dir(std::string_view name) const {
  WEFT_TRY(const std::string checked, component(name));
  if (::unlinkat(fd_.get(), checked.c_str(), AT_REMOVEDIR) != 0) {
    return system_error(errno, "remove directory", join_path(path_, name));
  }
  return {};
}

Result<void> HostDir::rename(std::string_view from, const HostDir& to_dir, std::string_view to) const {
  WEFT_TRY(const auto source, component(from));
  WEFT_TRY(const auto target, to_dir.component(to));
  if (::renameat(fd_.get(), source.c_str(), to_dir.fd_.get(), target.c_str()) != 0) {
    return system_error(errno, "rename to " + quoted(join_path(to_dir.path_, to)), join_path(path_, from));
  }
  return {};
}

Result<void> HostDir::rename_new(std::string_view from, const HostDir& to_dir, std::string_view to) const {
  WEFT_TRY(const auto source, component(from));
  WEFT_TRY(const auto target, to_dir.component(to));
  const auto failed = [&](int errnum) {
    return system_error(errnum, "rename to " + quoted(join_path(to_dir.path_, to)), join_path(path_, from));
  };
  if (::renameat2(fd_.get(), source.c_str(), to_dir.fd_.get(), target.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return failed(errno);
  // The file system knows no flags (NFS, some FUSE). A hard link refuses to replace as well, but directories have none:
  // mkdir takes the name, and rename replaces an empty directory only.
  struct stat status{};
  if (::fstatat(fd_.get(), source.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return failed(errno);
  if (S_ISDIR(status.st_mode)) {
    if (::mkdirat(to_dir.fd_.get(), target.c_str(), 0700) != 0) return failed(errno);
    if (::renameat(fd_.get(), source.c_str(), to_dir.fd_.get(), target.c_str()) == 0) return {};
    const int errnum = errno;
    ::unlinkat(to_dir.fd_.get(), target.c_str(), AT_REMOVEDIR);
    return failed(errnum);
  }
  if (::linkat(fd_.get(), source.c_str(), to_dir.fd_.get(), target.c_str(), 0) != 0) return failed(errno);
  if (::unlinkat(fd_.get(), source.c_str(), 0) != 0) return failed(errno);
  return {};
}

Result<void> HostDir::set_mode(std::string_view name, std::uint32_t mode) const {
  WEFT_TRY(const std::string checked, component(name));
  WEFT_TRY(const FileStatus before, status(name));
  const std::string path = join_path(path_, name);
  if (before.kind != FileKind::file && before.kind != FileKind::directory) {
    return make_error(Code::invalid, quoted(path) + " is neither a regular file nor a directory").with("path", path);
  }
  // Older kernels have no fchmodat with flags, and some sandboxes answer EPERM to calls they do not know; glibc then
  // goes through O_PATH and /proc, which does not follow either.
  if (::syscall(SYS_fchmodat2, fd_.get(), checked.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0) return {};
  if (errno == ENOSYS || errno == EPERM) {
    if (::fchmodat(fd_.get(), checked.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0) return {};
  }
  return system_error(errno, "change the mode of", path);
}

Result<Fd> HostDir::create_file(std::string_view name, std::uint32_t mode) const {
  WEFT_TRY(const std::string checked, component(name));
  Fd fd(retry_eintr(
      [&] { return ::openat(fd_.get(), checked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); }));
  if (!fd) return system_error(errno, "create", join_path(path_, name));
  return fd;
}

Result<void> HostDir::exchange(std::string_view one, std::string_view other) const {
  WEFT_TRY(const auto first, component(one));
  WEFT_TRY(const auto second, component(other));
  if (::renameat2(fd_.get(), first.c_str(), fd_.get(), second.c_str(), RENAME_EXCHANGE) == 0) return {};
  Error error = system_error(errno, "exchange with " + quoted(join_path(path_, other)), join_path(path_, one));
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) error.code = Code::unsupported;
  return error;
}

Result<bool> HostDir::try_lock() const {
  for (int attempt = 1;; ++attempt) {
    if (retry_eintr([&] { return ::flock(fd_.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
    if (errno != EWOULDBLOCK) {
      Error error = system_error(errno, "lock", path_);
      error.code = Code::unsupported;
      return error;
    }
    // is_locked_by_another() holds it for a moment.
    if (attempt == kLockAttempts) return false;
    ::nanosleep(&kLockPause, nullptr);
  }
}

bool HostDir::is_locked_by_another() const {
  // An open file of its own, whose lock goes with it.
  const Fd fd(retry_eintr([&] { return ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return false;
  return retry_eintr([&] { return ::flock(fd.get(), LOCK_SH | LOCK_NB); }) != 0 && errno == EWOULDBLOCK;
}

Result<FileStatus> file_status(const Fd& fd, std::string_view path_for_errors) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, "read the status of", path_for_errors);
  return status_from_stat(status);
}

Result<std::size_t> read_some(const Fd& fd, std::span<char> out, std::string_view path_for_errors) {
  const ssize_t got = retry_eintr([&] { return ::read(fd.get(), out.data(), out.size()); });
  if (got < 0) return system_error(errno, "read", path_for_errors);
  return static_cast<std::size_t>(got);
}

Result<void> write_all(const Fd& fd, ByteView data, std::string_view path_for_errors) {
  while (!data.empty()) {
    const ssize_t written = retry_eintr([&] { return ::write(fd.get(), data.data(), data.size()); });
    if (written < 0) return system_error(errno, "write", path_for_errors);
    if (written == 0) return system_error(EIO, "write", path_for_errors);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

FileExtent next_extent(const Fd& fd) {
  FileExtent extent;
  const off_t here = ::lseek(fd.get(), 0, SEEK_CUR);
  if (here < 0) return extent;
  off_t data = ::lseek(fd.get(), here, SEEK_DATA);
  if (data < 0 && errno == ENXIO) data = ::lseek(fd.get(), 0, SEEK_END);  // nothing but a hole, if anything
  if (data > here) {
    extent.hole = static_cast<std::uint64_t>(data - here);
  } else if (data == here) {
    const off_t hole = ::lseek(fd.get(), here, SEEK_HOLE);
    if (hole > here) extent.data = static_cast<std::uint64_t>(hole - here);
  }
  // Back to where it was: this cannot fail where the first of these calls did not.
  if (::lseek(fd.get(), here, SEEK_SET) != here) return {};
  return extent;
}

Result<void> pass_over(const Fd& fd, std::uint64_t count, std::string_view path_for_errors) {
  if (::lseek(fd.get(), static_cast<off_t>(count), SEEK_CUR) < 0)
    return system_error(errno, "seek in", path_for_errors);
  return {};
}

Result<void> end_at_position(const Fd& fd, std::string_view path_for_errors) {
  const off_t here = ::lseek(fd.get(), 0, SEEK_CUR);
  if (here < 0 || retry_eintr([&] { return ::ftruncate(fd.get(), here); }) != 0) {
    return system_error(errno, "set the size of", path_for_errors);
  }
  return {};
}

}  // namespace weft
