// op log: what was done to the refs of this store, newest first: what `undo` takes back.

#include "cli/dates.h"
#include "cli/log_source.h"
#include "cli/operations.h"
#include "cli/session.h"
#include "repo/operations.h"

namespace weft::cli {
namespace {

/// A clock may have gone back, but not for long: with --since the list ends after so many in a row that are too old.
constexpr std::size_t kMaxTooOld = 1000;

Result<void> set_date(Invocation& invocation, const std::optional<std::string>& text,
                      std::optional<std::int64_t>& date) {
  if (!text) return {};
  WEFT_TRY(date, parse_date(*text, invocation.context.env.clock));
  return {};
}

}  // namespace

Result<int> cmd_op_log(Invocation& invocation) {
  std::optional<std::int64_t> count;
  std::optional<std::string> author, since, until;
  repo::OperationFilter filter;
  Options options("op log", "Lists the operations of all workspaces, newest first. `weft undo ID` takes one back.");
  options.integer("-n,--max-count", count, "N", "at most N operations");
  options.value("-w,--workspace", filter.workspace, "NAME", "only those of one workspace");
  options.value("--author", author, "TEXT", "only those whose `Name <email>` has TEXT in it, in any case");
  options.value("--agent", filter.agent, "NAME", "only those of this agent (WEFT_AGENT)");
  options.value("--ref", filter.ref, "NAME", "only those that moved this ref");
  options.value("--since", since, "DATE", "only those of then or later (`2026-11-30`, `2 days ago`)");
  options.value("--until", until, "DATE", "only those of then or earlier");
  options.footer(
      "With -v also who did it, and which refs moved from where to where. `weft op show ID` tells all of one.");
  WEFT_DO(options.parse(invocation));
  if (count && *count < 0) {
    return make_error(Code::usage, "option -n needs a number that is not negative", "run `weft help op log`");
  }
  if (author) filter.author = lower_case(*author);
  WEFT_DO(set_date(invocation, since, filter.since_ns));
  WEFT_DO(set_date(invocation, until, filter.until_ns));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  page(invocation);
  JsonList list(invocation, "operations");
  const auto limit = count ? static_cast<std::uint64_t>(*count) : UINT64_MAX;
  std::uint64_t shown = 0;
  std::size_t too_old = 0;
  Result<void> failed;
  WEFT_DO(snapshot.operations([&](const store::Operation& operation) {
    if (shown == limit || output_is_unwanted(invocation)) return false;
    too_old = filter.since_ns && operation.time_ns < *filter.since_ns ? too_old + 1 : 0;
    if (too_old > kMaxTooOld) return false;
    if (!repo::selects(filter, operation)) return true;
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
