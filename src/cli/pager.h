// The pager: a child process that shows long output on a terminal.
//
// Which: WEFT_PAGER, `ui.pager`, PAGER, else `less`; an empty one or `cat` means none. Without LESS in the environment
// less gets FRX: quit when it fits a screen, pass colours through, leave the text on the screen.
// Invariant PG-1: what was printed is seen. Where the pager cannot be started, and where the shell could not find it,
// everything goes to the terminal instead, with a notice.
// Threading: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace weft::cli {

class PagerSink {
 public:
  virtual ~PagerSink() = default;
  /// False once the pager has gone: the rest is not wanted.
  virtual bool write(std::string_view text) = 0;
};

/// Empty: no pager.
std::string pager_command(const Invocation& invocation);
/// Null where there is none. Destroying the sink waits for the user to leave the pager.
std::unique_ptr<PagerSink> start_pager(Invocation& invocation);

/// What to execute for a command the user wrote, followed by `arguments`: itself where it is plain words (then a
/// program that is missing is noticed at the start), else by way of the shell, which knows quotes, variables and pipes.
std::vector<std::string> command_argv(const std::string& command, const std::vector<std::string>& arguments = {});
/// The invocation's environment as a process takes it.
std::vector<std::string> process_environment(const Invocation& invocation);

}  // namespace weft::cli
