#include "cli/editor.h"

#include <algorithm>

#include "cli/diff_tool.h"
#include "cli/output.h"

namespace weft::cli {

bool in_path(const Invocation& invocation, std::string_view program) {
  std::string_view path = variable(invocation, "PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string_view directory = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (!directory.starts_with('/')) continue;
    const auto status = invocation.context.env.fs.status(join_path(directory, program));
    if (status && status->kind == FileKind::file && (status->mode & 0111) != 0) return true;
  }
  return false;
}

Result<std::string> editor_command(const Invocation& invocation) {
  const auto given = [](std::string_view text) { return text.find_first_not_of(" \t") != text.npos; };
  if (const auto own = variable(invocation, "WEFT_EDITOR"); given(own)) return std::string(own);
  if (const auto set = settings(invocation).text("ui.editor"); given(set)) return set;
  const bool dumb = terminal_is_dumb(invocation);
  if (const auto visual = variable(invocation, "VISUAL"); given(visual) && !dumb) return std::string(visual);
  if (const auto editor = variable(invocation, "EDITOR"); given(editor)) return std::string(editor);
  if (invocation.io.in_is_terminal && invocation.io.out_is_terminal && !dumb) {
    for (const std::string program : {"sensible-editor", "vi"}) {
      if (in_path(invocation, program)) return program;
    }
  }
  return make_error(Code::usage, "there is no editor", "set EDITOR, or `weft config set ui.editor COMMAND`");
}

Result<void> run_editor(Invocation& invocation, const std::string& path) {
  WEFT_TRY(const auto editor, editor_command(invocation));
  const bool waiting = invocation.io.err_is_terminal && !terminal_is_dumb(invocation) && !invocation.common.quiet &&
                       !wants_json(invocation) && settings(invocation).boolean("ui.hints");
  // An editor in a window of its own may not be seen to be waited for.
  if (waiting) {
    invocation.io.err(paint_err(invocation, Style::hint, "hint:") + " waiting for your editor to close the file... ");
  }
  const auto code = run_user_command(invocation, editor + " \"$@\"", {path});
  if (waiting) invocation.io.err("\r\x1b[K");
  if (!code) return code.error();
  if (*code == 0) return {};
  return make_error(Code::refused, "the editor `" + editor + "` exited with code " + std::to_string(*code),
                    "set EDITOR, or `weft config set ui.editor COMMAND`");
}

}  // namespace weft::cli
