// The working tree of one workspace: what is in it, how it differs from the head, how it is recorded, how a version is
// written out. Everything here works on a HostDir, an ObjectReader and a directory state; it knows no store, ref or
// verb.
//
// Invariants:
//   W1  `.git` and `.weft` (object::name_is_reserved) are never content and never written out; such paths in a tree are
//       skipped and named in `warnings` (CASES C18).
//   W2  Directory state is a cache: deleting it costs time and nothing else, except that `written_by` knowledge of what
//       weft itself wrote (which decides what may be overwritten) is then derived by comparing content with the head.
//   W3  Checkout never overwrites or removes what it does not know: a file whose content is not what the old tree says,
//   or
//       an untracked or ignored file in the way, refuses the whole checkout before anything is touched, by name.
//   W4  Killed anywhere, a checkout leaves every path either old or new; status tells the truth; running it again
//   finishes. W5  An entry whose mtime is not older than the clock's grain before the state was written is re-read
//   (racy, CASES C10).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/host_dir.h"
#include "object/change.h"
#include "tree/tree.h"

namespace weft::work {

/// Where a workspace's files are, and where its directory state is kept (a host path, may not exist yet).
struct WorkTree {
  Env& env;
  const HostDir& root;
  std::string state_path;
};

/// Ignore rules in git's order: for each directory `.weftignore` and `.gitignore` (both, the former last), then
/// `.git/info/exclude`, then the global file (core.excludesFile as given by the caller).
struct IgnoreOptions {
  std::optional<Bytes> global_patterns;  ///< content of the global ignore file
  bool fold_case = false;                ///< git's core.ignoreCase
};

enum class Change : std::uint8_t { added, modified, deleted, moved, mode, type };

/// One per node that differs. A directory has an entry only where nothing in it says the same: added or deleted without
/// recorded content, or moved (what merely moved along has none).
struct StatusEntry {
  Change change;
  std::string path;
  std::string old_path;                              ///< moved: where the head has it
  bool content_changed = false;                      ///< moved or mode as well as edited
  bool mode_changed = false;                         ///< moved or modified with another mode as well
  object::EntryKind kind = object::EntryKind::file;  ///< what it is now (deleted: was)
};

struct ScanOptions {
  IgnoreOptions ignore;
  bool list_ignored = false;
  /// Only at or below these; empty: everything. One that is nowhere is no error: callers know what they were asked.
  std::vector<std::string> paths;
  /// New files above this many bytes are left out (Status::left_out, and a warning when recording); 0: no limit. Paths
  /// named exactly in `paths` are exempt, and what is recognised as a file of the head under another name is not new.
  std::uint64_t max_new_file_bytes = 0;
  /// Called now and then, on the calling thread: names looked at and bytes read so far.
  std::function<void(std::uint64_t names, std::uint64_t bytes)> progress = {};
  unsigned max_threads = 0;  ///< 0: as many as there are processors; small trees start none
};

struct Warning {
  std::string path;
  std::string reason;
};

/// A new file above ScanOptions::max_new_file_bytes: not recorded, and in no entry.
struct LeftOut {
  std::string path;
  std::uint64_t size = 0;
};

struct Status {
  std::vector<StatusEntry> entries;  ///< sorted by path
  std::vector<LeftOut> left_out;     ///< sorted by path
  std::vector<std::string> ignored;  ///< topmost ignored paths, directories with '/' behind
  std::vector<Warning> warnings;     ///< paths that could not be read, are no file, directory or link, ...
  std::uint64_t files_seen = 0, files_read = 0;
};

/// Compares the working tree with `head` (a root tree id). Untracked files count as added. Updates the directory state.
Result<Status> status(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& head,
                      const ScanOptions& options);

struct Recorded {
  ObjectId tree;                ///< the new root
  std::vector<object::Op> ops;  ///< derive_ops(head, tree)
  Status status;                ///< what was recorded
  /// Call after the change is durable: makes the directory state say that these files are what `tree` has.
  std::function<Result<void>()> accept;
};
/// Reads what differs, puts blobs and trees into `writer`. Each file is one consistent read: stat, read, stat, again
/// while it moves, and after 3 tries named in warnings and left at the head's content (CASES C11). Node ids: kept for
/// known paths and recognised moves (inode first, then equal content, then similarity), random for new ones.
/// `reader` must show what `writer` was given as well (store::Transaction::reader()), and both may be used by several
/// threads at once. `env` and `root` of the tree must
/// outlive `accept`.
Result<Recorded> record(const WorkTree& tree, const object::ObjectReader& reader, object::ObjectWriter& writer,
                        const ObjectId& head, const ScanOptions& options);

struct CheckoutOptions {
  IgnoreOptions ignore;
  std::vector<std::string> paths;  ///< only at or below these; empty: everything
  /// What is not as `from` has it is kept and named in the warnings, and the rest goes on, instead of all being
  /// refused: for verbs whose `from` is what they have just recorded, so that only what changed since then can be in
  /// the way.
  bool keep_edits = false;
  /// Called by one thread at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  unsigned max_threads = 0;  ///< 0: as many as there are processors; small checkouts start none
};
struct CheckoutReport {
  std::uint64_t written = 0, removed = 0, kept = 0;
  /// What was not written out or removed, and why: a name this file system cannot hold, a directory that may not be
  /// written to, a file somebody changed meanwhile. In walk order. Everything else was brought to the version.
  std::vector<Warning> warnings;
};
/// Brings the working tree from `from` to `to`. Local edits of files that do not differ between the two are carried
/// over; of files that do: refused (Code::refused, details "path" each), nothing touched. Content streams to a
/// temporary and is renamed; an unchanged file is not touched. Also used to finish a checkout that was killed. A full
/// disk or a damaged store stops it with an error; what was written by then stays, and running it again finishes.
Result<CheckoutReport> checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                const ObjectId& to, const CheckoutOptions& options);

}  // namespace weft::work
