// restore: brings files back as a version has them.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/restore.h"

namespace weft::cli {

Result<int> cmd_restore(Invocation& invocation) {
  std::optional<std::string> from;
  std::vector<std::string> typed;
  Options options("restore", "Brings files back as the head (or another version) has them.");
  options.value("--from", from, "VERSION", "take them from here (default: @)");
  options.positionals("PATHS", typed, "files or directories", true);
  options.footer("What was there is recorded on a private ref first: `weft undo` brings it back.\n");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  WEFT_TRY(const auto paths, repo_paths(repository, typed));
  Progress progress(invocation, "writing files");
  const auto restored = repo::restore_paths(
      repository, from, paths, [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); });
  progress.clear();
  if (!restored) return restored.error();
  const auto& result = *restored;
  if (wants_json(invocation)) {
    emit(invocation, json_files_edited(result));
    return 0;
  }
  show_warnings(invocation, result.report.warnings);
  const std::uint64_t files = result.report.written + result.report.removed;
  if (!result.operation) {
    report(invocation, "nothing to restore: the files are as they should be\n");
  } else if (files == 0) {
    report(invocation, "restored directories; no file differed\n");
  } else {
    report(invocation, "restored " + counted(files, "file") + "\n");
  }
  return 0;
}

}  // namespace weft::cli
