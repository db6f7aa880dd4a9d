// workspace add, list, rm.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/workspace.h"

namespace weft::cli {

Result<int> cmd_workspace_add(Invocation& invocation) {
  repo::WorkspaceAddRequest request;
  Options options("workspace add", "Makes another workspace of this store.");
  options.value("--path", request.path, "DIR", "where its files go (default: ../NAME)");
  options.value("--at", request.at, "VERSION", "the version it begins at (default: the followed ref)");
  options.value("--follow", request.follow, "REF", "the ref it follows (default: as this workspace does)");
  options.positional("NAME", request.name, "its name", true);
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  Progress progress(invocation, "writing files");
  request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto added = repo::add_workspace(repository, request);
  progress.clear();
  if (!added) return added.error();
  if (wants_json(invocation)) {
    Json json = Json::object()
                    .set("name", added->name)
                    .set("path", added->path)
                    .set("kind", "copy")
                    .set("head", json_version(added->head))
                    .set("follow", added->follow)
                    .set("operation", added->operation.hex());
    emit(invocation, set_report(json, added->report));
    return 0;
  }
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto head, short_version(snapshot, added->head));
  report(invocation, "workspace " + quoted(added->name) + " is at " + quoted(added->path) + ", version " +
                         paint(invocation, Style::id, head) +
                         (added->follow.empty() ? std::string() : ", following " + added->follow) + "\n");
  show_warnings(invocation, added->report.warnings);
  return 0;
}

Result<int> cmd_workspace_list(Invocation& invocation) {
  Options options("workspace list", "Lists the workspaces of this store.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto all, repo::list_workspaces(repository, snapshot));
  const std::string current = repository.location() ? repository.location()->name : std::string();
  page(invocation);
  if (wants_json(invocation)) {
    JsonList list(invocation, "workspaces");
    for (const auto& each : all) {
      list.add(Json::object()
                   .set("name", each.name)
                   .set("current", each.name == current)
                   .set("path", each.record.path.empty() ? Json(nullptr) : Json(each.record.path))
                   .set("present", each.present)
                   .set("head", json_version(each.head))
                   .set("follow", each.record.follow)
                   .set("files_at", json_version(each.files_at.value_or(each.head))));
    }
    list.finish();
    return 0;
  }
  std::size_t width = 0;
  for (const auto& each : all) width = std::max(width, display_width(each.name));
  for (const auto& each : all) {
    WEFT_TRY(const auto head, short_version(snapshot, each.head));
    std::string line = each.name == current ? "* " : "  ";
    line += paint(invocation, Style::head, each.name) + std::string(width - display_width(each.name) + 2, ' ');
    line += paint(invocation, Style::id, head) + "  ";
    line += each.record.follow.empty() ? "-" : each.record.follow;
    line += "  " + (each.record.path.empty() ? std::string("-") : shown_path(invocation, each.record.path));
    if (!each.present) line += paint(invocation, Style::red, "  (gone)");
    if (each.files_at) line += paint(invocation, Style::red, "  (files stand elsewhere: weft switch @)");
    print(invocation, line + std::string(line_end(invocation)));
  }
  return 0;
}

Result<int> cmd_workspace_rm(Invocation& invocation) {
  std::string name;
  bool force = false;
  Options options("workspace rm", "Removes a workspace and its files.");
  options.flag("-f,--force", force, "also when some files cannot be recorded first");
  options.positional("NAME", name, "the workspace", true);
  options.footer(
      "What was not landed or not recorded is kept on rescue/NAME/...; `weft undo` brings all of it back.\n"
      "Ignored files go with the directory.\n");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  WEFT_TRY(const auto removed, repo::remove_workspace(repository, name, force));
  if (wants_json(invocation)) {
    Json kept = Json::array();
    for (const auto& ref : removed.kept) kept.push(ref);
    Json ignored = Json::array();
    for (const auto& path : removed.ignored) ignored.push(path);
    emit(invocation, Json::object()
                         .set("name", removed.name)
                         .set("path", removed.path.empty() ? Json(nullptr) : Json(removed.path))
                         .set("head", json_version(removed.head))
                         .set("kept", kept)
                         .set("files_removed", removed.files_removed)
                         .set("ignored_removed", ignored)
                         .set("not_kept", json_warnings(removed.unkept))
                         .set("operation", removed.operation.hex()));
    return 0;
  }
  report(invocation, "removed workspace " + quoted(removed.name) +
                         (removed.files_removed ? " and its files at " + quoted(removed.path) : std::string()) + "\n");
  for (const auto& ref : removed.kept) {
    report(invocation, "  what was only there is kept on " + paint(invocation, Style::ref, ref) + "\n");
  }
  if (!removed.ignored.empty()) notice(invocation, counted(removed.ignored.size(), "ignored path") + " went with it");
  if (!removed.files_note.empty()) notice(invocation, "no file was touched: " + removed.files_note);
  show_warnings(invocation, removed.unkept);
  return 0;
}

}  // namespace weft::cli
