#include "traced.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace weft::testing {
namespace {

constexpr long kFchmodat2 = 452;
constexpr std::size_t kMaxPath = 4096;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::abort();
}

std::string read_string(pid_t process, std::uint64_t address) {
  std::string out(kMaxPath, '\0');
  // Up to the end of a page at a time: the next one may not be there.
  std::size_t length = 0;
  while (length < out.size()) {
    const std::size_t piece = std::min<std::size_t>(4096 - (address + length) % 4096, out.size() - length);
    iovec local{out.data() + length, piece};
    iovec remote{reinterpret_cast<void*>(address + length), piece};
    if (::process_vm_readv(process, &local, 1, &remote, 1, 0) <= 0) break;
    const std::size_t end = out.find('\0', length);
    if (end < length + piece) {
      out.resize(end);
      return out;
    }
    length += piece;
  }
  out.resize(length);
  return out;
}

SystemCall read_call(pid_t process, const __ptrace_syscall_info& info) {
  SystemCall call;
  call.number = static_cast<long>(info.entry.nr);
  for (int i = 0; i < 6; ++i) call.arguments[i] = info.entry.args[i];
  switch (call.number) {
    case SYS_openat:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_fchmodat:
    case kFchmodat2:
      call.path = read_string(process, call.arguments[1]);
      break;
    case SYS_symlinkat:
      call.path = read_string(process, call.arguments[2]);
      break;
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_linkat:
      call.path = read_string(process, call.arguments[1]);
      call.other_path = read_string(process, call.arguments[3]);
      break;
    case SYS_open:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rmdir:
      call.path = read_string(process, call.arguments[0]);
      break;
    default:
      break;
  }
  return call;
}

struct Started {
  pid_t process;
  int output;
};

Started start(const Command& command, bool traced) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) fail("pipe2");
  const pid_t process = ::fork();
  if (process < 0) fail("fork");
  if (process == 0) {
    ::dup2(pipe[1], 1);
    ::dup2(pipe[1], 2);
    if (::chdir(command.directory.c_str()) != 0) ::_exit(126);
    std::vector<char*> arguments;
    for (const auto& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    for (const auto& variable : command.environment) environment.push_back(const_cast<char*>(variable.c_str()));
    environment.push_back(nullptr);
    if (traced) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(125);
      ::raise(SIGSTOP);
    }
    ::execve(arguments[0], arguments.data(), environment.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  return {process, pipe[0]};
}

std::string read_all(int fd) {
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got <= 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return out;
}

}  // namespace

bool can_trace() {
  const Command nothing{{"/bin/true"}, "/", {}};
  const Started started = start(nothing, true);
  int status = 0;
  const bool stopped = ::waitpid(started.process, &status, 0) == started.process && WIFSTOPPED(status);
  if (stopped) {
    ::ptrace(PTRACE_KILL, started.process, nullptr, nullptr);
    ::kill(started.process, SIGKILL);
    ::waitpid(started.process, &status, 0);
  }
  ::close(started.output);
  return stopped;
}

bool changes_something(const SystemCall& call) {
  switch (call.number) {
    case SYS_openat:
      return (call.arguments[2] & (O_CREAT | O_TRUNC)) != 0;
    case SYS_open:
      return (call.arguments[1] & (O_CREAT | O_TRUNC)) != 0;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fdatasync:
    case SYS_fsync:
    case SYS_unlinkat:
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_mkdirat:
    case SYS_mkdir:
    case SYS_symlinkat:
    case SYS_linkat:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_rename:
    case SYS_fchmodat:
    case kFchmodat2:
      return true;
    default:
      return false;
  }
}

TracedRun run_traced(const Command& command, const std::function<Verdict(const SystemCall&)>& before) {
  const Started started = start(command, true);
  TracedRun run;
  int status = 0;
  if (::waitpid(started.process, &status, 0) != started.process || !WIFSTOPPED(status)) fail("the traced child");
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  if (::ptrace(PTRACE_SETOPTIONS, started.process, nullptr, options) != 0) fail("PTRACE_SETOPTIONS");
  if (::ptrace(PTRACE_SYSCALL, started.process, nullptr, nullptr) != 0) fail("PTRACE_SYSCALL");
  bool executed = false;
  for (;;) {
    const pid_t thread = ::waitpid(-1, &status, __WALL);
    if (thread < 0) break;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread != started.process) continue;
      run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      break;
    }
    long signal = 0;
    const int stop = WSTOPSIG(status);
    if (stop == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) > 0 && executed &&
          info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        const SystemCall call = read_call(thread, info);
        ++run.calls[call.number];
        if (before(call) == Verdict::kill) ::kill(started.process, SIGKILL);
      }
    } else if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) {
      executed = true;
    } else if (status >> 16 == 0 && stop != SIGSTOP && stop != SIGTRAP) {
      signal = stop;  // its own
    }
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);  // a thread that was killed meanwhile is no failure
  }
  run.output = read_all(started.output);
  return run;
}

TracedRun run_plain(const Command& command) {
  const Started started = start(command, false);
  TracedRun run;
  run.output = read_all(started.output);
  int status = 0;
  if (::waitpid(started.process, &status, 0) == started.process && WIFEXITED(status)) {
    run.exit_code = WEXITSTATUS(status);
  }
  return run;
}

}  // namespace weft::testing
