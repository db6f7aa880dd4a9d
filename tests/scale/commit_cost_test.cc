// What a commit of one edit in a large tree costs, counted: bytes and calls that go to the store through the file
// system, and how much of them depends on the tree's size. Time is not measured: it says nothing on a busy machine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "repo/commit.h"

namespace weft::repo {
namespace {

namespace stdfs = std::filesystem;

struct Counts {
  std::uint64_t written = 0;
  std::uint64_t calls = 0;  ///< everything but reads of what is mapped
};

class CountingFile final : public File {
 public:
  CountingFile(std::unique_ptr<File> file, Counts& counts) : file_(std::move(file)), counts_(counts) {}
  Result<void> read_at(std::uint64_t offset, std::span<char> out) const override {
    ++counts_.calls;
    return file_->read_at(offset, out);
  }
  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    ++counts_.calls;
    return file_->read_some_at(offset, out);
  }
  Result<void> write_at(std::uint64_t offset, std::span<const ByteView> parts) override {
    ++counts_.calls;
    for (const ByteView part : parts) counts_.written += part.size();
    return file_->write_at(offset, parts);
  }
  Result<void> sync() override {
    ++counts_.calls;
    return file_->sync();
  }
  Result<std::uint64_t> size() const override {
    ++counts_.calls;
    return file_->size();
  }
  Result<void> set_size(std::uint64_t size) override {
    ++counts_.calls;
    return file_->set_size(size);
  }
  Result<std::shared_ptr<Mapping>> map(std::uint64_t length) const override {
    ++counts_.calls;
    return file_->map(length);
  }

 private:
  std::unique_ptr<File> file_;
  Counts& counts_;
};

class CountingFileSystem final : public FileSystem {
 public:
  Counts counts;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    ++counts.calls;
    WEFT_TRY(auto file, posix_file_system().open(path, mode));
    return std::unique_ptr<File>(std::make_unique<CountingFile>(std::move(file), counts));
  }
  Result<FileStatus> status(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().status(path);
  }
  Result<void> make_directory(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().make_directory(path);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().list(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    ++counts.calls;
    return posix_file_system().rename(from, to);
  }
  Result<void> unlink(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().unlink(path);
  }
  Result<void> remove_directory(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().remove_directory(path);
  }
  Result<void> sync_directory(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().sync_directory(path);
  }
  Result<std::uint64_t> free_bytes(const std::string& path) override {
    ++counts.calls;
    return posix_file_system().free_bytes(path);
  }
};

class CommitCostTest : public ::testing::Test {
 protected:
  CommitCostTest() : env_{files_, system_clock(), system_random()} {
    stdfs::create_directory(dir_ / "w");
    const auto made = Repository::init(context(), ".", "main");
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }
  Context context() {
    return {env_, dir_ / "w", {{"WEFT_AUTHOR", "Ann <ann@example.org>"}}, static_cast<std::uint32_t>(::geteuid())};
  }
  std::string at(const std::string& path) const { return dir_ / "w" + ("/" + path); }
  void write(const std::string& path, const std::string& content) {
    stdfs::create_directories(stdfs::path(at(path)).parent_path());
    std::ofstream(at(path), std::ios::binary) << content;
  }
  void write_tree(int directories, int files_each) {
    for (int d = 0; d < directories; ++d) {
      for (int f = 0; f < files_each; ++f) {
        write("d" + std::to_string(d) + "/f" + std::to_string(f), "file " + std::to_string(d * 1000 + f) + "\n");
      }
    }
  }
  CommitResult committed(const std::string& message) {
    auto repository = Repository::open_only(context());
    EXPECT_TRUE(repository.has_value()) << repository.error().message;
    CommitRequest request;
    request.message = message + "\n";
    auto result = commit(*repository, request);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : CommitResult{};
  }
  /// Of one edit, when nothing is racy any more and the log has room.
  Counts cost_of_an_edit(int directories, int files_each) {
    write_tree(directories, files_each);
    committed("all");
    ::usleep(50'000);
    write("d1/f1", "settled\n");
    committed("settle");
    ::usleep(50'000);
    write("d1/f2", "edited\n");
    files_.counts = {};
    const CommitResult result = committed("one edit");
    EXPECT_EQ(result.status.entries.size(), 1u);
    return files_.counts;
  }

  TempDir dir_;
  CountingFileSystem files_;
  Env env_;
};

TEST_F(CommitCostTest, OneEditAmongTwentyThousandFiles) {
  const Counts large = cost_of_an_edit(200, 100);
  EXPECT_LT(large.written, 64u << 10);
  EXPECT_LT(large.calls, 120u);
}

TEST_F(CommitCostTest, OneEditAmongFew) {
  const Counts small = cost_of_an_edit(4, 5);
  EXPECT_LT(small.written, 32u << 10);
  EXPECT_LT(small.calls, 120u);
}

// Interrupted anywhere, the store is as it was, and the repeat records everything.
TEST_F(CommitCostTest, AFirstCommitThatIsInterruptedIsRepeated) {
  write_tree(60, 40);
  write("large", std::string(3u << 20, 'x'));
  int interrupted = 0;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, STDOUT_FILENO);
      ::dup2(null, STDERR_FILENO);
      ::setenv("WEFT_AUTHOR", "Ann <ann@example.org>", 1);
      ::execl(WEFT_PROGRAM, WEFT_PROGRAM, "-C", at("").c_str(), "commit", "-m", "all", nullptr);
      ::_exit(127);
    }
    ::usleep(static_cast<useconds_t>(2000 + 5000 * round));
    ::kill(child, SIGINT);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) ++interrupted;
  }
  EXPECT_GT(interrupted, 0);
  committed("all");
  const auto repository = Repository::open_only(context());
  ASSERT_TRUE(repository.has_value());
  const auto report = repository->store().verify(true, {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->clean());
  const auto result = committed("again");
  EXPECT_FALSE(result.change.has_value());
}

}  // namespace
}  // namespace weft::repo
