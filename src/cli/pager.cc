#include "cli/pager.h"

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "base/process.h"

namespace weft::cli {
namespace {

class ProcessPager final : public PagerSink {
 public:
  explicit ProcessPager(Process process) : process_(std::move(process)) {
    // Ctrl-C belongs to the pager ("stop searching"); we end when it does.
    before_ = std::signal(SIGINT, SIG_IGN);
  }
  ~ProcessPager() override {
    process_.close_input();
    (void)process_.wait();  // how it ended is between it and the user
    if (before_ != SIG_ERR) std::signal(SIGINT, before_);
  }
  bool write(std::string_view text) override { return process_.write(text).has_value(); }

 private:
  Process process_;
  void (*before_)(int) = SIG_DFL;
};

std::string variable(const repo::Context& context, const char* name) {
  const auto found = context.environment.find(name);
  return found == context.environment.end() ? std::string() : found->second;
}

}  // namespace

std::string pager_command(const repo::Context& context) {
  for (const char* name : {"WEFT_PAGER", "PAGER"}) {
    if (context.environment.contains(name)) {
      std::string command = variable(context, name);
      return command == "cat" ? std::string() : command;
    }
  }
  return "less";
}

std::unique_ptr<PagerSink> start_pager(const repo::Context& context) {
  const std::string command = pager_command(context);
  if (command.empty()) return nullptr;
  ProcessOptions options;
  // A command the user wrote may have options and quotes in it: the shell knows them.
  options.argv =
      command == "less" ? std::vector<std::string>{"less"} : std::vector<std::string>{"/bin/sh", "-c", command};
  options.in = ProcessOptions::Stream::pipe;
  options.directory = context.directory;
  options.environment.emplace();
  for (const auto& [name, value] : context.environment) options.environment->push_back(name + "=" + value);
  // Quit when it fits a screen, pass colours through, leave the text on the screen: unless the user says otherwise.
  if (!context.environment.contains("LESS")) options.environment->emplace_back("LESS=FRX");
  auto process = Process::start(options);
  if (!process) return nullptr;
  return std::make_unique<ProcessPager>(*std::move(process));
}

}  // namespace weft::cli
