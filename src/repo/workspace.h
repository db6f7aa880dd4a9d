// workspace add, list, rm: private trees over one store.
//
// Invariants:
//   WS-1  A workspace is registered (its ref made, expected absent) before any file is written into its directory, and
//         the files record says that its files are on their way: killed anywhere, the same add again or `weft switch
//         @` in it finishes, and `weft workspace rm` removes it. A failed add leaves neither ref nor files.
//   WS-2  rm records first: files no version has, and a head that is not in the followed ref, stay reachable from
//         `rescue/NAME/...` (RE-1, CASES C8), in the transaction that unregisters the workspace.
//   WS-3  Files are deleted only below the workspace's own root, whose `.weft` file must name this store and this
//         workspace; no link is followed; the workspace that holds the store, and one the caller stands in, are
//         never removed.
//   WS-4  A rm that was killed after it unregistered the workspace is finished by the same rm again: the reflog
//         says where the directory was, and its `.weft` file, which goes last, that it still is this workspace's.
//         What was edited or added there in between is recorded first (RE-1).
// Threading: functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "repo/switch.h"

namespace weft::repo {

struct WorkspaceAddRequest {
  std::string name;
  std::optional<std::string> path;    ///< default: NAME beside the current workspace
  std::optional<std::string> at;      ///< a version; default: the followed ref
  std::optional<std::string> follow;  ///< default: what the current workspace follows
  Progress progress;
};
struct WorkspaceAdded {
  std::string name, path, follow;
  Version head;
  TransactionId operation;
  work::CheckoutReport report;
};
Result<WorkspaceAdded> add_workspace(Repository& repository, const WorkspaceAddRequest& request);

struct WorkspaceListing {
  std::string name;
  WorkspaceRecord record;
  Version head;
  bool present = false;             ///< its directory is there and is this workspace
  std::optional<Version> files_at;  ///< where its files stand, when that is not the head
};
Result<std::vector<WorkspaceListing>> list_workspaces(const Repository& repository, const store::Snapshot& snapshot);

struct WorkspaceRemoved {
  std::string name, path;
  Version head;
  std::vector<std::string> kept;  ///< refs that keep what was not landed or recorded
  bool files_removed = false;
  std::string files_note;             ///< why not
  std::vector<std::string> ignored;   ///< ignored paths that went with it
  std::vector<work::Warning> unkept;  ///< with force: what could not be recorded
  TransactionId operation;
};
/// `force`: also when something could not be recorded.
Result<WorkspaceRemoved> remove_workspace(Repository& repository, const std::string& name, bool force);

/// For undo. Whether the directory of a registration is free to be written to.
Result<void> check_place_is_free(FileSystem& fs, const std::string& path);
/// Makes the directory of a registered workspace, with the files of its head, and `tree` (a rescued one) on top.
/// `held`: that directory, where the caller has begun writing there.
Result<work::CheckoutReport> write_workspace(Repository& repository, const std::string& name,
                                             const WorkspaceRecord& record, const Version& head,
                                             const std::optional<ObjectId>& tree, const Progress& progress,
                                             const WorkspaceFiles* held = nullptr);
/// Removes the directory of a workspace that is not registered any more, if nothing in it is unrecorded. Returns why
/// not.
Result<std::optional<std::string>> remove_clean_files(Repository& repository, const std::string& name,
                                                      const WorkspaceRecord& record, const Version& head);

/// Everything below `root`, following no link, in bounded descriptors and stack.
Result<void> remove_everything_below(const HostDir& root, Random& random);

}  // namespace weft::repo
