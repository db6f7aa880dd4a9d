// A difference as a unified diff with git's headers, coloured where the user wants colour. Internal to the patch files.
// Threading: one thread.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/patch.h"
#include "cli/patch_sides.h"

namespace weft::cli {

Result<std::string> patch_text(const Invocation& invocation, const object::ObjectReader& reader,
                               const tree::Difference& difference, const PatchOptions& options);
/// From "---" on, without colour.
std::string plain_hunks(const tree::Difference& difference, const Sides& sides, const PatchOptions& options);

}  // namespace weft::cli
