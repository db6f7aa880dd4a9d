// Where git keeps ignore rules outside the working tree: `.git/info/exclude` and the settings beside it.
//
// These paths are the user's own, not a tree's (W1: `.git` is never content), so links are followed, as git does; pipes
// and devices never block.
// Threading: functions of files.
#pragma once

#include <optional>
#include <string>

#include "base/file_system.h"

namespace weft::work {

/// The directory with `config` and `info/` of the git repository whose working tree has its top at `root`; empty where
/// there is none. A `.git` that is a file (a linked worktree, a submodule) is followed to the repository it names.
std::string git_common_directory(FileSystem& fs, const std::string& root);

/// `info/exclude` of that repository; absent where it cannot be read.
std::optional<Bytes> git_exclude_patterns(FileSystem& fs, const std::string& root);

}  // namespace weft::work
