// Commits by real processes: killed in the editor (CASES C1), many at once in one checkout (C2), beside readers (C4).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "cli/command.h"
#include "repo/history.h"
#include "repo/undo.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

class CommitProcesses : public ::testing::Test {
 protected:
  CommitProcesses() : env_(system_env()) {
    fs::create_directory(dir_ / "w");
    EXPECT_EQ(run({"init"}), 0);
  }
  repo::Context context(const std::string& editor = "") {
    return {env_,
            dir_ / "w",
            {{"WEFT_AUTHOR", "Ann <ann@example.org>"}, {"EDITOR", editor}, {"PATH", "/usr/bin:/bin"}},
            static_cast<std::uint32_t>(::geteuid())};
  }
  int run(const std::vector<std::string>& args, const std::string& editor = "") {
    Io io;
    io.out = [](std::string_view) {};
    io.err = [this](std::string_view text) { errors_ += text; };
    io.read_stdin = [](std::uint64_t) -> Result<Bytes> { return Bytes(); };
    return cli::run(io, context(editor), args);
  }
  /// A child in a process group of its own.
  template <typename Work>
  pid_t start(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      ::_exit(work());
    }
    ::setpgid(child, child);
    return child;
  }
  static int exit_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void write(const std::string& path, const std::string& content) {
    const fs::path whole = (dir_ / "w") + "/" + path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << content;
  }
  std::vector<object::ChangeSummary> history() {
    auto repository = repo::Repository::open(context());
    EXPECT_TRUE(repository.has_value());
    const auto snapshot = repository->store().snapshot().value();
    const repo::SnapshotHistory source(snapshot);
    repo::HistoryWalk walk(source, repo::WalkOrder::causal);
    EXPECT_TRUE(walk.from(repository->workspace()->head).has_value());
    std::vector<object::ChangeSummary> out;
    while (const auto step = walk.next().value()) out.push_back({step->parents, step->lamport, step->tree});
    return out;
  }

  TempDir dir_;
  Env env_;
  std::string errors_;
};

TEST_F(CommitProcesses, C1KilledInTheEditorLeavesNothingInTheWay) {
  write("a", "1");
  const std::string mark = dir_ / "opened";
  const pid_t child = start([&] { return run({"commit"}, "touch '" + mark + "'; sleep 60; true"); });
  for (int i = 0; i < 2000 && !fs::exists(mark); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(fs::exists(mark));
  ASSERT_EQ(::kill(-child, SIGKILL), 0);
  EXPECT_EQ(exit_of(child), -1);
  EXPECT_TRUE(history().empty());
  EXPECT_EQ(run({"commit", "-m", "After"}), 0) << errors_;
  EXPECT_EQ(history().size(), 1U);
  EXPECT_EQ(run({"verify", "--deep"}), 0) << errors_;
}

TEST_F(CommitProcesses, InterruptedWhileItReadsItSaysThatNothingWasRecorded) {
  write("a", "1");
  write("large", "");
  fs::resize_file((dir_ / "w") + "/large", std::uint64_t{4} << 30);
  const std::string said = dir_ / "said";
  const pid_t child = start([&] {
    const int fd = ::open(said.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(fd, STDERR_FILENO);
    return run({"commit", "-m", "Long", "--max-new-file-size", "0"});
  });
  // Somewhere in the large file: reading it takes seconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ASSERT_EQ(::kill(child, SIGINT), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);  // 130 for a shell
  std::ifstream file(said);
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(file), {}}), "weft: interrupted: nothing was recorded\n");
  EXPECT_TRUE(history().empty());
  fs::remove((dir_ / "w") + "/large");
  EXPECT_EQ(run({"commit", "-m", "After"}), 0) << errors_;
  EXPECT_EQ(run({"verify", "--deep"}), 0) << errors_;
}

TEST_F(CommitProcesses, EditorGivesTheMessage) {
  write("a", "1");
  EXPECT_EQ(run({"commit"}, "printf '# no\\n' >"), 3);  // empty without its comments
  EXPECT_EQ(run({"commit"}, "false"), 3);
  EXPECT_TRUE(history().empty());
  EXPECT_EQ(run({"commit"}, "printf 'From the editor\\n# no\\n' >"), 0) << errors_;
  EXPECT_EQ(history().size(), 1U);
  for (const auto& entry : fs::directory_iterator((dir_ / "w") + "/.weft/workspaces")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("message-")) << entry.path();
  }
}

TEST_F(CommitProcesses, C2EightShellsTwentyCommitsEach) {
  constexpr int kShells = 8;
  constexpr int kCommits = 20;
  std::vector<pid_t> shells;
  for (int shell = 0; shell < kShells; ++shell) {
    shells.push_back(start([&, shell] {
      for (int i = 0; i < kCommits; ++i) {
        write("s" + std::to_string(shell), std::to_string(i));
        if (run({"commit", "--allow-empty", "-m", "Shell " + std::to_string(shell)}) != 0) return 1;
      }
      return 0;
    }));
  }
  for (const pid_t shell : shells) EXPECT_EQ(exit_of(shell), 0);
  EXPECT_EQ(history().size(), static_cast<std::size_t>(kShells * kCommits));  // every one reachable from the head
  EXPECT_EQ(run({"status", "--exit-code"}), 0) << errors_;
  EXPECT_EQ(run({"verify", "--deep"}), 0) << errors_;
}

TEST_F(CommitProcesses, C4ReadersBesideCommitsMakeNothing) {
  write("a", "0");
  const pid_t reader = start([&] {
    for (int i = 0; i < 60; ++i) {
      if (run({"log"}) != 0 || run({"status"}) != 0) return 1;
    }
    return 0;
  });
  constexpr int kCommits = 100;
  for (int i = 1; i <= kCommits; ++i) {
    write("a", std::to_string(i));
    ASSERT_EQ(run({"commit", "--allow-empty", "-m", "Commit"}), 0) << errors_;
  }
  EXPECT_EQ(exit_of(reader), 0);
  EXPECT_EQ(history().size(), static_cast<std::size_t>(kCommits));
  EXPECT_EQ(run({"undo"}), 0) << errors_;
  EXPECT_EQ(history().size(), static_cast<std::size_t>(kCommits - 1));
}

}  // namespace
}  // namespace weft::cli
