// The texts of `weft help`, `weft help NAME` and `weft --version`.
#pragma once

#include <string_view>

#include "cli/command.h"

namespace weft::cli {

int print_version(Invocation& invocation);
/// All commands by what one does with them.
int print_overview(Invocation& invocation);
/// The commands of a group ("ref").
int print_group(Invocation& invocation, std::string_view group);
/// One command's own text.
int print_help_text(Invocation& invocation, std::string_view text);

}  // namespace weft::cli
