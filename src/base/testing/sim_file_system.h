// SimFileSystem: a file system in memory that remembers what a real disk could forget.
//
// It records every mutating operation in order. after_crash(k, how) builds a disk that a power failure after the first
// k operations could have left, as a fresh SimFileSystem to reopen a store on; there are many such disks, and `how`
// picks one. Faults, a limit on space and counters of calls make errors, full disks and costs testable too.
//
// What is durable (the weakest promise of the file systems weft runs on):
//   D1  A file's bytes and size are durable once a sync() of it that began after the write returned. It makes nothing
//       else durable, not even the file's own directory entry.
//   D2  A directory's entries (created, renamed, unlinked) are durable once a sync_directory() of it returned; of a
//       directory itself, once its parent was synced. A rename is all or nothing, and durable with either directory.
//   D3  What is not durable may be there or not, each write and each entry on its own, in any combination; a write may
//   be
//       there in part, sector by sector (512 bytes, at multiples of 512 in the file), with old bytes, zeros or garbage
//       in the rest of the bytes it wrote. Bytes that were durable and not written again never change.
//   D4  A failed sync may keep the dirty bytes (a later sync can still save them), or drop them: then no later sync
//   makes
//       them durable, whether reads still see them (cached) or not (evicted). What happens is chosen by the seed.
//   D5  A failed sync of a file is met by every handle that was open on it then, at its own next sync (as Linux has
//   done
//       since 4.13), but not by handles opened later.
// Otherwise it behaves as posix_file_system() does, including dead files after a failed write or sync (P1 there). There
// are no symlinks, owners or permissions; relative paths begin at the root.
// Threading: any; one mutex.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/mutex.h"
#include "base/testing/fake_random.h"

namespace weft {

/// The calls that are counted and can be made to fail.
enum class SimCall : std::uint8_t {
  open,  ///< of an existing or a new file
  read,
  write,
  set_size,
  sync,
  map,
  status,  ///< also File::size
  list,
  make_directory,
  rename,
  unlink,  ///< also remove_directory
  sync_directory,
  free_bytes,
  count_,
};

using SimCalls = std::uint32_t;  ///< a set of SimCall
constexpr SimCalls sim_calls(std::initializer_list<SimCall> calls) {
  SimCalls set = 0;
  for (const SimCall call : calls) set |= 1u << static_cast<unsigned>(call);
  return set;
}
constexpr SimCalls kAllSimCalls = (1u << static_cast<unsigned>(SimCall::count_)) - 1;
constexpr SimCalls kWritingSimCalls =
    sim_calls({SimCall::write, SimCall::set_size, SimCall::sync, SimCall::make_directory, SimCall::rename,
               SimCall::unlink, SimCall::sync_directory});

struct SimCounts {
  std::array<std::uint64_t, static_cast<std::size_t>(SimCall::count_)> calls{};
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t operator[](SimCall call) const { return calls[static_cast<std::size_t>(call)]; }
};

/// The `nth` call (from 1, counted from when the fault is added) of the given kinds fails, or it and all after it.
struct SimFault {
  SimCalls calls = kAllSimCalls;
  std::uint64_t nth = 1;
  bool for_good = false;
  int errnum = 5;  ///< EIO
};

enum class SimOperationKind : std::uint8_t {
  write,
  set_size,
  sync,  ///< successful, or failed with dropped bytes
  create,
  make_directory,
  rename,
  unlink,
  remove_directory,
  sync_directory,
};

struct SimOperation {
  SimOperationKind kind = SimOperationKind::write;
  std::string path;                      ///< as the caller named it
  std::string to{};                      ///< rename: the new path
  std::uint64_t inode = 0;               ///< the file or directory concerned
  std::uint64_t offset = 0;              ///< write
  std::uint64_t size = 0;                ///< set_size, sync: the file's size
  std::shared_ptr<const Bytes> bytes{};  ///< write
  bool dropped = false;                  ///< a failed sync that lost what was dirty
  /// create, make_directory, rename, unlink, remove_directory: the entries changed; inode 0 removes.
  struct Entry {
    std::uint64_t directory = 0;
    std::string name;
    std::uint64_t inode = 0;
  };
  std::vector<Entry> entries{};
};

/// "write log/1.seg 4096+512", for messages.
std::string describe(const SimOperation& operation);

struct SimCrash {
  enum class Kind : std::uint8_t {
    synced_only,  ///< what is not durable is gone
    prefix,       ///< everything up to the cut is there (but dropped bytes)
    torn,         ///< a combination D3 allows, by `seed`; seeds 0 to 4 are the extreme ones
  };
  Kind kind = Kind::synced_only;
  std::uint64_t seed = 0;
};
std::string describe(const SimCrash& crash);

class SimFileSystem final : public FileSystem {
 public:
  /// An empty root directory. The seed decides what failing calls leave behind.
  explicit SimFileSystem(std::uint64_t seed = 1);
  ~SimFileSystem() override;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<FileStatus> status(const std::string& path) override;
  Result<void> make_directory(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> unlink(const std::string& path) override;
  Result<void> remove_directory(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;

  // --- the record, and crashes
  std::size_t operation_count() const;
  SimOperation operation(std::size_t i) const;
  /// Makes everything durable and forgets the record: what follows is cut from here.
  void settle();
  /// Depends on the record alone: the same run twice gives the same hash.
  std::uint64_t history_hash() const;
  /// A disk that power loss after the first `operations` operations could leave. Settled, without faults or limits.
  std::unique_ptr<SimFileSystem> after_crash(std::size_t operations, const SimCrash& crash) const;
  /// For every cut from `first` to the end: synced-only, prefix and `torn` torn disks, each with a text that says how
  /// to get it again.
  void for_each_crash(
      std::size_t first, unsigned torn,
      const std::function<void(SimFileSystem& disk, std::size_t cut, const std::string& text)>& check) const;

  // --- faults, space, costs
  void add_fault(const SimFault& fault);
  void clear_faults();
  /// Calls that failed because of faults.
  std::uint64_t fault_hits() const;
  /// Room for so many more bytes, counted in blocks of 4 KiB as files take them; at first 1 TiB.
  void set_free_bytes(std::uint64_t bytes);
  SimCounts counts() const;
  void reset_counts();
  /// Called before every File::sync takes effect, outside the lock: a test's place to let others act meanwhile.
  void set_before_sync(std::function<void(const std::string& path)> hook);

  /// Whole content as reads see it; for tests. The file must exist.
  Bytes content(const std::string& path);
  /// Settles, then changes bytes of the disk behind everybody's back. The file must exist.
  void damage(const std::string& path, std::uint64_t offset, ByteView bytes);

 private:
  friend class SimFile;
  friend class SimReplay;

  /// A file or directory as it is on a disk; contents are shared until written.
  struct Node {
    bool directory = false;
    std::shared_ptr<const Bytes> content;          // file
    std::map<std::string, std::uint64_t> entries;  // directory
  };
  using Image = std::map<std::uint64_t, Node>;
  struct LiveFile;

  struct Place {
    std::uint64_t directory = 0;
    std::string name;         // empty for the root itself
    std::uint64_t inode = 0;  // 0: not there
  };

  int count_and_fault(SimCall call) WEFT_REQUIRES(mutex_);
  Result<void> meet(SimCall call, std::string_view operation, std::string_view path) WEFT_REQUIRES(mutex_);
  void record(SimOperation operation) WEFT_REQUIRES(mutex_);
  Result<Place> find(const std::string& path, std::string_view operation) const WEFT_REQUIRES(mutex_);
  Result<Place> find_existing(const std::string& path, std::string_view operation) const WEFT_REQUIRES(mutex_);
  bool is_directory(std::uint64_t inode) const WEFT_REQUIRES(mutex_);
  Result<void> remove(const std::string& path, bool directory) WEFT_REQUIRES(mutex_);
  void apply_entries(const SimOperation& operation) WEFT_REQUIRES(mutex_);
  void write_bytes(LiveFile& file, std::uint64_t offset, ByteView bytes) WEFT_REQUIRES(mutex_);
  void resize(LiveFile& file, std::uint64_t size) WEFT_REQUIRES(mutex_);
  std::size_t take_space(LiveFile& file, std::uint64_t offset, std::size_t length) WEFT_REQUIRES(mutex_);
  void release(std::uint64_t inode) WEFT_REQUIRES(mutex_);
  void set_live(const Image& image) WEFT_REQUIRES(mutex_);
  Bytes durable_content(std::uint64_t inode) const WEFT_REQUIRES(mutex_);

  mutable Mutex mutex_;
  FakeRandom random_;
  Image base_ WEFT_GUARDED_BY(mutex_);  // the disk before operations_[0]
  std::vector<SimOperation> operations_ WEFT_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::map<std::string, std::uint64_t>> directories_
      WEFT_GUARDED_BY(mutex_);  // as calls see them
  std::map<std::uint64_t, std::shared_ptr<LiveFile>> files_ WEFT_GUARDED_BY(mutex_);
  std::uint64_t next_inode_ WEFT_GUARDED_BY(mutex_) = 2;
  std::vector<SimFault> faults_ WEFT_GUARDED_BY(mutex_);
  std::uint64_t fault_hits_ WEFT_GUARDED_BY(mutex_) = 0;
  std::uint64_t free_bytes_ WEFT_GUARDED_BY(mutex_) = std::uint64_t{1} << 40;
  SimCounts counts_ WEFT_GUARDED_BY(mutex_);
  std::int64_t ticks_ WEFT_GUARDED_BY(mutex_) = 0;  // recorded operations; serves as time stamps
  std::function<void(const std::string&)> before_sync_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
