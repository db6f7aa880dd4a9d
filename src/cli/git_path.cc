#include "cli/git_path.h"

namespace weft::cli {

Result<std::string> git_path(const Invocation& invocation, const repo::Repository& repository,
                             const std::string& typed) {
  if (!typed.empty()) return repo::absolute_path(invocation.context.directory, typed);
  const std::string beside = parent_path(repository.store().directory());
  if (invocation.context.env.fs.status(join_path(beside, ".git"))) return beside;
  return make_error(Code::usage, "which git repository? There is none beside this store",
                    "weft " + invocation.command + " PATH");
}

std::string git_in_progress(FileSystem& fs, const std::string& root) {
  struct Mark {
    const char* name;
    const char* what;
  };
  const std::string git = join_path(root, ".git");
  if (!fs.status(git)) return {};
  for (const auto& mark :
       {Mark{"MERGE_HEAD", "a merge"}, Mark{"rebase-merge", "a rebase"}, Mark{"rebase-apply", "a rebase"},
        Mark{"CHERRY_PICK_HEAD", "a cherry-pick"}, Mark{"REVERT_HEAD", "a revert"}}) {
    if (fs.status(join_path(git, mark.name))) return mark.what;
  }
  return {};
}

}  // namespace weft::cli
