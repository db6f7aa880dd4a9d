// What the tests of this folder stand on: writers of a real store in processes of their own, the program itself in odd
// surroundings, and children that end in ways that are looked at from outside.
//
// Places (mounts, users) are those of tests/worktree/places.h.
// Threading: one thread; children are forked and never return into gtest.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../worktree/places.h"
#include "base/env.h"
#include "base/testing/temp_dir.h"
#include "store/store.h"

namespace weft::environment {

using worktree::in_child;
using worktree::kNotHere;
using worktree::weft;

#define SKIP_IF_NOT_HERE(code, why) \
  if ((code) == ::weft::environment::kNotHere) GTEST_SKIP() << "SKIPPED LOUDLY: " << (why)

bool has(std::string_view text, std::string_view part);
void put_file(const std::string& path, const std::string& content);
std::string get_file(const std::string& path);
/// "" when the program ended with this code, else what it did.
std::string unlike(const ProcessOutput& output, int code);
/// One line more, whole, also when several processes do it.
void note(const std::string& path, const std::string& line);
std::vector<std::string> noted(const std::string& path, const std::string& prefix = {});
void pause_ms(long ms);

/// The store directory of a fresh store, with small segments.
std::string make_store(const std::string& directory, std::uint64_t segment_bytes = 1u << 20);
/// One transaction: an operation of this label that moves `own/PREFIX` (the label up to its last '-').
Result<void> commit_once(const store::Store& store, const std::string& label, std::size_t extra_bytes = 0);
/// Commits NAME-0 .. NAME-(count-1), each noted in `notes` once it was acknowledged.
Result<void> commit_many(const store::Store& store, const std::string& name, int count, const std::string& notes);
/// Operation labels, newest first.
std::vector<std::string> labels_of(const store::Store& store);
/// "" when the store opens undamaged, holds every noted label exactly once, and verify --deep finds nothing.
std::string problem_with(const std::string& directory, const std::string& notes);

/// The real control block that does something at the n-th pass of a named point.
store::StoreHooks acting_at(const std::string& point, int pass, std::function<void()> act);

/// Children that are killed when the test ends, however it ends.
class Children {
 public:
  ~Children();
  /// Runs `body` in a forked child, which exits with what it returns.
  pid_t start(const std::function<int()>& body);
  /// Its wait status; one that takes longer is killed and gives -1.
  int end_of(pid_t child, int timeout_s = 120);
  /// Waits until it is stopped; false when it ended instead or takes too long.
  bool is_stopped(pid_t child, int timeout_s = 60);

 private:
  std::set<pid_t> children_;
};

/// A copy of the program that every user may run, and a directory every user may make theirs.
class OpenPlace {
 public:
  OpenPlace();
  const TempDir& dir() const { return dir_; }
  std::string program() const { return dir_ / "bin/weft"; }
  ProcessOutput run(const std::string& directory, std::vector<std::string> arguments,
                    std::vector<std::string> environment = {}) const;

 private:
  TempDir dir_;
};
/// In a child of root: this user and group from here on, with this mask. False where that is not allowed.
bool become(unsigned user, unsigned group, unsigned mask);

}  // namespace weft::environment
