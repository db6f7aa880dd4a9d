// Imports a git repository into a store: starts weft-git, converts what it sends, moves refs.
//
// Invariants:
//   GI1  History is kept in portions (kCommitsPerTransaction, kBytesPerTransaction), parents first: an import that ends
//        early keeps what arrived, and repeating it goes on from there.
//   GI2  Refs move at the end only, in one operation ("git import"), by compare-and-swap; so does the workspace.
//   GI3  What cannot be imported whole is refused by name before anything is stored: shallow and partial clones,
//   SHA-256.
// Memory: bounded whatever the history (convert.h, store::Transaction); refs are held. Threading: one thread, beside
// the helper's process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "git/refs.h"
#include "repo/repository.h"
#include "work/work.h"

namespace weft::git {

inline constexpr std::size_t kCommitsPerTransaction = 8192;
inline constexpr std::uint64_t kBytesPerTransaction = 256u << 20;

struct ImportOptions {
  std::string path;    ///< host path of the git repository
  std::string helper;  ///< host path of weft-git; empty: beside this program
  std::size_t commits_per_portion = kCommitsPerTransaction;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// What became of the workspace `default` (DESIGN 11: it follows git's HEAD branch).
enum class WorkspaceOutcome : std::uint8_t {
  untouched,    ///< there is none, HEAD names no branch, or it follows another branch and has changes of its own
  follows,      ///< follows HEAD's branch now (or did); its files are as they were
  checked_out,  ///< was empty; the files were written out
  adopted,      ///< the git work tree is the workspace: its head stands at HEAD's commit, its files are as they were
};
std::string_view name(WorkspaceOutcome outcome);

struct ImportReport {
  std::string program;        ///< the helper's name and version
  std::uint64_t commits = 0;  ///< imported now
  std::uint64_t known = 0;    ///< offered, but here already
  bool empty = false;         ///< the repository has no commit that a branch or tag names
  std::vector<PlannedRef> refs;
  std::vector<SkippedRef> skipped;
  bool sparse = false;      ///< colocated: git leaves tracked files out of the work tree
  std::string head_branch;  ///< weft's name of git's HEAD branch; empty when detached
  WorkspaceOutcome workspace = WorkspaceOutcome::untouched;
  bool workspace_behind = false;  ///< it follows HEAD's branch, but stands at another version
  std::vector<work::Warning> warnings;
  std::optional<TransactionId> operation;  ///< absent when no ref moved
};

/// Imports everything that branches, tags and remote-tracking branches name. Refs that diverged stay and are in the
/// report.
Result<ImportReport> import_repository(repo::Repository& repository, const ImportOptions& options);

}  // namespace weft::git
