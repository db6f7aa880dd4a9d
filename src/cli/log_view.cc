#include "cli/log_view.h"

#include <utility>

#include <fmt/format.h>

#include "cli/text.h"
#include "object/change_head.h"

namespace weft::cli {
namespace {

GraphLook graph_look(Invocation& invocation, bool one_line) {
  GraphLook look;
  look.unicode = settings(invocation).text("ui.graph-style") == "unicode";
  if (use_color(invocation)) {
    look.paint = [&invocation](std::size_t color, std::string_view text) {
      static constexpr Style kColors[] = {Style::red,  Style::green,   Style::yellow,
                                          Style::blue, Style::magenta, Style::cyan};
      return paint(invocation, kColors[color % std::size(kColors)], text);
    };
  }
  // A line that wraps would tear the drawing apart; but no line of a patch is cut.
  if (one_line && invocation.io.out_is_terminal)
    look.columns = static_cast<std::size_t>(invocation.io.terminal_columns);
  return look;
}

}  // namespace

LogPrinter::LogPrinter(Invocation& invocation, const store::Snapshot& snapshot, RefNames names, LogView view)
    : invocation_(invocation),
      snapshot_(snapshot),
      names_(std::move(names)),
      view_(std::move(view)),
      list_(invocation, "changes"),
      graph_(graph_look(invocation, one_line())) {}

bool LogPrinter::one_line() const {
  return view_.oneline || (view_.graph && !view_.format && !invocation_.common.verbose && !view_.patch);
}

Result<std::string> LogPrinter::heading(const LogEntry& entry, const object::Change& change) {
  std::string text;
  if (view_.format) {
    WEFT_TRY(text, view_.format->text(invocation_, snapshot_, entry.id, change, names_));
    if (!text.ends_with('\n') && (view_.graph || !view_.format->empty())) text += '\n';
    if (view_.format->spaced() && std::exchange(any_, true)) text.insert(0, view_.graph ? "" : "\n");
    return text;
  }
  if (one_line()) {
    WEFT_TRY(text, change_line(invocation_, snapshot_, entry.id, change, names_));
    if (view_.graph && !view_.oneline) {
      // Minutes are enough beside a graph, where the date is the usual one.
      std::string date = shown_date(invocation_, change.author.time);
      if (date.size() == 25 && date[10] == ' ') date.resize(16);
      text += paint(invocation_, Style::faint, fmt::format("  {}, {}", printable(change.author.name), date));
    }
    return text + "\n";
  }
  text = change_text(invocation_, snapshot_, entry.id, change, names_);
  if (!view_.graph && any_) text.insert(0, "\n");
  if (view_.graph) text += "\n";
  any_ = true;
  return text;
}

/// As in git: what a merge brought in is shown by the changes it merged. `show` compares it with its first parent.
Result<void> LogPrinter::add_patches(const LogEntry& entry, const object::Change& change, std::string& text) {
  if (!view_.patch || (change.parents.size() > 1 && !view_.each_parent)) return {};
  PatchOptions patch = *view_.patch;
  patch.paths = entry.paths;
  for (std::size_t parent = 1; parent <= std::max<std::size_t>(change.parents.size(), 1); ++parent) {
    std::string shown;
    WEFT_DO(write_change_patch(invocation_, snapshot_, change, patch, parent,
                               [&](std::string_view piece) { shown += piece; }));
    if (shown.empty()) continue;
    if (!one_line() && !(view_.format && view_.format->empty())) text += "\n";
    if (change.parents.size() > 1) {
      WEFT_TRY(const auto from, repo::short_id(snapshot_, object::ObjectKind::change, change.parents[parent - 1]));
      text += paint(invocation_, Style::heading, fmt::format("from parent {}, {}", parent, from)) + "\n";
    }
    text += shown;
  }
  return {};
}

Result<void> LogPrinter::print_entry(const LogEntry& entry) {
  WEFT_TRY(const auto change, object::read_change_head(snapshot_, entry.id));
  if (wants_json(invocation_)) {
    Json json = json_change(entry.id, change, names_);
    if (!entry.paths.empty()) json.set("path", entry.paths.front());
    list_.add(json);
    return {};
  }
  WEFT_TRY(auto text, heading(entry, change));
  WEFT_DO(add_patches(entry, change, text));
  print(invocation_, view_.graph ? graph_.entry(entry.id, entry.follow, text) : text);
  return {};
}

void LogPrinter::finish() {
  if (wants_json(invocation_)) list_.finish();
}

}  // namespace weft::cli
