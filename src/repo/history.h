// Walking history: who is whose ancestor, what two versions have in common, and changes in an order fit for a log.
//
// Invariants:
//   H-1  Nothing recurses; every change is asked for at most once per call, as a summary (parents, Lamport time, tree)
//   only. H-2  A change's Lamport time is greater than its parents'. So a heap on (Lamport, id) meets every change
//   after all
//        its descendants, and a walk may stop below the smallest Lamport time that can still matter. A parent that
//        breaks this is reported as damaged, never followed. The same holds of (shown time, Lamport, id):
//        store/history.h.
//   H-3  A walk never yields a parent before any of its children in the walk, whatever their authors' clocks said.
// Costs: is_ancestor and merge_bases look at what lies above the smaller Lamport time involved (an ancestor on the line
// of first parents is found at once); causal and time walks at what they yield and its parents; a topological walk at
// what H-3 needs: changes with a Lamport time not below that of the next one to yield.
// Threading: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "store/history.h"

namespace weft::repo {

using object::Version;

/// What a store is opened with so that its history index says what a change touched (store/history.h).
store::StoreHooks store_hooks();

/// What walking needs of changes. store::History is one (SnapshotHistory); tests make histories in memory.
class HistorySource {
 public:
  virtual ~HistorySource() = default;
  virtual Result<object::ChangeSummary> summary(const ChangeId& id) const = 0;
  /// For WalkOrder::time only.
  virtual Result<std::int64_t> shown_ns(const ChangeId& id) const = 0;
  /// Whether `ancestor` is `descendant` or one of its first parents; false where that is not known at once.
  virtual Result<bool> is_on_first_parent_line(const ChangeId& ancestor, const ChangeId& descendant) const {
    return ancestor == descendant;
  }
};

class SnapshotHistory final : public HistorySource {
 public:
  explicit SnapshotHistory(const store::Snapshot& snapshot) : snapshot_(snapshot) {}
  Result<object::ChangeSummary> summary(const ChangeId& id) const override;
  Result<std::int64_t> shown_ns(const ChangeId& id) const override;
  Result<bool> is_on_first_parent_line(const ChangeId& ancestor, const ChangeId& descendant) const override;
  /// The index behind it, opened at the first question.
  Result<const store::History*> history() const;

 private:
  store::Snapshot snapshot_;
  mutable std::optional<store::History> history_;
};

/// Whether everything in `ancestor` is in the causal past of `descendant` (or the same). The empty version is an
/// ancestor of every version.
Result<bool> is_ancestor(const HistorySource& source, const Version& ancestor, const Version& descendant);
Result<bool> is_ancestor(const store::Snapshot& snapshot, const Version& ancestor, const Version& descendant);

/// The greatest common ancestors of two versions: common ancestors that are not ancestors of other common ancestors.
/// Empty when the histories are unrelated or one version is empty. An antichain, so a version; usually one change;
/// beyond kMaxVersionChanges the ones with the greatest (Lamport, id) are kept.
Result<Version> merge_bases(const HistorySource& source, const Version& a, const Version& b);
Result<Version> merge_bases(const store::Snapshot& snapshot, const Version& a, const Version& b);

/// The version these changes mean: without those that are ancestors of others.
Result<Version> maximal(const HistorySource& source, std::vector<ChangeId> changes);
Result<Version> maximal(const store::Snapshot& snapshot, std::vector<ChangeId> changes);

enum class WalkOrder : std::uint8_t {
  causal,       ///< (Lamport, id), greatest first: cheapest, the same on every machine
  time,         ///< shown time (store/history.h), newest first: what a log shows
  topological,  ///< lines of history stay together (depth first, later parents first): what a graph shows
};

struct WalkStep {
  ChangeId id;
  std::vector<ChangeId> parents;
  std::uint64_t lamport = 0;
  ObjectId tree;
};

/// Yields the causal past of the `from` versions, without that of the `without` versions.
class HistoryWalk {
 public:
  /// `source` must outlive the walk.
  HistoryWalk(const HistorySource& source, WalkOrder order);
  ~HistoryWalk();
  HistoryWalk(HistoryWalk&&) noexcept;

  /// Before the first next(): add starting points.
  Result<void> from(const Version& version);
  Result<void> without(const Version& version);
  /// nullopt at the end.
  Result<std::optional<WalkStep>> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::repo
