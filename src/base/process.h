// Child processes: weft's helpers (weft-git), the user's editor and pager.
//
// Invariants:
//   C1  No shell: argv goes to execve as it is. argv[0] without a slash is looked up in PATH.
//   C2  The child gets descriptors 0, 1 and 2 and no other, default signal handlers and an empty signal mask.
//   C3  A Process that goes away without wait() kills its child and reaps it: no zombies, no strays.
//   C4  Writing to a child that stopped reading is an error (EPIPE), never a SIGPIPE that ends weft.
// Started by posix_spawn (which shares memory until the exec: cheap from a large process); a program that cannot be
// executed is reported by start(), not by a strange exit code.
// Threading: one thread per Process, but read() and write() of one Process may be on two.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/host_dir.h"
#include "base/result.h"

namespace weft {

struct ExitStatus {
  int code = 0;    ///< when it exited
  int signal = 0;  ///< when a signal ended it; 0 otherwise
  bool ok() const { return code == 0 && signal == 0; }
  /// "exited with code 3", "was killed by signal 9 (Killed)"
  std::string text() const;
};

struct ProcessOptions {
  enum class Stream : std::uint8_t {
    inherit,  ///< ours
    pipe,     ///< to us
    null,     ///< /dev/null
  };

  std::vector<std::string> argv;
  /// "NAME=value" each; absent: our environment.
  std::optional<std::vector<std::string>> environment{};
  /// Working directory; empty: ours. A relative argv[0] with a slash is relative to it.
  std::string directory{};
  Stream in = Stream::null;
  Stream out = Stream::inherit;
  Stream err = Stream::inherit;
};

class Process {
 public:
  static Result<Process> start(const ProcessOptions& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  /// All of `data` to its standard input (a pipe).
  Result<void> write(ByteView data);
  /// It sees the end of its input.
  void close_input() { in_.reset(); }
  /// Up to out.size() bytes of its standard output (a pipe); 0 at the end.
  Result<std::size_t> read(std::span<char> out);
  /// Exactly out.size() bytes; Code::peer when its output ends before.
  Result<void> read_exactly(std::span<char> out);

  /// Our ends of the pipes, for poll(); empty when not a pipe.
  const Fd& in() const { return in_; }
  const Fd& out() const { return out_; }
  const Fd& err() const { return err_; }
  pid_t pid() const { return pid_; }
  /// argv[0], for messages.
  const std::string& program() const { return program_; }

  /// No effect once it was waited for.
  void send_signal(int signal);
  /// Closes its input and waits for its end. Once.
  Result<ExitStatus> wait();

 private:
  Process() = default;
  void abandon();

  std::string program_;
  pid_t pid_ = -1;
  Fd in_, out_, err_;
};

struct ProcessOutput {
  ExitStatus status;
  Bytes out;
  Bytes err;
};

/// Runs it to its end: feeds `input`, collects output and errors (options' streams are ignored), all at once, so that
/// neither side waits for the other. More than `max_output` bytes of either: it is killed, Code::peer.
Result<ProcessOutput> run_process(ProcessOptions options, ByteView input, std::size_t max_output);

/// Our environment with some variables set, or (nullopt) removed.
std::vector<std::string> environment_with(std::span<const std::pair<std::string, std::optional<std::string>>> changes);

/// The path of the running program, to find helpers beside it.
Result<std::string> own_program_path();

}  // namespace weft
