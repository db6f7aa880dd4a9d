// The user's own diff tool: `diff --tool`, as `git difftool` runs one.
//
// Invariants:
//   DT-1  What is run comes from the user: `--tool`, the user's configuration (`ui.diff-tool`, `diff-tools.NAME`) or
//   the
//         table of known tools; never from a store or a tree (DESIGN 12).
//   DT-2  Both sides are copies below the store, removed afterwards; files of the working tree are shown themselves
//   where
//         the tool shows file by file, so that they can be edited there. A copy that was edited is kept, and named.
// Threading: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "repo/repository.h"
#include "tree/tree.h"

namespace weft::cli {

struct DiffToolRequest {
  std::string name;          ///< of a tool, or a command; empty: `ui.diff-tool`
  std::string working_tree;  ///< host path of the tree the right side is; empty: it is no working tree
  std::string scratch;       ///< host directory to make the copies in
};
Result<void> run_diff_tool(Invocation& invocation, const object::ObjectReader& reader,
                           const std::vector<tree::Difference>& differences, const DiffToolRequest& request);

/// Runs a command of the user's in the shell, on the terminal, with Ctrl-C left to it. `arguments` are $1 and so on.
Result<int> run_user_command(Invocation& invocation, const std::string& script,
                             const std::vector<std::string>& arguments);

}  // namespace weft::cli
