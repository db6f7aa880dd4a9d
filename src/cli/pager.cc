#include "cli/pager.h"

#include <csignal>
#include <optional>
#include <utility>

#include "base/process.h"
#include "cli/output.h"

namespace weft::cli {
namespace {

/// What fits into a pipe, and more: once the pager has taken as much, it is there and reading.
constexpr std::size_t kKeptBytes = 256 << 10;
/// The shell's: not executable, not found.
constexpr int kNotExecutable = 126, kNotFound = 127;

class ProcessPager final : public PagerSink {
 public:
  ProcessPager(Invocation& invocation, std::string command, Process process)
      : invocation_(invocation), command_(std::move(command)), process_(std::move(process)) {
    // Ctrl-C belongs to the pager ("stop searching"); we end when it does.
    before_ = std::signal(SIGINT, SIG_IGN);
  }
  ~ProcessPager() override {
    finish();
    if (before_ != SIG_ERR) std::signal(SIGINT, before_);
  }

  bool write(std::string_view text) override {
    if (passed_on_) {
      invocation_.io.out(text);
      return true;
    }
    if (kept_) {
      kept_->append(text);
      if (kept_->size() > kKeptBytes) kept_.reset();
    }
    if (process_.write(text).has_value()) return true;
    finish();
    return passed_on_;
  }

 private:
  /// Waits for it. One that was never there gave us nothing to read: then what it was to show goes out as it is.
  void finish() {
    if (std::exchange(finished_, true)) return;
    process_.close_input();
    const auto status = process_.wait();  // how else it ended is between it and the user
    if (!status || !kept_ || (status->code != kNotFound && status->code != kNotExecutable)) return;
    notice(invocation_, "the pager `" + command_ + "` cannot be run; `weft config set ui.pager` takes another");
    invocation_.io.out(*kept_);
    passed_on_ = true;
  }

  Invocation& invocation_;
  std::string command_;
  Process process_;
  std::optional<std::string> kept_ = std::string();  ///< while it may turn out that nobody reads
  bool finished_ = false, passed_on_ = false;
  void (*before_)(int) = SIG_DFL;
};

}  // namespace

std::vector<std::string> command_argv(const std::string& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv;
  if (command.find_first_of("|&;<>()$`\\\"'*?[]#~=%!{}\n") == std::string::npos) {
    for (std::size_t at = 0; at < command.size();) {
      const std::size_t begin = command.find_first_not_of(" \t", at);
      if (begin == std::string::npos) break;
      at = std::min(command.find_first_of(" \t", begin), command.size());
      argv.push_back(command.substr(begin, at - begin));
    }
  } else {
    argv = {"/bin/sh", "-c", arguments.empty() ? command : command + " \"$@\"", command};
  }
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::vector<std::string> process_environment(const Invocation& invocation) {
  std::vector<std::string> out;
  out.reserve(invocation.context.environment.size());
  for (const auto& [name, value] : invocation.context.environment) out.emplace_back(name).append("=").append(value);
  return out;
}

std::string pager_command(const Invocation& invocation) {
  const auto& environment = invocation.context.environment;
  std::string command = "less";
  if (const auto own = environment.find("WEFT_PAGER"); own != environment.end()) {
    command = own->second;
  } else if (settings(invocation).is_set("ui.pager")) {
    command = settings(invocation).text("ui.pager");
  } else if (const auto common = environment.find("PAGER"); common != environment.end()) {
    command = common->second;
  }
  const bool none = command.find_first_not_of(" \t") == std::string::npos || command == "cat";
  return none ? std::string() : command;
}

std::unique_ptr<PagerSink> start_pager(Invocation& invocation) {
  const std::string command = pager_command(invocation);
  if (command.empty()) return nullptr;
  ProcessOptions options;
  options.argv = command_argv(command);
  options.in = ProcessOptions::Stream::pipe;
  options.directory = invocation.context.directory;
  options.environment = process_environment(invocation);
  if (!invocation.context.environment.contains("LESS")) options.environment->emplace_back("LESS=FRX");
  if (!invocation.context.environment.contains("LV")) options.environment->emplace_back("LV=-c");
  auto process = Process::start(options);
  if (!process) {
    notice(invocation, "the pager `" + command + "` cannot be run; `weft config set ui.pager` takes another");
    return nullptr;
  }
  return std::make_unique<ProcessPager>(invocation, command, *std::move(process));
}

}  // namespace weft::cli
