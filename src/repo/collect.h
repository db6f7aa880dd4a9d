// Collecting a store's garbage, as a repository asks for it: the undo window from the settings, and what workspaces'
// files stand at as further roots.
//
// Threading: functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "repo/repository.h"
#include "store/gc.h"

namespace weft::repo {

/// "30 days", "12 hours", "0": a whole number and seconds, minutes, hours, days or weeks, also by their first letters;
/// nullopt where it is none. At most 1,000 years.
std::optional<std::int64_t> parse_duration(std::string_view text);

/// `keep` where it is given, else the setting gc.undo-window.
Result<std::int64_t> undo_window_ns(const Repository& repository, const std::optional<std::string>& keep);

/// Fills in options.roots.
Result<store::GcReport> collect(const Repository& repository, store::GcOptions options);

}  // namespace weft::repo
