// Bugs put in on purpose: a file system between the store and the disk that forgets to do something. Each harness must
// find out; one that does not proves nothing.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"

namespace weft::store {

enum class Sabotage : std::uint8_t {
  none,
  no_flush,            ///< flushes of files are acknowledged and not made
  no_log_flush,        ///< only those of the log's segments
  no_pack_flush,       ///< only those of packs
  no_directory_flush,  ///< names are never made durable
  late_log_flush,     ///< the log's flush is acknowledged first and made with the next write: durable is said too early
  flush_errors_lost,  ///< a flush that failed is taken for one that worked
  write_errors_lost,  ///< a write that failed is taken for one that worked
};
std::string describe(Sabotage sabotage);

class SabotagedFileSystem final : public FileSystem {
 public:
  explicit SabotagedFileSystem(FileSystem* disk = nullptr, Sabotage bug = Sabotage::none)
      : sabotage(bug), inner(disk) {}

  Sabotage sabotage;  ///< of files opened from now on
  FileSystem* inner;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<FileStatus> status(const std::string& path) override { return inner->status(path); }
  Result<void> make_directory(const std::string& path) override { return inner->make_directory(path); }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return inner->list(path); }
  Result<void> rename(const std::string& from, const std::string& to) override { return inner->rename(from, to); }
  Result<void> unlink(const std::string& path) override { return inner->unlink(path); }
  Result<void> remove_directory(const std::string& path) override { return inner->remove_directory(path); }
  Result<void> sync_directory(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override { return inner->free_bytes(path); }
};

}  // namespace weft::store
