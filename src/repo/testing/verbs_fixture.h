// A store with one workspace, `w`, in a fresh directory, and the verbs that most tests need.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"
#include "repo/commit.h"
#include "repo/files.h"
#include "repo/history.h"
#include "repo/land.h"
#include "repo/recording.h"
#include "repo/restore.h"
#include "repo/switch.h"
#include "repo/undo.h"
#include "repo/workspace.h"

namespace weft::repo::testing {

class VerbsTest : public ::testing::Test {
 protected:
  VerbsTest() : env_{posix_file_system(), clock_, system_random()} {
    std::filesystem::create_directory(dir_ / "w");
    const auto made = Repository::init(context("w"), ".", "main");
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }
  Context context(const std::string& directory) {
    return {
        env_, dir_ / directory, {{"WEFT_AUTHOR", "Ann <ann@example.org>"}}, static_cast<std::uint32_t>(::geteuid())};
  }
  Repository open(const std::string& directory = "w") {
    auto repository = Repository::open_only(context(directory));
    EXPECT_TRUE(repository.has_value()) << repository.error().message;
    return *std::move(repository);
  }
  void write(const std::string& path, const std::string& content) {
    const std::filesystem::path whole = dir_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << content;
  }
  std::string read(const std::string& path) {
    std::ifstream file(dir_ / path, std::ios::binary);
    if (!file) return "(none)";
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool exists(const std::string& path) { return std::filesystem::exists(std::filesystem::symlink_status(dir_ / path)); }

  CommitResult committed(const std::string& message, const std::string& directory = "w") {
    clock_.advance(1'000'000'000);
    auto repository = open(directory);
    auto result = commit(repository, {message + "\n", {}, std::nullopt, std::nullopt, false});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *std::move(result) : CommitResult{};
  }
  UndoResult undone(const std::string& directory = "w", bool redo = false,
                    std::optional<std::string> operation = std::nullopt) {
    auto repository = open(directory);
    auto result = undo(repository, {std::move(operation), redo, std::nullopt, {}});
    EXPECT_TRUE(result.has_value()) << result.error().message << " " << result.error().hint;
    return result ? *std::move(result) : UndoResult{};
  }
  std::optional<Version> ref(const std::string& name) {
    const auto value = open().store().snapshot()->ref(name).value();
    return value ? std::optional(value->version) : std::nullopt;
  }
  void set_ref(const std::string& name, const Version& version) {
    auto repository = open();
    auto transaction = repository.store().begin().value();
    store::RefEdit edit;
    edit.name = name;
    edit.after = store::RefValue{version, {}};
    edit.keep_extra = true;
    transaction.edit_ref(edit);
    transaction.set_operation({"ref set " + name, "Ann <ann@example.org>", "default", "", std::nullopt});
    ASSERT_TRUE(transaction.commit().has_value());
  }
  void add(const std::string& name) {
    auto repository = open();
    const auto added = add_workspace(repository, {name, std::nullopt, std::nullopt, std::nullopt, {}});
    ASSERT_TRUE(added.has_value()) << added.error().message;
  }
  work::Status status(const std::string& directory = "w") {
    auto repository = open(directory);
    const auto& location = *repository.location();
    const auto record = read_files_record(env_.fs, repository.files_path(location.name));
    const auto snapshot = repository.store().snapshot().value();
    const auto workspace = repository.workspace_in(snapshot).value();
    const auto state = files_state(snapshot, workspace, record).value();
    const auto files = WorkspaceFiles::open(repository, location.name, location.root).value();
    return work::status(files.tree(), snapshot, tree_of(snapshot, state.at).value(), files.scan_options()).value();
  }

  TempDir dir_;
  FakeClock clock_;
  Env env_;
};

}  // namespace weft::repo::testing
