// Small text helpers of the command line. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/closest.h"

namespace weft::cli {

/// In double quotes whatever it holds; odd bytes escaped. For naming in a sentence what the user typed.
std::string quoted_always(std::string_view text);
using text::closest;
/// "1 file", "2 files".
std::string counted(std::uint64_t count, std::string_view noun);
/// "1.5 MiB", "312 bytes".
std::string size_text(std::uint64_t bytes);
/// The first line of a message, without its newline.
std::string_view subject(std::string_view message);
/// For a terminal: control bytes other than newline and tab shown as \xNN, so that a message cannot drive the terminal.
std::string printable(std::string_view text);
/// Cut to so many columns, an ellipsis standing for the rest. Colours take no room; where one is cut off it is ended.
std::string fitted(std::string_view text, std::size_t columns);
/// Columns the text takes on a terminal: its code points, near enough for aligning.
std::size_t display_width(std::string_view text);

}  // namespace weft::cli
