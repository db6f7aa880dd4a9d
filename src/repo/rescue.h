// What a verb is about to overwrite is recorded first, on a private ref, in the transaction of the verb itself.
//
// Invariants:
//   RE-1  A verb that replaces or removes files with content no version has does so only after a change that
//         holds them is durable on `rescue/WORKSPACE/CHANGE` (DESIGN 11, CASES C8). What cannot be recorded
//         (unreadable, no regular file) refuses the verb by name.
//   RE-2  That change's parent is the version the files stood at, its extra header names the paths it speaks for:
//         `undo` brings exactly those back.
//   RE-3  Untracked files are never removed: only a target that has a file of that name replaces one, and then
//         RE-1 holds.
// Threading: functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "repo/files.h"
#include "repo/repository.h"
#include "work/work.h"

namespace weft::repo {

struct Rescue {
  std::string ref;
  ChangeId change;
};

struct Overwrite {
  Rescue rescue;
  /// What the files at the paths hold now, as a tree to check out *from*: everything in it is known and safe.
  ObjectId from;
  work::Status status;
};
/// `unkept`: takes what cannot be recorded, instead of refusing. Records the files at `paths` (empty: all) against
/// `state.at` and adds the private ref to `transaction`. Afterwards, and once the transaction is durable, write_out()
/// from `from` to `target` replaces just what must be. `unreached`: a tree; untracked files just as it has them are
/// what a killed write-out did not get to remove, and go.
Result<Overwrite> prepare_overwrite(Repository& repository, store::Transaction& transaction,
                                    const Repository::Workspace& workspace, const FilesState& state,
                                    const WorkspaceFiles& files, const std::vector<std::string>& paths,
                                    const ObjectId& target, std::string_view verb,
                                    std::vector<work::Warning>* unkept = nullptr, const ObjectId* unreached = nullptr);

/// The paths a rescue change speaks for (empty: the whole tree); nullopt when `change` is none.
std::optional<std::vector<std::string>> rescued_paths(const object::Change& change);
Bytes encode_rescued_paths(const std::vector<std::string>& paths);
Result<std::vector<std::string>> decode_rescued_paths(ByteView bytes);

/// Of the edits in `status`, those in files that differ between the trees, and untracked or ignored files where `to`
/// has one: what work::checkout(from, to) would refuse.
struct InTheWay {
  std::vector<std::string> edited;
  std::vector<std::string> untracked;
  bool empty() const { return edited.empty() && untracked.empty(); }
};
Result<InTheWay> in_the_way(const object::ObjectReader& reader, const ObjectId& from, const ObjectId& to,
                            const work::Status& status);
/// Code::refused, naming the files.
Error refuse_in_the_way(const InTheWay& files, std::string_view verb);

}  // namespace weft::repo
