// commit: records the working tree, or a change list, as a change.
//
// Invariants:
//   CM-1  One transaction holds content, trees, change, the move of the head and that of the followed ref.
//   CM-2  The head moves exactly from the version the files were compared with. Another process of the same
//         workspace that was faster makes this one read the head and the files again; a commit never fails
//         because of others (CASES C2).
//   CM-3  With `advance` it is all or nothing: another value of that ref refuses everything, and nothing is
//         recorded.
// Threading: functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "repo/change_list.h"
#include "repo/repository.h"
#include "work/work.h"

namespace weft::repo {

struct CommitRequest {
  Bytes message;                       ///< cleaned (clean_message); not empty
  std::vector<std::string> paths;      ///< repository paths; empty: everything
  std::optional<std::string> advance;  ///< CM-3
  std::optional<std::string> author;   ///< "Name <email>"
  bool allow_empty = false;
  /// Now and then, on this thread: names looked at and bytes read so far.
  std::function<void(std::uint64_t names, std::uint64_t bytes)> progress = {};
  /// True: all is read, and from now on the change may become durable. False: a race was lost, it begins again.
  std::function<void(bool)> settling = {};
  /// New files above this are left out unless they are named in `paths`; absent: as record.max-new-file-size says.
  std::optional<std::uint64_t> max_new_file_bytes = std::nullopt;
};

/// The setting record.max-new-file-size.
std::uint64_t max_new_file_bytes(const Repository& repository);

struct CommitResult {
  std::optional<ChangeId> change;  ///< absent: there was nothing to commit
  Version parents;                 ///< the head before
  std::optional<TransactionId> operation;
  std::string ref;        ///< the followed (or advanced) ref
  bool advanced = false;  ///< whether it moved along
  work::Status status;    ///< what was recorded
  int attempts = 1;
};
Result<CommitResult> commit(Repository& repository, const CommitRequest& request);

struct ChangeListRequest {
  Bytes message;
  std::string parent;  ///< as resolve_version takes it
  std::optional<std::string> advance;
  std::optional<std::string> author;
  bool allow_empty = false;
};
/// No working tree is read or written, and no head moves. Without `advance` the change is kept on a private ref
/// (`kept/` and 16 digits of its id, given as `ref`), which the operation's undo removes.
Result<CommitResult> commit_change_list(Repository& repository, const ChangeList& list,
                                        const ChangeListRequest& request);

}  // namespace weft::repo
