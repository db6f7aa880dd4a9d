// Which git repository a command means.
#pragma once

#include <string>

#include "cli/command.h"
#include "repo/repository.h"

namespace weft::cli {

/// What the user typed; empty: the repository that the store stands beside (colocated), else a usage error.
Result<std::string> git_path(const Invocation& invocation, const repo::Repository& repository,
                             const std::string& typed);

}  // namespace weft::cli
