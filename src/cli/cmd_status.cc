// status: what differs between the files of this workspace and the version they stand at.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/commit.h"
#include "repo/files.h"
#include "repo/history.h"

namespace weft::cli {

namespace {

/// How the followed ref lies to the head.
struct Relation {
  std::optional<object::Version> ref;
  bool head_in_ref = false;  ///< nothing to land
  bool ref_in_head = false;  ///< landing moves it forward
};

Result<Relation> relation_of(const store::Snapshot& snapshot, const repo::Repository::Workspace& workspace) {
  Relation relation;
  if (workspace.record.follow.empty()) return relation;
  WEFT_TRY(const auto value, snapshot.ref(workspace.record.follow));
  const object::Version version = value ? value->version : object::Version();
  if (value) relation.ref = version;
  WEFT_TRY(relation.head_in_ref, repo::is_ancestor(snapshot, workspace.head, version));
  WEFT_TRY(relation.ref_in_head, repo::is_ancestor(snapshot, version, workspace.head));
  return relation;
}

std::string_view relation_word(const Relation& relation) {
  if (relation.head_in_ref && relation.ref_in_head) return "even";
  if (relation.head_in_ref) return "behind";
  return relation.ref_in_head ? "ahead" : "diverged";
}

void print_head(Invocation& invocation, const repo::Repository::Workspace& workspace, const Relation& relation,
                const std::string& head) {
  std::string line = "workspace " + quoted(workspace.name) + " at " + paint(invocation, Style::id, head);
  const std::string& follow = workspace.record.follow;
  if (follow.empty()) {
    line += ", following nothing";
  } else if (relation.head_in_ref && relation.ref_in_head) {
    line += ", even with " + paint(invocation, Style::ref, follow);
  } else if (relation.head_in_ref) {
    line += ", behind " + paint(invocation, Style::ref, follow) + " (`weft switch " + follow + "` catches up)";
  } else if (relation.ref_in_head) {
    line += ", ahead of " + paint(invocation, Style::ref, follow) + " (`weft land` moves it here)";
  } else {
    line += ", apart from " + paint(invocation, Style::ref, follow) + " (`weft land` merges)";
  }
  print(invocation, line + "\n");
}

}  // namespace

Result<int> cmd_status(Invocation& invocation) {
  bool ignored = false;
  bool exit_code = false;
  std::vector<std::string> typed;
  Options options("status", "Lists what differs from the version the files stand at.");
  options.flag("--ignored", ignored, "list ignored files, too");
  options.flag("--exit-code", exit_code, "exit 1 when there are differences");
  options.positionals("PATHS", typed, "only at or below these", false);
  options.footer(
      "A added, M modified, D deleted, R moved, P mode changed, T another type, L new and too large, ! ignored.\n");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  if (!repository.location()) return repository.require_workspace().error();
  const auto record =
      repo::read_files_record(invocation.context.env.fs, repository.files_path(repository.location()->name));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(const auto state, repo::files_state(snapshot, workspace, record));
  WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository, workspace.name, workspace.root));
  WEFT_TRY(const ObjectId tree, repo::tree_of(snapshot, state.at));
  auto scan = files.scan_options();
  scan.list_ignored = ignored;
  WEFT_TRY(scan.paths, repo_paths(repository, typed));
  std::erase(scan.paths, std::string());
  if (scan.paths.size() != typed.size()) scan.paths.clear();  // the top was named: everything
  scan.max_new_file_bytes = repo::max_new_file_bytes(repository);
  Progress progress(invocation, "looking at files");
  scan.progress = [&](std::uint64_t names, std::uint64_t) { progress.update(names, 0); };
  WEFT_TRY(const auto status, work::status(files.tree(), snapshot, tree, scan));
  progress.clear();
  WEFT_TRY(const auto relation, relation_of(snapshot, workspace));
  const auto standing = repo::require_files_at_head(repository, state, workspace);
  const int code = exit_code && !status.entries.empty() ? 1 : 0;

  if (wants_json(invocation)) {
    JsonList list(invocation, "entries");
    for (const auto& entry : status.entries) list.add(json_entry(entry));
    Json rest = Json::object()
                    .set("workspace", workspace.name)
                    .set("root", workspace.root)
                    .set("head", json_version(workspace.head))
                    .set("follow", workspace.record.follow)
                    .set("ref", json_optional_version(relation.ref))
                    .set("relation", workspace.record.follow.empty() ? Json(nullptr) : Json(relation_word(relation)))
                    .set("files_at", json_version(state.at))
                    .set("head_was_moved", state.head_was_moved)
                    .set("moved_by", state.mover ? Json(state.mover->operation.hex()) : Json(nullptr))
                    .set("interrupted", state.towards.has_value() && (standing || standing.error().code != Code::busy))
                    .set("clean", status.entries.empty());
    Json list_of_ignored = Json::array();
    for (const auto& path : status.ignored) list_of_ignored.push(path);
    if (ignored) rest.set("ignored", list_of_ignored);
    if (!status.left_out.empty()) rest.set("left_out", json_left_out(status.left_out));
    rest.set("warnings", json_warnings(status.warnings));
    list.finish(rest);
    return code;
  }
  if (!invocation.common.zero) {
    WEFT_TRY(const auto head, short_version(snapshot, workspace.head));
    print_head(invocation, workspace, relation, head);
  }
  if (!standing) {
    notice(invocation, standing.error().message);
    hint(invocation, standing.error().hint);
  }
  for (const auto& entry : status.entries) print(invocation, entry_line(invocation, entry));
  for (const auto& each : status.left_out) print(invocation, left_out_line(invocation, each));
  for (const auto& path : status.ignored) {
    print(invocation, paint(invocation, Style::faint, "!") + " " + shown_path(invocation, path) +
                          std::string(line_end(invocation)));
  }
  if (status.entries.empty() && !invocation.common.zero) print(invocation, "no changes\n");
  show_warnings(invocation, status.warnings);
  return code;
}

}  // namespace weft::cli
