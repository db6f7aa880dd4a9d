#include "base/process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/posix_calls.h"

extern char** environ;

namespace weft {

namespace {

constexpr std::size_t kReadChunk = 64 * 1024;

struct Pipe {
  Fd read;
  Fd write;
};

/// Keeps descriptors 0 to 2 free for the child: if ours are closed, a pipe could land there and be overwritten.
Result<Fd> above_standard(Fd fd) {
  if (fd.get() > STDERR_FILENO) return fd;
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved) return system_error(errno, "make a pipe", "");
  return moved;
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return system_error(errno, "make a pipe", "");
  Fd read(fds[0]);
  Fd write(fds[1]);
  WEFT_TRY(read, above_standard(std::move(read)));
  WEFT_TRY(write, above_standard(std::move(write)));
  return Pipe{std::move(read), std::move(write)};
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// posix_spawn's two option objects. The calls below fail only for lack of memory.
class SpawnSetup {
 public:
  SpawnSetup() {
    WEFT_CHECK(::posix_spawn_file_actions_init(&actions_) == 0);
    WEFT_CHECK(::posix_spawnattr_init(&attributes_) == 0);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  void stream(ProcessOptions::Stream stream, int number, const Fd& pipe_end) {
    int result = 0;
    switch (stream) {
      case ProcessOptions::Stream::inherit:
        break;
      case ProcessOptions::Stream::pipe:
        result = ::posix_spawn_file_actions_adddup2(&actions_, pipe_end.get(), number);
        break;
      case ProcessOptions::Stream::null: {
        const int flags = number == STDIN_FILENO ? O_RDONLY : O_WRONLY;
        result = ::posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", flags, 0);
      }
    }
    WEFT_CHECK(result == 0);
  }
  void directory(const std::string& path) {
    WEFT_CHECK(::posix_spawn_file_actions_addchdir_np(&actions_, path.c_str()) == 0);
  }
  // C2
  void finish() {
    WEFT_CHECK(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1) == 0);
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGKILL);
    sigdelset(&set, SIGSTOP);
    WEFT_CHECK(::posix_spawnattr_setsigdefault(&attributes_, &set) == 0);
    sigemptyset(&set);
    WEFT_CHECK(::posix_spawnattr_setsigmask(&attributes_, &set) == 0);
    WEFT_CHECK(::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) == 0);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Holds SIGPIPE back from this thread, and swallows the one a write may have raised. // C4
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const int saved = errno;
    if (!was_pending_) {
      const timespec now{};
      retry_eintr([&] { return ::sigtimedwait(&sigpipe_, nullptr, &now); });
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved;
  }

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

Error gone(const std::string& program, std::string_view what) {
  return make_error(Code::peer, quoted(program) + " " + std::string(what));
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal == 0) return "exited with code " + std::to_string(code);
  const char* const description = ::sigdescr_np(signal);
  return "was killed by signal " + std::to_string(signal) +
         (description != nullptr ? " (" + std::string(description) + ")" : "");
}

Result<Process> Process::start(const ProcessOptions& options) {
  WEFT_CHECK(!options.argv.empty());
  for (const std::string& word : options.argv) {
    if (word.find('\0') != std::string::npos) {
      return make_error(Code::invalid, "an argument of " + quoted(options.argv[0]) + " contains a NUL byte");
    }
  }
  Process process;
  process.program_ = options.argv[0];
  SpawnSetup setup;
  Pipe in, out, err;
  if (options.in == ProcessOptions::Stream::pipe) {
    WEFT_TRY(in, make_pipe());
  }
  if (options.out == ProcessOptions::Stream::pipe) {
    WEFT_TRY(out, make_pipe());
  }
  if (options.err == ProcessOptions::Stream::pipe) {
    WEFT_TRY(err, make_pipe());
  }
  setup.stream(options.in, STDIN_FILENO, in.read);
  setup.stream(options.out, STDOUT_FILENO, out.write);
  setup.stream(options.err, STDERR_FILENO, err.write);
  if (!options.directory.empty()) setup.directory(options.directory);
  setup.finish();
  const std::vector<char*> argv = pointers(options.argv);
  const std::vector<char*> environment = options.environment ? pointers(*options.environment) : std::vector<char*>{};
  const int errnum = ::posix_spawnp(&process.pid_, argv[0], setup.actions(), setup.attributes(), argv.data(),
                                    options.environment ? environment.data() : environ);
  if (errnum != 0) {
    process.pid_ = -1;
    Error error = system_error(errnum, "run", process.program_);
    if (!options.directory.empty()) error.message += " (in " + quoted(options.directory) + ")";
    return error;
  }
  process.in_ = std::move(in.write);
  process.out_ = std::move(out.read);
  process.err_ = std::move(err.read);
  return process;
}

Process::Process(Process&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    abandon();
    program_ = std::move(other.program_);
    pid_ = std::exchange(other.pid_, -1);
    in_ = std::move(other.in_);
    out_ = std::move(other.out_);
    err_ = std::move(other.err_);
  }
  return *this;
}

Process::~Process() { abandon(); }

// C3
void Process::abandon() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  (void)wait();
}

Result<void> Process::write(ByteView data) {
  const NoSigpipe guard;
  return write_all(in_, data, program_);
}

Result<std::size_t> Process::read(std::span<char> out) { return read_some(out_, out, program_); }

Result<void> Process::read_exactly(std::span<char> out) {
  while (!out.empty()) {
    WEFT_TRY(const std::size_t got, read(out));
    if (got == 0) return gone(program_, "stopped in the middle of its output");
    out = out.subspan(got);
  }
  return {};
}

void Process::send_signal(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

Result<ExitStatus> Process::wait() {
  WEFT_CHECK(pid_ > 0);
  in_.reset();
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  if (retry_eintr([&] { return ::waitpid(pid, &status, 0); }) < 0) {
    return system_error(errno, "wait for the end of", program_);
  }
  if (WIFSIGNALED(status)) return ExitStatus{.signal = WTERMSIG(status)};
  return ExitStatus{.code = WEXITSTATUS(status)};
}

Result<ProcessOutput> run_process(ProcessOptions options, ByteView input, std::size_t max_output) {
  options.in = options.out = options.err = ProcessOptions::Stream::pipe;
  WEFT_TRY(Process process, Process::start(options));
  const NoSigpipe guard;
  // Without this a write of more than the pipe takes would wait for a child that waits for us to read.
  if (::fcntl(process.in().get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error(errno, "set up a pipe to", process.program());
  ProcessOutput output;
  const std::array<std::pair<const Fd*, Bytes*>, 2> readers = {
      {{&process.out(), &output.out}, {&process.err(), &output.err}}};
  std::array<bool, 2> open = {true, true};
  std::string chunk(kReadChunk, '\0');
  if (input.empty()) process.close_input();
  while (open[0] || open[1]) {
    std::array<pollfd, 3> polled = {{{.fd = process.in().get(), .events = POLLOUT, .revents = 0},
                                     {.fd = open[0] ? process.out().get() : -1, .events = POLLIN, .revents = 0},
                                     {.fd = open[1] ? process.err().get() : -1, .events = POLLIN, .revents = 0}}};
    if (retry_eintr([&] { return ::poll(polled.data(), polled.size(), -1); }) < 0) {
      return system_error(errno, "wait for", process.program());
    }
    if (polled[0].revents != 0) {
      const ssize_t written = retry_eintr([&] { return ::write(process.in().get(), input.data(), input.size()); });
      if (written > 0) input.remove_prefix(static_cast<std::size_t>(written));
      // A child may end without having read everything; what it says about that counts.
      if (input.empty() || (written < 0 && errno != EAGAIN)) process.close_input();
    }
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      WEFT_TRY(const std::size_t got, read_some(*readers[i].first, chunk, process.program()));
      open[i] = got > 0;
      if (readers[i].second->size() + got > max_output) {
        return gone(process.program(), "wrote more than " + std::to_string(max_output) + " bytes and was stopped");
      }
      readers[i].second->append(chunk, 0, got);
    }
  }
  WEFT_TRY(output.status, process.wait());
  return output;
}

std::vector<std::string> environment_with(std::span<const std::pair<std::string, std::optional<std::string>>> changes) {
  std::vector<std::string> result;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool changed =
        std::any_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == name; });
    if (!changed) result.emplace_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value) result.push_back(name + "=" + *value);
  }
  return result;
}

Result<std::string> own_program_path() {
  std::string path(PATH_MAX, '\0');
  const ssize_t got = ::readlink("/proc/self/exe", path.data(), path.size());
  if (got < 0) return system_error(errno, "read the link", "/proc/self/exe");
  path.resize(static_cast<std::size_t>(got));
  return path;
}

}  // namespace weft
