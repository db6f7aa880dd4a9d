// History: what walking needs of changes, from the history index where it has them, else from the changes themselves.
//
// Invariants:
//   HY1  Answers are the same with and without an index; only what they cost differs.
//   HY2  A change's shown time is its committer's, or just behind the greatest shown time of its parents where a clock
//   was
//        wrong. So one heap on (shown time, Lamport, id) meets children first.
// Threading: one thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "store/store.h"

namespace weft::store {

/// The least time behind `time_ns` (at the end of time itself, where the Lamport time decides).
constexpr std::int64_t later_than(std::int64_t time_ns) { return time_ns == INT64_MAX ? time_ns : time_ns + 1; }

class History {
 public:
  static Result<History> open(const Snapshot& snapshot);
  ~History();
  History(History&&) noexcept;

  Result<object::ChangeSummary> summary(const ChangeId& id) const;
  /// HY2, in ns since 1970. Of a change behind the index, everything in its past that is not in the index is read.
  Result<std::int64_t> shown_ns(const ChangeId& id) const;
  /// Changes that name `id` as a parent, sorted.
  Result<std::vector<ChangeId>> children(const ChangeId& id) const;
  /// The nearest of `from` and its first parents that may have touched one of the keys; nullopt: none has. Only of
  /// changes behind the index that are merges or carry no ops is that not known for sure.
  Result<std::optional<ChangeId>> nearest_touch(const ChangeId& from, std::span<const TouchKey> keys) const;
  /// Whether a change touched one of the keys; nullopt where that is not known for sure: of a merge, or behind the
  /// index of a change without ops.
  Result<std::optional<bool>> touches(const ChangeId& id, std::span<const TouchKey> keys) const;
  /// Whether `ancestor` is `descendant`, or one of its first parents, as far as the index knows: false may mean
  /// unknown.
  Result<bool> is_on_first_parent_line(const ChangeId& ancestor, const ChangeId& descendant) const;

 private:
  struct State;
  explicit History(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::store
