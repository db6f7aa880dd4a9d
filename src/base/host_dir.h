// HostDir: a directory of the host, by file descriptor: how weft reads and writes working trees.
//
// Invariants:
//   H1  No call follows a symlink: every name is one component, opened O_NOFOLLOW relative to a directory that was
//   itself
//       opened without following. `..`, `.`, empty names and names with '/' or NUL are refused (Code::invalid).
//   H2  Nothing is written through an existing file: content goes to a new one which is then renamed, so a hard link
//       elsewhere never changes (CASES C29).
// Threading: const calls from many threads. Errors name the full path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace weft {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class HostDir {
 public:
  /// `path` itself may be or contain symlinks (the user named it).
  static Result<HostDir> open(const std::string& path);

  Result<HostDir> open_dir(std::string_view name) const;
  /// A regular file for reading, opened O_NOFOLLOW | O_NONBLOCK and fstat'ed: FIFOs, sockets and devices are refused
  /// (Code::invalid, "not a regular file") and never block (CASES C14).
  Result<Fd> open_file(std::string_view name) const;
  /// lstat. Missing: Code::not_found.
  Result<FileStatus> status(std::string_view name) const;
  /// Of this directory itself.
  Result<FileStatus> self_status() const;
  /// Entries in directory order (not sorted), without . and ..; kinds from d_type, by fstatat where it is unknown.
  Result<std::vector<DirectoryEntry>> list() const;
  Result<std::string> read_link(std::string_view name) const;

  Result<void> make_dir(std::string_view name) const;
  Result<void> make_symlink(std::string_view name, std::string_view target) const;
  Result<void> remove_file(std::string_view name) const;
  Result<void> remove_dir(std::string_view name) const;
  Result<void> rename(std::string_view from, const HostDir& to_dir, std::string_view to) const;
  /// Fails with Code::exists instead of replacing (renameat2 RENAME_NOREPLACE).
  Result<void> rename_new(std::string_view from, const HostDir& to_dir, std::string_view to) const;
  /// Two names of this directory change places at once (renameat2 RENAME_EXCHANGE). Code::unsupported where the file
  /// system knows no such thing.
  Result<void> exchange(std::string_view one, std::string_view other) const;
  /// Of a regular file or directory, never through a link.
  Result<void> set_mode(std::string_view name, std::uint32_t mode) const;
  /// A new empty file, open for reading and writing, mode as given less the umask. Code::exists where the name is
  /// taken.
  Result<Fd> create_file(std::string_view name, std::uint32_t mode) const;

  /// An advisory lock on this directory (flock), held until this HostDir is gone; the kernel drops it when the process
  /// dies. False: somebody else holds it. Code::unsupported where the file system has no such locks.
  Result<bool> try_lock() const;
  /// Whether another HostDir, here or in another process, holds it.
  bool is_locked_by_another() const;

  /// How names behave here. For tests: what the file system under them does not do.
  struct Names {
    std::size_t max_bytes = 255;  ///< no file system of Linux takes longer ones
    bool fold_case = false;       ///< names that differ in the case of ASCII letters alone are one
  };
  /// For this directory and what is opened from it.
  void set_names(const Names& names) { names_ = names; }

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  HostDir(Fd fd, std::string path, const Names& names) : fd_(std::move(fd)), path_(std::move(path)), names_(names) {}
  /// Checked (H1), as the call is to be given it.
  Result<std::string> component(std::string_view name) const;
  Fd fd_;
  std::string path_;
  Names names_;
};

Result<FileStatus> file_status(const Fd& fd, std::string_view path_for_errors);
/// Up to out.size() bytes at the file position, 0 at the end; restarts on EINTR.
Result<std::size_t> read_some(const Fd& fd, std::span<char> out, std::string_view path_for_errors);
Result<void> write_all(const Fd& fd, ByteView data, std::string_view path_for_errors);

/// What follows a file's position: so many bytes that are known to be zeros and lie nowhere (a hole), or so many that
/// must be read. Neither at the end, and where the file system does not say.
struct FileExtent {
  std::uint64_t hole = 0;
  std::uint64_t data = 0;
};
FileExtent next_extent(const Fd& fd);
/// Moves the position on; when writing, what is passed over becomes a hole.
Result<void> pass_over(const Fd& fd, std::uint64_t count, std::string_view path_for_errors);
/// The file ends where its position is, also behind a hole.
Result<void> end_at_position(const Fd& fd, std::string_view path_for_errors);

}  // namespace weft
