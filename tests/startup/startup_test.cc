// What it costs to start weft. A process per commit is how weft is used, so whatever happens before main() and on the
// way to the command is part of every commit: a library that reads its configuration, a table filled by a constructor,
// an option parser that builds all commands. Each costs little and nobody notices; so they are counted here.
//
// The counts are of the real binary, `weft --version`: system calls through ptrace, page faults through wait4. They do
// not depend on the machine's speed or load. The bounds are a little above what was counted when they were set; lower
// them when start-up gets cheaper, and think before raising them.
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

extern char** environ;  // NOLINT: POSIX's

namespace weft {
namespace {

constexpr long kMaxSystemCalls = 26;  ///< counted: 23, the exec and the exit among them
constexpr long kMaxPageFaults = 72;   ///< counted: 50 to 56, by how it was optimised
constexpr int kMaxStops = 100'000;    ///< so that a tracee gone astray ends the test

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

struct Trace {
  bool permitted = true;
  int status = -1;
  std::vector<std::uint64_t> calls;  ///< numbers of the system calls, from the exec on
  std::vector<std::string> opened;   ///< paths given to open and openat
};

std::string string_at(pid_t child, std::uint64_t address) {
  std::array<char, 256> bytes{};
  iovec local{bytes.data(), bytes.size() - 1};
  iovec remote{reinterpret_cast<void*>(address), bytes.size() - 1};  // NOLINT: an address in the other process
  if (::process_vm_readv(child, &local, 1, &remote, 1, 0) <= 0) return "?";
  return bytes.data();
}

/// Runs a program to its end, stopping it at each system call.
Trace trace(std::vector<std::string> words) {
  Trace result;
  const std::vector<char*> argv = pointers(words);
  constexpr int kNotPermitted = 125;
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    if (null < 0 || ::dup2(null, STDOUT_FILENO) < 0) ::_exit(126);
    ::close(null);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNotPermitted);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  EXPECT_GT(child, 0);
  int status = 0;
  // The first stop is the successful exec.
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
    result.permitted = !(WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted);
    return result;
  }
  result.calls.push_back(SYS_execve);
  EXPECT_EQ(::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
  int signal = 0;
  for (int stop = 0; stop < kMaxStops; ++stop) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, signal) != 0) break;
    signal = 0;
    if (::waitpid(child, &status, 0) != child) break;
    if (!WIFSTOPPED(status)) {
      result.status = status;
      return result;
    }
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status);  // its own; hand it on
      continue;
    }
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) <= 0) break;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    result.calls.push_back(info.entry.nr);
    if (info.entry.nr == SYS_openat) result.opened.push_back(string_at(child, info.entry.args[1]));
#ifdef SYS_open
    if (info.entry.nr == SYS_open) result.opened.push_back(string_at(child, info.entry.args[0]));
#endif
  }
  ADD_FAILURE() << "tracing " << words[0] << " broke off: " << std::strerror(errno);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return result;
}

/// Page faults of a whole run. Spawned, not forked: between fork and exec a child would copy pages of this process, and
/// those faults count as its own.
long page_faults(std::vector<std::string> words) {
  const std::vector<char*> argv = pointers(words);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int spawned = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(spawned, 0) << std::strerror(spawned);
  if (spawned != 0) return -1;
  int status = 0;
  rusage usage{};
  EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return usage.ru_minflt + usage.ru_majflt;
}

std::string listed(const std::vector<std::uint64_t>& calls) {
  std::string out;
  for (const auto call : calls) out += std::to_string(call) + " ";
  return out + "(`ausyscall NUMBER`, or strace, names them)";
}

class Startup : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WEFT_PROGRAM_IS_STATIC) GTEST_SKIP() << "this build's weft is not static";
  }
};

TEST_F(Startup, TheBinaryIsStatic) {
  std::ifstream file(WEFT_PROGRAM, std::ios::binary);
  Elf64_Ehdr header{};
  ASSERT_TRUE(file.read(reinterpret_cast<char*>(&header), sizeof(header)));
  ASSERT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  ASSERT_EQ(header.e_ident[EI_CLASS], ELFCLASS64);
  ASSERT_GT(header.e_phnum, 0);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    ASSERT_TRUE(file.read(reinterpret_cast<char*>(&part), sizeof(part)));
    EXPECT_NE(part.p_type, PT_INTERP) << "a dynamic linker would run first";
    EXPECT_NE(part.p_type, PT_DYNAMIC) << "something is linked dynamically";
  }
}

TEST_F(Startup, SystemCalls) {
  const Trace traced = trace({WEFT_PROGRAM, "--version"});
  if (!traced.permitted) GTEST_SKIP() << "ptrace is not permitted here";
  ASSERT_TRUE(WIFEXITED(traced.status)) << traced.status;
  EXPECT_EQ(WEXITSTATUS(traced.status), 0);
  RecordProperty("system_calls", static_cast<int>(traced.calls.size()));
  EXPECT_LE(static_cast<long>(traced.calls.size()), kMaxSystemCalls) << listed(traced.calls);
  // No locale, no configuration of a library, no /proc, no password file.
  EXPECT_EQ(traced.opened, std::vector<std::string>{"/dev/null"});
  for (const auto call : {SYS_clone, SYS_clone3, SYS_socket, SYS_futex}) {
    EXPECT_EQ(std::count(traced.calls.begin(), traced.calls.end(), static_cast<std::uint64_t>(call)), 0) << call;
  }
}

TEST_F(Startup, PageFaults) {
  (void)page_faults({WEFT_PROGRAM, "--version"});  // from now on it is in the page cache
  long least = page_faults({WEFT_PROGRAM, "--version"});
  for (int i = 0; i < 4; ++i) least = std::min(least, page_faults({WEFT_PROGRAM, "--version"}));
  RecordProperty("page_faults", static_cast<int>(least));
  EXPECT_GT(least, 0);
  EXPECT_LE(least, kMaxPageFaults);
}

// WK4: what is as it was is not listed again, each file is looked at all the same.
TEST(CleanStatus, ListsTheTopAlone) {
  const TempDir directory;
  const std::string tree = directory / "w";
  constexpr int kDirectories = 8, kFiles = 4;
  for (int d = 0; d < kDirectories; ++d) {
    const std::string at = tree + "/d" + std::to_string(d);
    std::filesystem::create_directories(at);
    for (int f = 0; f < kFiles; ++f) std::ofstream(at + "/f" + std::to_string(f)) << d << f;
  }
  ::setenv("HOME", (directory / "home").c_str(), 1);
  ::setenv("WEFT_AUTHOR", "Ann <ann@example.org>", 1);
  const auto run = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{WEFT_PROGRAM, "-C", tree};
    all.insert(all.end(), words.begin(), words.end());
    const Trace traced = trace(all);
    EXPECT_TRUE(!traced.permitted || (WIFEXITED(traced.status) && WEXITSTATUS(traced.status) == 0)) << words[0];
    return traced;
  };
  if (!run({"init", "-q"}).permitted) GTEST_SKIP() << "ptrace is not permitted here";
  run({"commit", "-q", "-m", "All"});
  const auto count = [&](long call) {
    const Trace traced = run({"status"});
    return std::count(traced.calls.begin(), traced.calls.end(), static_cast<std::uint64_t>(call));
  };
  // Times stop being racy, names are noted by one look and used by the next.
  ::usleep(50'000);
  const auto first = count(SYS_getdents64);
  EXPECT_GE(first, 2 * (kDirectories + 1));
  run({"status"});
  EXPECT_EQ(count(SYS_getdents64), 2);
  EXPECT_GE(count(SYS_newfstatat), kDirectories * kFiles);
  std::ofstream(tree + "/d3/new") << "new";
  EXPECT_EQ(count(SYS_getdents64), 4);
}

// The counting itself: what another program does is seen.
TEST(StartupHarness, SeesCallsOpensAndFaults) {
  const TempDir directory;
  const std::string path = directory / "seen";
  std::ofstream(path) << std::string(100'000, 'x');
  const Trace traced = trace({"/bin/cat", path});
  if (!traced.permitted) GTEST_SKIP() << "ptrace is not permitted here";
  ASSERT_TRUE(WIFEXITED(traced.status));
  EXPECT_EQ(WEXITSTATUS(traced.status), 0);
  EXPECT_EQ(std::count(traced.opened.begin(), traced.opened.end(), path), 1);
  EXPECT_GT(std::count(traced.calls.begin(), traced.calls.end(), std::uint64_t{SYS_read}), 0);
  EXPECT_GT(static_cast<long>(traced.calls.size()), kMaxSystemCalls) << "a dynamic program passes the bound";
  EXPECT_GT(page_faults({"/bin/cat", path}), kMaxPageFaults) << "a dynamic program passes the bound";
}

}  // namespace
}  // namespace weft
