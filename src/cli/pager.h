// The pager: a child process that shows long output on a terminal.
// Threading: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace weft::cli {

class PagerSink {
 public:
  virtual ~PagerSink() = default;
  /// False once the pager has gone: the rest is not wanted.
  virtual bool write(std::string_view text) = 0;
};

/// The command to page with: WEFT_PAGER, else PAGER, else "less". Empty, or "cat": no pager.
std::string pager_command(const repo::Context& context);
/// Null where it cannot be started: output then goes to the terminal directly. Destroying the sink waits for the user
/// to leave the pager.
std::unique_ptr<PagerSink> start_pager(const repo::Context& context);

}  // namespace weft::cli
