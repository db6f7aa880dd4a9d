#include "cli/commit_message.h"

#include "cli/editor.h"
#include "cli/output.h"
#include "cli/patch.h"
#include "cli/scratch_objects.h"
#include "cli/work_output.h"
#include "repo/files.h"
#include "repo/recording.h"

namespace weft::cli {
namespace {

constexpr std::uint64_t kMaxMessageBytes = 4u << 20;
/// git's, so that editors that know it fold or colour what follows.
constexpr std::string_view kScissors = "# ------------------------ >8 ------------------------";

Error empty_message() {
  return make_error(Code::invalid, "the message is empty; nothing was recorded",
                    "say what the change does with -m TEXT");
}

/// With -v: below the scissors, what would be recorded.
Result<void> add_diff(const Invocation& invocation, const repo::WorkspaceFiles& files, const store::Snapshot& snapshot,
                      const ObjectId& tree, const std::vector<std::string>& paths, std::string& out) {
  ScratchObjects scratch(snapshot);
  WEFT_TRY(const auto recorded, work::record(files.tree(), scratch, scratch, tree, files.scan_options()));
  PatchOptions patch;
  patch.paths = paths;
  WEFT_TRY(const auto differences, shown_differences(scratch, tree, recorded.tree, patch));
  out += std::string(kScissors) + "\n# Leave the line above as it is; everything below it is left out.\n";
  // A file is no terminal.
  repo::Context context = invocation.context;
  Invocation plain(invocation.io, context);
  plain.common.color = ColorWhen::never;
  return write_patch(plain, scratch, differences, patch, [&](std::string_view text) { out += text; });
}

/// What the editor shows under the message: what would be recorded as things stand.
Result<std::string> template_text(Invocation& invocation, const repo::Repository& repository,
                                  const std::vector<std::string>& paths) {
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
  out += "# Workspace " + quoted(workspace.name) +
         (workspace.record.follow.empty() ? std::string() : ", following " + workspace.record.follow) + "\n";
  for (const auto& entry : status.entries) {
    out += std::string("# ") + change_letter(entry.change) + " " +
           (entry.change == work::Change::moved ? quoted(entry.old_path) + " -> " : std::string()) +
           quoted(entry.path) + "\n";
  }
  if (invocation.common.verbose) {
    WEFT_DO(add_diff(invocation, files, snapshot, tree, paths, out));
  }
  return out;
}

Bytes without_diff(const Bytes& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (ByteView(text).substr(at, end - at) == kScissors) return text.substr(0, at);
    at = end + 1;
  }
  return text;
}

Result<CommitMessage> from_editor(Invocation& invocation, const repo::Repository& repository,
                                  const std::vector<std::string>& paths) {
  if (const auto editor = editor_command(invocation); !editor) {
    return make_error(Code::usage, "no message given, and no editor to write one in",
                      "give it with -m TEXT or -F FILE, or set EDITOR");
  }
  WEFT_TRY(const std::string shown, template_text(invocation, repository, paths));
  FileSystem& fs = invocation.context.env.fs;
  CommitMessage message;
  // Of its own name: two editors may be open on one workspace.
  message.file = repository.store().directory() + "/workspaces/message-" +
                 invocation.context.env.random.id<NodeId>().hex().substr(0, 8);
  {
    WEFT_TRY(const auto file, fs.open(message.file, OpenMode::create_new));
    WEFT_DO(file->write_at(0, shown));
  }
  auto edited = run_editor(invocation, message.file);
  const auto text = read_file(fs, message.file, kMaxMessageBytes);
  if (text) message.text = repo::clean_message(repo::clean_message(without_diff(*text), true), false);
  if (!edited) {
    Error error = std::move(edited).error();
    error.message += "; nothing was recorded";
    error.hint = "give the message with -m TEXT, or " + error.hint;
    return keep_message(invocation, message, std::move(error));
  }
  if (!text) return text.error();
  if (message.text.empty()) {
    forget_message(invocation, message);
    return empty_message();
  }
  return message;
}

}  // namespace

Result<CommitMessage> commit_message(Invocation& invocation, const repo::Repository& repository,
                                     const MessageSource& source) {
  CommitMessage message;
  if (source.file) {
    if (*source.file == "-") {
      WEFT_TRY(message.text, invocation.io.read_stdin(kMaxMessageBytes));
    } else {
      const std::string path = repo::absolute_path(invocation.context.directory, *source.file);
      WEFT_TRY(message.text, read_file(invocation.context.env.fs, path, kMaxMessageBytes));
    }
  } else if (!source.parts.empty()) {
    for (const std::string& part : source.parts) message.text += (message.text.empty() ? "" : "\n\n") + part;
  } else {
    return from_editor(invocation, repository, source.paths);
  }
  message.text = repo::clean_message(message.text, false);
  if (message.text.empty()) return empty_message();
  return message;
}

void forget_message(Invocation& invocation, const CommitMessage& message) {
  if (!message.file.empty()) (void)invocation.context.env.fs.unlink(message.file).has_value();
}

Error keep_message(Invocation& invocation, const CommitMessage& message, Error error) {
  if (message.file.empty()) return error;
  FileSystem& fs = invocation.context.env.fs;
  const auto write = [&]() -> Result<void> {
    WEFT_TRY(const auto file, fs.open(message.file, OpenMode::create));
    WEFT_DO(file->set_size(0));
    return file->write_at(0, message.text + "\n");
  };
  if (message.text.empty() || !write()) {
    forget_message(invocation, message);
    return error;
  }
  error.hint += (error.hint.empty() ? "" : "; ") + ("your message is kept: weft commit -F " + quoted(message.file));
  return std::move(error).with("message_file", message.file);
}

}  // namespace weft::cli
