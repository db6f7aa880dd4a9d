// How dates are shown: `ui.date-format` and `log --date`. Pure, but for the zone and the time that "here" and "ago"
// need.
#pragma once

#include <string>
#include <string_view>

#include "base/env.h"
#include "object/change.h"

namespace weft::cli {

class DateFormat {
 public:
  /// iso (the author's zone), local (the zone here), relative ("3 days ago"), short (the day), unix (seconds), or a
  /// pattern with % in it: %Y %m %d %H %M %S %z %Z %y %j %e %a %A %b %B %s %F %T %n %t %%. invalid: none of these.
  static Result<DateFormat> parse(std::string_view text);

  std::string text(const object::Timestamp& time, Clock& clock) const;

 private:
  enum class Form : std::uint8_t { iso, local, relative, day, unix, pattern };
  Form form_ = Form::iso;
  std::string pattern_;
};

}  // namespace weft::cli
