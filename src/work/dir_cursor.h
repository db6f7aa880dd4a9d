// Directories of a working tree by path, opened component by component below the top and never through a link (H1).
//
// Walks go through a tree in order, so the chain from the top to the last directory asked for stays open, at most
// kMaxOpenDirectories of it (CASES C27: trees may be deeper than a process may have files open).
// Threading: one thread; each of several walkers has its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host_dir.h"

namespace weft::work {

class DirCursor {
 public:
  static constexpr std::size_t kMaxOpenDirectories = 64;

  explicit DirCursor(const HostDir& top) : top_(top) {}

  /// The directory at `path` ("" is the top), good until the next call. See is_missing() and is_no_directory() for what
  /// a failure means.
  Result<const HostDir*> at(std::string_view path);
  /// Something at or below `path` was removed or replaced.
  void forget(std::string_view path);

 private:
  struct Level {
    std::string name;
    std::optional<HostDir> directory;  ///< closed where the chain is longer than may stay open
  };
  Result<const HostDir*> open_level(std::size_t level);

  const HostDir& top_;
  std::vector<Level> chain_;
};

/// There is nothing of that name.
bool is_missing(const Error& error);
/// A component is there and is no directory (a link to one is none).
bool is_no_directory(const Error& error);

std::string_view parent_of(std::string_view path);  ///< "" at the top
std::string_view name_of(std::string_view path);
std::string child_path(std::string_view directory, std::string_view name);
/// At `top` or below it; everything is below "".
bool is_at_or_below(std::string_view path, std::string_view top);

}  // namespace weft::work
