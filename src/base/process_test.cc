#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/testing/temp_dir.h"

namespace weft {
namespace {

using Stream = ProcessOptions::Stream;

ProcessOutput run(std::vector<std::string> argv, ByteView input = "") {
  const auto output = run_process({.argv = std::move(argv)}, input, 1 << 24);
  EXPECT_TRUE(output) << output.error().message;
  return output ? *output : ProcessOutput{};
}

TEST(Process, PassesArgumentsAsTheyAre) {  // C1
  const auto output = run({"printf", "%s|", "a b", "$HOME", "*", "", "\xff;'\""});
  EXPECT_TRUE(output.status.ok());
  EXPECT_EQ(output.out, "a b|$HOME|*||\xff;'\"|");
  const auto refused = Process::start({.argv = {"true", std::string("a\0b", 3)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid);
}

TEST(Process, ReportsCodesAndSignals) {
  EXPECT_EQ(run({"sh", "-c", "exit 3"}).status.text(), "exited with code 3");
  const ExitStatus killed = run({"sh", "-c", "kill -KILL $$"}).status;
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_FALSE(killed.ok());
  EXPECT_EQ(killed.text(), "was killed by signal 9 (Killed)");
}

TEST(Process, WhatCannotRunIsAnErrorOfStart) {
  const auto missing = Process::start({.argv = {"weft-no-such-program"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().message, "cannot run weft-no-such-program: No such file or directory");
  const TempDir dir;
  const auto nowhere = Process::start({.argv = {"true"}, .directory = dir / "missing"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "cannot run true: No such file or directory (in " + dir / "missing)");
}

TEST(Process, LargeInputAndOutputDoNotDeadlock) {
  Bytes input;
  for (int i = 0; i < 300'000; ++i) input += std::to_string(i) + "\n";
  const auto output = run({"sh", "-c", "tee /dev/stderr"}, input);
  EXPECT_EQ(output.out.size(), input.size());
  EXPECT_TRUE(output.out == input);
  EXPECT_TRUE(output.err == input);
}

TEST(Process, AChildThatIgnoresItsInputIsFine) {  // C4
  const auto output = run({"sh", "-c", "exec <&-; echo done; exit 4"}, Bytes(10'000'000, 'x'));
  EXPECT_EQ(output.out, "done\n");
  EXPECT_EQ(output.status.code, 4);
}

TEST(Process, TooMuchOutputIsStopped) {
  const auto output = run_process({.argv = {"yes"}}, "", 100'000);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, Code::peer);
  EXPECT_EQ(output.error().message, "yes wrote more than 100000 bytes and was stopped");
}

TEST(Process, TalksBothWays) {
  auto process = Process::start({.argv = {"cat"}, .in = Stream::pipe, .out = Stream::pipe}).value();
  for (const std::string word : {"one", "two"}) {
    ASSERT_TRUE(process.write(word));
    std::string back(3, ' ');
    ASSERT_TRUE(process.read_exactly(back));
    EXPECT_EQ(back, word);
  }
  process.close_input();
  std::string back(3, ' ');
  const auto ended = process.read_exactly(back);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "cat stopped in the middle of its output");
  EXPECT_TRUE(process.wait().value().ok());
}

TEST(Process, WritingToAChildThatIsGoneIsAnError) {  // C4
  auto process =
      Process::start({.argv = {"sh", "-c", "exec <&-; echo; exec sleep 1000"}, .in = Stream::pipe, .out = Stream::pipe})
          .value();
  char byte;
  EXPECT_EQ(process.read({&byte, 1}).value(), 1u);  // its end is closed now
  const auto written = process.write("x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().sys_errno, EPIPE);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "the signal was left behind";
}

TEST(Process, GetsEnvironmentAndDirectory) {
  const TempDir dir;
  ::setenv("WEFT_TEST_REMOVED", "1", 1);
  const std::pair<std::string, std::optional<std::string>> changes[] = {{"WEFT_TEST_SET", "a=b"},
                                                                        {"WEFT_TEST_REMOVED", std::nullopt}};
  const auto output =
      run_process({.argv = {"sh", "-c", "echo $WEFT_TEST_SET,${WEFT_TEST_REMOVED-gone},${PATH:+path}; pwd -P"},
                   .environment = environment_with(changes),
                   .directory = dir.path()},
                  "", 1000);
  ASSERT_TRUE(output);
  char* const real = ::realpath(dir.path().c_str(), nullptr);
  EXPECT_EQ(output->out, "a=b,gone,path\n" + std::string(real) + "\n");
  ::free(real);
  ::unsetenv("WEFT_TEST_REMOVED");
}

TEST(Process, InheritsNothingElse) {                 // C2
  const int leaked = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto pipe_before = ::signal(SIGPIPE, SIG_IGN);
  // ls itself opens one more descriptor, for the directory. Of the masks the last digits count: the C library ignores
  // its two internal signals, above them, in every child.
  const auto output =
      run({"sh", "-c", "ls /proc/self/fd; grep -E 'SigBlk|SigIgn' /proc/self/status | grep -o '.......$'"});
  ::signal(SIGPIPE, pipe_before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(leaked);
  EXPECT_EQ(output.out, "0\n1\n2\n3\n0000000\n0000000\n");
}

TEST(Process, AnAbandonedChildIsKilledAndReaped) {  // C3
  pid_t pid = -1;
  {
    const auto process = Process::start({.argv = {"sleep", "1000"}}).value();
    pid = process.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Process, SignalsReachIt) {
  auto process = Process::start({.argv = {"sleep", "1000"}}).value();
  process.send_signal(SIGTERM);
  EXPECT_EQ(process.wait().value().signal, SIGTERM);
  process.send_signal(SIGTERM);  // nobody
}

TEST(Process, KnowsItsOwnProgram) { EXPECT_EQ(base_name(own_program_path().value()), "test_base"); }

}  // namespace
}  // namespace weft
