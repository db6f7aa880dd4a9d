#include "cli/look.h"

#include <utility>

#include "cli/output.h"

namespace weft::cli {
namespace {

struct Role {
  Style style;
  std::string_view name;  ///< under ui.colors; empty: a plain colour
  std::string_view code;
};
constexpr Role kRoles[] = {
    {Style::bold, "", "1"},
    {Style::dim, "", "2"},
    {Style::red, "", "31"},
    {Style::green, "", "32"},
    {Style::yellow, "", "33"},
    {Style::blue, "", "34"},
    {Style::magenta, "", "35"},
    {Style::cyan, "", "36"},
    {Style::id, "id", "33"},
    {Style::ref, "ref", "32"},
    {Style::head, "head", "36"},
    {Style::heading, "heading", "1"},
    {Style::hunk, "hunk", "36"},
    {Style::added, "added", "32"},
    {Style::removed, "removed", "31"},
    {Style::added_part, "added-part", "7;32"},
    {Style::removed_part, "removed-part", "7;31"},
    {Style::modified, "modified", "33"},
    {Style::path, "path", "34"},
    {Style::error, "error", "31"},
    {Style::hint, "hint", "33"},
    {Style::notice, "notice", "33"},
    {Style::faint, "faint", "2"},
};

}  // namespace

std::vector<std::string> Look::take_problems() {
  if (!settings_ || std::exchange(problems_taken_, true)) return {};
  return settings_->problems();
}

std::string_view variable(const Invocation& invocation, std::string_view name) {
  const auto found = invocation.context.environment.find(std::string(name));
  return found == invocation.context.environment.end() ? std::string_view() : std::string_view(found->second);
}

bool terminal_is_dumb(const Invocation& invocation) { return variable(invocation, "TERM") == "dumb"; }

const repo::Settings& Look::settings(const Invocation& invocation) {
  if (!settings_) settings_ = repo::Settings::read(invocation.context);
  return *settings_;
}

bool Look::colors(const Invocation& invocation, bool on_stderr) {
  auto& decided = on_stderr ? colors_err_ : colors_out_;
  if (decided) return *decided;
  const auto decide = [&]() {
    const ColorWhen asked = invocation.common.color.value_or(ColorWhen::automatic);
    if (asked != ColorWhen::automatic) return asked == ColorWhen::always;
    if (!invocation.common.color) {
      const std::string when = settings(invocation).text("ui.color");
      if (when != "auto") return when == "always";
    }
    if (!variable(invocation, "NO_COLOR").empty()) return false;
    const auto force = variable(invocation, "CLICOLOR_FORCE");
    if (!force.empty() && force != "0") return true;
    if (variable(invocation, "CLICOLOR") == "0") return false;
    return (on_stderr ? invocation.io.err_is_terminal : invocation.io.out_is_terminal) && !terminal_is_dumb(invocation);
  };
  decided = decide();
  return *decided;
}

std::string_view Look::code(const Invocation& invocation, Style style) {
  auto& known = codes_[static_cast<std::size_t>(style)];
  if (!known) {
    known.emplace();
    for (const auto& role : kRoles) {
      if (role.style != style) continue;
      known = role.code;
      const std::string key = "ui.colors." + std::string(role.name);
      if (!role.name.empty() && settings(invocation).is_set(key)) {
        known = repo::parse_style(settings(invocation).text(key)).value_or(std::string(role.code));
      }
    }
  }
  return *known;
}

const repo::Settings& settings(const Invocation& invocation) { return invocation.look->settings(invocation); }

std::optional<Style> style_named(std::string_view name) {
  for (const auto& role : kRoles) {
    if (!role.name.empty() && role.name == name) return role.style;
  }
  return std::nullopt;
}

std::string shown_date(const Invocation& invocation, const object::Timestamp& time) {
  auto& format = invocation.look->date_format;
  if (!format) {
    const auto parsed = DateFormat::parse(settings(invocation).text("ui.date-format"));
    format = parsed ? *parsed : DateFormat();  // what is wrong with it `config list` tells
  }
  return format->text(time, invocation.context.env.clock);
}

bool use_color(const Invocation& invocation) { return invocation.look->colors(invocation, false); }

}  // namespace weft::cli
