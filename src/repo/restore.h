// restore, rm, mv: edits of the working tree that can be undone.
//
// Invariants:
//   RT-1  What is overwritten or removed is recorded first, on a private ref (RE-1); that transaction is the
//         operation `undo` undoes.
//   RT-2  No head moves: the next commit records what these verbs did.
//   RT-3  Untracked files are left alone, unless a restored file takes their place (then RT-1 holds).
//   RT-4  What can be refused is before anything is durable; where nothing is to be done, no operation is made.
// Threading: functions.
#pragma once

#include <string>
#include <vector>

#include "repo/rescue.h"
#include "repo/switch.h"

namespace weft::repo {

struct FilesEdited {
  std::vector<std::string> paths;  ///< repository paths as given
  std::optional<Rescue> rescue;
  std::optional<TransactionId> operation;  ///< none: there was nothing to do
  work::CheckoutReport report;
};

/// `from`: a version as resolve_version takes it, default the head. `paths`: repository paths, "" for everything.
Result<FilesEdited> restore_paths(Repository& repository, const std::optional<std::string>& from,
                                  const std::vector<std::string>& paths, const Progress& progress = {});

struct RemoveRequest {
  std::vector<std::string> paths;
  bool recursive = false;
  Progress progress = {};
};
Result<FilesEdited> remove_paths(Repository& repository, const RemoveRequest& request);

struct MoveRequest {
  std::vector<std::string> from;  ///< several only into a directory
  std::string to;
  bool force = false;  ///< replace a file
};
Result<FilesEdited> move_paths(Repository& repository, const MoveRequest& request);

}  // namespace weft::repo
