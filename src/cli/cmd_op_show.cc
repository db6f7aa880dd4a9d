// op show: one operation, and what it did to each ref: which changes it brought there, which it took away.
#include <utility>

#include <fmt/format.h>

#include "cli/operations.h"
#include "cli/patch.h"
#include "cli/session.h"
#include "cli/text.h"
#include "object/change_head.h"
#include "repo/operations.h"

namespace weft::cli {
namespace {

/// Changes listed for one ref, of each kind.
constexpr std::size_t kMaxListed = 20;
constexpr std::size_t kMaxListedInJson = 10'000;

Json ids_of(const std::vector<ChangeId>& ids) {
  Json list = Json::array();
  for (const auto& id : ids) list.push(id.hex());
  return list;
}

class OperationShower {
 public:
  OperationShower(Invocation& invocation, const store::Snapshot& snapshot, const PatchOptions* patch)
      : invocation_(invocation), snapshot_(snapshot), patch_(patch) {}

  Result<void> show(const store::Operation& operation, const std::optional<TransactionId>& undone_by) {
    print(invocation_, "operation " + paint(invocation_, Style::id, operation.id.hex()) + "\n");
    print(invocation_, "Label:     " + printable(operation.label) + "\n");
    if (!operation.author.empty()) print(invocation_, "Author:    " + printable(operation.author) + "\n");
    print(invocation_, "Date:      " + local_date_text(invocation_, operation.time_ns) + "\n");
    if (!operation.workspace.empty()) print(invocation_, "Workspace: " + printable(operation.workspace) + "\n");
    if (!operation.agent.empty()) print(invocation_, "Agent:     " + printable(operation.agent) + "\n");
    if (operation.undoes) print(invocation_, "Undoes:    " + shortened(*operation.undoes) + "\n");
    if (undone_by) print(invocation_, "Undone by: " + shortened(*undone_by) + "\n");
    for (const auto& move : operation.moves) WEFT_DO(show(move));
    return {};
  }

 private:
  static std::string shortened(const TransactionId& id) { return id.hex().substr(0, kOperationDigits); }

  Result<std::string> value_text(const std::optional<store::RefValue>& value) const {
    if (!value) return std::string("(none)");
    return short_version(snapshot_, value->version);
  }

  Result<void> show(const store::Operation::Move& move) {
    WEFT_TRY(const auto before, value_text(move.before));
    WEFT_TRY(const auto after, value_text(move.after));
    print(invocation_, fmt::format("\n{}: {} -> {}\n", paint(invocation_, Style::ref, move.ref), before, after));
    WEFT_TRY(const auto moved, repo::moved_changes(snapshot_, move, kMaxListed));
    WEFT_DO(list('+', Style::added, moved.gained, moved.more_gained));
    WEFT_DO(list('-', Style::removed, moved.lost, moved.more_lost));
    return patch_ != nullptr ? show_patch(move) : Result<void>();
  }

  Result<void> list(char sign, Style style, const std::vector<ChangeId>& ids, bool more) {
    for (const auto& id : ids) {
      WEFT_TRY(const auto change, object::read_change_head(snapshot_, id));
      WEFT_TRY(const auto line, change_line(invocation_, snapshot_, id, change, {}));
      print(invocation_, "  " + paint(invocation_, style, std::string(1, sign)) + " " + line + "\n");
    }
    if (more) print(invocation_, fmt::format("  {} and more\n", sign));
    return {};
  }

  Result<void> show_patch(const store::Operation::Move& move) {
    const auto tree = [this](const std::optional<store::RefValue>& value) -> Result<ObjectId> {
      if (!value || value->version.empty()) return object::empty_tree_id();
      return repo::tree_of(snapshot_, value->version);
    };
    WEFT_TRY(const auto before, tree(move.before));
    WEFT_TRY(const auto after, tree(move.after));
    // Most operations move several refs alike.
    if (before == after || (shown_ && *shown_ == std::pair(before, after))) return {};
    shown_ = {before, after};
    WEFT_TRY(const auto differences, shown_differences(snapshot_, before, after, *patch_));
    return write_patch(invocation_, snapshot_, differences, *patch_,
                       [this, first = true](std::string_view text) mutable {
                         if (std::exchange(first, false)) print(invocation_, "\n");
                         print(invocation_, text);
                       });
  }

  Invocation& invocation_;
  const store::Snapshot& snapshot_;
  const PatchOptions* patch_;
  std::optional<std::pair<ObjectId, ObjectId>> shown_;
};

}  // namespace

Result<int> cmd_op_show(Invocation& invocation) {
  std::string operation_text;
  PatchFlags flags;
  Options options("op show", "Shows an operation: who did it, and what it did to each ref.");
  options.positional("OPERATION", operation_text, "its id or first digits (weft op log; default: the newest)", false);
  flags.declare(options);
  options.footer(
      "Under each ref stand the changes that came to it (+) and went from it (-). With -p, --stat and the like also "
      "how "
      "its files differ, before and after.");
  WEFT_DO(options.parse(invocation));
  WEFT_TRY(const auto patch, flags.options(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  if (operation_text.empty()) {
    WEFT_DO(snapshot.operations([&](const store::Operation& newest) {
      operation_text = newest.id.hex();
      return false;
    }));
    if (operation_text.empty()) return make_error(Code::not_found, "there is no operation yet", "weft help");
  }
  WEFT_TRY(const auto operation, repo::find_operation(snapshot, operation_text));
  WEFT_TRY(const auto undone_by, repo::undone_by(snapshot, operation.id));
  if (wants_json(invocation)) {
    Json moves = Json::array();
    for (const auto& move : operation.moves) {
      WEFT_TRY(const auto moved, repo::moved_changes(snapshot, move, kMaxListedInJson));
      moves.push(json_move(move)
                     .set("gained", ids_of(moved.gained))
                     .set("lost", ids_of(moved.lost))
                     .set("complete", !moved.more_gained && !moved.more_lost));
    }
    Json json = json_operation(invocation, operation);
    json.set("moves", moves).set("undone_by", undone_by ? Json(undone_by->hex()) : Json(nullptr));
    emit(invocation, json);
    return 0;
  }
  page(invocation);
  OperationShower shower(invocation, snapshot, flags.any() ? &patch : nullptr);
  WEFT_DO(shower.show(operation, undone_by));
  return 0;
}

}  // namespace weft::cli
