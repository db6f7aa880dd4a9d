// The process of weft-git: where it is, and why a conversation with it broke off.
//
// Threading: functions.
#pragma once

#include <string>
#include <vector>

#include "base/process.h"

namespace weft::git {

/// `helper`: its host path; empty: beside this program. `args`: behind argv[0].
Result<Process> start_helper(std::string helper, std::vector<std::string> args);

/// The error of a conversation, with what the end of the helper's process tells about it.
Error explain(Process& process, Error error);

/// Waits for its end.
Result<void> expect_success(Process& process);

}  // namespace weft::git
