// commit: records the working tree, or a change list, as a change.
//
// The message is settled (also in an editor) before a transaction begins or a lock is taken: a commit that is killed
// while its editor is open leaves nothing behind but the text (CASES C1).
#include "cli/commit_message.h"
#include "cli/git_path.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/commit.h"
#include "repo/files.h"
#include "repo/recording.h"
#include "repo/settings.h"

namespace weft::cli {

namespace {

constexpr std::string_view kInterrupted = "weft: interrupted: nothing was recorded\n";

struct CommitOptions {
  std::vector<std::string> messages;
  std::optional<std::string> message_file;
  std::vector<std::string> paths;
  std::optional<std::string> advance;
  std::optional<std::string> author;
  std::optional<std::string> parent;
  std::optional<std::string> changes;
  std::optional<std::string> max_new_file_size;
  bool allow_empty = false;
};

Json json_result(const repo::CommitResult& result) {
  return Json::object()
      .set("change", result.change ? Json(result.change->hex()) : Json(nullptr))
      .set("parents", json_version(result.parents))
      .set("ref", result.ref.empty() ? Json(nullptr) : Json(result.ref))
      .set("advanced", result.advanced)
      .set("operation", result.operation ? Json(result.operation->hex()) : Json(nullptr))
      .set("entries", json_entries(result.status.entries))
      .set("warnings", json_warnings(result.status.warnings));
}

Result<int> show(Invocation& invocation, const repo::Repository& repository, const repo::CommitResult& result,
                 const Bytes& message, bool from_list) {
  const bool left_behind = result.change && !from_list && !result.advanced && !result.ref.empty();
  std::string behind;
  if (left_behind) {
    WEFT_TRY(behind, left_behind_hint(repository, result.ref));
  }
  if (wants_json(invocation)) {
    Json json = json_result(result);
    if (!result.status.left_out.empty()) json.set("left_out", json_left_out(result.status.left_out));
    if (left_behind) json.set("hint", behind);
    emit(invocation, json);
    return 0;
  }
  show_warnings(invocation, result.status.warnings);
  show_left_out(invocation, result.status.left_out);
  if (!result.change) {
    report(invocation, "nothing to commit\n");
    return 0;
  }
  if (!invocation.common.quiet) {
    WEFT_TRY(const auto id, short_change(repository, *result.change));
    std::string where;
    if (result.advanced) where = " (" + result.ref + ")";
    if (from_list && !result.advanced) where = " (kept as " + result.ref + ")";
    print(invocation, paint(invocation, Style::id, id) + where + " " + printable(repo::subject_of(message)) + "\n");
  }
  if (left_behind) hint(invocation, behind);
  if (!from_list && repository.location()) {
    const std::string doing = git_in_progress(invocation.context.env.fs, repository.location()->root);
    if (!doing.empty()) {
      notice(invocation, "git is in the middle of " + doing + " here: what is recorded is the files as they are");
    }
  }
  return 0;
}

Result<int> commit_list(Invocation& invocation, const CommitOptions& given) {
  if (!given.paths.empty()) return make_error(Code::usage, "--changes takes no PATHS", "weft help commit");
  if (given.changes == "-" && given.message_file == "-") {
    return make_error(Code::usage, "standard input cannot be both the message and the changes", "weft help commit");
  }
  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  Bytes text;
  if (*given.changes == "-") {
    WEFT_TRY(text, invocation.io.read_stdin(repo::kMaxChangeListBytes + 1));
  } else {
    WEFT_TRY(text,
             read_file(invocation.context.env.fs, repo::absolute_path(invocation.context.directory, *given.changes),
                       repo::kMaxChangeListBytes + 1));
  }
  WEFT_TRY(const auto list, repo::parse_change_list(text));
  repo::ChangeListRequest request;
  WEFT_TRY(const auto message, commit_message(invocation, repository, {given.messages, given.message_file, {}}));
  request.message = message.text;
  request.parent = given.parent.value_or("@");
  request.advance = given.advance;
  request.author = given.author;
  request.allow_empty = given.allow_empty;
  auto result = repo::commit_change_list(repository, list, request);
  if (!result) return keep_message(invocation, message, std::move(result).error());
  forget_message(invocation, message);
  return show(invocation, repository, *result, request.message, true);
}

}  // namespace

Result<int> cmd_commit(Invocation& invocation) {
  CommitOptions given;
  Options options("commit", "Records the working tree (or PATHS of it) as a change.");
  options.values("-m,--message", given.messages, "TEXT", "the message; several make paragraphs");
  options.value("-F,--file", given.message_file, "FILE", "read the message from FILE (- is standard input)");
  options.value("--author", given.author, "AUTHOR", "\"Name <email>\"");
  options.value("--advance", given.advance, "REF", "move REF along, or record nothing (exit 4)");
  options.flag("--allow-empty", given.allow_empty, "record a change that changes nothing");
  options.value("--changes", given.changes, "FILE", "record this change list instead of the working tree (- is stdin)");
  options.value("--parent", given.parent, "VERSION", "with --changes: what it is based on (default: @)");
  options.value("--max-new-file-size", given.max_new_file_size, "SIZE",
                "leave out new files above SIZE; 0: none (default: record.max-new-file-size)");
  options.positionals("PATHS", given.paths, "only what is at or below these", false);
  options.footer(
      "Change list: {\"weft\": 1, \"ops\": [OP...]}, applied in order, all or nothing. OP is one of\n"
      "  {\"op\": \"write\", \"path\": P, \"content\": TEXT | {\"bytes\": BASE64} | {\"file\": PATH} | {\"blob\": "
      "ID}}\n"
      "     and optionally \"mode\": \"0755\", \"kind\": \"symlink\"\n"
      "  {\"op\": \"move\", \"from\": P, \"to\": P}\n"
      "  {\"op\": \"delete\", \"path\": P}\n"
      "  {\"op\": \"mode\", \"path\": P, \"mode\": \"0644\"}\n");
  WEFT_DO(options.parse(invocation));
  if (!given.messages.empty() && given.message_file) {
    return make_error(Code::usage, "-m and -F exclude each other", "weft help commit");
  }
  if (given.changes) return commit_list(invocation, given);
  if (given.parent) return make_error(Code::usage, "--parent goes with --changes", "weft help commit");

  WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
  show_notices(invocation, repository);
  repo::CommitRequest request;
  WEFT_TRY(request.paths, repo_paths(repository, given.paths));
  std::erase(request.paths, std::string());
  if (request.paths.size() != given.paths.size()) request.paths.clear();  // the top was named: everything
  WEFT_TRY(const auto message,
           commit_message(invocation, repository, {given.messages, given.message_file, request.paths}));
  request.message = message.text;
  request.advance = given.advance;
  request.author = given.author;
  request.allow_empty = given.allow_empty;
  if (given.max_new_file_size) {
    request.max_new_file_bytes = repo::parse_size(*given.max_new_file_size);
    if (!request.max_new_file_bytes) {
      return make_error(Code::usage, quoted(*given.max_new_file_size) + " is no size", "as in 100 MiB, or 0 for any");
    }
  }
  Progress progress(invocation, "recording");
  request.progress = [&](std::uint64_t names, std::uint64_t) { progress.update(names, 0); };
  std::optional<InterruptNotice> interrupt(kInterrupted);
  request.settling = [&](bool yes) { interrupt->put_off(yes); };
  auto result = repo::commit(repository, request);
  interrupt.reset();
  progress.clear();
  if (!result) return keep_message(invocation, message, std::move(result).error());
  forget_message(invocation, message);
  return show(invocation, repository, *result, request.message, false);
}

}  // namespace weft::cli
