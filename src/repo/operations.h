// Operations by name and by what they did: what `op log`, `op show`, `op restore` and `undo` share.
// Threading: functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "repo/repository.h"

namespace weft::repo {

/// By its id or the first digits (4 and more) of it. not_found also where the operation lies before what `gc` kept.
Result<store::Operation> find_operation(const store::Snapshot& snapshot, const std::string& text);

/// Which operations are meant; what is not set selects nothing out.
struct OperationFilter {
  std::optional<std::string> author;     ///< within "Name <email>", in lower case
  std::optional<std::string> agent;      ///< exactly
  std::optional<std::string> workspace;  ///< exactly
  std::optional<std::string> ref;        ///< one it moved
  std::optional<std::int64_t> since_ns, until_ns;
};
bool selects(const OperationFilter& filter, const store::Operation& operation);

/// The newest operation that undoes (or redoes) this one; nullopt where none does. Looks at what came after it.
Result<std::optional<TransactionId>> undone_by(const store::Snapshot& snapshot, const TransactionId& operation);

/// What a move of a ref brought to it and took from it: changes in the past of the one version and not of the other,
/// newest first, at most `limit` of each. Of a ref that was made or deleted only what it stood at.
struct MovedChanges {
  std::vector<ChangeId> gained, lost;
  bool more_gained = false, more_lost = false;
};
Result<MovedChanges> moved_changes(const store::Snapshot& snapshot, const store::Operation::Move& move,
                                   std::size_t limit);

/// Whether what the move recorded went out of this store: the version is in the past of a ref that says where somebody
/// else stands (peer/), other than one that `operation` itself moved. The seam for sync: what it publishes shows there.
Result<bool> was_sent(const store::Snapshot& snapshot, const store::Operation& operation, const Version& version);

/// Refs as they stood at a moment, against how they stand now.
struct PastRefs {
  struct Ref {
    std::string name;
    std::optional<store::RefValue> then, now;
    std::vector<store::Operation> others;  ///< that moved it since and belong to other workspaces; newest first
  };
  std::vector<Ref> refs;                ///< those that differ, by name
  std::vector<std::string> left_alone;  ///< private refs, and workspaces made or removed since: they stay
  std::size_t operations = 0;           ///< since then
};
struct PastRequest {
  store::Operation operation;
  bool before = false;      ///< right before it, not right after
  std::string workspace;    ///< whose view it is
  bool everything = false;  ///< all refs; else those that operations of this workspace moved since
};
Result<PastRefs> past_refs(const store::Snapshot& snapshot, const PastRequest& request);

}  // namespace weft::repo
