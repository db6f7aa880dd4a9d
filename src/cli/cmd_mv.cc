// mv: moves or renames files of the working tree.
#include "cli/output.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/restore.h"

namespace weft::cli {

Result<int> cmd_mv(Invocation& invocation) {
  std::vector<std::string> typed;
  repo::MoveRequest request;
  Options options("mv", "Moves or renames files; the next commit records it.");
  options.flag("-f,--force", request.force, "replace a file that is there (it is recorded first)");
  options.positionals("FROM... TO", typed, "what, and where to (an existing directory: into it)", true);
  WEFT_DO(options.parse(invocation));
  if (typed.size() < 2)
    return make_error(Code::usage, "`weft mv` needs what to move and where to", "run `weft help mv`");

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  WEFT_TRY(request.from, repo_paths(repository, typed));
  request.to = request.from.back();
  request.from.pop_back();
  WEFT_TRY(const auto result, repo::move_paths(repository, request));
  if (wants_json(invocation)) {
    Json moves = Json::array();
    for (std::size_t i = 0; i + 1 < result.paths.size(); i += 2) {
      moves.push(Json::object().set("from", result.paths[i]).set("to", result.paths[i + 1]));
    }
    emit(invocation, Json::object()
                         .set("moves", moves)
                         .set("operation", result.operation->hex())
                         .set("rescued", json_rescue(result.rescue)));
    return 0;
  }
  if (invocation.common.verbose) {
    for (std::size_t i = 0; i + 1 < result.paths.size(); i += 2) {
      print(invocation, quoted(result.paths[i]) + " -> " + quoted(result.paths[i + 1]) + "\n");
    }
  }
  return 0;
}

}  // namespace weft::cli
