// A store with workspaces on a real file system, driven by the verbs in this process, and pictures of what they hold:
// what every test of this folder stands on.
//
// A picture is a plain map of paths. Two trees are equal if their pictures are; to_be_recorded() says, by the rules of
// docs/CLI.md alone, which picture a commit must give.
// Threading: one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/testing/temp_dir.h"
#include "repo/commit.h"
#include "repo/files.h"
#include "repo/repository.h"
#include "repo/restore.h"
#include "repo/switch.h"
#include "repo/undo.h"
#include "repo/workspace.h"

namespace weft::worktree {

struct Thing {
  enum Kind : std::uint8_t { directory, file, link, other };
  Kind kind = directory;
  bool executable = false;  ///< of a file
  std::string content;      ///< of a file; the target of a link
  bool repository = false;  ///< a directory on disk with `.git` or `.weft` in it

  /// As versions see it.
  bool same(const Thing& that) const {
    return kind == that.kind && executable == that.executable && content == that.content;
  }
};
using Picture = std::map<std::string, Thing>;

bool same_picture(const Picture& a, const Picture& b);
/// The first differences, for messages.
std::string picture_difference(const Picture& a, const Picture& b);
/// Everything at or below `path`.
Picture part_of(const Picture& picture, const std::string& path);
std::string parent_path_of(const std::string& path);
bool at_or_below(const std::string& path, const std::string& top);

/// What is recorded of `disk` over `head`. Untracked names that end in ".ign" are ignored.
Picture to_be_recorded(const Picture& head, const Picture& disk);

/// "" when `status` is exactly the difference between `before` and `after`, else what is wrong with it.
std::string status_problem(const work::Status& status, const Picture& before, const Picture& after);

class World {
 public:
  World();

  repo::Context context(const std::string& workspace);
  /// Directory of a workspace.
  std::string root(const std::string& workspace) const { return dir_ / workspace; }
  std::string at(const std::string& workspace, const std::string& path) const { return root(workspace) + "/" + path; }
  Result<repo::Repository> open(const std::string& workspace) {
    return repo::Repository::open_only(context(workspace));
  }

  Result<repo::CommitResult> commit(const std::string& workspace, std::vector<std::string> paths = {},
                                    const std::string& message = "Change");
  Result<repo::SwitchResult> switch_to(const std::string& workspace, const std::string& target);
  Result<repo::FilesEdited> restore(const std::string& workspace, std::vector<std::string> paths,
                                    std::optional<std::string> from = std::nullopt);
  Result<repo::FilesEdited> remove(const std::string& workspace, std::vector<std::string> paths);
  Result<repo::FilesEdited> move(const std::string& workspace, const std::string& from, const std::string& to);
  Result<repo::UndoResult> undo(const std::string& workspace, bool redo = false);
  Result<work::Status> status(const std::string& workspace, bool list_ignored = false);

  object::Version head(const std::string& workspace);
  Picture picture(const object::Version& version);
  Picture disk(const std::string& workspace) const;
  /// Contents of all files and links in every version a ref leads to, as far as `known` has not seen them.
  void learn_contents(std::set<std::string>& known);

  TempDir& dir() { return dir_; }
  Env& env() { return env_; }

 private:
  TempDir dir_;
  Env env_;
  std::set<object::Version> learned_;
};

/// The value, or the end of the test program with the error's message.
template <typename T>
T must(Result<T> result) {
  if (!result) check_failed((result.error().message + " " + result.error().hint).c_str(), __FILE__, __LINE__);
  return *std::move(result);
}

}  // namespace weft::worktree
