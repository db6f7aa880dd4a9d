#include "cli/operations.h"

#include <fmt/format.h>

#include "cli/dates.h"
#include "cli/session.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

object::Timestamp local(Invocation& invocation, std::int64_t unix_ns) {
  return {unix_ns, invocation.context.env.clock.zone_offset_min(unix_ns)};
}

Json json_value(const std::optional<store::RefValue>& value) {
  return value ? json_version(value->version) : Json(nullptr);
}

Result<std::string> value_text(const store::Snapshot& snapshot, const std::optional<store::RefValue>& value) {
  if (!value) return std::string("(none)");
  return short_version(snapshot, value->version);
}

}  // namespace

std::string local_date_text(Invocation& invocation, std::int64_t unix_ns) {
  return date_text(local(invocation, unix_ns));
}

Result<void> print_move(Invocation& invocation, const store::Snapshot& snapshot, const store::RefMoveRecord& record,
                        std::uint64_t index, JsonList& list) {
  if (wants_json(invocation)) {
    list.add(Json::object()
                 .set("index", index)
                 .set("before", json_value(record.before))
                 .set("after", json_value(record.after))
                 .set("operation", record.operation.hex())
                 .set("time", json_time(local(invocation, record.time_ns)))
                 .set("label", record.label)
                 .set("author", record.author)
                 .set("workspace", record.workspace));
    return {};
  }
  WEFT_TRY(const auto after, value_text(snapshot, record.after));
  print(invocation, fmt::format("{} {} {} {}\n", paint(invocation, Style::id, after),
                                paint(invocation, Style::head, fmt::format("@{{{}}}", index)),
                                local_date_text(invocation, record.time_ns).substr(0, 19), printable(record.label)));
  return {};
}

Json json_move(const store::Operation::Move& move) {
  return Json::object()
      .set("ref", move.ref)
      .set("before", json_value(move.before))
      .set("after", json_value(move.after));
}

Json json_operation(Invocation& invocation, const store::Operation& operation) {
  Json moves = Json::array();
  for (const auto& move : operation.moves) moves.push(json_move(move));
  Json out = Json::object();
  out.set("id", operation.id.hex())
      .set("time", json_time(local(invocation, operation.time_ns)))
      .set("label", operation.label)
      .set("author", operation.author)
      .set("workspace", operation.workspace)
      .set("moves", moves);
  if (!operation.agent.empty()) out.set("agent", operation.agent);
  if (operation.undoes) out.set("undoes", operation.undoes->hex());
  return out;
}

Result<std::string> operation_text(Invocation& invocation, const store::Snapshot& snapshot,
                                   const store::Operation& operation) {
  std::string out =
      fmt::format("{} {} {:<12} {}\n", paint(invocation, Style::id, operation.id.hex().substr(0, kOperationDigits)),
                  local_date_text(invocation, operation.time_ns).substr(0, 19),
                  operation.workspace.empty() ? "-" : operation.workspace, printable(operation.label));
  if (!invocation.common.verbose) return out;
  if (!operation.author.empty()) out += "    by " + printable(operation.author) + "\n";
  if (operation.undoes) out += "    undoes " + operation.undoes->hex().substr(0, kOperationDigits) + "\n";
  for (const auto& move : operation.moves) {
    WEFT_TRY(const auto before, value_text(snapshot, move.before));
    WEFT_TRY(const auto after, value_text(snapshot, move.after));
    out += fmt::format("    {}: {} -> {}\n", move.ref, before, after);
  }
  return out;
}

}  // namespace weft::cli
