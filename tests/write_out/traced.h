// Runs a program under ptrace, so that a test can look, edit files or kill it at any of its system calls.
//
// Threads are followed; the caller's function is called with the calling thread stopped before the call. Where ptrace
// is not allowed, traced runs are not possible (can_trace).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weft::testing {

struct SystemCall {
  long number = 0;
  std::uint64_t arguments[6] = {};
  std::string path;        ///< its first path argument, where it has one
  std::string other_path;  ///< the second one of renames and links
  bool is(long wanted) const { return number == wanted; }
};

enum class Verdict { proceed, kill };

struct TracedRun {
  int exit_code = -1;  ///< -1: killed
  std::string output;  ///< stdout and stderr
  std::map<long, int> calls;
};

struct Command {
  std::vector<std::string> arguments;  ///< the first is the program
  std::string directory;
  std::vector<std::string> environment;
};

bool can_trace();
/// Calls that make, change, rename or remove something, or write.
bool changes_something(const SystemCall& call);
/// `before` is called before every system call.
TracedRun run_traced(const Command& command, const std::function<Verdict(const SystemCall&)>& before);
/// Without ptrace.
TracedRun run_plain(const Command& command);

}  // namespace weft::testing
