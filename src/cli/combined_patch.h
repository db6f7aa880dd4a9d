// What a merge made that none of its parents had, as text: git's `--cc`. `show` of a merge.
//
// Only files that differ from every parent are shown, and of those only hunks that do (text/combined.h). Files are
// paired with each parent's by identity, so a rename on one side is none here: the path is the merge's.
// Threading: one thread.
#pragma once

#include <functional>
#include <string_view>

#include "cli/command.h"
#include "cli/patch.h"

namespace weft::cli {

/// Of a change with two parents and more. Context, ignored blanks and paths are taken from `options`.
Result<void> write_combined_patch(const Invocation& invocation, const store::Snapshot& snapshot,
                                  const object::Change& change, const PatchOptions& options,
                                  const std::function<void(std::string_view)>& out);

}  // namespace weft::cli
