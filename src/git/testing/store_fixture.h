// For tests: a store with a workspace beside a git repository, imports and exports between them.
//
// Header only. Threading: one thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "git/export.h"
#include "git/import.h"
#include "git/testing/git_fixture.h"
#include "repo/commit.h"
#include "repo/switch.h"

namespace weft::git::testing {

class StoreFixture : public ::testing::Test {
 protected:
  StoreFixture() {
    environment_ = {{"WEFT_AUTHOR", "Ada <a@x.y>"}, {"HOME", directory_.path()}};
    std::filesystem::create_directories(workspace());
  }
  GitRepository& git() { return git_; }
  std::string workspace() const { return directory_.path() + "/workspace"; }
  std::string target() const { return directory_.path() + "/target.git"; }
  repo::Context context(const std::string& directory) {
    return repo::Context{
        .env = env_, .directory = directory, .environment = environment_, .uid = static_cast<std::uint32_t>(geteuid())};
  }
  repo::Repository init(const std::string& directory) {
    auto made = repo::Repository::init(context(directory), directory, "main");
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return *std::move(made);
  }
  ImportReport imported(repo::Repository& repository, const std::string& path) {
    ImportOptions options;
    options.path = path;
    options.helper = helper_path();
    auto report = import_repository(repository, options);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report ? *std::move(report) : ImportReport{};
  }
  /// `problem`: what refs_problem() is expected to find.
  ExportReport exported(repo::Repository& repository, const std::string& path,
                        const std::function<void(ExportOptions&)>& change = {},
                        std::optional<Code> problem = std::nullopt) {
    ExportOptions options;
    options.path = path;
    options.helper = helper_path();
    if (change) change(options);
    auto report = export_repository(repository, options);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    if (!report) return {};
    const auto stayed = refs_problem(*report);
    EXPECT_EQ(stayed ? std::optional(stayed->code) : std::nullopt, problem) << (stayed ? stayed->message : "");
    return *std::move(report);
  }
  static std::multiset<ExportAction> actions(const ExportReport& report) {
    std::multiset<ExportAction> result;
    for (const auto& ref : report.refs) result.insert(ref.action);
    return result;
  }
  void write(const std::string& name, ByteView content) const {
    const std::filesystem::path file = std::filesystem::path(workspace()) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  void commit(repo::Repository& repository, const std::string& message) {
    repo::CommitRequest request;
    request.message = message;
    const auto made = repo::commit(repository, request);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void two_commits() {
    git_.write("a", "one\n");
    git_.write("d/b", "two\n");
    git_.commit("first");
    git_.write("a", "more\n");
    git_.commit("second");
  }

  /// An existing repository.
  GitRepository opened(const std::string& path) {
    return GitRepository(directory_.path(), std::filesystem::path(path).filename().string(), {"--version"});
  }
  static std::string refs_of(GitRepository repository) {
    return repository.git({"for-each-ref", "--format=%(refname) %(objectname)"});
  }
  static std::set<std::string> objects_of(GitRepository repository) {
    std::istringstream lines(repository.git({"rev-list", "--objects", "--all", "--no-object-names"}));
    std::set<std::string> result;
    for (std::string line; std::getline(lines, line);) result.insert(line);
    return result;
  }
  static void fsck_strict(const GitRepository& repository) {
    const auto fsck = repository.run({"fsck", "--strict", "--full", "--no-dangling"});
    EXPECT_TRUE(fsck.status.ok()) << fsck.err;
    EXPECT_EQ(fsck.err + fsck.out, "");
  }

  TemporaryDirectory directory_;
  GitRepository git_{directory_.path(), "git"};
  Env env_ = system_env();
  std::map<std::string, std::string> environment_;
};

}  // namespace weft::git::testing
