// Names that other systems cannot tell apart: file systems of macOS and Windows hold one of `README` and `readme`, and
// one of two spellings of `café` (CASES C23). Pure functions of bytes.
//
// Two names are alike when they are equal after canonical decomposition (Unicode, UAX 15), simple case folding and
// canonical ordering. A name that is not UTF-8 is like none but itself in other case of ASCII letters.
// Threading: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "object/tree.h"
#include "work/work.h"

namespace weft::work {

/// Equal for names that are alike.
std::string folded_name(std::string_view name);

/// A warning for each path that `status` has as new under its name in `tree` and that has a neighbour like it. Looks
/// only into directories with such names.
Result<std::vector<Warning>> find_lookalikes(const object::ObjectReader& reader, const ObjectId& tree,
                                             const Status& status);

}  // namespace weft::work
