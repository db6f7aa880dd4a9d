#include "cli/git_path.h"

namespace weft::cli {

namespace {
/// What git takes for one: scheme://..., or host:path.
bool is_url(std::string_view typed) {
  const auto colon = typed.find(':');
  return colon != std::string_view::npos && colon > 0 && colon < typed.find('/');
}
}  // namespace

Result<std::string> git_path(const Invocation& invocation, const repo::Repository& repository,
                             const std::string& typed) {
  if (!typed.empty()) {
    std::string path = repo::absolute_path(invocation.context.directory, typed);
    if (is_url(typed) && !invocation.context.env.fs.status(path)) {
      return make_error(Code::usage, quoted(typed) + " is no path on this machine",
                        "git clone --mirror " + quoted(typed) + " DIR makes one: weft " + invocation.command + " DIR");
    }
    return path;
  }
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
