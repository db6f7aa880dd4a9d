// op log: what was done to the refs of this store, newest first: what `undo` takes back.

#include "cli/operations.h"
#include "cli/session.h"

namespace weft::cli {

Result<int> cmd_op_log(Invocation& invocation) {
  std::optional<std::int64_t> count;
  std::optional<std::string> workspace, ref;
  Options options("op log", "Lists the operations of all workspaces, newest first. `weft undo ID` takes one back.");
  options.integer("-n,--max-count", count, "N", "at most N operations");
  options.value("-w,--workspace", workspace, "NAME", "only those of one workspace");
  options.value("--ref", ref, "NAME", "only those that moved this ref");
  options.footer("With -v also who did it, and which refs moved from where to where.");
  WEFT_DO(options.parse(invocation));
  if (count && *count < 0) {
    return make_error(Code::usage, "option -n needs a number that is not negative", "run `weft help op log`");
  }

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  page(invocation);
  JsonList list(invocation, "operations");
  const auto limit = count ? static_cast<std::uint64_t>(*count) : UINT64_MAX;
  std::uint64_t shown = 0;
  Result<void> failed;
  WEFT_DO(snapshot.operations([&](const store::Operation& operation) {
    if (shown == limit || output_is_unwanted(invocation)) return false;
    if (workspace && operation.workspace != *workspace) return true;
    if (ref) {
      bool moved = false;
      for (const auto& move : operation.moves) moved = moved || move.ref == *ref;
      if (!moved) return true;
    }
    ++shown;
    if (wants_json(invocation)) {
      list.add(json_operation(invocation, operation));
      return true;
    }
    const auto text = operation_text(invocation, snapshot, operation);
    if (!text) {
      failed = text.error();
      return false;
    }
    print(invocation, *text);
    return true;
  }));
  WEFT_DO(failed);
  if (wants_json(invocation)) list.finish();
  return 0;
}

}  // namespace weft::cli
