// A store on a network file system: injected by what the file system says of itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/testing/fake_env.h"
#include "repo/commit.h"
#include "repo/doctor.h"
#include "repo/history.h"
#include "support.h"

namespace weft::environment {
namespace {

namespace stdfs = std::filesystem;

/// The real files, on whatever the test says.
class ElsewhereFileSystem final : public FileSystem {
 public:
  FileSystemType type;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    if (mode != OpenMode::read) ++writes;
    return posix_file_system().open(path, mode);
  }
  Result<FileStatus> status(const std::string& path) override { return posix_file_system().status(path); }
  Result<void> make_directory(const std::string& path) override {
    ++writes;
    return posix_file_system().make_directory(path);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return posix_file_system().list(path); }
  Result<void> rename(const std::string& from, const std::string& to) override {
    ++writes;
    return posix_file_system().rename(from, to);
  }
  Result<void> unlink(const std::string& path) override { return posix_file_system().unlink(path); }
  Result<void> remove_directory(const std::string& path) override { return posix_file_system().remove_directory(path); }
  Result<void> sync_directory(const std::string& path) override { return posix_file_system().sync_directory(path); }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return posix_file_system().free_bytes(path); }
  Result<FileSystemType> type_of(const std::string&) override { return type; }

  int writes = 0;
};

class Network : public ::testing::Test {
 protected:
  Network() : env_{files_, clock_, system_random()} {
    stdfs::create_directory(dir_ / "w");
    stdfs::create_directories(dir_ / "home/.config/weft");
  }
  repo::Context context() {
    return {env_,
            dir_ / "w",
            {{"WEFT_AUTHOR", "Ann <ann@example.org>"}, {"HOME", dir_ / "home"}},
            static_cast<std::uint32_t>(::geteuid())};
  }
  Result<repo::CommitResult> commit() {
    WEFT_TRY(auto repository, repo::Repository::open_only(context()));
    repo::CommitRequest request;
    request.message = "Change\n";
    return repo::commit(repository, request);
  }
  const repo::DoctorFinding* finding(const repo::Diagnosis& diagnosis) {
    for (const auto& each : diagnosis.findings) {
      if (each.code == "file-system") return &each;
    }
    return nullptr;
  }

  TempDir dir_;
  ElsewhereFileSystem files_;
  FakeClock clock_{std::int64_t{1'780'000'000} * 1'000'000'000, 1'000};
  Env env_;
};

const FileSystemType kNfs{.magic = 0x6969, .name = "nfs"};
const FileSystemType kExt4{.magic = 0xEF53, .name = "ext4"};

TEST_F(Network, NoStoreIsMadeThere) {
  files_.type = kNfs;
  const auto made = repo::Repository::init(context(), ".", "main");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::refused);
  EXPECT_EQ(exit_code(made.error().code), 3);
  EXPECT_TRUE(has(made.error().message, "network file system (nfs)")) << made.error().message;
  EXPECT_TRUE(has(made.error().hint, "safe.network")) << made.error().hint;
  EXPECT_FALSE(stdfs::exists(dir_ / "w/.weft"));
}

TEST_F(Network, OneThatIsThereIsReadAndNotWritten) {
  files_.type = kExt4;
  ASSERT_TRUE(repo::Repository::init(context(), ".", "main"));
  put_file(dir_ / "w/f", "one\n");
  ASSERT_TRUE(commit());
  for (const auto& type :
       {kNfs, FileSystemType{.magic = 0xFF534D42, .name = "cifs"},
        FileSystemType{.magic = 0x65735546, .name = "fuse.sshfs"}, FileSystemType{.magic = 0x01021997, .name = "9p"}}) {
    SCOPED_TRACE(type.name);
    files_.type = type;
    files_.writes = 0;
    {
      const auto repository = repo::Repository::open(context());
      ASSERT_TRUE(repository) << repository.error().message;
      const auto snapshot = repository->store().snapshot();
      ASSERT_TRUE(snapshot);
      EXPECT_TRUE(snapshot->ref("main").value().has_value());
      const auto report = repository->store().verify(true, {});
      ASSERT_TRUE(report);
      EXPECT_TRUE(report->clean());
    }
    EXPECT_EQ(files_.writes, 0);
    put_file(dir_ / "w/f", type.name);
    const auto refused = commit();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::refused);
    EXPECT_TRUE(has(refused.error().message, type.name)) << refused.error().message;
    EXPECT_TRUE(has(refused.error().hint, "it can be read as it is")) << refused.error().hint;
    const auto repaired = store::Store::repair(env_, dir_ / "w/.weft", {}, repo::store_hooks(context()));
    ASSERT_FALSE(repaired);
    EXPECT_EQ(repaired.error().code, Code::refused);
    const auto diagnosis = repo::diagnose(context(), false);
    ASSERT_NE(finding(diagnosis), nullptr);
    EXPECT_EQ(finding(diagnosis)->severity, repo::Severity::problem);
    EXPECT_TRUE(has(finding(diagnosis)->message, type.name));
  }
}

TEST_F(Network, UnlessItsUserSaysThatNobodyElseUsesIt) {
  files_.type = kNfs;
  put_file(dir_ / "home/.config/weft/config.toml", "[safe]\nnetwork = [\"" + (dir_ / "w") + "\"]\n");
  const auto made = repo::Repository::init(context(), ".", "main");
  ASSERT_TRUE(made) << made.error().message;
  put_file(dir_ / "w/f", "one\n");
  const auto committed = commit();
  ASSERT_TRUE(committed) << committed.error().message;
  const auto diagnosis = repo::diagnose(context(), false);
  ASSERT_NE(finding(diagnosis), nullptr);
  EXPECT_EQ(finding(diagnosis)->severity, repo::Severity::note);
  // The store cannot say so of itself.
  stdfs::remove(dir_ / "home/.config/weft/config.toml");
  put_file(dir_ / "w/.weft/config.toml", "[safe]\nnetwork = [\"*\"]\n");
  put_file(dir_ / "w/f", "two\n");
  EXPECT_EQ(commit().error().code, Code::refused);
}

TEST_F(Network, WhatNobodyKnowsIsTakenForLocalAndNamed) {
  files_.type = {.magic = 0x1badface, .name = "0x1badface"};
  ASSERT_TRUE(repo::Repository::init(context(), ".", "main"));
  put_file(dir_ / "w/f", "one\n");
  ASSERT_TRUE(commit());
  const auto diagnosis = repo::diagnose(context(), false);
  ASSERT_NE(finding(diagnosis), nullptr);
  EXPECT_EQ(finding(diagnosis)->severity, repo::Severity::note);
  EXPECT_TRUE(has(finding(diagnosis)->message, "0x1badface"));
}

// A clock that jumps back, stands still, or is far ahead decides nothing: order is causal, undo takes the last.
TEST_F(Network, ClocksThatJumpDecideNothing) {
  files_.type = kExt4;
  ASSERT_TRUE(repo::Repository::init(context(), ".", "main"));
  constexpr std::int64_t kNow = std::int64_t{1'780'000'000} * 1'000'000'000;
  constexpr std::int64_t kYear = std::int64_t{365} * 86'400 * 1'000'000'000;
  std::vector<std::string> written;
  for (const std::int64_t at : {kNow, kNow - 20 * kYear, kNow - 20 * kYear, kNow + 40 * kYear, kNow, kNow - kYear}) {
    clock_.set(at);
    const std::string content = std::to_string(written.size()) + "\n";
    put_file(dir_ / "w/f", content + std::string(written.size(), 'x'));
    ASSERT_TRUE(commit()) << written.size();
    written.push_back(content);
  }
  clock_.set(kNow);
  const auto repository = repo::Repository::open(context());
  ASSERT_TRUE(repository);
  const auto snapshot = repository->store().snapshot();
  ASSERT_TRUE(snapshot);
  // The chain of first parents is the order they were made in.
  ASSERT_TRUE(repository->workspace());
  ChangeId at = repository->workspace()->head.changes.front();
  std::vector<std::int64_t> times;
  for (;;) {
    const auto change = snapshot->change(at);
    ASSERT_TRUE(change);
    times.push_back(change->author.time.unix_ns);
    if (change->parents.empty()) break;
    at = change->parents.front();
  }
  EXPECT_EQ(times.size(), written.size());
  EXPECT_LT(times.front(), kNow);
  std::vector<std::string> labels;
  ASSERT_TRUE(snapshot->operations([&](const store::Operation& operation) {
    labels.push_back(operation.label);
    return true;
  }));
  EXPECT_EQ(labels.size(), written.size() + 1);
  EXPECT_TRUE(repository->store().verify(true, {})->clean());
  const auto diagnosis = repo::diagnose(context(), false);
  bool future = false;
  for (const auto& each : diagnosis.findings) future = future || each.code == "future";
  EXPECT_TRUE(future) << "an operation of the future is named";
}

}  // namespace
}  // namespace weft::environment
