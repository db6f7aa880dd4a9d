// The walk over a working tree: what is there, compared with a head tree, directory by directory.
//
// Who walks is in walk.h; here is what comes of it, and the reading of single files afterwards.
//
// Invariants:
//   SC1  A path the head has is `gone` only when its directory was listed and did not have it. What cannot be looked at
//        (unreadable, moving, no file at all) keeps the head's content and is named in the warnings (CASES C11, C13,
//        C14).
//   SC2  Content is read only where directory state does not know it for exactly this stat data (DS1, DS2).
//   SC3  Of a nested repository (the directory with `.git` or `.weft`, and all below) nothing new is recorded; what the
//        head has there is compared path by path, and is gone only where it is not there any more (CASES C22).
//   SC4  What comes of a walk does not depend on how many threads shared it, nor on which was faster.
// Threading: a Scanner belongs to one thread, and starts others for as long as a call lasts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "work/content.h"
#include "work/dir_cursor.h"
#include "work/directory_state.h"
#include "work/scope.h"
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
  bool oversized = false;           ///< new and above the limit: recorded only if it is the head's under another name
  bool unreadable = false;          ///< new and could not be read: recorded only if it is the head's under another name
  bool repository = false;          ///< `unreadable`, as a repository of its own lies in it (SC3)
  std::optional<std::size_t> from;  ///< index of the observation whose head node this is (a move)

  bool kind_changed() const { return present && head && head->kind != kind; }
  /// The head's node is not here any more, unless it was recognised elsewhere.
  bool vacates() const { return head && (!present || kind_changed()); }
  bool is_new() const { return present && (!head || kind_changed()); }
};

struct Scan {
  std::vector<Observation> observations;  ///< in walk order (path_less)
  std::vector<Observation> oversized;     ///< new files above the limit, unread
  std::vector<LeftOut> left_out;          ///< those of them that are no moved file
  std::vector<std::string> ignored;
  std::vector<Warning> warnings;
  std::uint64_t files_seen = 0;
  std::uint64_t files_read = 0;
};

class Scanner {
 public:
  /// With a writer, the content of everything that differs is put there; without one, content is read only to find out.
  Scanner(const WorkTree& tree, const object::ObjectReader& reader, object::ObjectWriter* writer,
          const ScanOptions& options, StateUpdate& update);

  Result<Scan> run(const ObjectId& head);

  /// Finds out the content of a new path the walk did not read. Leaves `id` empty and warns when that fails.
  Result<void> read_new(Observation& observation, Scan& scan);
  /// The same for many of them, several at a time.
  Result<void> read_all_new(const std::vector<Observation*>& observations, Scan& scan);

 private:
  /// What reading one came to.
  struct Reading {
    bool asked = false;
    ContentRead content;
  };
  void drop_bare_routes(std::vector<Observation>& observations) const;
  static bool needs_reading(const Observation& observation);
  Result<Reading> read(const Observation& observation, DirCursor& cursor) const;
  void take(Observation& observation, const Reading& reading, Scan& scan);

  const WorkTree& tree_;
  const object::ObjectReader& reader_;
  object::ObjectWriter* writer_;
  const ScanOptions& options_;
  StateUpdate& update_;
  DirCursor cursor_;
  Scope scope_;
};

/// What a directory holds; nothing for the empty tree, which need not be stored anywhere.
Result<object::Entries> tree_entries(const object::ObjectReader& reader, const ObjectId& tree);

/// A name weft gives its own temporaries in a working tree; never recorded.
bool is_temporary_name(std::string_view name);
/// The mode to record for a file whose mode on disk is `disk`: only the owner's execute bit is looked at.
std::uint32_t recorded_mode(std::uint32_t disk, const std::optional<object::TreeEntry>& head);

}  // namespace weft::work
