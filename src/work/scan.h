// The walk over a working tree: what is there, compared with a head tree, directory by directory.
//
// One directory is one step: its listing, the head's entries and what directory state knows of it are merged by name.
// Steps depend on nothing but what they are handed (Pending), so that several walkers can share the work.
//
// Invariants:
//   SC1  A path the head has is `gone` only when its directory was listed and did not have it. What cannot be looked at
//        (unreadable, moving, no file at all) keeps the head's content and is named in the warnings (CASES C11, C13,
//        C14).
//   SC2  Content is read only where directory state does not know it for exactly this stat data (DS1, DS2).
//   SC3  Nothing of a nested repository is recorded, and nothing of the head is taken for gone because of one (CASES
//   C22).
// Threading: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "work/dir_cursor.h"
#include "work/directory_state.h"
#include "work/ignore.h"
#include "work/work.h"

namespace weft::work {

/// One path at which working tree and head differ, or may differ.
struct Observation {
  std::string path;
  std::optional<object::TreeEntry> head;  ///< what the head has at this path

  // What is on disk; of no meaning unless `present`.
  bool present = false;
  object::EntryKind kind = object::EntryKind::file;
  Stamp stamp;
  std::uint32_t mode = 0;      ///< as it is to be recorded
  std::optional<ObjectId> id;  ///< content, where known; a directory has none
  std::uint64_t size = 0;
  bool unreadable = false;          ///< new and could not be read: recorded only if it is the head's under another name
  std::optional<std::size_t> from;  ///< index of the observation whose head node this is (a move)

  bool kind_changed() const { return present && head && head->kind != kind; }
  /// The head's node is not here any more, unless it was recognised elsewhere.
  bool vacates() const { return head && (!present || kind_changed()); }
  bool is_new() const { return present && (!head || kind_changed()); }
};

struct Scan {
  std::vector<Observation> observations;  ///< in walk order (path_less)
  std::vector<std::string> ignored;
  std::vector<Warning> warnings;
  std::uint64_t files_seen = 0;
  std::uint64_t files_read = 0;
};

/// Which part of the tree is asked for.
class Scope {
 public:
  explicit Scope(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  enum class Place { outside, route, inside };  ///< route: above something asked for
  Place place(std::string_view path) const;
  /// `path` is one of the paths itself.
  bool names(std::string_view path) const;
  bool everything() const { return paths_.empty(); }

 private:
  std::vector<std::string> paths_;
};

class Scanner {
 public:
  /// With a writer, the content of everything that differs is put there; without one, content is read only to find out.
  Scanner(const WorkTree& tree, const object::ObjectReader& reader, object::ObjectWriter* writer,
          const ScanOptions& options, StateUpdate& update);

  Result<Scan> run(const ObjectId& head);

  /// Finds out the content of a new path the walk did not read. Leaves `id` empty and warns when that fails.
  Result<void> read_new(Observation& observation, Scan& scan);

 private:
  struct Pending {
    std::string path;
    std::optional<object::TreeEntry> head;  ///< what the head has here: a directory, or what one stands in the way of
    std::size_t state = DirectoryState::kNone;
    IgnoreLevel::Pointer rules;
    bool inside = true;     ///< asked for, and so is everything below
    bool excluded = false;  ///< below an ignored directory: everything the head does not have is ignored (I1)

    bool tracked() const { return head && head->kind == object::EntryKind::directory; }
  };
  /// One name of a directory, as far as each of the three sources has it.
  struct Child {
    std::string_view name;
    const DirectoryEntry* disk = nullptr;
    const object::TreeEntry* head = nullptr;
    std::size_t state = DirectoryState::kNone;
  };

  Result<void> step(const Pending& pending);
  Result<void> visit(const Pending& pending, const HostDir& directory, const Child& child, bool nested);
  Result<void> visit_missing(const Pending& pending, const Child& child, const std::string& path, bool nested);
  Result<void> visit_tracked(const Pending& pending, const HostDir& directory, const Child& child, std::string path,
                             const FileStatus& status);
  Result<void> visit_untracked(const Pending& pending, const HostDir& directory, const Child& child, std::string path,
                               const FileStatus& status);
  Result<void> compare(const HostDir& directory, const Child& child, std::string path, const FileStatus& status);
  Result<void> add(const HostDir& directory, const Child& child, std::string path, const FileStatus& status);
  /// Everything of the head at `path` that is asked for.
  Result<void> gone(const std::string& path, const object::TreeEntry& entry, bool itself);
  void check_submodule(const std::string& path);
  Result<IgnoreLevel::Pointer> rules_of(const Pending& pending, const HostDir& directory,
                                        const std::vector<DirectoryEntry>& listing);
  std::optional<Bytes> ignore_file(const HostDir& directory, const std::vector<DirectoryEntry>& listing,
                                   std::string_view name, std::string_view directory_path);
  void forget(const Child& child);
  /// What directory state says of a path that the head does not have: the node an earlier status recognised in it.
  NodeId known_node(std::size_t state, object::EntryKind kind) const;
  void warn(std::string path, std::string reason);

  const WorkTree& tree_;
  const object::ObjectReader& reader_;
  object::ObjectWriter* writer_;
  const ScanOptions& options_;
  StateUpdate& update_;
  DirCursor cursor_;
  Scope scope_;
  std::vector<Pending> pending_;
  Scan scan_;
};

/// What a directory holds; nothing for the empty tree, which need not be stored anywhere.
Result<object::Entries> tree_entries(const object::ObjectReader& reader, const ObjectId& tree);

/// A name weft gives its own temporaries in a working tree (HostDir::create_temporary); never recorded.
bool is_temporary_name(std::string_view name);
/// The mode to record for a file whose mode on disk is `disk`: only the owner's execute bit is looked at.
std::uint32_t recorded_mode(std::uint32_t disk, const std::optional<object::TreeEntry>& head);

}  // namespace weft::work
