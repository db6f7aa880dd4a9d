// Version: an antichain of changes (usually one), sorted, at most 64. Empty means "before the first change": the empty
// tree.
#pragma once

#include <vector>

#include "base/ids.h"

namespace weft::object {

inline constexpr std::size_t kMaxVersionChanges = 64;

struct Version {
  std::vector<ChangeId> changes;  ///< sorted, unique

  Version() = default;
  explicit Version(const ChangeId& change) : changes{change} {}
  static Version of(std::vector<ChangeId> ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    Version version;
    version.changes = std::move(ids);
    return version;
  }
  bool empty() const { return changes.empty(); }
  bool operator==(const Version&) const = default;
  auto operator<=>(const Version&) const = default;
  /// `A+B` in full hex; "none" when empty.
  std::string text() const {
    if (changes.empty()) return "none";
    std::string out;
    for (const auto& id : changes) {
      if (!out.empty()) out += '+';
      out += id.hex();
    }
    return out;
  }
};

}  // namespace weft::object
