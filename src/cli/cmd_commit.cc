// commit: records the working tree, or a change list, as a change.
//
// The message is settled (also in an editor) before a transaction begins or a lock is taken: a commit that is killed
// while its editor is open leaves nothing behind but the text (CASES C1).
#include "base/process.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/work_output.h"
#include "repo/commit.h"
#include "repo/files.h"
#include "repo/recording.h"

namespace weft::cli {

namespace {

constexpr std::uint64_t kMaxMessageBytes = 4u << 20;

struct CommitOptions {
  std::vector<std::string> messages;
  std::optional<std::string> message_file;
  std::vector<std::string> paths;
  std::optional<std::string> advance;
  std::optional<std::string> author;
  std::optional<std::string> parent;
  std::optional<std::string> changes;
  bool allow_empty = false;
};

Error empty_message() {
  return make_error(Code::invalid, "the message is empty; nothing was recorded",
                    "say what the change does with -m TEXT");
}

std::string environment(const Invocation& invocation, const std::string& name) {
  const auto it = invocation.context.environment.find(name);
  return it == invocation.context.environment.end() ? std::string() : it->second;
}

/// What the editor shows under the message: what would be recorded as things stand.
Result<std::string> template_text(const repo::Repository& repository, const std::vector<std::string>& paths) {
  std::string out =
      "\n# What does this change do? Lines that begin with '#' are left out; an empty message\n"
      "# records nothing.\n#\n";
  if (!repository.location()) return out;
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository, workspace.name, workspace.root));
  WEFT_TRY(const ObjectId tree, repo::tree_of(snapshot, workspace.head));
  auto scan = files.scan_options();
  scan.paths = paths;
  WEFT_TRY(const auto status, work::status(files.tree(), snapshot, tree, scan));
  for (const auto& entry : status.entries) {
    out += std::string("# ") + change_letter(entry.change) + " " +
           (entry.change == work::Change::moved ? quoted(entry.old_path) + " -> " : std::string()) +
           quoted(entry.path) + "\n";
  }
  return out;
}

Result<Bytes> message_from_editor(Invocation& invocation, const repo::Repository& repository,
                                  const std::vector<std::string>& paths) {
  std::string editor = environment(invocation, "VISUAL");
  if (editor.empty()) editor = environment(invocation, "EDITOR");
  if (editor.empty()) {
    return make_error(Code::usage, "no message given, and no editor to write one in",
                      "give it with -m TEXT or -F FILE, or set EDITOR");
  }
  WEFT_TRY(const std::string shown, template_text(repository, paths));
  FileSystem& fs = invocation.context.env.fs;
  // Of its own name: two editors may be open on one workspace.
  const std::string path = repository.store().directory() + "/workspaces/message-" +
                           invocation.context.env.random.id<NodeId>().hex().substr(0, 8);
  {
    WEFT_TRY(const auto file, fs.open(path, OpenMode::create_new));
    WEFT_DO(file->write_at(0, shown));
  }
  ProcessOptions process;
  // EDITOR may hold arguments ("code --wait"): as everywhere, the shell takes it apart. It is the user's own setting.
  process.argv = {"/bin/sh", "-c", editor + " \"$@\"", editor, path};
  std::vector<std::string> variables;
  for (const auto& [name, value] : invocation.context.environment) variables.push_back(name + "=" + value);
  process.environment = std::move(variables);
  process.directory = invocation.context.directory;
  process.in = ProcessOptions::Stream::inherit;
  WEFT_TRY(auto running, Process::start(process));
  WEFT_TRY(const auto status, running.wait());
  auto text = read_file(fs, path, kMaxMessageBytes);
  (void)fs.unlink(path).has_value();
  if (!status.ok()) {
    return make_error(Code::refused, "the editor " + status.text() + "; nothing was recorded",
                      "give the message with -m TEXT, or set EDITOR");
  }
  if (!text) return text;
  return repo::clean_message(*text, true);
}

Result<Bytes> message_of(Invocation& invocation, const repo::Repository& repository, const CommitOptions& given,
                         const std::vector<std::string>& paths) {
  Bytes message;
  if (given.message_file) {
    if (*given.message_file == "-") {
      WEFT_TRY(message, invocation.io.read_stdin(kMaxMessageBytes));
    } else {
      const std::string path = repo::absolute_path(invocation.context.directory, *given.message_file);
      WEFT_TRY(message, read_file(invocation.context.env.fs, path, kMaxMessageBytes));
    }
  } else if (!given.messages.empty()) {
    for (const std::string& part : given.messages) message += (message.empty() ? "" : "\n\n") + part;
  } else {
    WEFT_TRY(message, message_from_editor(invocation, repository, paths));
  }
  message = repo::clean_message(message, false);
  if (message.empty()) return empty_message();
  return message;
}

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
  if (wants_json(invocation)) {
    Json json = json_result(result);
    if (left_behind) json.set("hint", result.ref + " moved; weft land");
    emit(invocation, json);
    return 0;
  }
  show_warnings(invocation, result.status.warnings);
  if (!result.change) {
    print(invocation, "nothing to commit\n");
    return 0;
  }
  if (!invocation.common.quiet) {
    WEFT_TRY(const auto id, short_change(repository, *result.change));
    std::string where;
    if (result.advanced) where = " (" + result.ref + ")";
    if (from_list && !result.advanced) where = " (kept as " + result.ref + ")";
    print(invocation, paint(invocation, Style::yellow, id) + where + " " + printable(repo::subject_of(message)) + "\n");
  }
  if (left_behind) hint(invocation, result.ref + " moved; weft land");
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
  WEFT_TRY(request.message, message_of(invocation, repository, given, {}));
  request.parent = given.parent.value_or("@");
  request.advance = given.advance;
  request.author = given.author;
  request.allow_empty = given.allow_empty;
  WEFT_TRY(const auto result, repo::commit_change_list(repository, list, request));
  return show(invocation, repository, result, request.message, true);
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
  WEFT_TRY(request.message, message_of(invocation, repository, given, request.paths));
  request.advance = given.advance;
  request.author = given.author;
  request.allow_empty = given.allow_empty;
  WEFT_TRY(const auto result, repo::commit(repository, request));
  return show(invocation, repository, result, request.message, false);
}

}  // namespace weft::cli
