#include "cli/log_view.h"

#include <fmt/format.h>

#include "cli/dates.h"
#include "cli/patch.h"
#include "cli/text.h"

namespace weft::cli {

LogPrinter::LogPrinter(Invocation& invocation, const store::Snapshot& snapshot, RefNames names, const LogView& view)
    : invocation_(invocation),
      snapshot_(snapshot),
      names_(std::move(names)),
      view_(view),
      list_(invocation, "changes"),
      graph_([&invocation](std::size_t column, std::string_view text) {
        static constexpr Style kColors[] = {Style::red,  Style::green,   Style::yellow,
                                            Style::blue, Style::magenta, Style::cyan};
        return text == "*" ? std::string(text) : paint(invocation, kColors[column % std::size(kColors)], text);
      }) {}

Result<void> LogPrinter::print_entry(const LogEntry& entry) {
  WEFT_TRY(const auto change, snapshot_.change(entry.id));
  if (wants_json(invocation_)) {
    Json json = json_change(entry.id, change, names_);
    if (!entry.paths.empty()) json.set("path", entry.paths.front());
    list_.add(json);
    return {};
  }
  std::string text;
  if (view_.oneline || (view_.graph && !invocation_.common.verbose && !view_.patch && !view_.stat)) {
    WEFT_TRY(text, change_line(invocation_, snapshot_, entry.id, change, names_));
    if (view_.graph && !view_.oneline) {
      text +=
          paint(invocation_, Style::dim,
                fmt::format("  {}, {}", printable(change.author.name), date_text(change.author.time).substr(0, 16)));
    }
    text += "\n";
  } else {
    text = change_text(invocation_, snapshot_, entry.id, change, names_);
    if (!view_.graph && any_) text.insert(0, "\n");
    if (view_.graph) text += "\n";
  }
  any_ = true;
  // As in git: what a merge brought in is shown by the changes it merged. `show` compares it with its first parent.
  if ((view_.patch || view_.stat) && change.parents.size() < 2) {
    PatchOptions patch;
    patch.form = view_.patch ? PatchOptions::Form::patch : PatchOptions::Form::stat;
    patch.paths = entry.paths;
    WEFT_TRY(const auto shown, change_patch(invocation_, snapshot_, change, patch));
    if (!shown.empty()) text += "\n" + shown;
  }
  print(invocation_, view_.graph ? graph_.entry(entry.id, entry.follow, text) : text);
  return {};
}

void LogPrinter::finish() {
  if (wants_json(invocation_)) list_.finish();
}

}  // namespace weft::cli
