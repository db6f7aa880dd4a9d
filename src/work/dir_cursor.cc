#include "work/dir_cursor.h"

#include <cerrno>

namespace weft::work {

Result<const HostDir*> DirCursor::at(std::string_view path) {
  std::size_t depth = 0;
  bool shared = true;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (shared && depth < chain_.size() && chain_[depth].name == name) {
      ++depth;
      continue;
    }
    shared = false;
    chain_.resize(depth);
    chain_.push_back({std::string(name), std::nullopt});
    ++depth;
    auto opened = open_level(depth - 1);
    if (!opened) {
      chain_.pop_back();
      return opened;
    }
  }
  chain_.resize(depth);
  if (depth == 0) return &top_;
  return open_level(depth - 1);
}

Result<const HostDir*> DirCursor::open_level(std::size_t level) {
  if (!chain_[level].directory) {
    // From the nearest one above that is open; without recursion, for the depths at which it matters.
    std::size_t from = level;
    while (from > 0 && !chain_[from - 1].directory) --from;
    const HostDir* const parent = from == 0 ? &top_ : &*chain_[from - 1].directory;
    WEFT_TRY(HostDir reached, parent->open_dir(chain_[from].name));
    for (std::size_t i = from + 1; i <= level; ++i) {
      WEFT_TRY(HostDir next, reached.open_dir(chain_[i].name));
      // What a walk upwards will ask for next stays open.
      if (level - i < kMaxOpenDirectories - 1) chain_[i - 1].directory.emplace(std::move(reached));
      reached = std::move(next);
    }
    chain_[level].directory.emplace(std::move(reached));
    if (level >= kMaxOpenDirectories) chain_[level - kMaxOpenDirectories].directory.reset();
  }
  return &*chain_[level].directory;
}

void DirCursor::forget(std::string_view path) {
  std::size_t depth = 0;
  while (!path.empty() && depth < chain_.size()) {
    const std::size_t slash = path.find('/');
    if (chain_[depth].name != path.substr(0, slash)) return;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    ++depth;
  }
  if (path.empty() && depth > 0) chain_.resize(depth - 1);
}

bool is_missing(const Error& error) { return error.sys_errno == ENOENT; }
bool is_no_directory(const Error& error) { return error.sys_errno == ENOTDIR || error.sys_errno == ELOOP; }

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string child_path(std::string_view directory, std::string_view name) {
  std::string path;
  path.reserve(directory.size() + 1 + name.size());
  path += directory;
  if (!directory.empty()) path += '/';
  path += name;
  return path;
}

bool is_at_or_below(std::string_view path, std::string_view top) {
  return top.empty() || (path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/'));
}

}  // namespace weft::work
