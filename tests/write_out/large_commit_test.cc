// A commit of a large file killed before each of its system calls that change something: nothing is lost, nothing of it
// is in the way, and the same commit works afterwards.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/testing/temp_dir.h"
#include "traced.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::Command;
using testing::SystemCall;
using testing::Verdict;

constexpr std::size_t kBytes = 7u << 20;  ///< more than a frame takes: a pack
constexpr int kMaxPoints = 400;

class LargeCommit : public ::testing::Test {
 protected:
  fs::path run() const { return fs::path(dir_.path()) / "run"; }
  Command command(std::vector<std::string> words) const {
    words.insert(words.begin(), WEFT_PROGRAM);
    return {.arguments = std::move(words),
            .directory = run() / "w",
            .environment = {"HOME=" + dir_.path(), "WEFT_AUTHOR=Ann <ann@example.org>", "PATH=/usr/bin:/bin"}};
  }
  testing::TracedRun weft(std::vector<std::string> words) const {
    return testing::run_plain(command(std::move(words)));
  }
  static std::string noise(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string out(kBytes, '\0');
    for (std::size_t at = 0; at < out.size(); at += 8) {
      const std::uint64_t value = random();
      std::copy_n(reinterpret_cast<const char*>(&value), 8, out.data() + at);
    }
    return out;
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(run() / "w" / name, std::ios::binary | std::ios::trunc) << content;
  }
  std::string first_log_line() const { return weft({"log", "-n", "1", "--no-pager"}).output; }
  TempDir dir_;
};

TEST_F(LargeCommit, KilledAnywhereItLeavesWhatWasAndCanBeRepeated) {
  if (!testing::can_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  fs::create_directories(run() / "w");
  const std::string first = noise(1);
  std::string second = noise(2);
  second.replace(0, kBytes / 2, first, 0, kBytes / 2);
  ASSERT_EQ(weft({"init"}).exit_code, 0);
  write("large", first);
  ASSERT_EQ(weft({"commit", "-m", "first"}).exit_code, 0);
  write("large", second + noise(3));
  const fs::path kept = fs::path(dir_.path()) / "kept";
  ASSERT_TRUE(run().string().ends_with("/run"));
  fs::copy(run(), kept, fs::copy_options::recursive);

  int finished = 0;
  int killed = 0;
  int committed = 0;
  for (int point = 0, step = 2; point < kMaxPoints && finished == 0; point += step) {
    fs::remove_all(run());
    fs::copy(kept, run(), fs::copy_options::recursive);
    int seen = 0;
    const auto done = testing::run_traced(command({"commit", "-m", "second"}), [&](const SystemCall& call) {
      return testing::changes_something(call) && seen++ == point ? Verdict::kill : Verdict::proceed;
    });
    if (done.exit_code == 0) ++finished;
    if (done.exit_code == -1) ++killed;
    const auto status = weft({"status"});
    ASSERT_EQ(status.exit_code, 0) << "killed at " << point << ": " << status.output;
    const bool recorded = first_log_line().find("second") != std::string::npos;
    committed += recorded ? 1 : 0;
    const auto again = weft({"commit", "-m", "second"});
    ASSERT_EQ(again.exit_code, 0) << "killed at " << point << ": " << again.output;
    EXPECT_NE(first_log_line().find("second"), std::string::npos) << point;
    const auto cat = weft({"cat", "large"});
    EXPECT_TRUE(cat.output == second + noise(3)) << "killed at " << point;
    if (point % 5 == 0) {
      const auto verified = weft({"verify", "--deep"});
      EXPECT_EQ(verified.exit_code, 0) << "killed at " << point << ": " << verified.output;
    }
  }
  EXPECT_EQ(finished, 1) << "there are more calls than were tried";
  EXPECT_GT(killed, 10);
  EXPECT_GT(committed, 1) << "killed behind its flush, the commit is there";
}

/// A frame of a mebibyte is written by its own author: one write, one flush, and the zeros for those who come later go
/// with it.
TEST_F(LargeCommit, AMebibyteOfSmallFilesIsOneFlush) {
  if (!testing::can_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  fs::create_directories(run() / "w");
  ASSERT_EQ(weft({"init"}).exit_code, 0);
  const std::string content = noise(4);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 256; ++i) {
      write(std::to_string(round) + "-" + std::to_string(i), content.substr((i + 256u * round) * 4096, 4096));
    }
    const auto done = testing::run_traced(command({"commit", "-q", "-m", "files"}),
                                          [](const SystemCall&) { return Verdict::proceed; });
    ASSERT_EQ(done.exit_code, 0) << done.output;
    const auto count = [&](long number) {
      const auto found = done.calls.find(number);
      return found == done.calls.end() ? 0 : found->second;
    };
    EXPECT_EQ(count(SYS_fdatasync) + count(SYS_fsync), 1) << "round " << round;
    // The frame; zeros behind it, if it made the file grow; two files of the work tree, which nobody flushes.
    EXPECT_LE(count(SYS_pwritev) + count(SYS_pwrite64), 4) << "round " << round;
  }
}

}  // namespace
}  // namespace weft
