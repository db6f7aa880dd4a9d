#include "work/recorded_claims.h"

#include <algorithm>
#include <map>

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;

/// More differences than this in one directory: all of it is read.
constexpr std::size_t kMaxSingleEntries = 64;

struct PathLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return path_less(a, b); }
};

/// A directory at or above something that changed.
struct Place {
  std::vector<std::string_view> names;  ///< what changed directly in it
  std::optional<ObjectId> before;
  std::optional<ObjectId> after;
};

Result<std::optional<TreeEntry>> find_in(const object::ObjectReader& reader, const std::optional<ObjectId>& tree,
                                         std::string_view name) {
  if (!tree || tree->is_zero() || *tree == object::empty_tree_id()) return std::optional<TreeEntry>();
  return object::find_entry(reader, *tree, name);
}

Result<StateNotes::Claim> claim_of(const object::ObjectReader& reader, std::string_view path, const Place& place) {
  StateNotes::Claim claim;
  claim.path = path;
  claim.tree = *place.after;
  claim.round = 1;
  if (!place.before || place.names.size() > kMaxSingleEntries) {
    WEFT_TRY(claim.entries, tree_entries(reader, *place.after));
    return claim;
  }
  claim.base = *place.before;
  for (const std::string_view name : place.names) {
    WEFT_TRY(auto entry, find_in(reader, place.after, name));
    if (entry) {
      claim.entries.push_back(*std::move(entry));
    } else {
      claim.gone.emplace_back(name);
    }
  }
  return claim;
}

}  // namespace

Result<std::vector<StateNotes::Claim>> claims_of_record(const object::ObjectReader& reader, const ObjectId& before,
                                                        const ObjectId& after,
                                                        const std::vector<Observation>& observations) {
  std::map<std::string_view, Place, PathLess> places;  // a directory before what is in it
  for (const Observation& observation : observations) {
    std::string_view path = observation.path;
    while (!path.empty()) {
      const std::string_view directory = parent_of(path);
      const auto [place, fresh] = places.try_emplace(directory);
      place->second.names.push_back(name_of(path));
      if (!fresh) break;  // the way up from here is known
      path = directory;
    }
  }
  std::vector<StateNotes::Claim> claims;
  for (auto& [path, place] : places) {
    std::sort(place.names.begin(), place.names.end());
    place.names.erase(std::unique(place.names.begin(), place.names.end()), place.names.end());
    if (path.empty()) {
      place.before = before;
      place.after = after;
    } else {
      const Place& around = places.find(parent_of(path))->second;
      const auto look = [&](const std::optional<ObjectId>& tree) -> Result<std::optional<ObjectId>> {
        WEFT_TRY(const auto entry, find_in(reader, tree, name_of(path)));
        return entry && entry->kind == EntryKind::directory ? std::optional(entry->id) : std::nullopt;
      };
      WEFT_TRY(place.before, look(around.before));
      WEFT_TRY(place.after, look(around.after));
    }
    if (!place.after) continue;
    WEFT_TRY(auto claim, claim_of(reader, path, place));
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace weft::work
