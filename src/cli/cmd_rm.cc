// rm: removes files from the working tree.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/restore.h"

namespace weft::cli {

Result<int> cmd_rm(Invocation& invocation) {
  std::vector<std::string> typed;
  repo::RemoveRequest request;
  Options options("rm", "Removes tracked files; the next commit records it.");
  options.flag("-r,--recursive", request.recursive, "directories with what is in them");
  options.positionals("PATHS", typed, "files or directories", true);
  options.footer(
      "What they held is recorded on a private ref first: `weft undo` brings them back.\n"
      "Untracked files in a directory are left alone.\n");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  WEFT_TRY(request.paths, repo_paths(repository, typed));
  Progress progress(invocation, "removing files");
  request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto removed = repo::remove_paths(repository, request);
  progress.clear();
  if (!removed) return removed.error();
  const auto& result = *removed;
  if (wants_json(invocation)) {
    emit(invocation, json_files_edited(result));
    return 0;
  }
  show_warnings(invocation, result.report.warnings);
  report(invocation, "removed " + counted(result.report.removed, "file") + "\n");
  return 0;
}

}  // namespace weft::cli
