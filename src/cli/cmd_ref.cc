// ref list, ref set, ref delete, ref log: named versions, moved by compare-and-swap.

#include <fmt/format.h>

#include "cli/dates.h"
#include "cli/operations.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "repo/recording.h"

namespace weft::cli {
namespace {

bool is_private(std::string_view name) {
  return name.starts_with(repo::kKeptPrefix) || name.starts_with(repo::kRescuePrefix);
}

Result<void> check_name(std::string_view name) {
  if (const auto problem = store::ref_name_problem(name); !problem.empty()) {
    return make_error(Code::invalid, fmt::format("{} can be no ref name: it {}", quoted_always(name), problem),
                      "choose another name")
        .with("ref", std::string(name));
  }
  return {};
}

Error no_such_ref(const store::Snapshot& snapshot, const std::string& name) {
  std::vector<std::string> names;
  if (const auto refs = snapshot.refs()) {
    for (const auto& ref : *refs) names.push_back(ref.name);
  }
  const auto close = closest(name, names);
  return make_error(Code::not_found, "there is no ref " + quoted_always(name),
                    close.empty() ? "`weft ref list` lists them" : "did you mean " + quoted_always(close.front()) + "?")
      .with("ref", name);
}

/// `--expect`: a version, or "none" for a ref that must not exist.
Result<void> set_expectation(Invocation& invocation, const repo::Repository& repository,
                             const store::Snapshot& snapshot, const std::optional<std::string>& expect,
                             store::RefEdit& edit) {
  if (!expect) return {};
  if (*expect == "none") {
    edit.expect = store::RefEdit::Expect::absent;
    return {};
  }
  WEFT_TRY(auto expected, resolve(invocation, repository, snapshot, *expect));
  edit.expect = store::RefEdit::Expect::exactly;
  edit.expected = std::move(expected.version);
  return {};
}

struct Moved {
  std::string name;
  std::optional<store::RefValue> before, after;
  std::optional<TransactionId> operation;  ///< absent: nothing moved
};

/// One attempt; with an expectation, or when another move got in between, a lost race is the caller's to tell.
Result<Moved> move(Invocation& invocation, const repo::Repository& repository, store::Transaction& transaction,
                   store::RefEdit edit, std::string label) {
  Moved moved{edit.name, std::nullopt, edit.after, std::nullopt};
  WEFT_TRY(moved.before, transaction.snapshot().ref(edit.name));
  const std::string workspace = repository.workspace() ? repository.workspace()->name : std::string();
  transaction.edit_ref(std::move(edit));
  transaction.set_operation(
      repo::operation_info(invocation.context, std::move(label), workspace, repo::author_text(invocation.context)));
  auto committed = transaction.commit();
  if (!committed) {
    if (committed.error().code == Code::lost_race) return repo::name_winner(repository, std::move(committed).error());
    return std::move(committed).error();
  }
  moved.operation = committed->id;
  return moved;
}

Json json_moved(const Moved& moved) {
  return Json::object()
      .set("ref", moved.name)
      .set("before", moved.before ? json_version(moved.before->version) : Json(nullptr))
      .set("after", moved.after ? json_version(moved.after->version) : Json(nullptr))
      .set("moved", moved.operation.has_value())
      .set("operation", moved.operation ? Json(moved.operation->hex()) : Json(nullptr));
}

}  // namespace

Result<int> cmd_ref_list(Invocation& invocation) {
  std::string prefix;
  bool all = false;
  Options options("ref list", "Lists refs and the versions they name.");
  options.positional("PREFIX", prefix, "only refs whose names begin so", false);
  options.flag("-a,--all", all, "also refs weft keeps for undo (kept/, rescue/)");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(auto refs, snapshot.refs(prefix));
  if (!all && !is_private(prefix)) std::erase_if(refs, [](const store::Ref& ref) { return is_private(ref.name); });
  page(invocation);
  if (wants_json(invocation)) {
    JsonList list(invocation, "refs");
    for (const auto& ref : refs) {
      Json json = Json::object().set("name", ref.name).set("version", json_version(ref.value.version));
      if (ref.name.starts_with("workspaces/")) {
        if (const auto record = repo::decode_workspace(ref.value.extra)) {
          json.set("workspace", Json::object().set("path", record->path).set("follow", record->follow));
        }
      }
      list.add(json);
    }
    list.finish();
    return 0;
  }
  std::size_t width = 0;
  for (const auto& ref : refs) width = std::max(width, display_width(ref.name));
  for (const auto& ref : refs) {
    WEFT_TRY(const auto version, short_version(snapshot, ref.value.version));
    std::string subject_text;
    if (ref.value.version.changes.size() == 1) {
      WEFT_TRY(const auto change, snapshot.change(ref.value.version.changes.front()));
      subject_text = " " + printable(subject(change.message));
    }
    print(invocation, fmt::format("{}{} {}{}{}", paint(invocation, Style::ref, ref.name),
                                  std::string(width - display_width(ref.name), ' '),
                                  paint(invocation, Style::id, version), subject_text, line_end(invocation)));
  }
  return 0;
}

Result<int> cmd_ref_set(Invocation& invocation) {
  std::string name, version;
  std::optional<std::string> expect;
  Options options("ref set", "Makes a ref, or points it at another version.");
  options.positional("NAME", name, "the ref", true);
  options.positional("VERSION", version, "where it is to stand", true);
  options.value("--expect", expect, "OLD", "only if it stands at OLD now (`none`: does not exist), else exit with 4");
  options.footer(
      "Moving `workspaces/NAME` moves that workspace's head; its files follow when `weft switch @` is run there.");
  WEFT_DO(options.parse(invocation));
  WEFT_DO(check_name(name));

  WEFT_TRY(auto repository, open_repository(invocation));
  WEFT_TRY(auto transaction, repository.store().begin());
  const auto& snapshot = transaction.snapshot();
  if (is_private(name)) {
    return make_error(Code::refused, quoted_always(name) + " is kept by weft for undo", "choose another name")
        .with("ref", name);
  }
  WEFT_TRY(const auto target, resolve(invocation, repository, snapshot, version));
  if (target.version.empty()) {
    return make_error(Code::invalid, quoted_always(version) + " has no change yet", "commit first, or name a change");
  }
  WEFT_TRY(const auto before, snapshot.ref(name));
  if (name.starts_with("workspaces/") && !before) {
    return make_error(Code::not_found, "there is no workspace " + quoted_always(name.substr(11)),
                      "`weft workspace add NAME` makes one")
        .with("ref", name);
  }
  store::RefEdit edit;
  edit.name = name;
  edit.after = store::RefValue{target.version, {}};
  edit.keep_extra = before.has_value();
  WEFT_DO(set_expectation(invocation, repository, snapshot, expect, edit));
  if (name.starts_with("workspaces/") && !expect) {
    // Removed meanwhile, it would come back without what registers it as a workspace.
    edit.expect = store::RefEdit::Expect::exactly;
    edit.expected = before->version;
  }
  // Nothing to move, and no expectation that could fail: no empty operation in the log.
  if (before && before->version == target.version && !expect) {
    const Moved same{name, before, before, std::nullopt};
    if (wants_json(invocation)) {
      emit(invocation, json_moved(same));
    } else {
      notice(invocation, name + " stands there already");
    }
    return 0;
  }
  WEFT_TRY(const auto moved, move(invocation, repository, transaction, std::move(edit), "ref set: " + name));
  if (wants_json(invocation)) {
    emit(invocation, json_moved(moved));
    return 0;
  }
  WEFT_TRY(const auto after_snapshot, repository.store().snapshot());
  WEFT_TRY(const auto now, short_version(after_snapshot, target.version));
  if (moved.before) {
    WEFT_TRY(const auto was, short_version(after_snapshot, moved.before->version));
    report(invocation, fmt::format("{}: {} -> {}\n", name, was, now));
  } else {
    report(invocation, fmt::format("{}: new, {}\n", name, now));
  }
  return 0;
}

Result<int> cmd_ref_delete(Invocation& invocation) {
  std::string name;
  std::optional<std::string> expect;
  Options options("ref delete", "Deletes a ref. Its changes stay, and `weft undo` brings it back.");
  options.positional("NAME", name, "the ref", true);
  options.value("--expect", expect, "OLD", "only if it stands at OLD now, else exit with 4");
  WEFT_DO(options.parse(invocation));
  WEFT_DO(check_name(name));

  WEFT_TRY(auto repository, open_repository(invocation));
  WEFT_TRY(auto transaction, repository.store().begin());
  const auto& snapshot = transaction.snapshot();
  if (name.starts_with("workspaces/")) {
    return make_error(Code::refused, quoted_always(name) + " is a workspace's head",
                      "`weft workspace rm " + name.substr(11) + "` removes the workspace")
        .with("ref", name);
  }
  WEFT_TRY(const auto before, snapshot.ref(name));
  if (!before) return no_such_ref(snapshot, name);
  store::RefEdit edit;
  edit.name = name;
  edit.expect = store::RefEdit::Expect::exactly;
  edit.expected = before->version;
  if (expect && *expect == "none") {
    return make_error(Code::usage, "a ref that does not exist cannot be deleted",
                      "leave out --expect, or name a version");
  }
  WEFT_DO(set_expectation(invocation, repository, snapshot, expect, edit));
  WEFT_TRY(const auto moved, move(invocation, repository, transaction, std::move(edit), "ref delete: " + name));
  if (wants_json(invocation)) {
    emit(invocation, json_moved(moved));
  } else {
    WEFT_TRY(const auto after_snapshot, repository.store().snapshot());
    WEFT_TRY(const auto was, short_version(after_snapshot, before->version));
    report(invocation, fmt::format("{}: deleted, stood at {}\n", name, was));
  }
  return 0;
}

Result<int> cmd_ref_log(Invocation& invocation) {
  std::string name;
  std::optional<std::int64_t> count;
  Options options("ref log",
                  "Lists where a ref has stood, newest first. `NAME@{N}` names the N-th line from the top, from 0.");
  options.positional("NAME", name, "the ref; the workspace's head without it", false);
  options.integer("-n,--max-count", count, "N", "at most N moves");
  WEFT_DO(options.parse(invocation));
  if (count && *count < 0) {
    return make_error(Code::usage, "option -n needs a number that is not negative", "run `weft help ref log`");
  }

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  if (name.empty() || name == "@") {
    WEFT_TRY(const auto workspace, repository.require_workspace());
    name = repo::workspace_ref(workspace.name);
  }
  WEFT_DO(check_name(name));
  page(invocation);
  JsonList list(invocation, "moves");
  const auto limit = count ? static_cast<std::uint64_t>(*count) : UINT64_MAX;
  std::uint64_t index = 0;
  bool any = false;
  Result<void> failed;
  WEFT_DO(snapshot.reflog(name, [&](const store::RefMoveRecord& record) {
    any = true;
    if (index == limit || output_is_unwanted(invocation)) return false;
    failed = print_move(invocation, snapshot, record, index, list);
    ++index;
    return failed.has_value();
  }));
  WEFT_DO(failed);
  if (!any) return no_such_ref(snapshot, name);
  if (wants_json(invocation)) list.finish(Json::object().set("ref", name));
  return 0;
}

}  // namespace weft::cli
