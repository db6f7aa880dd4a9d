#include "work/scope.h"

#include <algorithm>

#include "work/dir_cursor.h"
#include "work/directory_state.h"

namespace weft::work {

Scope::Scope(const std::vector<std::string>& paths) : named_(paths) {
  std::sort(named_.begin(), named_.end());
  named_.erase(std::unique(named_.begin(), named_.end()), named_.end());
  std::vector<std::string_view> ordered(named_.begin(), named_.end());
  std::sort(ordered.begin(), ordered.end(), path_less);
  // What is below another stands behind it, before anything else.
  for (const std::string_view path : ordered) {
    if (topmost_.empty() || !is_at_or_below(path, topmost_.back())) topmost_.push_back(path);
  }
}

Scope::Place Scope::place(std::string_view path) const {
  if (everything()) return Place::inside;
  const auto behind = std::upper_bound(topmost_.begin(), topmost_.end(), path, path_less);
  if (behind != topmost_.begin() && is_at_or_below(path, *(behind - 1))) return Place::inside;
  return behind != topmost_.end() && is_at_or_below(*behind, path) ? Place::route : Place::outside;
}

bool Scope::names(std::string_view path) const { return std::binary_search(named_.begin(), named_.end(), path); }

std::vector<std::string_view> Scope::asked_below(std::string_view path) const {
  std::vector<std::string_view> out;
  for (auto asked = std::lower_bound(topmost_.begin(), topmost_.end(), path, path_less);
       asked != topmost_.end() && is_at_or_below(*asked, path); ++asked) {
    out.push_back(*asked);
  }
  return out;
}

std::vector<std::string_view> Scope::next_names(std::string_view path) const {
  std::vector<std::string_view> out;
  for (std::string_view asked : asked_below(path)) {
    if (asked.size() == path.size()) continue;
    asked.remove_prefix(path.empty() ? 0 : path.size() + 1);
    const std::string_view name = asked.substr(0, asked.find('/'));
    if (out.empty() || out.back() != name) out.push_back(name);
  }
  return out;
}

}  // namespace weft::work
