// switch: brings a workspace to another version. And write_out(), how every verb brings files from one version to
// another.
//
// Invariants:
//   SW-1  Edits are carried over; where a file with edits differs between the versions, or an unknown file is in
//         the way, everything is refused by name before anything is touched.
//   SW-2  With `force` what would be overwritten is recorded first (RE-1).
//   SW-3  While files are being written the files record says from where to where; killed there, the next
//         `switch` finishes that first. Where edits are in the way of that, it is refused and the record stays; with
//         `force` they are recorded and overwritten (SW-2).
// Threading: functions.
#pragma once

#include <optional>
#include <string>

#include "repo/files.h"
#include "repo/rescue.h"

namespace weft::repo {

using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct WriteOut {
  Version from;        ///< the version recorded as where the files stood, should this be interrupted
  Version to;          ///< where they stand afterwards
  ObjectId from_tree;  ///< what the files are known to hold: that of `from`, or with recorded edits on it
  ObjectId to_tree;
  bool keep_edits = false;
  bool resumes = false;  ///< one from and to the same versions began before and was interrupted
  Progress progress;
};
Result<work::CheckoutReport> write_out(const Repository& repository, const std::string& workspace,
                                       const WorkspaceFiles& files, const object::ObjectReader& reader,
                                       const WriteOut& what);

/// Finishes a write-out that was interrupted (SW-3), so that the files stand at one version again; returns it.
Result<FilesState> finish_interrupted(const Repository& repository, const store::Snapshot& snapshot,
                                      const Repository::Workspace& workspace, const WorkspaceFiles& files,
                                      FilesState state);

struct SwitchRequest {
  std::string target;  ///< as resolve_version takes it; with `create`: the name of the new ref
  bool create = false;
  bool force = false;
  Progress progress;
};
struct SwitchResult {
  Version before, after;
  Version files_before;  ///< where the files stood
  std::string follow;
  std::string notice;
  std::optional<TransactionId> operation;
  std::optional<Rescue> rescue;
  work::CheckoutReport report;
};
Result<SwitchResult> switch_workspace(Repository& repository, const SwitchRequest& request);

/// Whether a workspace that is switched to this ref follows it: no tag, no other replica's ref, no private one.
bool can_be_followed(std::string_view ref);

}  // namespace weft::repo
