// Exports a store's history into a git repository: starts weft-git, sends it the commits that are missing there, moves
// git's refs.
//
// Invariants:
//   EX1  Objects are durable before a ref names them. Ended anywhere, the git repository is whole, and repeating the
//        export goes on: what arrived is not written again.
//   EX2  A ref of git moves only from what it was seen to hold, and only forward. What has gone another way, was moved
//        meanwhile, or is checked out in somebody's work tree stays and is named; with `force` only the latter two.
//   EX3  What a ref that is gone in weft left behind in git is deleted only with `prune`, and only where git's ref is
//        still what weft's last was.
//   EX4  In weft's own working tree git's index follows, files are never touched: `git status` says what `weft status`
//        says.
// Memory: history_export.h. Threading: one thread, beside the helper's process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "git/refs.h"
#include "repo/repository.h"

namespace weft::git {

struct ExportOptions {
  std::string path;               ///< host path of the git repository
  std::string helper;             ///< host path of weft-git; empty: beside this program
  std::vector<std::string> refs;  ///< of weft; empty: all
  bool force = false;
  bool prune = false;
  bool dry_run = false;
  bool work_tree = false;  ///< a repository made now has files beside it
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

enum class ExportAction : std::uint8_t {
  created,
  moved,
  unchanged,
  behind,       ///< git's holds more, all of it known here
  diverged,     ///< git's holds what weft's does not
  lost,         ///< somebody moved it meanwhile
  checked_out,  ///< a work tree of git has it checked out
  refused,      ///< git cannot have it, or not now
  skipped,      ///< weft's is nothing that a git ref can hold
  gone,         ///< deleted in weft, still in git
  deleted,      ///< so it was deleted in git, too
};
std::string_view name(ExportAction action);

struct ExportedRef {
  std::string name;      ///< weft's
  std::string git_name;  ///< empty: there can be none
  ExportAction action = ExportAction::unchanged;
  std::optional<object::Version> version;  ///< weft's
  Sha1 before;                             ///< what git's held; zero: not there
  Sha1 after;                              ///< what weft's is in git; zero: not known (dry run), or none
  std::string reason;                      ///< of those that did not move
};

struct ExportReport {
  std::string program;        ///< the helper's name and version
  bool created = false;       ///< the git repository was made (dry run: would be)
  bool colocated = false;     ///< its work tree is the store's own
  std::uint64_t commits = 0;  ///< that git lacked (dry run: would get)
  std::uint64_t objects = 0;  ///< written
  std::uint64_t bytes = 0;    ///< of the packs and files written
  std::vector<ExportedRef> refs;
  std::string head;                     ///< the branch git's HEAD names now; empty when detached
  std::string head_note;                ///< why it is not the branch that the workspace follows
  std::uint64_t empty_directories = 0;  ///< left out: git has none
};

Result<ExportReport> export_repository(repo::Repository& repository, const ExportOptions& options);

/// What stayed where it was and should not have, as an error that names it: conflicts where git's went another way,
/// lost_race where somebody was faster, refused where git stood in the way. Remote-tracking branches follow their
/// remotes, not weft: they are no problem.
std::optional<Error> refs_problem(const ExportReport& report);

/// Colocated: which branch git's HEAD named when weft last looked; empty: unknown.
std::string read_last_head(FileSystem& fs, const std::string& store_directory);
Result<void> write_last_head(FileSystem& fs, const std::string& store_directory, const std::string& branch);
/// Whether two host paths are one directory.
bool is_same_directory(const std::string& a, const std::string& b);
/// Whether `path` is that directory or below it, also where nothing is at its end yet. Both absolute.
bool lies_in(std::string path, const std::string& directory);

}  // namespace weft::git
