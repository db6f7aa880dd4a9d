#include "cli/date_format.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cli/dates.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr std::int64_t kWeek = 7 * kDay, kYear = 365 * kDay;
constexpr std::string_view kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kDirectives = "YmdHMSzZyjeaAbBsFTnt%";

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::string ago(std::int64_t count, std::string_view unit) {
  return counted(static_cast<std::uint64_t>(count), unit) + " ago";
}

/// git's steps: each unit is used until about two of the next.
std::string relative(std::int64_t seconds) {
  if (seconds < 0) return "in the future";
  if (seconds < 90) return ago(seconds, "second");
  if (seconds < 90 * kMinute) return ago((seconds + kMinute / 2) / kMinute, "minute");
  if (seconds < 36 * kHour) return ago((seconds + kHour / 2) / kHour, "hour");
  if (seconds < 2 * kWeek) return ago((seconds + kDay / 2) / kDay, "day");
  if (seconds < 10 * kWeek) return ago((seconds + kWeek / 2) / kWeek, "week");
  if (seconds < kYear) return ago((seconds + 15 * kDay) / (30 * kDay), "month");
  if (seconds < 5 * kYear) {
    const std::int64_t months = (seconds * 12 * 2 + kYear) / (kYear * 2);
    const std::string years = counted(static_cast<std::uint64_t>(months / 12), "year");
    return months % 12 == 0 ? years + " ago"
                            : years + ", " + counted(static_cast<std::uint64_t>(months % 12), "month") + " ago";
  }
  return ago((seconds + kYear / 2) / kYear, "year");
}

struct Parts {
  int year = 0;
  unsigned month = 0, day = 0, weekday = 0, day_of_year = 0;
  std::int64_t second = 0;  ///< of the day
  std::int64_t offset = 0;  ///< minutes
};

Parts parts_of(const object::Timestamp& time) {
  Parts parts;
  parts.offset = std::clamp<std::int64_t>(time.offset_min, -1439, 1439);
  const std::int64_t local = floor_div(time.unix_ns, kNsPerSecond) + parts.offset * 60;
  const std::int64_t day = floor_div(local, kDay);
  const std::chrono::sys_days days{std::chrono::days(day)};
  const std::chrono::year_month_day date{days};
  parts.second = local - day * kDay;
  parts.year = static_cast<int>(date.year());
  parts.month = static_cast<unsigned>(date.month());
  parts.day = static_cast<unsigned>(date.day());
  parts.weekday = std::chrono::weekday(days).c_encoding();
  parts.day_of_year =
      static_cast<unsigned>((days - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count()) + 1;
  return parts;
}

std::string zone_text(std::int64_t offset) {
  return fmt::format("{}{:02}{:02}", offset < 0 ? '-' : '+', std::abs(offset) / 60, std::abs(offset) % 60);
}

std::string by_pattern(std::string_view pattern, const object::Timestamp& time) {
  const Parts at = parts_of(time);
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'Y':
        out += fmt::format("{:04}", at.year);
        break;
      case 'y':
        out += fmt::format("{:02}", (at.year % 100 + 100) % 100);
        break;
      case 'm':
        out += fmt::format("{:02}", at.month);
        break;
      case 'd':
        out += fmt::format("{:02}", at.day);
        break;
      case 'e':
        out += fmt::format("{:2}", at.day);
        break;
      case 'j':
        out += fmt::format("{:03}", at.day_of_year);
        break;
      case 'H':
        out += fmt::format("{:02}", at.second / kHour);
        break;
      case 'M':
        out += fmt::format("{:02}", at.second / kMinute % 60);
        break;
      case 'S':
        out += fmt::format("{:02}", at.second % 60);
        break;
      case 'z':
      case 'Z':
        out += zone_text(at.offset);
        break;
      case 'a':
        out += kDays[at.weekday].substr(0, 3);
        break;
      case 'A':
        out += kDays[at.weekday];
        break;
      case 'b':
        out += kMonths[at.month - 1].substr(0, 3);
        break;
      case 'B':
        out += kMonths[at.month - 1];
        break;
      case 's':
        out += std::to_string(floor_div(time.unix_ns, kNsPerSecond));
        break;
      case 'F':
        out += fmt::format("{:04}-{:02}-{:02}", at.year, at.month, at.day);
        break;
      case 'T':
        out += fmt::format("{:02}:{:02}:{:02}", at.second / kHour, at.second / kMinute % 60, at.second % 60);
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      default:
        out += pattern[i];
        break;
    }
  }
  return out;
}

}  // namespace

Result<DateFormat> DateFormat::parse(std::string_view text) {
  DateFormat out;
  struct Named {
    std::string_view name;
    Form form;
  };
  static constexpr Named kNamed[] = {{"iso", Form::iso},
                                     {"local", Form::local},
                                     {"relative", Form::relative},
                                     {"short", Form::day},
                                     {"unix", Form::unix}};
  for (const auto& named : kNamed) {
    if (named.name == text) {
      out.form_ = named.form;
      return out;
    }
  }
  out.form_ = Form::pattern;
  out.pattern_ = text;
  bool any = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') continue;
    if (at + 1 == text.size() || kDirectives.find(text[at + 1]) == kDirectives.npos) {
      return make_error(Code::usage, "the date format " + quoted_always(text) + " has an unknown % in it",
                        "known are %Y %m %d %H %M %S %z %y %j %e %a %A %b %B %s %F %T %n %t and %%");
    }
    any = true;
    ++at;
  }
  if (!any) {
    return make_error(Code::usage, quoted_always(text) + " is no date format",
                      "iso, local, relative, short, unix, or a pattern as in `%Y-%m-%d`");
  }
  return out;
}

std::string DateFormat::text(const object::Timestamp& time, Clock& clock) const {
  switch (form_) {
    case Form::iso:
      return date_text(time);
    case Form::local:
      return date_text({time.unix_ns, clock.zone_offset_min(time.unix_ns)});
    case Form::relative:
      return relative(floor_div(clock.now_ns(), kNsPerSecond) - floor_div(time.unix_ns, kNsPerSecond));
    case Form::day:
      return date_text(time).substr(0, 10);
    case Form::unix:
      return std::to_string(floor_div(time.unix_ns, kNsPerSecond));
    case Form::pattern:
      return by_pattern(pattern_, time);
  }
  return {};
}

}  // namespace weft::cli
