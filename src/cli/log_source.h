// What `log` walks: the changes reachable from where it begins, filtered, along paths where some are given. How they
// are shown is in log_view.h.
//
// Invariants:
//   LS-1  Children come before their parents (repo::HistoryWalk).
//   LS-2  With paths a change is yielded only where one of them was followed to; `follow` names those through which
//   more
//         may be found: parents, or what lies behind them.
//   LS-3  Along paths the walk leaps from one change that touched them to the next (PathFollower, PF-4), unless
//   something is
//         left out (`without`): then every change in the range is looked at. What is yielded is the same.
// Threading: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
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
  std::vector<ChangeId>
      follow;  ///< those whose past belongs to the log: parents, or with paths what is found behind them
  std::vector<std::string> paths;  ///< with paths: where those followed to here were
  bool shown = false;
};

/// Yields what is followed, with what is shown marked.
class LogSource {
 public:
  /// `paths`: inside the tree; none: everything.
  LogSource(const store::Snapshot& snapshot, repo::WalkOrder order, LogFilter filter, std::vector<std::string> paths);
  LogSource(const LogSource&) = delete;
  LogSource& operator=(const LogSource&) = delete;

  Result<void> from(const object::Version& version);
  Result<void> without(const object::Version& version);
  /// The first path that no change has; nullptr when all were found (or there are none). For when the walk has ended.
  const std::string* missing_path() const;

  Result<std::optional<LogEntry>> next();

 private:
  /// In the order of WalkOrder::time.
  struct Queued {
    std::int64_t shown_ns;
    std::uint64_t lamport;
    ChangeId id;
    auto operator<=>(const Queued&) const = default;
  };
  /// What is looked at next.
  struct Step {
    ChangeId id;
    std::vector<ChangeId> parents;
    std::uint64_t lamport = 0;
    ObjectId tree;
  };

  Result<void> begin();
  Result<void> queue(const ChangeId& id);
  Result<std::optional<Step>> step();
  Result<std::optional<LogEntry>> next_entry();
  /// Everything the leaps lead to, with lines of history kept together.
  Result<void> arrange();

  store::Snapshot snapshot_;
  repo::SnapshotHistory history_;
  const repo::WalkOrder order_;
  repo::HistoryWalk walk_;
  LogFilter filter_;
  std::vector<std::string> paths_;
  std::vector<object::Version> starts_;
  bool begun_ = false, leaping_ = false, something_left_out_ = false;
  std::vector<PathFollower> followers_;  ///< one for each path
  std::set<Queued> queue_;               ///< while leaping
  std::vector<ChangeId> first_;          ///< while leaping: where the paths were first followed to
  std::unordered_map<ChangeId, std::uint64_t, IdHash> lamports_;  ///< while arranging: of the entries met
  std::deque<LogEntry> arranged_;
  std::size_t too_old_ = 0;
};

/// Leaves only what is shown and draws edges past the rest: each change's `follow` becomes its nearest shown ancestors.
std::vector<LogEntry> only_shown(std::vector<LogEntry> entries);

}  // namespace weft::cli
