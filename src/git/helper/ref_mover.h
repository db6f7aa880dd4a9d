// Moves refs of a git repository for an export, and keeps its own work tree's index in step.
//
// Invariants:
//   RM1  A ref moves only while its lock is held and it was seen, under the lock, to hold what is expected.
//   RM2  A branch that a work tree has checked out does not move, but in the work tree that weft keeps itself. There
//        the index is brought to the new commit in the same step, before the branch: files are never touched,
//        what is staged for files that the commit leaves alone stays staged; and killed in between, git shows the
//        coming commit as staged, which repeating the export puts right.
//   RM3  A lock that a killed export left is removed by the next one (lock_note.h); no other is.
// Threading: one thread.
#pragma once

#include <string>

#include "git/helper/lock_note.h"
#include "git/helper/repository.h"
#include "git/wire.h"

namespace weft::git::helper {

struct MoveResult {
  wire::MoveStatus status = wire::MoveStatus::done;
  Sha1 actual;
  std::string text;
};

class RefMover {
 public:
  explicit RefMover(const Repository& repository)
      : repository_(repository), note_(git_repository_commondir(repository.handle())) {}

  Result<MoveResult> move(const std::string& name, const Sha1& expected, const Sha1& target, bool own_work_tree) const;
  /// Whether HEAD is on that branch.
  bool is_head(const std::string& name) const { return head_branch() == name; }
  /// HEAD names `branch` from now on, and the index is what that has.
  Result<MoveResult> attach(const std::string& branch) const;
  /// The files of a work tree that was made a moment ago.
  Result<void> check_out() const;

 private:
  std::string head_branch() const;
  /// The ref whose name is a directory of this one's, or the other way round; empty: there is none.
  std::string ref_in_the_way(const std::string& name) const;
  /// Why the index of the work tree cannot be changed now; empty when it can.
  std::string index_problem() const;
  /// Whether a linked work tree has it checked out.
  bool checked_out_elsewhere(const std::string& name) const;
  /// From one commit (zero: none) to another. What is staged stays staged where the two have the same.
  Result<MoveResult> set_index(const Sha1& from, const Sha1& to) const;

  const Repository& repository_;
  LockNote note_;
};

}  // namespace weft::git::helper
