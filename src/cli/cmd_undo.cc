// undo, redo: takes back what an operation did.
#include "cli/operations.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/undo.h"

namespace weft::cli {

namespace {

Result<int> run_undo(Invocation& invocation, repo::UndoRequest request) {
  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  Progress progress(invocation, "writing files");
  request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto undone = repo::undo(repository, request);
  progress.clear();
  if (!undone) return undone.error();
  const auto& result = *undone;
  const bool by_change = result.how == repo::UndoResult::How::inverse_change;
  const bool left_behind = by_change && !result.advanced && !result.follow.empty();
  if (wants_json(invocation)) {
    Json notes = Json::array();
    for (const auto& note : result.notes) notes.push(note);
    Json json = Json::object()
                    .set("operation", result.operation.hex())
                    .set(request.redo ? "redid" : "undid",
                         Json::object().set("operation", result.undone.id.hex()).set("label", result.undone.label))
                    .set("how", by_change ? "inverse_change" : "moved_refs")
                    .set("sent", result.sent)
                    .set("change", result.change ? Json(result.change->hex()) : Json(nullptr))
                    .set("advanced", by_change ? Json(result.advanced) : Json(nullptr))
                    .set("moves", json_ref_moves(result.moves))
                    .set("files_kept", result.files_kept)
                    .set("rescued", json_rescue(result.rescue))
                    .set("notes", notes);
    emit(invocation, set_report(json, result.report));
    return 0;
  }
  const std::string what =
      result.undone.id.hex().substr(0, kOperationDigits) + " \"" + printable(result.undone.label) + "\"";
  if (by_change) {
    WEFT_TRY(const auto id, short_change(repository, *result.change));
    report(invocation, std::string(request.redo ? "took back " : "undid ") + what + " by the inverse change " +
                           paint(invocation, Style::id, id) +
                           (result.sent ? ": it was sent to others already\n" : ": others have moved on from it\n"));
  } else {
    report(invocation, std::string(request.redo ? "took back " : "undid ") + what + "\n");
    WEFT_TRY(const auto snapshot, repository.store().snapshot());
    for (const auto& move : result.moves) {
      std::string after = "gone";
      if (move.after) {
        WEFT_TRY(after, short_version(snapshot, move.after->version));
      }
      report(invocation, "  " + paint(invocation, Style::ref, move.ref) + " is " +
                             (move.after ? "at " + paint(invocation, Style::id, after) : after) + "\n");
    }
  }
  for (const auto& note : result.notes) report(invocation, note + "\n");
  show_warnings(invocation, result.report.warnings);
  if (result.rescue) hint(invocation, "what the files held before is on " + result.rescue->ref);
  if (left_behind) {
    WEFT_TRY(const auto behind, left_behind_hint(repository, result.follow));
    hint(invocation, behind);
  }
  return 0;
}

}  // namespace

Result<int> cmd_undo(Invocation& invocation) {
  repo::UndoRequest request;
  std::string operation;
  Options options("undo", "Takes back an operation: the last one of this workspace, or any.");
  options.value("--author", request.author, "AUTHOR", "of an inverse change: \"Name <email>\"");
  options.positional("OPERATION", operation, "its id or first digits (weft op log)", false);
  options.footer(
      "Refs go back if nobody moved them since; otherwise the inverse is recorded as a change.\n"
      "Undoing a commit keeps the files as they are.\n");
  WEFT_DO(options.parse(invocation));
  if (!operation.empty()) request.operation = operation;
  return run_undo(invocation, std::move(request));
}

Result<int> cmd_redo(Invocation& invocation) {
  repo::UndoRequest request;
  request.redo = true;
  std::string operation;
  Options options("redo", "Takes back the last undo of this workspace.");
  options.value("--author", request.author, "AUTHOR", "of an inverse change: \"Name <email>\"");
  options.positional("OPERATION", operation, "the undo to take back (default: the last, if nothing came after it)",
                     false);
  WEFT_DO(options.parse(invocation));
  if (!operation.empty()) request.operation = operation;
  return run_undo(invocation, std::move(request));
}

}  // namespace weft::cli
