// Directory state: what the files of one workspace looked like when their content was last known, so that status reads
// only what may have changed. One file per workspace, derived, deletable.
//
// Invariants:
//   DS1  An entry says: when `path` had exactly this stat data, its content was `id`. It says nothing about any head,
//   so it
//        stays true whatever happens to refs; `node` is a hint for recognising moves, checked against the head's tree.
//   DS2  A racy entry (W5) could have been changed later without its stat data showing it: content is read again.
//   DS3  A file that is torn, flipped, of another version, or of another directory (device and inode of the top) is
//        ignored, never an error. Files are replaced by temporary and rename without a flush, never written in place:
//        whoever reads or writes at the same time sees one whole file or the other, and losing either loses nothing.
//   DS4  Entries are in walk order: by path, '/' lowest, so that a directory stands directly before what is in it. A
//        directory's `end` is the index behind its last descendant.
//   DS5  What an entry says of trees is said of one tree by id, which never changes, and not of any head: an `exact`
//        directory's tree `id` has the `in_tree` entries directly in it, with their kind, node, content, size and
//        `tree_mode`, and no other. So it may be asked instead of that tree. Whatever changes an entry takes `exact`
//        from its directory, unless it was compared with the tree again (StateUpdate::claim).
//   DS6  Small changes go to a second file, the delta, which names the base it is of by checksum: beside another base
//        it counts for nothing. It holds all that differs from the base, so that either it is there as a whole or what
//        the base says, older and as true, stands.
//   DS7  A directory's entry with times says: while the directory itself has them (and the inode), its names on disk
//   are
//        exactly those of the entries directly in it, of their kinds. It is said by a walk that listed the directory
//        and found each name known; never of racy times; and whatever adds or takes an entry directly in it unsays it.
// Threading: a loaded state is immutable. A StateUpdate belongs to one thread; others gather StateNotes for it.
// Format: docs/FORMATS.md, "Directory state"; all numbers little-endian, fixed width, mapped and not copied.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
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
  ObjectId id;  ///< content; of a directory its tree, zero when unknown
  Stamp stamp;  ///< of directories only the inode, mtime and ctime count (DS7); no times: the names are not known
  bool racy = false;
  bool in_tree = false;         ///< DS5
  bool exact = false;           ///< DS5, directories only
  std::uint16_t tree_mode = 0;  ///< `in_tree`: the mode it has there

  /// DS7, of directories.
  bool names_known() const { return kind == object::EntryKind::directory && stamp.mtime_ns != 0; }
};

/// What the tree of its directory has, of an entry that is `in_tree`; its name is empty.
object::TreeEntry tree_entry_of(const StateEntry& entry);

/// DS4.
bool path_less(std::string_view a, std::string_view b);

inline constexpr std::uint32_t kDirectoryStateVersion = 3;
inline constexpr std::uint64_t kMaxStateEntries = 1u << 27;
/// A smaller base has no delta: it is as cheaply written anew, and reading has one file less to look for.
inline constexpr std::uint64_t kDeltaFromBytes = 64u << 10;
/// A delta above this, and above its share of the base, goes into a new base.
inline constexpr std::uint64_t kMinDeltaBytes = 32u << 10;
inline constexpr std::uint64_t kDeltaShare = 64;
/// A longer one is not read.
inline constexpr std::uint64_t kMaxDeltaBytes = std::uint64_t{1} << 30;
std::string delta_path(const std::string& state_path);
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
  /// For tests and the fuzzer: from bytes. A delta that is none of this base's is ignored.
  static std::optional<DirectoryState> decode(std::shared_ptr<const Bytes> bytes, std::uint64_t device,
                                              std::uint64_t inode, std::shared_ptr<const Bytes> delta = nullptr);

  std::size_t size() const { return merged_ ? sources_.size() : base_count_; }
  StateEntry entry(std::size_t index) const;
  std::string_view path(std::size_t index) const;
  /// Behind the last descendant of entry `index`; `index` + 1 for what is no directory.
  std::size_t end(std::size_t index) const;
  std::size_t find(std::string_view path) const;
  /// The first entry that is not before `path`.
  std::size_t lower_bound(std::string_view path) const;
  /// The tree that was the head when it was written; zero when unknown.
  const ObjectId& head() const { return head_; }
  /// DS5, of the top directory and `head`.
  bool root_exact() const { return root_exact_; }
  /// Whether there is a file to make a delta of.
  bool may_have_delta() const { return base_bytes_ >= kDeltaFromBytes; }
  std::uint64_t delta_entries() const { return delta_count_; }

 private:
  friend class StateUpdate;
  static constexpr std::uint32_t kFromDelta = 1u << 31;  ///< in `sources_`; kMaxStateEntries leaves it free

  bool attach(ByteView bytes, std::uint64_t device, std::uint64_t inode);
  void attach_delta(std::shared_ptr<const Bytes> bytes);
  bool merge(ByteView delta_entries, ByteView delta_paths, std::size_t count);
  ByteView raw(std::size_t index, ByteView& paths) const;
  ByteView base_raw(std::size_t index) const;
  std::string_view base_path(std::size_t index) const;
  std::size_t base_lower_bound(std::string_view path) const;

  std::shared_ptr<const void> owner_;  ///< keeps the bytes alive
  std::shared_ptr<const void> delta_owner_;
  ByteView entries_;
  ByteView paths_;
  std::size_t base_count_ = 0;
  std::uint64_t base_bytes_ = 0;     ///< of the whole file
  std::uint64_t base_checksum_ = 0;  ///< DS6
  ObjectId head_;
  bool root_exact_ = false;

  ByteView delta_entries_;
  ByteView delta_paths_;
  std::size_t delta_count_ = 0;
  // With a delta: where each entry lies, and where each ends.
  bool merged_ = false;
  std::vector<std::uint32_t> sources_;
  std::vector<std::uint32_t> ends_;
};

/// What one thread has to say for an update; merged in any order, the outcome is the same.
struct StateNotes {
  struct Put {
    std::string path;
    StateEntry entry;  ///< its `path` is not used
  };
  /// What is directly in a directory was compared with a tree (DS5): with all of its entries, or, of a directory that
  /// is exact for `base`, with those in which the two trees differ.
  struct Claim {
    std::string path;
    ObjectId tree;
    object::Entries entries;  ///< sorted by name
    std::optional<ObjectId> base;
    std::vector<std::string> gone;  ///< with `base`: what it has and `tree` has not, sorted
    int round = 0;                  ///< of one round those of a directory and those above it are of one root's tree
  };
  std::vector<Put> puts;
  std::vector<Put> amended;  ///< another node, and nothing looked at
  std::vector<std::size_t> dropped;
  std::vector<Claim> claims;
};

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
  /// Where some of it turns out to differ the directory is not exact, but what is equal is marked as such all the same.
  void claim(StateNotes::Claim claim);
  void add(StateNotes notes);

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
  /// When the content of what was put was seen, on the clock that stamps files.
  struct Moments {
    std::int64_t begun_ns = 0;
    std::int64_t written_ns = 0;
  };
  Put* find_put(std::string_view path);
  /// What will be at `path`; `index`: its place in the old state, where the caller knows it.
  std::optional<StateEntry> current(const std::string& path, std::size_t index);
  /// Changes what is said of an entry without anything having been looked at.
  void amend(const std::string& path, const StateEntry& entry);
  void inherit_tree_facts();
  /// False: it is about something else than what is known, and says nothing.
  bool resolve(const StateNotes::Claim& claim);
  /// One name in a claimed directory; `tree` is null where the tree has none such. Whether both are the same.
  bool resolve_entry(const StateNotes::Claim& claim, std::string_view name, std::size_t index,
                     const object::TreeEntry* tree);
  bool resolve_all(const StateNotes::Claim& claim, std::size_t place);
  bool resolve_edited(const StateNotes::Claim& claim);
  /// DS5: what changed directly in a directory makes it inexact, unless a claim speaks of it.
  void unsettle(const std::vector<const StateNotes::Claim*>& claims);
  void unsettle_directory(std::string_view path);
  /// DS7.
  void forget_names(std::string_view directory);
  bool is_directory(std::string_view path);
  bool says_something_new(const Target& target) const;
  void settle_races(const Moments& moments);
  std::optional<Bytes> encode_delta(const Target& target, std::int64_t seen_ns);
  Bytes encode_base(const Target& target, std::int64_t seen_ns);

  std::shared_ptr<const DirectoryState> old_;
  std::int64_t begun_monotonic_ns_;
  std::int64_t begun_ns_;
  std::vector<Put> puts_;  ///< one per path; in walk order once it is being written
  std::unordered_map<std::string, std::size_t> put_index_;
  std::vector<bool> dropped_;
  std::vector<StateNotes::Claim> claims_;
  // DS5, of the top directory.
  ObjectId root_tree_;
  bool root_exact_ = false;
};

}  // namespace weft::work
