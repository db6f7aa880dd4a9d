// What a verb is about to overwrite is recorded first, on a private ref, in the transaction of the verb itself.
//
// Invariants:
//   RE-1  A verb that replaces or removes files with content no version has does so only after a change that
//         holds them is durable on `rescue/WORKSPACE/CHANGE` (DESIGN 11, CASES C8). What cannot be recorded
//         (unreadable, no regular file) refuses the verb by name.
//   RE-2  That change's parent is the version the files stood at, its extra header names the paths it speaks for:
//         `undo` brings exactly those back.
//   RE-3  Untracked files are never removed: only a target that has a file of that name replaces one, and then
//         RE-1 holds. What a verb itself put there goes again with its undo while it is just as it was put.
//   RE-4  A verb that edits files at given paths speaks for exactly those it does something to: its undo touches no
//         other. What it would do is found out, and refused, before anything is durable (work/checkout_preview.h).
//   RE-5  Only what would be lost refuses: a pipe named as an ignore file, or a repository inside the directory, is no
//         obstacle to a verb that does not touch it.
// Threading: functions.
#pragma once

#include <functional>
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
  bool nothing = false;  ///< with `paths_alone`: nothing is to be done; no ref was added, and `rescue` is empty
  Rescue rescue;
  std::vector<std::string> paths;  ///< what it speaks for; empty: everything
  /// What the files at the paths hold now, as a tree to check out *from*: everything in it is known and safe.
  ObjectId from;
  work::Status status;
};
struct OverwriteOptions {
  std::vector<work::Warning>* unkept = nullptr;  ///< takes what cannot be recorded, instead of refusing
  bool everything_goes = false;                  ///< untracked files too: whatever cannot be recorded refuses
  /// A tree; untracked files just as it has them were put there by weft (by a write-out that was killed, or by the
  /// operation that is undone), and go.
  std::optional<ObjectId> unreached = {};
  /// RE-4: `target` is brought to `paths` alone. A file that only looks like one of the head that is missing (another
  /// content, so a guess) stays where it is, unless `unreached` has something of its name.
  bool paths_alone = false;
  /// What the verb makes of the files as they are recorded, where that is not `target`.
  std::function<Result<ObjectId>(const ObjectId& recorded)> after = {};
};
/// Records the files at `paths` (empty: all) against `state.at` and adds the private ref to `transaction`. Afterwards,
/// and once the transaction is durable, write_out() from `from` to `target` replaces just what must be.
Result<Overwrite> prepare_overwrite(Repository& repository, store::Transaction& transaction,
                                    const Repository::Workspace& workspace, const FilesState& state,
                                    const WorkspaceFiles& files, const std::vector<std::string>& paths,
                                    const ObjectId& target, std::string_view verb,
                                    const OverwriteOptions& options = {});

/// The paths a rescue change speaks for (empty: the whole tree); nullopt when `change` is none.
std::optional<std::vector<std::string>> rescued_paths(const object::Change& change);
/// Directories that were not there and came with what the verb brought; topmost first.
std::vector<std::string> directories_made(const object::Change& change);
/// What the verb made of the files, of which only the rescued paths mean anything.
std::optional<ObjectId> made_tree(const object::Change& change);
/// The directory, gone down to without following links; not_found and the like where there is none.
Result<HostDir> open_below(const HostDir& root, std::string_view path);
/// Of these, topmost first, the ones that are empty.
void remove_empty_directories(const HostDir& root, const std::vector<std::string>& paths);
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
