// The git commit of a change that was not imported from git: git export rules, version 1.
//
// The rules decide commit ids: they are frozen, as the import rules are. They are spelled out in docs/FORMATS.md, "Git
// export rules 1".
//
// Invariants:
//   GX1  The commit is a function of the change and its ancestry: exporting it from any replica, whenever, gives the
//        same id.
//   GX2  `git fsck --strict` has nothing to say about it, whatever stands in the change.
//   GX3  It names the change (header `weft-change`), so that import knows it again (is_commit_of).
// Pure functions; threading: any.
#pragma once

#include <optional>
#include <vector>

#include "git/git_object.h"
#include "object/change.h"

namespace weft::git {

inline constexpr std::string_view kChangeHeader = "weft-change";

/// `parents`: the commits of the change's parents, in order.
Bytes native_commit_bytes(const object::Change& change, const ChangeId& id, const Sha1& tree,
                          const std::vector<Sha1>& parents);

/// The change that a commit names; nullopt where it names none.
std::optional<ChangeId> named_change(const CommitObject& commit);

}  // namespace weft::git
