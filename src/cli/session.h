// What most commands begin with: the repository, a snapshot of it, the versions the user named, and how changes are
// shown.
// Threading: one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/json.h"
#include "object/change.h"
#include "repo/repository.h"

namespace weft::cli {

/// Opens the repository the command stands in; passes on what the store has to say (a torn tail dropped, damage).
Result<repo::Repository> open_repository(Invocation& invocation);

/// As repo::resolve_version, with its notice passed on.
Result<repo::Resolved> resolve(Invocation& invocation, const repo::Repository& repository,
                               const store::Snapshot& snapshot, std::string_view text);

/// "VERSION:PATH", "VERSION:" (the root) or, without a colon, a path at "@". The path is taken from the top of the
/// tree; in the form without a version, from the current directory.
struct VersionPath {
  repo::Resolved version;
  ObjectId tree;
  std::string path;
};
Result<VersionPath> resolve_version_path(Invocation& invocation, const repo::Repository& repository,
                                         const store::Snapshot& snapshot, std::string_view text);

/// not_found: that version has no such path.
Error no_such_path(const store::Snapshot& snapshot, const VersionPath& at);

/// "@", "main", "alice@" (another workspace): the names that stand at each change, for showing beside it. Private refs
/// (kept/, rescue/) are left out.
using RefNames = std::map<ChangeId, std::vector<std::string>>;
Result<RefNames> ref_names(const repo::Repository& repository, const store::Snapshot& snapshot);

/// {"id", "parents", "author", "committer", "message", "tree", "form", "lamport", "refs", and where set "agent", "job",
/// "git"}
Json json_change(const ChangeId& id, const object::Change& change, const RefNames& names);

/// The id of the git commit a change was imported from, in hex; empty for others.
std::string git_commit_of(const object::Change& change);

/// " (@, main)", coloured; empty where no name stands.
std::string names_text(const Invocation& invocation, const RefNames& names, const ChangeId& id);

/// "blob:ID", "tree:ID", "node:ID" (a prefix of 4 digits and more will do) as words for `cat`, `ls` and `show`; absent
/// where the word does not begin so. A node is looked for in `@`.
struct NamedObject {
  object::ObjectKind kind = object::ObjectKind::blob;  ///< of a node: what it is
  ObjectId id;
  std::string path;                        ///< of a node, in `@`
  std::optional<object::TreeEntry> entry;  ///< of a node
};
Result<std::optional<NamedObject>> find_object(Invocation& invocation, const repo::Repository& repository,
                                               const store::Snapshot& snapshot, std::string_view word);

/// "change ID (main)", "Author: ...", "Date: ...", an empty line, and the message, indented.
std::string change_text(const Invocation& invocation, const store::Snapshot& snapshot, const ChangeId& id,
                        const object::Change& change, const RefNames& names);
/// "1f3a09c2 (main) Subject".
Result<std::string> change_line(const Invocation& invocation, const store::Snapshot& snapshot, const ChangeId& id,
                                const object::Change& change, const RefNames& names);

/// Short ids joined with '+'; "none" for the empty version.
Result<std::string> short_version(const store::Snapshot& snapshot, const object::Version& version);

}  // namespace weft::cli
