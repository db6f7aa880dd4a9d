#include "git/helper_process.h"

#include <csignal>

namespace weft::git {

Result<Process> start_helper(std::string helper, std::vector<std::string> args) {
  if (helper.empty()) {
    WEFT_TRY(const std::string own, own_program_path());
    helper = join_path(parent_path(own), "weft-git");
  }
  ProcessOptions process;
  process.argv = std::move(args);
  process.argv.insert(process.argv.begin(), helper);
  process.in = ProcessOptions::Stream::pipe;
  process.out = ProcessOptions::Stream::pipe;
  auto started = Process::start(process);
  if (!started && started.error().code == Code::not_found) {
    return make_error(Code::peer, "there is no weft-git at " + quoted(helper),
                      "weft-git reads and writes git repositories for weft; install it beside weft");
  }
  return started;
}

Error explain(Process& process, Error error) {
  // Only the end of its process tells why a conversation broke off.
  if (error.code != Code::peer) return error;
  process.send_signal(SIGKILL);
  if (const auto status = process.wait(); status && status->signal != 0 && status->signal != SIGKILL) {
    error.message += "; weft-git " + status->text();
  }
  return error;
}

Result<void> expect_success(Process& process) {
  WEFT_TRY(const ExitStatus status, process.wait());
  if (!status.ok()) return make_error(Code::peer, "weft-git " + status.text());
  return {};
}

}  // namespace weft::git
