// What the user's settings, environment and terminal say about how things look: colours, hints, progress, paging.
//
// Invariants:
//   LK-1  The user's file is read at most once, and only when something asks for a setting; what is wrong in it is told
//         once and never keeps a command from running.
//   LK-2  Each stream is judged by itself: stderr may be a terminal where stdout is a file.
// Order for colour: --color, `ui.color` (always, never), NO_COLOR, CLICOLOR_FORCE, CLICOLOR=0, then whether the stream
// is a terminal and TERM is not "dumb" (no-color.org, bixense.com/clicolors). Threading: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/date_format.h"
#include "repo/settings.h"

namespace weft::cli {

/// Kinds of text. Those of the second line can be given another look by `ui.colors.NAME` (look.cc, kRoles).
enum class Style : std::uint8_t {
  none,
  bold,
  dim,
  red,
  green,
  yellow,
  blue,
  magenta,
  cyan,
  id,
  ref,
  head,
  heading,
  hunk,
  added,
  removed,
  added_part,
  removed_part,
  modified,
  path,
  error,
  hint,
  notice,
  faint,
};

class Look {
 public:
  const repo::Settings& settings(const Invocation& invocation);
  bool colors(const Invocation& invocation, bool on_stderr);
  /// The numbers of the SGR escape; empty: none.
  std::string_view code(const Invocation& invocation, Style style);

  /// What is wrong in the user's file, if it was read: for telling it once.
  std::vector<std::string> take_problems();

  bool progress_shown = false;
  /// Of this command alone (`--date`); otherwise `ui.date-format`.
  std::optional<DateFormat> date_format;

 private:
  static constexpr std::size_t kStyles = static_cast<std::size_t>(Style::faint) + 1;
  std::optional<repo::Settings> settings_;
  bool problems_taken_ = false;
  std::optional<bool> colors_out_, colors_err_;
  std::array<std::optional<std::string>, kStyles> codes_;
};

/// The user's settings. A command that obeys a store's settings as well reads them by itself (repo::Settings::read).
const repo::Settings& settings(const Invocation& invocation);
/// Of the environment; empty where it is not set.
std::string_view variable(const Invocation& invocation, std::string_view name);
/// "id", "added": a kind of text by its name under `ui.colors`.
std::optional<Style> style_named(std::string_view name);
/// A date of a change, as the user wants dates: in its author's zone unless `ui.date-format` says otherwise.
std::string shown_date(const Invocation& invocation, const object::Timestamp& time);
/// Whether stdout is to be coloured.
bool use_color(const Invocation& invocation);
bool terminal_is_dumb(const Invocation& invocation);

}  // namespace weft::cli
