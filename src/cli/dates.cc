#include "cli/dates.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/text.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400;
// Years outside this are a slip, and their nanoseconds do not fit.
constexpr int kFirstYear = 1700, kLastYear = 2200;
constexpr std::int64_t kMaxCount = 1'000'000'000;

std::int64_t floor_div(std::int64_t value, std::int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

/// Seconds on a clock that shows local time.
struct Civil {
  std::int64_t day = 0;     ///< since 1970-01-01
  std::int64_t second = 0;  ///< of the day
  std::int64_t seconds() const { return day * kDay + second; }
};

std::optional<std::int64_t> day_number(int year, unsigned month, unsigned day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || year < kFirstYear || year > kLastYear) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

Civil local_now(Clock& clock) {
  const std::int64_t now = clock.now_ns();
  const std::int64_t local = floor_div(now, kNsPerSecond) + std::int64_t{clock.zone_offset_min(now)} * 60;
  return {floor_div(local, kDay), local - floor_div(local, kDay) * kDay};
}

/// What the clock of this zone showed then; an hour that summer time skipped or repeated is one of its neighbours.
std::int64_t from_local(const Civil& civil, Clock& clock) {
  std::int64_t ns = civil.seconds() * kNsPerSecond;
  const std::int64_t shown = ns;
  for (int round = 0; round < 2; ++round) ns = shown - std::int64_t{clock.zone_offset_min(ns)} * 60 * kNsPerSecond;
  return ns;
}

/// Reads from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  bool take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// Exactly `digits` digits.
  std::optional<int> number(std::size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    int value = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + digits, value);
    if (problem != std::errc() || end != text_.data() + digits || value < 0) return std::nullopt;
    text_.remove_prefix(digits);
    return value;
  }
  std::string_view rest() const { return text_; }
  void skip(std::size_t count) { text_.remove_prefix(count); }

 private:
  std::string_view text_;
};

std::optional<std::int64_t> parse_iso(std::string_view text, Clock& clock) {
  Scanner in(text);
  const auto year = in.number(4);
  if (!year || !in.take('-')) return std::nullopt;
  const auto month = in.number(2);
  if (!month || !in.take('-')) return std::nullopt;
  const auto day = in.number(2);
  if (!day) return std::nullopt;
  const auto days = day_number(*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day));
  if (!days) return std::nullopt;
  Civil civil{*days, 0};
  std::int64_t fraction_ns = 0;
  if (in.done()) return from_local(civil, clock);
  if (!in.take('T') && !in.take('t') && !in.take(' ')) return std::nullopt;
  const auto hour = in.number(2);
  if (!hour || *hour > 23 || !in.take(':')) return std::nullopt;
  const auto minute = in.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  int second = 0;
  if (in.take(':')) {
    const auto given = in.number(2);
    if (!given || *given > 60) return std::nullopt;
    second = *given;
    if (in.take('.')) {
      std::int64_t unit = kNsPerSecond;
      std::size_t digits = 0;
      while (!in.done() && in.rest()[0] >= '0' && in.rest()[0] <= '9') {
        unit /= 10;
        fraction_ns += unit * (in.rest()[0] - '0');
        in.skip(1);
        ++digits;
      }
      if (digits == 0) return std::nullopt;
    }
  }
  civil.second = *hour * 3600 + *minute * 60 + second;
  in.take(' ');
  if (in.done()) return from_local(civil, clock) + fraction_ns;
  std::int64_t offset_min = 0;
  if (!in.take('Z') && !in.take('z')) {
    const int sign = in.take('-') ? -1 : 1;
    if (sign > 0 && !in.take('+')) return std::nullopt;
    const auto hours = in.number(2);
    in.take(':');
    const auto minutes = in.done() ? std::optional(0) : in.number(2);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    offset_min = sign * (*hours * 60 + *minutes);
  }
  if (!in.done()) return std::nullopt;
  return (civil.seconds() - offset_min * 60) * kNsPerSecond + fraction_ns;
}

std::optional<std::int64_t> whole_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size() || word.empty() || word[0] == '-') return std::nullopt;
  return value;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ' || c == '.' || c == ',' || c == '_' || c == '\t') {
      finish();
    } else {
      const bool digit = c >= '0' && c <= '9';
      const bool after_digit = !word.empty() && word.back() >= '0' && word.back() <= '9';
      if (!word.empty() && digit != after_digit) finish();  // "2days"
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  finish();
  return words;
}

Civil months_before(const Civil& from, std::int64_t months) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(from.day))};
  const auto month = std::chrono::year_month(date.year(), date.month()) - std::chrono::months(months);
  const auto last = std::chrono::year_month_day_last(month.year(), std::chrono::month_day_last(month.month())).day();
  const auto day = std::min(date.day(), last);
  return {std::chrono::sys_days(month / day).time_since_epoch().count(), from.second};
}

/// "2 days", "a week", "last month", one behind the other, "ago" at the end or not.
std::optional<std::int64_t> parse_relative(const std::vector<std::string>& words, Clock& clock) {
  // Before anything a change carries, and the end of what nanoseconds can hold.
  const std::int64_t earliest = *day_number(kFirstYear, 1, 1) * kDay * kNsPerSecond;
  const std::int64_t now_ns = clock.now_ns();
  Civil civil = local_now(clock);
  std::int64_t exact_seconds = 0;
  bool by_calendar = false, any = false;
  bool counted_one = false;
  std::int64_t count = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string word = words[at];
    if (word == "ago") {
      if (at + 1 != words.size() || counted_one) return std::nullopt;
      continue;
    }
    if (!counted_one) {
      const bool single = word == "a" || word == "an" || word == "one" || word == "last";
      count = single ? 1 : whole_number(word).value_or(-1);
      if (count < 0 || count > kMaxCount) return std::nullopt;
      counted_one = true;
      continue;
    }
    if (word.size() > 1 && word.back() == 's') word.pop_back();
    if (word == "second" || word == "sec") {
      exact_seconds += count;
    } else if (word == "minute" || word == "min") {
      exact_seconds += count * 60;
    } else if (word == "hour") {
      exact_seconds += count * 3600;
    } else if (word == "day") {
      civil.day -= count;
      by_calendar = true;
    } else if (word == "week") {
      civil.day -= count * 7;
      by_calendar = true;
    } else if (word == "month" || word == "year") {
      const std::int64_t months = word == "year" ? count * 12 : count;
      if (months > std::int64_t{12} * 1000) return earliest;
      civil = months_before(civil, months);
      by_calendar = true;
    } else {
      return std::nullopt;
    }
    any = true;
    counted_one = false;
    if (civil.day * kDay < earliest / kNsPerSecond) return earliest;
  }
  if (!any || counted_one) return std::nullopt;
  const std::int64_t base =
      by_calendar ? from_local(civil, clock) + now_ns - floor_div(now_ns, kNsPerSecond) * kNsPerSecond : now_ns;
  if (exact_seconds > base / kNsPerSecond - earliest / kNsPerSecond) return earliest;
  return base - exact_seconds * kNsPerSecond;
}

std::optional<std::int64_t> parse_named(const std::vector<std::string>& words, Clock& clock) {
  std::string word = words.back();
  if (words.size() == 2 && words[0] == "last") {
    // "last friday"
  } else if (words.size() != 1) {
    return std::nullopt;
  }
  const Civil now = local_now(clock);
  if (words.size() == 1) {
    if (word == "now") return clock.now_ns();
    if (word == "today" || word == "midnight") return from_local({now.day, 0}, clock);
    if (word == "yesterday") return from_local({now.day - 1, 0}, clock);
    if (word == "noon") return from_local({now.second < kDay / 2 ? now.day - 1 : now.day, kDay / 2}, clock);
  }
  static constexpr std::string_view kDays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                               "thursday", "friday", "saturday"};
  const std::chrono::weekday today{std::chrono::sys_days(std::chrono::days(now.day))};
  for (unsigned day = 0; day < 7; ++day) {
    if (word != kDays[day] && word != kDays[day].substr(0, 3)) continue;
    const std::int64_t back = (today.c_encoding() + 7 - day) % 7;
    return from_local({now.day - (back == 0 ? 7 : back), 0}, clock);
  }
  return std::nullopt;
}

}  // namespace

std::string date_text(const object::Timestamp& time) {
  // A hostile offset or time must print something, not overflow.
  const std::int64_t offset = std::clamp<std::int64_t>(time.offset_min, -1439, 1439);
  const std::int64_t local = floor_div(time.unix_ns, kNsPerSecond) + offset * 60;
  const std::int64_t day = floor_div(local, kDay), second = local - day * kDay;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} {}{:02}{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second / 3600,
                     second / 60 % 60, second % 60, offset < 0 ? '-' : '+', std::abs(offset) / 60,
                     std::abs(offset) % 60);
}

Result<std::int64_t> parse_date(std::string_view text, Clock& clock) {
  std::optional<std::int64_t> parsed;
  if (text.size() <= 100) {
    parsed = parse_iso(text, clock);
    if (!parsed && text.starts_with('@')) {
      const auto seconds = whole_number(text.substr(1));
      if (seconds && *seconds < INT64_MAX / kNsPerSecond) parsed = *seconds * kNsPerSecond;
    }
    const auto words = words_of(text);
    if (!parsed && !words.empty()) parsed = parse_named(words, clock);
    if (!parsed && !words.empty()) parsed = parse_relative(words, clock);
  }
  if (!parsed) {
    return make_error(Code::usage, quoted_always(text.substr(0, 100)) + " is no date weft understands",
                      "try `2026-11-30`, `2026-11-30 09:37`, `yesterday` or `2 days ago`");
  }
  return *parsed;
}

}  // namespace weft::cli
