// Where a store may be made.
//
// Threading: functions.
#pragma once

#include <string>

#include "repo/repository.h"

namespace weft::repo {

/// Code::refused where `root` (absolute) lies inside a workspace of another store, or inside a store: what was typed in
/// a subdirectory by mistake would hide the files there from the store above. A directory that is a workspace itself is
/// Repository::init's business.
Result<void> check_place_for_store(const Context& context, const std::string& root);

}  // namespace weft::repo
