// Directory state: what the files of one workspace looked like when their content was last known, so that status reads
// only what may have changed. One file per workspace, derived, deletable.
//
// Invariants:
//   DS1  An entry says: when `path` had exactly this stat data, its content was `id`. It says nothing about any head,
//   so it
//        stays true whatever happens to refs; `node` is a hint for recognising moves, checked against the head's tree.
//   DS2  A racy entry (W5) could have been changed later without its stat data showing it: content is read again.
//   DS3  A file that is torn, flipped, of another version, or of another directory (device and inode of the top) is
//   ignored,
//        never an error. Replaced by temporary and rename without a flush: losing it loses nothing.
//   DS4  Entries are in walk order: by path, '/' lowest, so that a directory stands directly before what is in it. A
//        directory's `end` is the index behind its last descendant.
// Threading: a loaded state is immutable.
// Format: docs/FORMATS.md, "Directory state"; all numbers little-endian, fixed width, mapped and not copied.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/env.h"
#include "object/tree.h"

namespace weft::work {

/// Stat data that changes whenever content may have. `mode` is as lstat has it, without the file type.
struct Stamp {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;

  bool operator==(const Stamp&) const = default;
  static Stamp of(const FileStatus& status) {
    return {status.size, status.mtime_ns, status.ctime_ns, status.inode, status.mode};
  }
};

struct StateEntry {
  std::string_view path;  ///< into the mapping, or owned by whoever made the entry
  object::EntryKind kind = object::EntryKind::file;
  NodeId node;
  ObjectId id;  ///< content; zero for directories
  Stamp stamp;  ///< of directories only the inode counts
  bool racy = false;
};

/// DS4.
bool path_less(std::string_view a, std::string_view b);

inline constexpr std::uint32_t kDirectoryStateVersion = 1;
inline constexpr std::uint64_t kMaxStateEntries = 1u << 27;
/// Clocks advance file times in ticks (1 to 10 ms; the coarse clock of Linux), whole seconds on old file systems.
inline constexpr std::int64_t kClockGrainNs = 20'000'000;
inline constexpr std::int64_t kCoarseClockGrainNs = 2'000'000'000;

/// Whether content seen at `seen_ns` could change without `stamp` changing.
bool is_racy(const Stamp& stamp, std::int64_t seen_ns);

class DirectoryState {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Nothing known.
  DirectoryState() = default;
  /// Never fails: see DS3. `device` and `inode` are those of the workspace's top directory.
  static DirectoryState load(FileSystem& fs, const std::string& path, std::uint64_t device, std::uint64_t inode);
  /// For tests and the fuzzer: from bytes.
  static std::optional<DirectoryState> decode(std::shared_ptr<const Bytes> bytes, std::uint64_t device,
                                              std::uint64_t inode);

  std::size_t size() const { return count_; }
  StateEntry entry(std::size_t index) const;
  std::string_view path(std::size_t index) const;
  /// Behind the last descendant of entry `index`; `index` + 1 for what is no directory.
  std::size_t end(std::size_t index) const;
  std::size_t find(std::string_view path) const;
  /// The first entry that is not before `path`.
  std::size_t lower_bound(std::string_view path) const;
  /// The tree that was the head when it was written; zero when unknown.
  const ObjectId& head() const { return head_; }

 private:
  bool attach(ByteView bytes, std::uint64_t device, std::uint64_t inode);

  std::shared_ptr<const void> owner_;  ///< keeps the bytes alive
  ByteView entries_;
  ByteView paths_;
  std::size_t count_ = 0;
  ObjectId head_;
};

/// Edits to a loaded state, written as a new file. Entries not mentioned stay.
class StateUpdate {
 public:
  /// `begun_monotonic_ns`: when looking at files began; what is put counts as seen then.
  StateUpdate(std::shared_ptr<const DirectoryState> old, std::int64_t begun_monotonic_ns, std::int64_t begun_ns);

  const DirectoryState& old() const { return *old_; }
  /// Replaces the entry of that path, if there is one. `seen_late`: content was written by weft itself, so that it is
  /// racy only against the moment the state is written.
  void put(StateEntry entry, bool seen_late = false);
  /// Entry `index` and everything below it.
  void drop(std::size_t index);
  /// Entry `index` (racy, DS2) was read again and is as it was.
  void confirm(std::size_t index);
  /// Which node is at `path`, where that is known; without an entry for the path there is nothing to say it of.
  void set_node(const std::string& path, const NodeId& node);

  struct Target {
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    ObjectId head;
  };
  /// Once. Writes unless the file would say the same as before.
  Result<void> write(Env& env, const Target& target);

 private:
  /// Against which moment an entry is racy; `before`: nothing was looked at, it stays what it was.
  enum class Seen : std::uint8_t { begun, written, before };
  struct Put {
    std::string path;
    StateEntry entry;  ///< its `path` is set when written
    Seen seen;
  };
  bool says_something_new(const Target& target) const;
  std::shared_ptr<const DirectoryState> old_;
  std::int64_t begun_monotonic_ns_;
  std::int64_t begun_ns_;
  std::vector<Put> puts_;  ///< one per path
  std::unordered_map<std::string, std::size_t> put_index_;
  std::vector<bool> dropped_;
};

}  // namespace weft::work
