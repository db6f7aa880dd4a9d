#include "cli/work_output.h"

#include "cli/output.h"
#include "cli/text.h"

namespace weft::cli {

namespace {

constexpr std::size_t kMaxShownWarnings = 20;

/// In a line with several parts also a name is quoted whose ends could not be seen otherwise.
std::string listed_path(const Invocation& invocation, const std::string& path) {
  std::string shown = shown_path(invocation, path);
  const bool blurred = path.starts_with(' ') || path.ends_with(' ') || path.find(" -> ") != path.npos;
  return blurred && !invocation.common.zero && shown == path ? '"' + shown + '"' : shown;
}

}  // namespace

Result<std::vector<std::string>> repo_paths(const repo::Repository& repository, const std::vector<std::string>& typed) {
  std::vector<std::string> paths;
  for (const std::string& each : typed) {
    WEFT_TRY(auto path, repository.repo_path(each));
    paths.push_back(std::move(path));
  }
  return paths;
}

std::string_view change_word(work::Change change) {
  switch (change) {
    case work::Change::added:
      return "added";
    case work::Change::modified:
      return "modified";
    case work::Change::deleted:
      return "deleted";
    case work::Change::moved:
      return "moved";
    case work::Change::mode:
      return "mode";
    case work::Change::type:
      return "type";
  }
  return "modified";
}

char change_letter(work::Change change) {
  switch (change) {
    case work::Change::added:
      return 'A';
    case work::Change::modified:
      return 'M';
    case work::Change::deleted:
      return 'D';
    case work::Change::moved:
      return 'R';
    case work::Change::mode:
      return 'P';
    case work::Change::type:
      return 'T';
  }
  return 'M';
}

Json json_entry(const work::StatusEntry& entry) {
  Json json = Json::object().set("change", change_word(entry.change)).set("path", entry.path);
  if (entry.change == work::Change::moved) json.set("old_path", entry.old_path);
  if (entry.change == work::Change::moved || entry.change == work::Change::mode) {
    json.set("content_changed", entry.content_changed);
  }
  return json;
}

Json json_entries(const std::vector<work::StatusEntry>& entries) {
  Json list = Json::array();
  for (const auto& entry : entries) list.push(json_entry(entry));
  return list;
}

Json json_warnings(const std::vector<work::Warning>& warnings) {
  Json list = Json::array();
  for (const auto& warning : warnings) {
    list.push(Json::object().set("path", warning.path).set("reason", warning.reason));
  }
  return list;
}

Json json_left_out(const std::vector<work::LeftOut>& left_out) {
  Json list = Json::array();
  for (const auto& each : left_out) list.push(Json::object().set("path", each.path).set("size", each.size));
  return list;
}

std::string left_out_line(const Invocation& invocation, const work::LeftOut& each) {
  std::string out = paint(invocation, Style::yellow, "L") + " " + shown_path(invocation, each.path);
  if (!invocation.common.zero) out += paint(invocation, Style::dim, " (" + size_text(each.size) + ", new: left out)");
  return out + std::string(line_end(invocation));
}

void show_left_out(Invocation& invocation, const std::vector<work::LeftOut>& left_out) {
  if (left_out.empty()) return;
  std::size_t shown = 0;
  for (const auto& each : left_out) {
    if (shown++ == kMaxShownWarnings) {
      notice(invocation, "and " + std::to_string(left_out.size() - kMaxShownWarnings) + " more like these");
      break;
    }
    notice(invocation, quoted(each.path) + ": is new and has " + size_text(each.size) +
                           ", more than record.max-new-file-size: left out");
  }
  hint(invocation, "`weft commit " + quoted(left_out.front().path) + "` or --max-new-file-size=0 records it");
}

std::string entry_line(const Invocation& invocation, const work::StatusEntry& entry) {
  constexpr auto style_of = [](work::Change change) {
    return change == work::Change::deleted ? Style::removed
           : change == work::Change::added ? Style::added
                                           : Style::modified;
  };
  std::string out = paint(invocation, style_of(entry.change), std::string(1, change_letter(entry.change))) + " ";
  if (entry.change == work::Change::moved) {
    out += listed_path(invocation, entry.old_path);
    // With -0 a name could hold " -> " itself: old and new are two records, as git's -z does.
    out += invocation.common.zero ? std::string(line_end(invocation)) : std::string(" -> ");
  }
  out += listed_path(invocation, entry.path);
  // A letter alone says that content changed where nothing else did.
  const bool edited =
      entry.content_changed && (entry.change == work::Change::moved || entry.change == work::Change::mode);
  if (edited && !invocation.common.zero) out += paint(invocation, Style::faint, " (edited)");
  out += line_end(invocation);
  return out;
}

void show_warnings(Invocation& invocation, const std::vector<work::Warning>& warnings) {
  std::size_t shown = 0;
  for (const auto& warning : warnings) {
    if (shown++ == kMaxShownWarnings) {
      notice(invocation, "and " + std::to_string(warnings.size() - kMaxShownWarnings) + " more like these");
      return;
    }
    notice(invocation, quoted(warning.path) + ": " + warning.reason);
  }
}

Json json_rescue(const std::optional<repo::Rescue>& rescue) {
  if (!rescue) return nullptr;
  return Json::object().set("ref", rescue->ref).set("change", rescue->change.hex());
}

Json& set_report(Json& json, const work::CheckoutReport& report) {
  json.set("written", report.written).set("removed", report.removed).set("warnings", json_warnings(report.warnings));
  return json;
}

Json json_files_edited(const repo::FilesEdited& edited) {
  Json list = Json::array();
  for (const auto& path : edited.paths) list.push(path);
  Json json = Json::object()
                  .set("paths", list)
                  .set("operation", edited.operation ? Json(edited.operation->hex()) : Json(nullptr))
                  .set("rescued", json_rescue(edited.rescue));
  set_report(json, edited.report);
  return json;
}

Json json_optional_version(const std::optional<object::Version>& version) {
  return version ? json_version(*version) : Json(nullptr);
}

Json json_ref_moves(const std::vector<store::Operation::Move>& moves) {
  Json list = Json::array();
  for (const auto& move : moves) {
    list.push(Json::object()
                  .set("ref", move.ref)
                  .set("before", move.before ? json_version(move.before->version) : Json(nullptr))
                  .set("after", move.after ? json_version(move.after->version) : Json(nullptr)));
  }
  return list;
}

void show_notices(Invocation& invocation, const repo::Repository& repository) {
  for (const auto& text : repository.store().notices()) notice(invocation, text);
  if (const auto& damage = repository.store().damage()) {
    notice(invocation, "this store is damaged: " + damage->message);
    if (!damage->hint.empty()) hint(invocation, damage->hint);
  }
}

Result<std::string> left_behind_hint(const repo::Repository& repository, const std::string& ref) {
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto value, snapshot.ref(ref));
  return value ? ref + " moved; weft land" : ref + " is gone; `weft land " + ref + "` makes it again, here";
}

Result<std::string> short_change(const repo::Repository& repository, const ChangeId& id) {
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  return repo::short_id(snapshot, object::ObjectKind::change, id);
}

}  // namespace weft::cli
