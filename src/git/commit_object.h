// Commit objects of git <-> the fields of a change. Pure functions of bytes.
//
// Invariants:
//   GC1  commit_bytes(fill_change(commit), tree, parents) is the commit object byte for byte, whatever its author put
//   into
//        it: what the parsed fields cannot give again is kept raw beside them.
//   GC2  Parsing is lenient: a commit object that git itself can walk (a tree line and parent lines) always parses;
//   what is
//        odd behind them costs readable fields, never bytes.
// Extra headers of the change, in this order, each only where needed:
//   git-sha1     20 bytes: the commit's id
//   git-parents  its parents' ids, where they are not the changes' one by one (repeated parents, more than 64)
//   git-headers  the header lines behind the committer line (encoding, gpgsig, mergetag, ...), raw
//   git-commit   everything behind the parent lines, where the fields would not reproduce it
//   git-object   the whole object, where even the tree and parent lines are not written as git writes them
//   git-trees    directories whose git tree cannot be made from the weft tree, or whose parent's could not (wire.h,
//                OddTree): path and raw tree object, each with its length, one behind the other; repeated when large
//   git-target   "tree" or "blob": the id is no commit's but that of a tree, or of a blob, that a tag names; the change
//                has that tree, or one that holds the blob alone
//   git-gather   20 bytes: on the helper changes that stand between a merge of more than 64 parents and the parents
// Format: docs/FORMATS.md, "Imported changes".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "git/git_object.h"
#include "object/change.h"

namespace weft::git {

inline constexpr std::string_view kExtraSha1 = "git-sha1";
inline constexpr std::string_view kExtraParents = "git-parents";
inline constexpr std::string_view kExtraHeaders = "git-headers";
inline constexpr std::string_view kExtraCommit = "git-commit";
inline constexpr std::string_view kExtraObject = "git-object";
inline constexpr std::string_view kExtraTrees = "git-trees";
inline constexpr std::string_view kExtraTarget = "git-target";
inline constexpr std::string_view kExtraGather = "git-gather";

/// Seconds above this (the year 2262) do not fit a Timestamp; the raw line is kept.
inline constexpr std::int64_t kMaxUnixSeconds = 9'200'000'000;

/// Sets author, committer, message and extra of a change (parents, lamport and tree are the caller's) so that GC1
/// holds. `parents_as_changes`: the change's parents are the commit's, one for one.
void fill_change(object::Change& change, const Sha1& id, const CommitObject& commit, ByteView object,
                 bool parents_as_changes);

/// The same for a tree (or, `blob`, a blob) that a tag names: a change without author and time that says what it is.
void fill_target(object::Change& change, const Sha1& id, bool blob);

/// What an imported change stands for in git.
enum class Imported : std::uint8_t { commit, tree, blob };
Imported imported_kind(const object::Change& change);

/// The exact commit object of an imported change. `parents`: ids of the change's parents; ignored where the change
/// keeps its own list. Code::invalid when the change was not imported from git.
Result<Bytes> commit_bytes(const object::Change& change, const Sha1& tree, const std::vector<Sha1>& parents);

/// Raw git trees by directory path ("" is the root), kept in a change and read from it.
using OddTrees = std::vector<std::pair<std::string, Bytes>>;
void append_odd_trees(object::Change& change, const OddTrees& trees);
Result<OddTrees> odd_trees(const object::Change& change);

/// The commit's id; nullopt when the change was not imported.
std::optional<Sha1> git_id(const object::Change& change);

/// One author or committer line's value ("Name <email> seconds zone"), read leniently.
object::Signature parse_signature(std::string_view line);
/// As git writes it.
Bytes signature_line(const object::Signature& signature);

}  // namespace weft::git
