// init: a new store and its workspace `default`; in a git work tree, with git's history in it.

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/text.h"
#include "git/colocate.h"
#include "git/import.h"
#include "repo/init.h"

namespace weft::cli {
namespace {

constexpr std::string_view kNoGitHint = "weft init --no-git makes a store without git's history";

Error not_made(Error error) {
  error.message = "no store was made: there is a git repository here, and " + error.message;
  error.hint += (error.hint.empty() ? "" : "; ") + std::string(kNoGitHint);
  return error;
}

/// The history of the repository at `root` into the store that was just made there.
Result<git::ImportReport> import_beside(Invocation& invocation, repo::Repository& repository, const std::string& root) {
  git::ImportOptions options;
  options.path = root;
  Progress progress(invocation, "importing");
  options.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  auto imported = git::import_repository(repository, options);
  progress.clear();
  if (!imported) {
    Error error = std::move(imported).error();
    error.message = "the store is made, but git's history is not imported: " + error.message;
    if (error.hint.empty()) error.hint = "weft git import goes on where it stopped";
    return error;
  }
  for (const auto& skipped : imported->skipped) {
    notice(invocation, printable(skipped.git_name) + " is left out: " + skipped.reason);
  }
  return imported;
}

}  // namespace

Result<int> cmd_init(Invocation& invocation) {
  std::string directory = ".";
  std::string follow = "main";
  bool follow_given = false;
  bool no_git = false;
  std::string conversions;
  Options options("init", "Makes a store (`.weft`) in a directory, with the workspace `default`.");
  options.value("--follow", follow, "REF", "the ref the workspace follows (default: main)", &follow_given);
  options.flag("--no-git", no_git, "in a git work tree: do not import its history");
  options.positional("DIR", directory, "where; made if it is missing (default: here)", false);
  options.footer(
      "At the top of a git work tree the store takes in git's history, and the workspace follows git's branch and "
      "stands where that stands; the files are as they were. From then on weft git export brings what is recorded here "
      "to git, and weft git import what is committed there.");
  WEFT_DO(options.parse(invocation));

  const std::string root = repo::absolute_path(invocation.context.directory, directory);
  FileSystem& fs = invocation.context.env.fs;
  WEFT_DO(repo::check_place_for_store(invocation.context, root));
  const bool beside_git = !no_git && fs.status(join_path(root, ".git")) && !fs.status(join_path(root, ".weft/format"));
  if (beside_git) {
    auto facts = git::look_at(root, "");
    if (!facts) return not_made(std::move(facts).error());
    conversions = facts->conversions;
    // First: git must not see the store even for a moment, nor where this is cut off.
    WEFT_DO(git::exclude_store(fs, facts->directory));
    if (const std::string branch = git::branch_ref(facts->head); !follow_given && !branch.empty()) follow = branch;
  }

  WEFT_TRY(auto repository, repo::Repository::init(invocation.context, directory, follow));
  std::optional<git::ImportReport> imported;
  if (beside_git) {
    WEFT_TRY(imported, import_beside(invocation, repository, root));
    WEFT_TRY(const auto workspace, repository.reload_workspace());
    follow = workspace.record.follow;
  }
  if (!conversions.empty()) {
    notice(invocation, "git changes files on their way between history and work tree here (" + printable(conversions) +
                           "), weft does not: `weft status` shows such files as modified, and a commit of them records "
                           "the bytes that lie here");
  }
  const std::string& store = repository.store().directory();
  if (wants_json(invocation)) {
    emit(invocation, Json::object()
                         .set("store", store)
                         .set("workspace", repository.workspace()->name)
                         .set("root", repository.workspace()->root)
                         .set("follow", follow)
                         .set("git_commits", imported ? Json(imported->commits) : Json(nullptr)));
    return 0;
  }
  report(invocation, "made the store " + quoted(store) + ", following " + follow + "\n");
  if (imported) {
    report(invocation, fmt::format("imported {} of the git repository here; weft git export brings changes back\n",
                                   counted(imported->commits, "commit")));
  }
  return 0;
}

}  // namespace weft::cli
