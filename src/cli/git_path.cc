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

}  // namespace weft::cli
