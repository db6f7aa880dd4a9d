// undo and redo: takes back what an operation did to refs, and brings files back.
//
// Invariants:
//   UN-1  While every ref the operation moved stands where it left it, all of them go back, in one transaction
//         that expects exactly that. Where only the head of this workspace does, and going back leads it forward
//         (a redo), it alone goes. Otherwise the inverse of what the operation did is recorded as a change on
//         the current head: what others did since stays (CASES C4). Nothing is ever moved back over somebody
//         else's work.
//   UN-2  `undo` of a commit keeps the files as they are; of anything else that brought files somewhere, it
//         brings them back. Files whose edits would be overwritten are recorded first (RE-1), in the same
//         transaction.
//   UN-4  What was sent (operations.h, was_sent) is never taken back by moving refs: its inverse is recorded, too.
//   UN-5  `op restore` moves refs back to how they stood at a moment, in one transaction that expects what it looked
//   at,
//         as one operation by which no other is undone. It touches refs that others moved since only when told to take
//         everything back; private refs, and workspaces made or removed since, it leaves alone.
//   UN-3  An undo is itself an operation, with `undoes`: redo undoes the undo by the same rules.
// Threading: functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "repo/operations.h"
#include "repo/rescue.h"
#include "repo/switch.h"

namespace weft::repo {

struct UndoRequest {
  /// An operation's id or its first digits. Default: the last one of this workspace that stands (undo), or its last
  /// undo that stands and was followed by nothing but undos and redos (redo).
  std::optional<std::string> operation;
  bool redo = false;
  std::optional<std::string> author;  ///< of an inverse change
  Progress progress;
};

struct UndoResult {
  TransactionId operation;  ///< of the undo itself
  store::Operation undone;
  enum class How : std::uint8_t { moved_refs, inverse_change } how = How::moved_refs;
  bool sent = false;               ///< UN-4: why it is an inverse change although the refs still stand
  std::optional<ChangeId> change;  ///< the inverse change
  bool advanced = false;           ///< with an inverse change: whether the followed ref moved along
  std::string follow;
  std::vector<store::Operation::Move> moves;  ///< what the undo itself did to refs
  bool files_kept = true;                     ///< false: files were brought back
  work::CheckoutReport report;
  std::optional<Rescue> rescue;
  std::vector<std::string> notes;  ///< what else the user should know, a sentence each
};
Result<UndoResult> undo(Repository& repository, const UndoRequest& request);

struct OpRestoreRequest {
  std::string operation;    ///< id or first digits
  bool before = false;      ///< to how refs stood right before it, not right after
  bool everything = false;  ///< also what other workspaces moved since
  bool dry_run = false;
  Progress progress;
};
struct OpRestored {
  store::Operation target;
  PastRefs past;
  std::optional<UndoResult> done;  ///< absent: nothing differs, or a dry run
};
/// UN-5. refused where others moved a ref since that is to go back, unless `everything`.
Result<OpRestored> restore_operation(Repository& repository, const OpRestoreRequest& request);

/// Of a list of operations, newest first: which `undo` (or `redo`) takes by default. The pure half.
std::optional<TransactionId> pick_operation(const std::vector<store::Operation>& newest_first,
                                            std::string_view workspace, bool redo);

}  // namespace weft::repo
