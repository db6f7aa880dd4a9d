// Dates as people read and type them. Pure functions; the zone of "here" comes from the caller's clock.
#pragma once

#include <string>
#include <string_view>

#include "base/env.h"
#include "object/change.h"

namespace weft::cli {

/// "2026-11-30 09:37:14 +0100": in the zone the author was in.
std::string date_text(const object::Timestamp& time);

/// Nanoseconds since 1970. Understood: ISO 8601 ("2026-11-30", "2026-11-30 09:37[:14[.5]]" with 'T' or a space, and
/// "Z",
/// "+01:00" or "+0100" behind it, else local time); "@SECONDS"; "now", "today", "yesterday" (their midnight here),
/// "noon", "midnight"; "monday" to "sunday" (the last one before today, its midnight); "2 days ago" and "2.days.ago",
/// also "a", "an", "last", and seconds, minutes, hours, days, weeks, months and years; several of them ("1 week 2 days
/// ago").
Result<std::int64_t> parse_date(std::string_view text, Clock& clock);

}  // namespace weft::cli
