// switch: brings the workspace to another version.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/work_output.h"
#include "repo/switch.h"

namespace weft::cli {

Result<int> cmd_switch(Invocation& invocation) {
  repo::SwitchRequest request;
  Options options("switch", "Brings the workspace to a version; to a ref: follows it from then on.");
  options.flag("-c,--create", request.create, "make a ref of this name at the head, and follow it");
  options.flag("-f,--force", request.force, "overwrite edits (they are recorded on a private ref first)");
  options.positional("VERSION", request.target, "a ref or any version; @ brings files to a head that was moved", true);
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  Progress progress(invocation, "writing files");
  request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto result = repo::switch_workspace(repository, request);
  progress.clear();
  if (!result) return result.error();
  if (!result->notice.empty()) notice(invocation, result->notice);
  if (wants_json(invocation)) {
    Json json = Json::object()
                    .set("before", json_version(result->before))
                    .set("after", json_version(result->after))
                    .set("files_before", json_version(result->files_before))
                    .set("follow", result->follow)
                    .set("operation", result->operation ? Json(result->operation->hex()) : Json(nullptr))
                    .set("rescued", json_rescue(result->rescue));
    emit(invocation, set_report(json, result->report));
    return 0;
  }
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto shown, short_version(snapshot, result->after));
  report(invocation, "now at " + paint(invocation, Style::id, shown) +
                         (result->follow.empty() ? std::string() : ", following " + result->follow) + "\n");
  show_warnings(invocation, result->report.warnings);
  if (result->rescue)
    hint(invocation, "what was overwritten is on " + result->rescue->ref + "; weft undo brings it back");
  return 0;
}

}  // namespace weft::cli
