// Which part of a tree was asked for, by paths.
//
// Threading: immutable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::work {

class Scope {
 public:
  /// None: everything.
  explicit Scope(const std::vector<std::string>& paths);
  Scope(const Scope&) = delete;  // `topmost_` looks into `named_`
  Scope& operator=(const Scope&) = delete;
  enum class Place { outside, route, inside };  ///< route: above something asked for
  Place place(std::string_view path) const;
  /// `path` is one of the paths itself.
  bool names(std::string_view path) const;
  bool everything() const { return named_.empty(); }
  /// What is asked for at or below `path`, by name the next step to it, sorted; of a path on the route.
  std::vector<std::string_view> next_names(std::string_view path) const;
  /// The paths asked for at or below `path`, without those below another.
  std::vector<std::string_view> asked_below(std::string_view path) const;

 private:
  std::vector<std::string> named_;         ///< sorted by bytes
  std::vector<std::string_view> topmost_;  ///< in walk order, none below another
};

}  // namespace weft::work
