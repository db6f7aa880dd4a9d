// Which names a person may have meant by a mistyped word. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

/// Those within an edit distance (insert, delete, replace, swap of neighbours) of a third of the word's length, at
/// least 1; nearest first, at most three.
std::vector<std::string> closest(std::string_view word, const std::vector<std::string>& names);

}  // namespace weft::text
