// undo and redo of one's own operations by many processes while all of them commit and land (FEATURES S10, CASES C4).
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kProcesses = 32;
constexpr int kRounds = 5;

struct Ran {
  int code = 0;
  std::string out, err;
};

class UndoProcesses : public ::testing::Test {
 protected:
  UndoProcesses() : env_(system_env()) { fs::create_directory(dir_ / "w"); }

  Ran run(const std::string& directory, const std::vector<std::string>& args) {
    Ran ran;
    Io io;
    io.out = [&](std::string_view text) { ran.out += text; };
    io.err = [&](std::string_view text) { ran.err += text; };
    io.read_stdin = [](std::uint64_t) -> Result<Bytes> { return Bytes(); };
    const repo::Context context{env_,
                                dir_ / directory,
                                {{"WEFT_AUTHOR", "Ann <ann@example.org>"}, {"PATH", "/usr/bin:/bin"}},
                                static_cast<std::uint32_t>(::geteuid())};
    ran.code = cli::run(io, context, args);
    return ran;
  }
  void write(const std::string& path, const std::string& content) {
    std::ofstream(dir_ / path, std::ios::binary) << content;
  }
  /// One process: commits, lands now and then, takes each back and puts it back. Says what went wrong; empty: nothing.
  std::string work(int process) {
    const std::string name = "p" + std::to_string(process);
    const std::string file = "own-" + std::to_string(process);
    const auto own = [&] { return run(name, {"cat", "@:" + file}).out; };
    std::string before = own();
    for (int round = 0; round < kRounds; ++round) {
      const std::string content = std::to_string(process) + " in round " + std::to_string(round) + "\n";
      write(name + "/" + file, content);
      const bool lands = round % 2 == 1;
      if (const auto ran = run(name, {"commit", "-m", name}); ran.code != 0) return "commit: " + ran.err;
      if (lands) {
        if (const auto ran = run(name, {"land"}); ran.code != 0) return "land: " + ran.err;
      }
      if (const auto ran = run(name, {"undo"}); ran.code != 0) return "undo: " + ran.err;
      if (!lands && own() != before) return "undo left " + own();
      if (const auto ran = run(name, {"redo"}); ran.code != 0) return "redo: " + ran.err;
      if (own() != content) return "redo left " + own();
      before = content;
    }
    const auto ran = run(name, {"land"});
    return ran.code == 0 ? "" : "last land: " + ran.err;
  }

  TempDir dir_;
  Env env_;
};

TEST_F(UndoProcesses, EachTakesBackItsOwnWhileAllCommit) {  // UN-1
  ASSERT_EQ(run("w", {"init"}).code, 0);
  for (int process = 0; process < kProcesses; ++process) write("w/own-" + std::to_string(process), "at first\n");
  ASSERT_EQ(run("w", {"commit", "-m", "Begin"}).code, 0);
  for (int process = 0; process < kProcesses; ++process) {
    const auto added = run("w", {"workspace", "add", "p" + std::to_string(process)});
    ASSERT_EQ(added.code, 0) << added.err;
  }
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string problem = work(process);
      if (!problem.empty()) write("problem-" + std::to_string(process), problem);
      ::_exit(problem.empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[static_cast<std::size_t>(process)], &status, 0),
              children[static_cast<std::size_t>(process)]);
    std::ifstream problem(dir_ / ("problem-" + std::to_string(process)));
    EXPECT_EQ(status, 0) << process << ": " << std::string{std::istreambuf_iterator<char>(problem), {}};
  }
  // Everybody's last word is on main: nobody's was taken back by another.
  for (int process = 0; process < kProcesses; ++process) {
    EXPECT_EQ(run("w", {"cat", "main:own-" + std::to_string(process)}).out,
              std::to_string(process) + " in round " + std::to_string(kRounds - 1) + "\n");
  }
  EXPECT_EQ(run("w", {"verify", "--deep"}).code, 0);
}

}  // namespace
}  // namespace weft::cli
