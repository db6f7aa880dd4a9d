// The user's editor.
//
// Which: WEFT_EDITOR, `ui.editor`, VISUAL (where the terminal is not dumb), EDITOR, else `sensible-editor` or `vi`, and
// those only where there is a terminal to show them on. As in git the shell takes the command apart, so it may have
// arguments and quotes. It is the user's own: no store and no tree has a say (DESIGN 12).
// Threading: one thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace weft::cli {

/// Whether PATH leads to a program of this name.
bool in_path(const Invocation& invocation, std::string_view program);
/// usage where there is none; the caller adds what to do without one.
Result<std::string> editor_command(const Invocation& invocation);
/// Opens a file in the editor and waits for its end. refused where it failed.
Result<void> run_editor(Invocation& invocation, const std::string& path);

}  // namespace weft::cli
