// land: brings the head of a workspace onto a ref, whether or not the ref moved meanwhile.
//
// Invariants:
//   LA-1  Where the ref is an ancestor of the head it moves forward and no change is made; where the head is in
//         the ref already, nothing happens; otherwise a merge change with the parents (ref, head) is made and
//         both move to it, in one transaction.
//   LA-2  The merge is by node and only where it is certain (tree::merge_by_node); with several merge bases only
//         where all of them give the same tree. Anything else: Code::conflicts, every node named, nothing moved.
//   LA-3  Edits in files the landing would write refuse it before anything (exit 3).
//   LA-4  A lost race merges again with the new value, up to kMaxAttempts times.
// Threading: functions.
#pragma once

#include <optional>
#include <string>

#include "repo/switch.h"

namespace weft::repo {

struct LandRequest {
  std::optional<std::string> ref;  ///< default: the followed one
  Bytes message;                   ///< of the merge change; empty: a standard one
  std::optional<std::string> author;
  Progress progress = {};
};
struct LandResult {
  enum class How : std::uint8_t { nothing, fast_forward, merged } how = How::nothing;
  std::string ref;
  std::optional<Version> ref_before;
  Version head_before, after;
  std::optional<ChangeId> change;  ///< the merge change
  std::optional<TransactionId> operation;
  work::CheckoutReport report;
  /// Set when the files could not be brought along after all (somebody edited them meanwhile): `switch @` will.
  std::optional<Error> files_left_behind;
  int attempts = 1;
};
Result<LandResult> land(Repository& repository, const LandRequest& request);

/// Two sides merged by node over all their merge bases (LA-2); `blocked` as in tree::NodeMerge.
Result<tree::NodeMerge> merge_versions(store::Transaction& transaction, const Version& ours, const Version& theirs);
/// Code::conflicts that names every blocked node.
Error blocked_error(const tree::NodeMerge& merge, const std::string& what);

}  // namespace weft::repo
