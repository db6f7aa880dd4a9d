// op restore: refs, and the files of this workspace, as they were at an operation.
#include "cli/operations.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/undo.h"

namespace weft::cli {
namespace {

Json json_others(const std::vector<store::Operation>& others) {
  Json list = Json::array();
  for (const auto& each : others) {
    list.push(Json::object().set("operation", each.id.hex()).set("label", each.label).set("workspace", each.workspace));
  }
  return list;
}

Json json_restored(const repo::OpRestored& restored, bool dry_run) {
  Json refs = Json::array(), left_alone = Json::array(), notes = Json::array();
  const auto version = [](const std::optional<store::RefValue>& value) {
    return json_optional_version(value ? std::optional(value->version) : std::nullopt);
  };
  for (const auto& ref : restored.past.refs) {
    refs.push(Json::object()
                  .set("ref", ref.name)
                  .set("before", version(ref.now))
                  .set("after", version(ref.then))
                  .set("others", json_others(ref.others)));
  }
  for (const auto& name : restored.past.left_alone) left_alone.push(name);
  Json out = Json::object()
                 .set("restored", restored.target.id.hex())
                 .set("dry_run", dry_run)
                 .set("operation", restored.done ? Json(restored.done->operation.hex()) : Json(nullptr))
                 .set("moves", refs)
                 .set("left_alone", left_alone)
                 .set("files_kept", !restored.done || restored.done->files_kept)
                 .set("rescued", json_rescue(restored.done ? restored.done->rescue : std::nullopt));
  if (restored.done) {
    for (const auto& note : restored.done->notes) notes.push(note);
  }
  out.set("notes", notes);
  return set_report(out, restored.done ? restored.done->report : work::CheckoutReport{});
}

Result<void> print_refs(Invocation& invocation, const store::Snapshot& snapshot, const repo::OpRestored& restored,
                        bool dry_run) {
  for (const auto& ref : restored.past.refs) {
    std::string line = "  " + paint(invocation, Style::ref, ref.name);
    if (ref.then) {
      WEFT_TRY(const auto at, short_version(snapshot, ref.then->version));
      line += (dry_run ? " would be at " : " is at ") + paint(invocation, Style::id, at);
    } else {
      line += dry_run ? " would be gone" : " is gone";
    }
    if (!ref.others.empty()) {
      const auto& last = ref.others.front();
      line += "; moved since by " + (last.workspace.empty() ? std::string("no workspace") : last.workspace) + " (" +
              printable(last.label) + ")";
    }
    // A dry run is asked for its answer; else it is what the command has done.
    dry_run ? print(invocation, line + "\n") : report(invocation, line + "\n");
  }
  return {};
}

}  // namespace

Result<int> cmd_op_restore(Invocation& invocation) {
  repo::OpRestoreRequest request;
  Options options("op restore", "Sets refs, and the files here, back to how they stood right after an operation.");
  options.positional("OPERATION", request.operation, "its id or first digits (weft op log)", true);
  options.flag("--before", request.before, "to how they stood right before it");
  options.flag("-a,--all", request.everything,
               "every ref, also what others moved since (default: what this workspace moved)");
  options.flag("--dry-run", request.dry_run, "say what would go back, and change nothing");
  options.footer(
      "It is an operation itself: `weft undo` takes it back. Refs that others moved since refuse it, unless --all. "
      "What "
      "is kept for undo (kept/, rescue/) and workspaces made or removed since stay as they are. Edits in files that "
      "are "
      "written are recorded on a private ref first.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  Progress progress(invocation, "writing files");
  request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto restored = repo::restore_operation(repository, request);
  progress.clear();
  if (!restored) return restored.error();
  if (wants_json(invocation)) {
    emit(invocation, json_restored(*restored, request.dry_run));
    return 0;
  }
  const std::string what = std::string(request.before ? "before " : "after ") +
                           restored->target.id.hex().substr(0, kOperationDigits) + " \"" +
                           printable(restored->target.label) + "\"";
  if (restored->past.refs.empty()) {
    report(invocation, "nothing to restore: refs stand as they did right " + what + "\n");
  } else if (restored->done) {
    report(invocation, "restored what stood right " + what + "\n");
  }
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_DO(print_refs(invocation, snapshot, *restored, request.dry_run));
  for (const auto& name : restored->past.left_alone) {
    if (name.starts_with("workspaces/")) report(invocation, name + " was made or removed since: it stays as it is\n");
  }
  if (!restored->done) return 0;
  for (const auto& note : restored->done->notes) report(invocation, note + "\n");
  show_warnings(invocation, restored->done->report.warnings);
  if (restored->done->rescue) hint(invocation, "what the files held before is on " + restored->done->rescue->ref);
  hint(invocation, "`weft undo` takes this back");
  return 0;
}

}  // namespace weft::cli
