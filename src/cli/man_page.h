// Manual pages: what commands() and describe() know, around what people wrote in docs/man, as the source scdoc reads.
// The build makes weft-COMMAND(1) and the lists of weft(1) and weft-config(5) of it, so that no page can name an option
// that is not there or miss one that is. Threading: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/description.h"

namespace weft::cli {

/// "ref set": "weft-ref-set".
std::string man_page_name(std::string_view command);

/// One command's page. `sections`: docs/man/weft-COMMAND.scd, which begins with `# DESCRIPTION`; ARGUMENTS, OPTIONS and
/// NOTES are put in behind that section, SEE ALSO at the end unless it has one.
std::string man_page(const Command& command, const Description& description, std::string_view sections);

/// A page of docs/man with `@COMMANDS@`, `@OPTIONS@` (the common ones) and `@SETTINGS@` replaced by the lists.
std::string with_lists(std::string_view text);

/// `text` such that scdoc prints it as it is; what stands between backticks becomes bold.
std::string scdoc_text(std::string_view text);

}  // namespace weft::cli
