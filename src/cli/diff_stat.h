// How much changed: `--stat`, `--numstat` and `--shortstat`, laid out as git lays them out.
// Threading: one thread.
#pragma once

#include <functional>
#include <vector>

#include "cli/command.h"
#include "cli/patch.h"

namespace weft::cli {

/// options.form says which.
Result<void> write_stat(const Invocation& invocation, const object::ObjectReader& reader,
                        const std::vector<tree::Difference>& differences, const PatchOptions& options,
                        const std::function<void(std::string_view)>& out);

}  // namespace weft::cli
