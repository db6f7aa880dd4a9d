// The real FileSystem: thin over the system calls, every one restarted on EINTR, every descriptor close-on-exec.
//
// Invariants:
//   P1  After a failed write, set_size or sync a file refuses further writes and syncs with the error it met first: the
//       kernel may have dropped the dirty pages, so a later sync could report success for lost bytes.
//   P2  write_at() is one pwritev unless the kernel takes less than the whole.
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/file_system.h"
#include "base/host_dir.h"
#include "base/immortal.h"
#include "base/posix_calls.h"

namespace weft {

namespace {

class PosixMapping final : public Mapping {
 public:
  PosixMapping(void* address, std::size_t length) : address_(address) {
    bytes_ = {static_cast<const char*>(address), length};
  }
  PosixMapping(const PosixMapping&) = delete;
  PosixMapping& operator=(const PosixMapping&) = delete;
  ~PosixMapping() override {
    if (!bytes_.empty()) ::munmap(address_, bytes_.size());
  }

 private:
  void* address_;
};

class PosixFile final : public File {
 public:
  PosixFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<void> read_at(std::uint64_t offset, std::span<char> out) const override {
    WEFT_TRY(const std::size_t got, read_some_at(offset, out));
    if (got == out.size()) return {};
    return damaged(quoted(path_) + " ends at byte " + std::to_string(offset + got) + ", inside what is read there")
        .with("path", path_)
        .with("offset", std::to_string(offset + got));
  }

  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = retry_eintr(
          [&] { return ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done)); });
      if (got < 0) return system_error(errno, "read", path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<void> write_at(std::uint64_t offset, std::span<const ByteView> parts) override {
    WEFT_DO(alive("write"));
    std::size_t part = 0;
    std::size_t skip = 0;  // bytes of parts[part] already written
    for (;;) {
      iovec vectors[kMaxVectors];
      int count = 0;
      for (std::size_t i = part; i < parts.size() && count < kMaxVectors; ++i) {
        const ByteView rest = parts[i].substr(i == part ? skip : 0);
        if (rest.empty()) continue;
        vectors[count++] = {const_cast<char*>(rest.data()), rest.size()};
      }
      if (count == 0) return {};
      const ssize_t written =
          retry_eintr([&] { return ::pwritev(fd_.get(), vectors, count, static_cast<off_t>(offset)); });
      if (written < 0) return died(errno, "write");
      if (written == 0) return died(EIO, "write");  // POSIX allows it, no file system should: better than a loop
      offset += static_cast<std::uint64_t>(written);
      for (auto left = static_cast<std::size_t>(written);
           left > 0 || (part < parts.size() && skip == parts[part].size());) {
        const std::size_t step = std::min(left, parts[part].size() - skip);
        skip += step;
        left -= step;
        if (skip == parts[part].size()) {
          ++part;
          skip = 0;
        }
      }
    }
  }
  using File::write_at;

  Result<void> sync() override {
    WEFT_DO(alive("flush"));
    if (retry_eintr([&] { return ::fdatasync(fd_.get()); }) != 0) return died(errno, "flush");
    return {};
  }

  Result<std::uint64_t> size() const override {
    WEFT_TRY(const FileStatus status, file_status(fd_, path_));
    return status.size;
  }

  Result<void> set_size(std::uint64_t size) override {
    WEFT_DO(alive("resize"));
    if (retry_eintr([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0)
      return died(errno, "resize");
    return {};
  }

  Result<std::shared_ptr<Mapping>> map(std::uint64_t length) const override {
    if (length == 0) return std::shared_ptr<Mapping>(std::make_shared<PosixMapping>(nullptr, 0));
    void* const address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (address == MAP_FAILED) return system_error(errno, "map", path_);
    return std::shared_ptr<Mapping>(std::make_shared<PosixMapping>(address, length));
  }

 private:
  // On the stack of every write; a batch of the log has two parts or so per frame.
  static constexpr int kMaxVectors = 256;
  static_assert(kMaxVectors <= IOV_MAX);

  // P1
  Result<void> alive(std::string_view operation) const {
    const int errnum = failed_errno_.load(std::memory_order_relaxed);
    if (errnum == 0) return {};
    Error error = system_error(errnum, operation, path_);
    error.message += " (an earlier write or flush of it failed)";
    return error;
  }
  Error died(int errnum, std::string_view operation) {
    int expected = 0;
    failed_errno_.compare_exchange_strong(expected, errnum, std::memory_order_relaxed);
    return system_error(errnum, operation, path_);
  }

  Fd fd_;
  std::string path_;
  std::atomic<int> failed_errno_ = 0;
};

class PosixFileSystem final : public FileSystem {
 public:
  constexpr PosixFileSystem() = default;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    int flags = O_CLOEXEC | O_NOCTTY;
    switch (mode) {
      case OpenMode::read:
        flags |= O_RDONLY | O_NONBLOCK;  // a pipe put where a file should be must not block us
        break;
      case OpenMode::write:
        flags |= O_RDWR;
        break;
      case OpenMode::create:
        flags |= O_RDWR | O_CREAT;
        break;
      case OpenMode::create_new:
        flags |= O_RDWR | O_CREAT | O_EXCL;
        break;
    }
    const bool may_create = (flags & O_CREAT) != 0;
    Fd fd(retry_eintr([&] { return ::open(path.c_str(), flags, 0666); }));
    if (!fd) return system_error(errno, may_create ? "create" : "open", path);
    if (may_create) fit_into_directory(fd.get(), path);
    return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(fd), path));
  }

  Result<FileStatus> status(const std::string& path) override {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return system_error(errno, "read the status of", path);
    return status_from_stat(status);
  }

  Result<void> make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) != 0) return system_error(errno, "make directory", path);
    if (const auto made = open_directory(path)) fit_into_directory(made->get(), path);
    return {};
  }

  Result<std::vector<DirectoryEntry>> list(const std::string& path) override {
    WEFT_TRY(const Fd fd, open_directory(path));
    WEFT_TRY(auto entries, list_directory(fd.get(), path));
    std::sort(entries.begin(), entries.end(),
              [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
    return entries;
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return system_error(errno, "rename to " + quoted(to), from);
    return {};
  }

  Result<void> unlink(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return system_error(errno, "remove", path);
    return {};
  }

  Result<void> remove_directory(const std::string& path) override {
    if (::rmdir(path.c_str()) != 0) return system_error(errno, "remove directory", path);
    return {};
  }

  Result<void> sync_directory(const std::string& path) override {
    WEFT_TRY(const Fd fd, open_directory(path));
    if (retry_eintr([&] { return ::fsync(fd.get()); }) != 0) return system_error(errno, "flush directory", path);
    return {};
  }

  Result<std::uint64_t> free_bytes(const std::string& path) override {
    struct statvfs status{};
    if (retry_eintr([&] { return ::statvfs(path.c_str(), &status); }) != 0) {
      return system_error(errno, "read the free space of", path);
    }
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }

  Result<FileSystemType> type_of(const std::string& path) override { return file_system_type(path); }

 private:
  static Result<Fd> open_directory(const std::string& path) {
    Fd fd(retry_eintr([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!fd) return system_error(errno, "open directory", path);
    return fd;
  }
};

constinit Immortal<PosixFileSystem> the_file_system;

}  // namespace

void fit_into_directory(int fd, const std::string& path) {
  struct stat directory{};
  struct stat made{};
  if (::stat(parent_path(path).c_str(), &directory) != 0) return;
  constexpr mode_t kShared = S_ISGID | S_IWGRP;
  const bool shared = (directory.st_mode & kShared) == kShared;
  const bool of_another = directory.st_uid != 0 && ::geteuid() == 0;
  if ((!shared && !of_another) || ::fstat(fd, &made) != 0) return;
  if (of_another && made.st_uid == 0) (void)::fchown(fd, directory.st_uid, directory.st_gid);
  if (shared && (made.st_uid == ::geteuid() || of_another)) {
    const mode_t wanted = (made.st_mode & 07777) | ((made.st_mode & S_IRWXU) >> 3);
    if (wanted != (made.st_mode & 07777)) (void)::fchmod(fd, wanted);
  }
}

FileSystem& posix_file_system() { return the_file_system.value; }

}  // namespace weft
