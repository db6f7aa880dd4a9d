// Which git repository a command means.
#pragma once

#include <string>

#include "cli/command.h"
#include "repo/repository.h"

namespace weft::cli {

/// What the user typed; empty: the repository that the store stands beside (colocated), else a usage error.
Result<std::string> git_path(const Invocation& invocation, const repo::Repository& repository,
                             const std::string& typed);

/// What git is in the middle of in the work tree at `root` ("a merge"); empty: nothing.
std::string git_in_progress(FileSystem& fs, const std::string& root);

}  // namespace weft::cli
