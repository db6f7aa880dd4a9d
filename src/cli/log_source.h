// What `log` walks: the changes reachable from where it begins, filtered, along paths where some are given. How they
// are shown is in log_view.h.
//
// Invariants:
//   LS-1  Children come before their parents (repo::HistoryWalk).
//   LS-2  With paths a change is yielded only where one of them was followed to; `follow` names the parents in whose
//         past more may be found.
// Threading: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/path_follower.h"
#include "object/change.h"
#include "repo/history.h"

namespace weft::cli {

/// Which of the walked changes are shown.
struct LogFilter {
  std::optional<std::int64_t> since_ns, until_ns;  ///< of the committer's time
  std::string author;                              ///< within "Name <email>", in lower case
  std::string grep;                                ///< within the message, in lower case

  bool empty() const { return !since_ns && !until_ns && author.empty() && grep.empty(); }
  bool passes(const object::Change& change) const;
};

/// ASCII letters in lower case: how LogFilter compares.
std::string lower_case(std::string_view text);

/// One change of the log.
struct LogEntry {
  ChangeId id;
  std::vector<ChangeId> follow;    ///< parents whose past belongs to the log
  std::vector<std::string> paths;  ///< with paths: where those followed to here were
  bool shown = false;
};

/// Yields what is followed, with what is shown marked.
class LogSource {
 public:
  /// `paths`: inside the tree; none: everything.
  LogSource(const store::Snapshot& snapshot, repo::WalkOrder order, LogFilter filter, std::vector<std::string> paths);

  Result<void> from(const object::Version& version);
  Result<void> without(const object::Version& version);
  /// The first path that no change has; nullptr when all were found (or there are none). For when the walk has ended.
  const std::string* missing_path() const;

  Result<std::optional<LogEntry>> next();

 private:
  store::Snapshot snapshot_;
  repo::SnapshotHistory history_;
  repo::HistoryWalk walk_;
  LogFilter filter_;
  std::vector<std::string> paths_;
  std::vector<PathFollower> followers_;  ///< one for each path
  std::size_t too_old_ = 0;
};

/// Leaves only what is shown and draws edges past the rest: each change's `follow` becomes its nearest shown ancestors.
std::vector<LogEntry> only_shown(std::vector<LogEntry> entries);

}  // namespace weft::cli
