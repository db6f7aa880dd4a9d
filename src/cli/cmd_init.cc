// init: a new store and its workspace `default`.
#include "cli/output.h"
#include "repo/repository.h"

namespace weft::cli {

Result<int> cmd_init(Invocation& invocation) {
  std::string directory = ".";
  std::string follow = "main";
  Options options("init", "Makes a store (`.weft`) in a directory, with the workspace `default`.");
  options.value("--follow", follow, "REF", "the ref the workspace follows (default: main)");
  options.positional("DIR", directory, "where; made if it is missing (default: here)", false);
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, repo::Repository::init(invocation.context, directory, follow));
  const std::string& store = repository.store().directory();
  if (wants_json(invocation)) {
    emit(invocation, Json::object()
                         .set("store", store)
                         .set("workspace", repository.workspace()->name)
                         .set("root", repository.workspace()->root)
                         .set("follow", follow));
    return 0;
  }
  print(invocation, "made the store " + quoted(store) + ", following " + follow + "\n");
  return 0;
}

}  // namespace weft::cli
