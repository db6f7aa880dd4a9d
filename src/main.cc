// weft: hands the process's arguments, environment, directory and standard streams to cli::run.
//
// Output is buffered and written when the buffer is full, before anything goes to stderr, before reading input and at
// the end. When the reader of stdout goes away the process ends quietly, with the status a death by SIGPIPE would have
// given: what a command did is durable before it says so, so nothing is lost with the words.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bus_error.h"
#include "base/host_dir.h"
#include "cli/command.h"

extern char** environ;  // NOLINT: POSIX's

namespace {

using weft::Result;

constexpr std::size_t kBufferBytes = 64 << 10;
constexpr int kBrokenPipeStatus = 128 + SIGPIPE;

bool write_fd(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

class Output {
 public:
  void write(std::string_view text) {
    if (buffer_.size() + text.size() >= kBufferBytes) flush();
    if (text.size() >= kBufferBytes) {
      put(text);
    } else {
      buffer_ += text;
    }
  }
  void flush() {
    put(buffer_);
    buffer_.clear();
  }
  int problem() const { return problem_; }

 private:
  void put(std::string_view text) {
    if (text.empty() || problem_ != 0 || write_fd(STDOUT_FILENO, text)) return;
    if (errno == EPIPE) _exit(kBrokenPipeStatus);
    problem_ = errno;
  }
  std::string buffer_;
  int problem_ = 0;
};

/// Descriptors 0 to 2 that the parent closed would be taken by the first files we open, which our words would go to.
void occupy_standard_descriptors() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
  }
}

Result<std::string> working_directory() {
  std::string path(4096, '\0');
  while (::getcwd(path.data(), path.size()) == nullptr) {
    if (errno != ERANGE) return weft::system_error(errno, "find", "the working directory");
    path.resize(path.size() * 2);
  }
  path.resize(path.find('\0'));
  return path;
}

Result<weft::Bytes> read_stdin(std::uint64_t max_bytes) {
  const weft::Fd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!fd) return weft::system_error(errno, "read", "standard input");
  weft::Bytes all;
  std::string piece(64 << 10, '\0');
  for (;;) {
    WEFT_TRY(const std::size_t got, weft::read_some(fd, piece, "standard input"));
    if (got == 0) return all;
    if (all.size() + got > max_bytes) {
      return weft::make_error(weft::Code::invalid,
                              "standard input holds more than " + std::to_string(max_bytes) + " bytes");
    }
    all.append(piece, 0, got);
  }
}

bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]).starts_with("--json")) return true;
  }
  return false;
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f`: writing fails with EFBIG, which can be told and recovered from
  weft::explain_bus_errors(asks_for_json(argc, argv) ? weft::BusErrorForm::json : weft::BusErrorForm::text,
                           weft::exit_code(weft::Code::damaged));

  Output output;
  weft::cli::Io io;
  io.out = [&](std::string_view text) { output.write(text); };
  io.err = [&](std::string_view text) {
    output.flush();
    (void)write_fd(STDERR_FILENO, text);  // nobody is left to be told
  };
  io.read_stdin = [&](std::uint64_t max_bytes) {
    output.flush();
    return read_stdin(max_bytes);
  };
  io.in_is_terminal = ::isatty(STDIN_FILENO) == 1;
  io.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  io.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  if (io.out_is_terminal) io.terminal_columns = terminal_columns();

  auto directory = working_directory();
  if (!directory) {
    io.err("weft: " + directory.error().message +
           "\nhint: it was removed, or may not be looked at; go to another directory first\n");
    return weft::exit_code(directory.error().code);
  }
  weft::Env env = weft::system_env();
  weft::repo::Context context{env, *std::move(directory), {}, ::geteuid()};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) context.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }

  const std::vector<std::string> args(argc > 0 ? argv + 1 : argv, argv + argc);
  int code = weft::cli::run(io, context, args);
  output.flush();
  if (output.problem() != 0) {
    const auto error = weft::system_error(output.problem(), "write", "standard output");
    // A script must not take half an answer for a whole one; a person must not do again what was done.
    io.err("weft: " + error.message + (code == 0 ? "; the command itself succeeded, only its answer is lost\n" : "\n"));
    if (code == 0) code = weft::exit_code(error.code);
  }
  return code;
}
