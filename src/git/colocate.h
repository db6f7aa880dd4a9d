// A store inside a git work tree: what `weft init` does to stand beside `.git`.
//
// Threading: functions.
#pragma once

#include <string>

#include "base/file_system.h"
#include "git/conversation.h"

namespace weft::git {

/// What stands at `path`, before anything is made: fails where it cannot be imported whole, or where weft-git is
/// missing (`helper`: its host path; empty: beside this program).
Result<RepositoryFacts> look_at(const std::string& path, const std::string& helper);

/// Puts `/.weft` into info/exclude of the repository at `git_directory`, unless it is there: git must not see the
/// store.
Result<void> exclude_store(FileSystem& fs, const std::string& git_directory);

}  // namespace weft::git
