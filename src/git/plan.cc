#include "git/plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include "git/convert.h"

namespace weft::git {
namespace {

using object::EntryKind;
using object::TreeEntry;

constexpr EntryKind kDirectory = EntryKind::directory;

/// Something that came to a path: an arrival, or a directory made for it.
struct Newcomer {
  std::string_view path;
  EntryKind kind;
  std::optional<std::size_t> arrival;  ///< index; absent for directories
  std::optional<NodeId> node;
  bool elsewhere = false;  ///< another parent has it at this path: no rename, whatever its node
};

class Assigner {
 public:
  Assigner(const object::ObjectReader& reader, const Sha1& commit, const std::vector<ObjectId>& parents,
           tree::TreeEditor& first_parent, const TreeChange& change)
      : reader_(reader), commit_(commit), parents_(parents), first_parent_(first_parent), change_(change) {}

  Result<Identities> run() {
    WEFT_DO(collect());
    for (std::size_t i = 1; i < parents_.size(); ++i) WEFT_DO(claim_from(parents_[i]));
    WEFT_DO(follow_renames());
    Identities result;
    result.arrivals.resize(change_.arrivals.size());
    for (const auto& newcomer : newcomers_) {
      const NodeId node = newcomer.node ? *newcomer.node : new_node_id(commit_, newcomer.path);
      if (newcomer.arrival) {
        result.arrivals[*newcomer.arrival] = node;
      } else {
        result.directories.emplace(newcomer.path, node);
      }
    }
    return result;
  }

 private:
  Result<void> collect() {
    for (const auto& path : change_.gone_directories) gone_.insert(path);
    for (const auto& departure : change_.departures) {
      departing_.insert(departure.path);
    }
    std::set<std::string_view> made;
    for (std::size_t i = 0; i < change_.arrivals.size(); ++i) {
      const auto& arrival = change_.arrivals[i];
      newcomers_.push_back({arrival.path, arrival.entry.kind, i, std::nullopt, false});
      for (auto slash = arrival.path.rfind('/'); slash != std::string::npos && slash > 0;
           slash = arrival.path.rfind('/', slash - 1)) {
        const auto directory = std::string_view(arrival.path).substr(0, slash);
        if (made.contains(directory)) break;
        WEFT_TRY(const auto existing, first_parent_.find(directory));
        if (existing && existing->kind == kDirectory && !gone_.contains(std::string(directory))) break;
        made.insert(directory);
        newcomers_.push_back({directory, kDirectory, std::nullopt, std::nullopt, false});
      }
    }
    std::sort(newcomers_.begin(), newcomers_.end(),
              [](const Newcomer& a, const Newcomer& b) { return a.path < b.path; });
    const auto twice = std::adjacent_find(newcomers_.begin(), newcomers_.end(),
                                          [](const Newcomer& a, const Newcomer& b) { return a.path == b.path; });
    if (twice != newcomers_.end()) {
      return make_error(Code::peer, "weft-git sent the path " + quoted(twice->path) + " twice in one commit");
    }
    return {};
  }

  /// Whether the node at `path` of the first parent leaves it.
  bool leaves(const std::string& path) const { return departing_.contains(path) || gone_.contains(path); }

  Result<void> claim_from(const ObjectId& parent) {
    if (parent == parents_[0]) return {};
    tree::TreeEditor there(reader_, parent);
    struct Claim {
      Newcomer* newcomer;
      NodeId node;
    };
    std::vector<Claim> claims;
    std::vector<NodeId> wanted;
    for (auto& newcomer : newcomers_) {
      if (newcomer.elsewhere) continue;  // an earlier parent has the path: its node, or none
      WEFT_TRY(const auto entry, there.find(newcomer.path));
      if (!entry || entry->kind != newcomer.kind) continue;
      claims.push_back({&newcomer, entry->node});
      wanted.push_back(entry->node);
    }
    if (claims.empty()) return {};
    WEFT_TRY(const auto places, locate_nodes(reader_, parents_[0], parent, wanted));
    for (const auto& claim : claims) {
      claim.newcomer->elsewhere = true;
      const auto place = places.find(claim.node);
      if (place != places.end() && !leaves(place->second)) continue;
      if (!taken_.insert(claim.node).second) continue;
      claim.newcomer->node = claim.node;
    }
    return {};
  }

  Result<void> follow_renames() {
    std::vector<Leaf> departures;
    std::vector<const TreeEntry*> departed;
    std::vector<Leaf> arrivals;
    std::vector<Newcomer*> arrived;
    for (const auto& departure : change_.departures) {
      departures.push_back({departure.path, departure.entry.kind, departure.entry.id, departure.entry.size});
      departed.push_back(&departure.entry);
    }
    for (auto& newcomer : newcomers_) {
      if (!newcomer.arrival || newcomer.elsewhere) continue;
      const auto& entry = change_.arrivals[*newcomer.arrival].entry;
      arrivals.push_back({std::string(newcomer.path), entry.kind, entry.id, entry.size});
      arrived.push_back(&newcomer);
    }
    if (departures.empty() || arrivals.empty()) return {};
    // Nodes that a claim has taken are no departures any more.
    std::vector<Leaf> free_departures;
    std::vector<const TreeEntry*> free_departed;
    for (std::size_t i = 0; i < departures.size(); ++i) {
      if (taken_.contains(departed[i]->node)) continue;
      free_departures.push_back(departures[i]);
      free_departed.push_back(departed[i]);
    }
    const ReadContent read = [this](const ObjectId& blob) -> Result<std::shared_ptr<const Bytes>> {
      WEFT_TRY(Bytes content, reader_.read(object::ObjectKind::blob, blob));
      return std::make_shared<const Bytes>(std::move(content));
    };
    WEFT_TRY(const auto renames, find_renames(free_departures, arrivals, read));
    for (const auto& rename : renames) {
      const NodeId node = free_departed[rename.departure]->node;
      WEFT_CHECK(taken_.insert(node).second);
      arrived[rename.arrival]->node = node;
    }
    return follow_directories(free_departures, arrivals, renames);
  }

  Result<void> follow_directories(const std::vector<Leaf>& departures, const std::vector<Leaf>& arrivals,
                                  const std::vector<Rename>& renames) {
    std::vector<std::string> made;
    for (const auto& newcomer : newcomers_) {
      if (!newcomer.arrival && !newcomer.elsewhere) made.emplace_back(newcomer.path);
    }
    const std::vector<std::string> gone(gone_.begin(), gone_.end());
    for (const auto& move : find_directory_moves(departures, arrivals, renames, gone, made)) {
      WEFT_TRY(const auto entry, first_parent_.find(move.from));
      if (!entry || !taken_.insert(entry->node).second) continue;
      const auto to =
          std::lower_bound(newcomers_.begin(), newcomers_.end(), move.to,
                           [](const Newcomer& newcomer, const std::string& path) { return newcomer.path < path; });
      to->node = entry->node;
    }
    return {};
  }

  const object::ObjectReader& reader_;
  const Sha1& commit_;
  const std::vector<ObjectId>& parents_;
  tree::TreeEditor& first_parent_;
  const TreeChange& change_;
  std::vector<Newcomer> newcomers_;  ///< by path
  std::set<std::string> gone_;
  std::unordered_set<std::string> departing_;
  std::unordered_set<NodeId, IdHash> taken_;
};

}  // namespace

Result<Identities> assign_identities(const object::ObjectReader& reader, const Sha1& commit,
                                     const std::vector<ObjectId>& parents, tree::TreeEditor& first_parent,
                                     const TreeChange& change) {
  return Assigner(reader, commit, parents, first_parent, change).run();
}

Result<std::map<NodeId, std::string>> locate_nodes(const object::ObjectReader& reader, const ObjectId& tree,
                                                   const ObjectId& other, const std::vector<NodeId>& wanted) {
  std::unordered_set<NodeId, IdHash> left(wanted.begin(), wanted.end());
  std::map<NodeId, std::string> found;
  struct Pair {
    std::string path;
    ObjectId tree;
    ObjectId other;
  };
  std::vector<Pair> open;
  open.push_back({"", tree, other});
  const ObjectId nothing = object::empty_tree_id();
  while (!open.empty() && !left.empty()) {
    const Pair pair = std::move(open.back());
    open.pop_back();
    const auto visit = [&](const TreeEntry* here, const TreeEntry* there) -> Result<void> {
      if (!here) return {};
      std::string path = pair.path.empty() ? here->name : pair.path + '/' + here->name;
      if (left.erase(here->node) != 0) found.emplace(here->node, path);
      if (here->kind != kDirectory) return {};
      const bool both = there && there->kind == kDirectory;
      if (both && there->id == here->id) return {};
      open.push_back({std::move(path), here->id, both ? there->id : nothing});
      return {};
    };
    WEFT_DO(object::diff_directories(reader, pair.tree, pair.other, visit));
  }
  return found;
}

}  // namespace weft::git
