// Who walks: one directory is one step, its listing, the head's entries and what directory state knows of it merged by
// name. A step depends on nothing but what it is handed (Pending) and says nothing but in its walker's output, so that
// several walkers share the work; what they found is put together in an order that does not show who found it (SC4).
//
// Invariants:
//   WK1  Other threads are started only once there is work for them (kShareFromDirectories waiting, or kSplitFrom names
//        in one directory).
//   WK2  The head's tree of a directory is not read where directory state is known to say the same (DS5).
//   WK4  A directory that is exact and has the times under which its names are known (DS7) is not listed; each of its
//        files is stat'ed all the same.
//   WK3  On the way to what was asked for nothing else is looked at: not listed, not stat'ed.
// Threading: a Walker belongs to one thread; WalkQueue is shared.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dir_listing.h"
#include "base/mutex.h"
#include "work/content.h"
#include "work/dir_cursor.h"
#include "work/directory_state.h"
#include "work/ignore.h"
#include "work/scan.h"

namespace weft::work {

inline constexpr std::size_t kShareFromDirectories = 32;
inline constexpr std::size_t kSplitFrom = 4096;
inline constexpr std::size_t kSplitNames = 1024;  ///< taken at a time
/// On the way to more names than this of one directory its whole tree is read, instead of looking each name up.
inline constexpr std::size_t kMaxSingleLookups = 64;

inline object::EntryKind entry_kind_of(FileKind kind) {
  return kind == FileKind::directory ? object::EntryKind::directory
         : kind == FileKind::symlink ? object::EntryKind::symlink
                                     : object::EntryKind::file;
}
inline FileKind file_kind_of(object::EntryKind kind) {
  return kind == object::EntryKind::directory ? FileKind::directory
         : kind == object::EntryKind::symlink ? FileKind::symlink
         : kind == object::EntryKind::file    ? FileKind::file
                                              : FileKind::other;
}
inline bool is_file_or_link(FileKind kind) { return kind == FileKind::file || kind == FileKind::symlink; }
/// Its directory is the top of a repository.
inline bool is_repository_mark(std::string_view name) { return name == ".git" || name == ".weft"; }

/// Whether a directory lies at or below one that is ignored, found out when somebody asks: mostly nobody does.
class Exclusion {
 public:
  using Pointer = std::shared_ptr<const Exclusion>;
  /// Of a directory that is not; also of the top.
  static Pointer none() { return nullptr; }
  /// Of `path`, in a directory in which `rules` are in force and which is excluded if `above` is.
  static Pointer of(Pointer above, std::string path, IgnoreLevel::Pointer rules);
  static bool holds(const Pointer& exclusion);

 private:
  Pointer above_;
  std::string path_;
  IgnoreLevel::Pointer rules_;
  mutable std::atomic<int> known_ = -1;
};

/// A directory to look into.
struct Pending {
  std::string path;
  std::optional<object::TreeEntry> head;  ///< what the head has here: a directory, or what one stands in the way of
  std::size_t state = DirectoryState::kNone;
  std::uint64_t inode = 0;
  IgnoreLevel::Pointer rules;
  Exclusion::Pointer excluded;  ///< where it holds, everything the head does not have is ignored (I1)
  bool inside = true;           ///< asked for, and so is everything below
  bool nested = false;          ///< below the top of a repository of its own

  bool tracked() const { return head && head->kind == object::EntryKind::directory; }
};

/// What all walkers of one walk go by.
struct WalkInput {
  const WorkTree& tree;
  const object::ObjectReader& reader;
  object::ObjectWriter* writer;
  const ScanOptions& options;
  const DirectoryState& old;
  const Scope& scope;
  unsigned max_workers;

  /// For ScanOptions::progress.
  mutable std::atomic<std::uint64_t> files_done = 0;
  mutable std::atomic<std::uint64_t> bytes_done = 0;
};

struct WalkOutput {
  std::vector<Observation> observations;
  std::vector<Observation> oversized;  ///< Scan::oversized
  std::vector<std::string> ignored;
  std::vector<Warning> warnings;
  StateNotes notes;
  std::uint64_t files_seen = 0;
  std::uint64_t files_read = 0;
  void append(WalkOutput other);
};

class Walker {
 public:
  /// `reports`: whether this is the thread that calls ScanOptions::progress.
  Walker(const WalkInput& input, bool reports) : in_(input), reports_(reports), cursor_(input.tree.root) {}

  Result<void> step(const Pending& pending);
  /// Subdirectories found since the last call, in name order.
  std::vector<Pending> take_found() { return std::exchange(found_, {}); }
  WalkOutput& output() { return out_; }
  /// Calls ScanOptions::progress, where this is the thread to do so.
  void report() const;

 private:
  /// The directory a step is in.
  struct Here {
    const Pending& pending;
    const HostDir& directory;
    IgnoreLevel::Pointer rules;
    std::size_t state = DirectoryState::kNone;
    bool nested = false;                  ///< a repository of its own, or in one
    bool exact = false;                   ///< WK2
    bool listed = false;                  ///< whole, not only what was asked for
    std::optional<FileStatus> self = {};  ///< from before it was listed, where its names may be noted (DS7)
  };
  /// One name, as far as each of the three sources has it.
  struct Child {
    std::string_view name;  ///< of what is on disk ends in a NUL, where `listed`
    bool on_disk = false;
    bool tracked = false;
    bool ignored = false;    ///< untracked names only
    bool looked_at = false;  ///< `status` is of the disk
    FileKind kind = FileKind::other;
    std::uint32_t order = 0;  ///< in the listing
    std::uint64_t inode = 0;
    const object::TreeEntry* head = nullptr;  ///< absent also where the state says what it is
    std::size_t state = DirectoryState::kNone;
    FileStatus status{};
  };

  /// WK4: with what directory state has in place of the listing.
  bool gather_known(Here& here);
  /// DS7, behind a listing.
  void note_names(const Here& here, std::size_t dropped_before);
  Result<void> gather_listed(Here& here);
  Result<void> gather_asked(Here& here);
  void note_directory(Here& here);
  Result<void> visit_all(const Here& here);
  Result<void> visit_range(const Here& here, std::span<Child> children);
  void look_at(const Here& here, std::span<Child> children);
  bool is_clean(const Here& here, const Child& child);

  Result<void> visit(const Here& here, const Child& child);
  Result<void> visit_missing(const Child& child, const std::string& path);
  Result<void> visit_tracked(const Here& here, const Child& child, std::string path);
  Result<void> visit_untracked(const Here& here, const Child& child, std::string path);
  Result<void> compare(const Here& here, const Child& child, std::string path, const object::TreeEntry& head);
  Result<void> add(const Here& here, const Child& child, std::string path);
  void put_off(const Here& here, const Child& child, std::string path, std::optional<object::TreeEntry> head,
               Exclusion::Pointer excluded);
  /// Everything of the head at `path` that is asked for.
  Result<void> gone(const std::string& path, const object::TreeEntry& entry, bool itself);
  void check_submodule(const Here& here, const Child& child, const std::string& path);
  object::TreeEntry head_of(const Child& child) const;
  bool is_ignored(const Here& here, std::string_view path, bool directory) const;
  void read_rules(Here& here, bool gitignore, bool weftignore);
  void note_content(const std::string& path, object::EntryKind kind, const NodeId& node, const ContentRead& read);
  void forget(const Child& child);
  /// What directory state says of a path that the head does not have: the node an earlier status recognised in it.
  NodeId known_node(std::size_t state, object::EntryKind kind) const;
  void warn(std::string path, std::string reason);

  const WalkInput& in_;
  const bool reports_;
  DirCursor cursor_;
  WalkOutput out_;
  std::vector<Pending> found_;
  // Of the step under way.
  DirListing listing_;
  std::vector<std::uint32_t> sorted_;
  object::Entries head_;
  std::vector<Child> children_;
  std::vector<std::uint32_t> by_order_;
  std::string names_;  ///< of `children_`, where there is no listing
  std::string path_;   ///< working memory
};

/// Directories waiting, each with the walker that found it; whoever has none takes the oldest of another.
class WalkQueue {
 public:
  explicit WalkQueue(unsigned walkers) : waiting_(walkers) {}

  std::size_t size();
  /// Nothing: all is done, or somebody failed. Waits while others may still find something; `idle` is called about ten
  /// times a second meanwhile.
  std::optional<Pending> take(unsigned walker, const std::function<void()>& idle);
  /// What take() gave is done, and this was found.
  void finish(unsigned walker, std::vector<Pending> found);
  void start(Pending top);
  void fail(Error error, std::string path);
  Result<void> result();

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::deque<Pending>> waiting_ WEFT_GUARDED_BY(mutex_);
  std::size_t count_ WEFT_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ WEFT_GUARDED_BY(mutex_) = 0;  ///< walkers in a step
  std::optional<Error> failed_ WEFT_GUARDED_BY(mutex_);
  std::string failed_path_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft::work
