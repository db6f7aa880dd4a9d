// land: brings the workspace's changes onto a ref.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/land.h"
#include "repo/recording.h"

namespace weft::cli {

namespace {

std::string_view how_word(repo::LandResult::How how) {
  switch (how) {
    case repo::LandResult::How::nothing:
      return "nothing";
    case repo::LandResult::How::fast_forward:
      return "fast_forward";
    case repo::LandResult::How::merged:
      return "merged";
  }
  return "nothing";
}

}  // namespace

Result<int> cmd_land(Invocation& invocation) {
  repo::LandRequest request;
  std::vector<std::string> messages;
  std::string ref;
  Options options("land", "Brings the workspace's changes onto the ref it follows (or REF).");
  options.values("-m,--message", messages, "TEXT", "of the merge change, should one be needed");
  options.value("--author", request.author, "AUTHOR", "\"Name <email>\"");
  options.positional("REF", ref, "the ref to land on (default: the followed one)", false);
  WEFT_DO(options.parse(invocation));
  for (const auto& part : messages) request.message += (request.message.empty() ? "" : "\n\n") + part;
  request.message = repo::clean_message(request.message, false);
  if (!ref.empty()) request.ref = ref;

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  Progress progress(invocation, "writing files");
  request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto landed = repo::land(repository, request);
  progress.clear();
  if (!landed) return landed.error();
  const auto& result = *landed;
  if (wants_json(invocation)) {
    Json json = Json::object()
                    .set("how", how_word(result.how))
                    .set("ref", result.ref)
                    .set("ref_before", json_optional_version(result.ref_before))
                    .set("head_before", json_version(result.head_before))
                    .set("after", json_version(result.after))
                    .set("change", result.change ? Json(result.change->hex()) : Json(nullptr))
                    .set("operation", result.operation ? Json(result.operation->hex()) : Json(nullptr))
                    .set("attempts", result.attempts)
                    .set("files_updated", !result.files_left_behind);
    emit(invocation, set_report(json, result.report));
    return 0;
  }
  switch (result.how) {
    case repo::LandResult::How::nothing:
      report(invocation, result.ref + " has everything already\n");
      if (result.ref_before && *result.ref_before != result.head_before) {
        hint(invocation, "weft switch " + result.ref + " catches up with it");
      }
      return 0;
    case repo::LandResult::How::fast_forward: {
      if (result.after.changes.size() != 1) break;
      WEFT_TRY(const auto id, short_change(repository, result.after.changes.front()));
      // A misspelled ref is made, not found: that must not look like landing.
      report(invocation, (result.ref_before ? result.ref + " is now at " : "made the ref " + result.ref + " at ") +
                             paint(invocation, Style::id, id) + "\n");
      break;
    }
    case repo::LandResult::How::merged: {
      WEFT_TRY(const auto id, short_change(repository, *result.change));
      report(invocation, result.ref + " is now at " + paint(invocation, Style::id, id) + ", a merge\n");
      break;
    }
  }
  show_warnings(invocation, result.report.warnings);
  if (result.files_left_behind) {
    notice(invocation, "it has landed, but the files here could not follow: " + result.files_left_behind->message);
    hint(invocation, "weft switch @ brings them there");
  }
  return 0;
}

}  // namespace weft::cli
