// The one seam between weft's store and the disk. Log, packs, index runs and settings are written only through it.
//
// Real: posix_file_system(). Fake: base/testing/sim_file_system.h, which records every operation and materialises the
// disks a crash could leave behind. Working trees use base/host_dir.h.
// Paths are host paths (bytes); relative ones are relative to the process.
// Threading: a FileSystem may be used by many threads; a File by many threads, each call on its own.
// After a failed write or sync a File is dead for writing (the kernel may have dropped the pages): callers reopen and
// re-read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file_system_type.h"
#include "base/result.h"

namespace weft {

enum class FileKind : std::uint8_t { file, directory, symlink, other };

struct FileStatus {
  FileKind kind = FileKind::other;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  ///< permission bits, 07777
  std::uint32_t uid = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t links = 1;
  std::uint32_t gid = 0;
};

/// A read-only mapping of a file; unmapped when destroyed. Bytes beyond the file's size when it was mapped must not be
/// touched unless the file has grown since.
class Mapping {
 public:
  virtual ~Mapping() = default;
  ByteView bytes() const { return bytes_; }

 protected:
  ByteView bytes_;
};

class File {
 public:
  virtual ~File() = default;
  /// Reads exactly out.size() bytes, or fails; end of file inside is Code::damaged.
  virtual Result<void> read_at(std::uint64_t offset, std::span<char> out) const = 0;
  /// Reads up to out.size() bytes; fewer only at the end of the file.
  virtual Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const = 0;
  /// Writes all the parts, one behind the other, at `offset`: one pwritev where the kernel takes it whole.
  virtual Result<void> write_at(std::uint64_t offset, std::span<const ByteView> parts) = 0;
  Result<void> write_at(std::uint64_t offset, ByteView data) { return write_at(offset, std::span(&data, 1)); }
  /// fdatasync: content and size are durable when it returns.
  virtual Result<void> sync() = 0;
  virtual Result<std::uint64_t> size() const = 0;
  /// Cuts or grows (with a hole).
  virtual Result<void> set_size(std::uint64_t size) = 0;
  /// Maps [0, length) read-only and shared: later write_at()s are seen through it. `length` may exceed the size.
  virtual Result<std::shared_ptr<Mapping>> map(std::uint64_t length) const = 0;
};

enum class OpenMode : std::uint8_t {
  read,        ///< must exist
  write,       ///< read and write, must exist
  create,      ///< read and write, created if missing
  create_new,  ///< read and write, must not exist
};

struct DirectoryEntry {
  std::string name;
  FileKind kind = FileKind::other;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  /// Follows symlinks.
  virtual Result<FileStatus> status(const std::string& path) = 0;
  virtual Result<void> make_directory(const std::string& path) = 0;
  /// Sorted by name, without . and ..
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  /// Replaces `to`. Durable only after sync_directory() of the directories involved.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> unlink(const std::string& path) = 0;
  virtual Result<void> remove_directory(const std::string& path) = 0;
  /// fsync of a directory: creations, renames and unlinks in it are durable when it returns.
  virtual Result<void> sync_directory(const std::string& path) = 0;
  /// The free bytes an ordinary user may still take on the file system that holds `path`.
  virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
  /// Which file system holds `path`. Where nobody can say, one that is not known.
  virtual Result<FileSystemType> type_of(const std::string& path);
};

/// The real one. Stateless; lives for ever. What it makes fits its directory: in one that a group shares (setgid and
/// writable for it) the group may write to what is made there, whatever the umask; what root makes in the directory of
/// somebody else belongs to that user.
FileSystem& posix_file_system();

/// Whole small file (at most `max_bytes`, else Code::invalid).
Result<Bytes> read_file(FileSystem& fs, const std::string& path, std::uint64_t max_bytes);
/// Temporary beside it, flush, rename over `path`, flush the directory: old or new content after a crash, never a mix.
Result<void> write_file_durably(FileSystem& fs, const std::string& path, ByteView content);
/// Whether this is the name of such a temporary. One that is found outside of such a call was left by a process that
/// was killed.
bool is_durable_temporary(std::string_view name);
/// Removes temporaries in `directory` that nobody has written to for a day: what killed processes left.
void remove_old_durable_temporaries(FileSystem& fs, const std::string& directory, std::int64_t now_ns);

/// "a/b" + "c" -> "a/b/c".
std::string join_path(std::string_view directory, std::string_view name);
/// Directory part; "." when there is none.
std::string parent_path(std::string_view path);
std::string base_name(std::string_view path);

}  // namespace weft
