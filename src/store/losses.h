// What a repair gave up for good: objects that others name and no store had. `lost` in the store: verify speaks of them
// as known, not as damage. An object that comes back (put anew, or fetched) is simply there again.
//
// Threading: functions. Format: docs/FORMATS.md, "Lost objects".
#pragma once

#include <set>
#include <string>

#include "base/env.h"
#include "store/store.h"

namespace weft::store {

inline constexpr std::string_view kLossesName = "lost";

Bytes encode_losses(const std::set<ObjectName>& losses);
/// damaged on anything encode_losses could not have written.
Result<std::set<ObjectName>> decode_losses(ByteView bytes);

/// None where there is no such file.
Result<std::set<ObjectName>> read_losses(FileSystem& fs, const std::string& directory);
/// Durable when it returns.
Result<void> write_losses(FileSystem& fs, const std::string& directory, const std::set<ObjectName>& losses);

}  // namespace weft::store
