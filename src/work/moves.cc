#include "work/moves.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "text/diff.h"
#include "work/content.h"

namespace weft::work {
namespace {

using object::EntryKind;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class Matching {
 public:
  Matching(const WorkTree& tree, const object::ObjectReader& reader, const DirectoryState& state, Scanner& scanner,
           Scan& scan)
      : reader_(reader),
        state_(state),
        scanner_(scanner),
        scan_(scan),
        all_(scan.observations),
        cursor_(tree.root),
        used_(all_.size(), false) {}

  Result<void> run() {
    bool any_source = false;
    bool any_target = false;
    for (const Observation& observation : all_) {
      const bool edited = observation.present && observation.head && !observation.kind_changed();
      any_source = any_source || observation.vacates() || edited;
      any_target = any_target || observation.is_new() || edited;
    }
    if (!any_source || !any_target) return {};
    learn_inodes();
    match_same_inode();
    WEFT_DO(match_reused_inode());
    WEFT_DO(match_equal_content());
    WEFT_DO(match_similar_content());
    match_directories();
    find_in_repositories();  // the last: places move
    return {};
  }

 private:
  struct Known {
    std::size_t source = kNone;
    Stamp stamp;
  };

  bool is_source(std::size_t i) const { return all_[i].vacates() && !used_[i]; }
  bool is_target(std::size_t i) const { return all_[i].is_new() && !all_[i].from; }
  bool is_edited(std::size_t i) const {
    return all_[i].present && all_[i].head && all_[i].kind == all_[i].head->kind &&
           all_[i].kind != EntryKind::directory;
  }
  void take(std::size_t source, std::size_t target) {
    all_[target].from = source;
    used_[source] = true;
  }

  /// What directory state says about the nodes that may have gone elsewhere. An earlier status may have seen the move
  /// already: then the node's entry stands at the new path.
  void learn_inodes() {
    std::unordered_map<NodeId, StateEntry, IdHash> by_node;
    for (const Observation& observation : all_) {
      const std::size_t index = state_.find(observation.path);
      if (index == DirectoryState::kNone) continue;
      const StateEntry entry = state_.entry(index);
      if (entry.node.is_zero()) continue;
      const bool at_home = observation.head && observation.head->node == entry.node;
      const auto [known, fresh] = by_node.emplace(entry.node, entry);
      if (!fresh && at_home) known->second = entry;
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].vacates() && !is_edited(i)) continue;
      const auto found = by_node.find(all_[i].head->node);
      if (found == by_node.end() || found->second.kind != all_[i].head->kind) continue;
      // An edited path that still has its inode stayed where it is.
      if (is_edited(i) && found->second.stamp.inode == all_[i].stamp.inode) continue;
      inodes_[found->second.stamp.inode] = {i, found->second.stamp};
    }
  }

  Known known_inode(std::size_t target) const {
    const auto found = inodes_.find(all_[target].stamp.inode);
    if (found == inodes_.end() || found->second.source == target) return {};
    if (all_[found->second.source].head->kind != all_[target].kind) return {};
    return found->second;
  }

  void match_same_inode() {
    std::vector<std::pair<std::size_t, std::size_t>> edges;  // source, target
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind == EntryKind::directory || !(is_target(i) || is_edited(i))) continue;
      const Known known = known_inode(i);
      if (known.source == kNone || known.stamp.size != all_[i].stamp.size ||
          known.stamp.mtime_ns != all_[i].stamp.mtime_ns) {
        continue;
      }
      edges.emplace_back(known.source, i);
    }
    // Hard links give one node two names: a new one rather than a path that has a node of its own. Each node goes to
    // one place and each place takes one node, before anything is concluded from who receives.
    std::stable_partition(edges.begin(), edges.end(), [&](const auto& edge) { return all_[edge.second].is_new(); });
    std::vector<bool> gives(all_.size(), false);
    std::vector<bool> receives(all_.size(), false);
    std::erase_if(edges, [&](const auto& edge) {
      if (gives[edge.first] || receives[edge.second]) return true;
      gives[edge.first] = receives[edge.second] = true;
      return false;
    });
    // A path that still has a file has given its node away only if that file came from elsewhere itself; otherwise its
    // file was written anew (an editor that keeps the old one as a backup) and the path keeps its node.
    std::unordered_map<std::size_t, std::size_t> given;  // source -> its edge
    for (std::size_t edge = 0; edge < edges.size(); ++edge) given.emplace(edges[edge].first, edge);
    std::vector<bool> kept(edges.size(), false);
    std::vector<std::size_t> open(edges.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    while (!open.empty()) {
      const std::size_t edge = open.back();
      open.pop_back();
      const auto& [source, target] = edges[edge];
      if (kept[edge] || all_[source].vacates() || receives[source]) continue;
      kept[edge] = true;
      receives[target] = false;
      if (const auto next = given.find(target); next != given.end()) open.push_back(next->second);
    }
    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
      if (!kept[edge]) take(edges[edge].first, edges[edge].second);
    }
  }

  Result<void> match_reused_inode() {
    std::vector<std::size_t> targets;
    std::vector<Observation*> wanted;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_target(i) || all_[i].kind != EntryKind::file) continue;
      const Known known = known_inode(i);
      if (known.source == kNone || !is_source(known.source)) continue;
      targets.push_back(i);
      wanted.push_back(&all_[i]);
    }
    WEFT_DO(scanner_.read_all_new(wanted, scan_));
    for (const std::size_t i : targets) {
      const Known known = known_inode(i);
      if (!all_[i].id || !is_source(known.source)) continue;
      const object::TreeEntry& head = *all_[known.source].head;
      if (*all_[i].id == head.id) {
        take(known.source, i);
        continue;
      }
      if (text::max_similarity_percent(all_[i].size, head.size) < kMinInodeSimilarity) continue;
      WEFT_TRY(const int percent, similarity(known.source, i));
      if (percent >= kMinInodeSimilarity) take(known.source, i);
    }
    return {};
  }

  static int name_rank(const Observation& source, const Observation& target) {
    return name_of(source.path) == name_of(target.path) ? 0 : 1;
  }

  /// What must be equal.
  struct Content {
    EntryKind kind;
    ObjectId id;
    std::string_view name;  ///< empty: whatever it is
    bool operator==(const Content&) const = default;
  };
  struct ContentHash {
    std::size_t operator()(const Content& content) const {
      return IdHash{}(content.id) ^
             (std::hash<std::string_view>{}(content.name) + static_cast<std::size_t>(content.kind));
    }
  };

  Result<void> match_equal_content() {
    std::unordered_map<std::uint64_t, std::size_t> sizes;  // of sources, and how many
    std::unordered_map<Content, std::deque<std::size_t>, ContentHash> sources;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_source(i) || all_[i].head->size == 0) continue;
      const object::TreeEntry& head = *all_[i].head;
      if (head.kind != EntryKind::file && head.kind != EntryKind::symlink) continue;
      ++sizes[head.size];
      sources[{head.kind, head.id, {}}].push_back(i);
      sources[{head.kind, head.id, name_of(all_[i].path)}].push_back(i);
    }
    std::vector<Observation*> wanted;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is_target(i) && all_[i].kind != EntryKind::directory && sizes.contains(all_[i].size))
        wanted.push_back(&all_[i]);
    }
    WEFT_DO(scanner_.read_all_new(wanted, scan_));
    for (const bool same_name : {true, false}) {
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!is_target(i) || all_[i].kind == EntryKind::directory || !all_[i].id) continue;
        const auto found =
            sources.find({all_[i].kind, *all_[i].id, same_name ? name_of(all_[i].path) : std::string_view()});
        if (found == sources.end()) continue;
        std::deque<std::size_t>& candidates = found->second;
        while (!candidates.empty() && !is_source(candidates.front())) candidates.pop_front();
        // A path that changed its kind is no candidate for itself, but may be one for the next.
        const auto source = std::find_if(candidates.begin(), candidates.end(),
                                         [&](std::size_t candidate) { return candidate != i && is_source(candidate); });
        if (source != candidates.end()) take(*source, i);
      }
    }
    return {};
  }

  Result<void> match_similar_content() {
    std::vector<std::size_t> sources;
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is_source(i) && all_[i].head->kind == EntryKind::file && all_[i].head->size > 0 &&
          all_[i].head->size <= kMaxSimilarityFileBytes) {
        sources.push_back(i);
      }
      if (is_target(i) && all_[i].kind == EntryKind::file && all_[i].size > 0 &&
          all_[i].size <= kMaxSimilarityFileBytes && !all_[i].unreadable) {
        targets.push_back(i);
      }
    }
    if (sources.empty() || targets.empty() || sources.size() > kMaxSimilarityPairs / targets.size()) return {};
    struct Scored {
      int percent;
      int rank;
      std::size_t source;
      std::size_t target;
    };
    std::vector<Scored> scored;
    std::uint64_t compared = 0;
    for (const std::size_t source : sources) {
      for (const std::size_t target : targets) {
        if (source == target) continue;
        if (text::max_similarity_percent(all_[source].head->size, all_[target].size) < kMinSimilarity) continue;
        compared += all_[source].head->size + all_[target].size;
        if (compared > kMaxSimilarityComparedBytes) break;
        WEFT_TRY(const int percent, similarity(source, target));
        if (percent < kMinSimilarity) continue;
        scored.push_back({percent, name_rank(all_[source], all_[target]), source, target});
      }
    }
    std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
      return std::tie(b.percent, a.rank, a.source, a.target) < std::tie(a.percent, b.rank, b.source, b.target);
    });
    for (const Scored& pair : scored) {
      if (is_source(pair.source) && is_target(pair.target)) take(pair.source, pair.target);
    }
    return {};
  }

  /// 0 also where the limits forbid to look.
  Result<int> similarity(std::size_t source, std::size_t target) {
    WEFT_TRY(const Bytes* before, old_content(source));
    const Bytes* after = new_content(target);
    return before == nullptr || after == nullptr ? 0 : text::similarity_percent(*before, *after);
  }

  bool may_load(std::uint64_t size) {
    if (size > kMaxSimilarityFileBytes || loaded_bytes_ + size > kMaxSimilarityTotalBytes) return false;
    loaded_bytes_ += size;
    return true;
  }

  Result<const Bytes*> old_content(std::size_t source) {
    auto& slot = contents_[source];
    if (!slot && may_load(all_[source].head->size)) {
      WEFT_TRY(slot, reader_.read(object::ObjectKind::blob, all_[source].head->id));
    }
    return slot ? &*slot : nullptr;
  }

  const Bytes* new_content(std::size_t target) {
    auto& slot = contents_[all_.size() + target];
    if (!slot && may_load(all_[target].size)) {
      const auto directory = cursor_.at(parent_of(all_[target].path));
      if (directory) slot = read_small(**directory, name_of(all_[target].path), kMaxSimilarityFileBytes);
    }
    return slot ? &*slot : nullptr;
  }

  /// Of each observation that of the directory it lies in; kNone where that has none.
  std::vector<std::size_t> directories_around() const {
    std::vector<std::size_t> around(all_.size(), kNone);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      while (!open.empty() && !is_at_or_below(all_[i].path, all_[open.back()].path)) open.pop_back();
      if (!open.empty() && parent_of(all_[i].path).size() == all_[open.back()].path.size()) around[i] = open.back();
      open.push_back(i);
    }
    return around;
  }

  bool is_directory_pair(std::size_t source, std::size_t target) const {
    return source != kNone && target != kNone && is_source(source) && all_[source].head->kind == EntryKind::directory &&
           is_target(target) && all_[target].kind == EntryKind::directory;
  }

  void match_directories() {
    const std::vector<std::size_t> around = directories_around();
    // Votes of the files: a file found again speaks for the pair of directories around it, and for those above as long
    // as they have the same name. Counted from the bottom up: what is below a directory stands behind it.
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> votes;  // (target, source) -> count
    std::vector<std::size_t> files(all_.size(), 0);                    // of a vanished directory, all below it
    for (std::size_t i = all_.size(); i-- > 0;) {
      if (all_[i].vacates() && all_[i].head->kind != EntryKind::directory) ++files[i];
      if (around[i] != kNone) files[around[i]] += files[i];
      if (!all_[i].from || all_[i].kind == EntryKind::directory) continue;
      const std::size_t source = around[*all_[i].from];
      if (is_directory_pair(source, around[i])) ++votes[{around[i], source}];
    }
    for (auto vote = votes.rbegin(); vote != votes.rend(); ++vote) {
      const auto& [target, source] = vote->first;
      if (name_of(all_[target].path) != name_of(all_[source].path)) continue;
      // A place before this one, so that it is still to come.
      if (is_directory_pair(around[source], around[target])) votes[{around[target], around[source]}] += vote->second;
    }

    // By what speaks for it: inode, votes (most first), then the order of the walk.
    std::vector<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>> ranked;
    for (const auto& [pair, count] : votes) {
      const bool inode = known_inode(pair.first).source == pair.second;
      if (inode || count * 2 >= files[pair.second]) {
        ranked.emplace_back(inode ? 0 : 1, all_.size() - std::min(count, all_.size()), pair.first, pair.second);
      }
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_target(i) || all_[i].kind != EntryKind::directory) continue;
      const Known known = known_inode(i);
      if (known.source == kNone || !is_source(known.source)) continue;
      // Without a file to speak for it the inode alone counts only for a directory without files; in a repository,
      // whose files nobody looked at, something of the head must be found: file systems give inodes again.
      if (all_[i].repository ? holds_any_of(known.source, i) : files[known.source] == 0) {
        ranked.emplace_back(1, all_.size(), i, known.source);
      }
    }
    std::sort(ranked.begin(), ranked.end());
    for (const auto& [inode, rank, target, source] : ranked) {
      if (is_source(source) && is_target(target)) take(source, target);
    }
    take_along(around);
  }

  /// What has the same place in a directory that moved goes along, from the top down.
  void take_along(const std::vector<std::size_t>& around) {
    std::unordered_map<std::string_view, std::size_t> by_path;  // what may have come along
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is_source(i)) by_path.emplace(all_[i].path, i);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_target(i) || around[i] == kNone || !all_[around[i]].from) continue;
      const std::string& directory = all_[*all_[around[i]].from].path;
      const auto source = by_path.find(child_path(directory, name_of(all_[i].path)));
      if (source == by_path.end() || !is_source(source->second)) continue;
      const EntryKind kind = all_[source->second].head->kind;
      if (kind == EntryKind::submodule && is_submodule_place(i)) {
        all_[i].kind = EntryKind::submodule;
        all_[i].unreadable = true;
        all_[i].mode = 0;
      }
      if (kind == all_[i].kind) take(source->second, i);
    }
  }

  /// A repository, or an empty directory, which is how a submodule is written out.
  bool is_submodule_place(std::size_t i) const {
    if (all_[i].kind != EntryKind::directory) return false;
    return all_[i].repository || i + 1 == all_.size() || !is_at_or_below(all_[i + 1].path, all_[i].path);
  }

  /// What the head has in a directory that holds a repository of its own, at the directory's new place.
  void find_in_repositories() {
    std::vector<Observation> found;
    const std::size_t count = all_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!all_[i].repository || !all_[i].from || all_[i].kind != EntryKind::directory) continue;
      const std::size_t top = *all_[i].from;
      std::size_t missing_end = 0;  // below a directory that is not there
      for (std::size_t source = top + 1; source < count && is_at_or_below(all_[source].path, all_[top].path);
           ++source) {
        if (source < missing_end || !is_source(source)) continue;
        Observation there;
        there.path = all_[i].path + all_[source].path.substr(all_[top].path.size());
        if (look_for(all_[source], there)) {
          there.from = source;
          used_[source] = true;
          found.push_back(std::move(there));
        } else if (all_[source].head->kind == EntryKind::directory) {
          missing_end = source + 1;
          while (missing_end < count && is_at_or_below(all_[missing_end].path, all_[source].path)) ++missing_end;
        }
      }
    }
    if (!found.empty()) insert(std::move(found));
  }

  bool holds_any_of(std::size_t source, std::size_t target) {
    for (std::size_t i = source + 1; i < all_.size() && is_at_or_below(all_[i].path, all_[source].path); ++i) {
      if (!is_source(i)) continue;
      Observation there;
      there.path = all_[target].path + all_[i].path.substr(all_[source].path.size());
      if (look_for(all_[i], there)) return true;
    }
    return false;
  }

  bool look_for(const Observation& source, Observation& there) {
    const auto directory = cursor_.at(parent_of(there.path));
    const auto status = directory ? (*directory)->status(name_of(there.path)) : Result<FileStatus>(directory.error());
    if (!status) return false;
    there.present = true;
    there.kind = source.head->kind;
    there.stamp = Stamp::of(*status);
    there.size = status->size;
    there.mode = source.head->mode;
    switch (there.kind) {
      case EntryKind::file:
        return status->kind == FileKind::file;
      case EntryKind::symlink:
        return status->kind == FileKind::symlink;
      case EntryKind::directory:
        there.unreadable = true;  // recorded as what it was
        return status->kind == FileKind::directory;
      case EntryKind::submodule:
        there.unreadable = true;
        return status->kind == FileKind::directory;
    }
    return false;
  }

  /// Puts more observations in their places; `from` names places and goes with them.
  void insert(std::vector<Observation> more) {
    const std::size_t before = all_.size();
    std::move(more.begin(), more.end(), std::back_inserter(all_));
    std::vector<std::size_t> order(all_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return path_less(all_[a].path, all_[b].path); });
    std::vector<std::size_t> place(all_.size());
    std::vector<Observation> sorted;
    sorted.reserve(all_.size());
    for (const std::size_t i : order) {
      place[i] = sorted.size();
      sorted.push_back(std::move(all_[i]));
    }
    for (Observation& observation : sorted) {
      if (observation.from) observation.from = place[*observation.from];
    }
    all_ = std::move(sorted);
    WEFT_CHECK(all_.size() >= before);
  }

  const object::ObjectReader& reader_;
  const DirectoryState& state_;
  Scanner& scanner_;
  Scan& scan_;
  std::vector<Observation>& all_;
  DirCursor cursor_;
  std::vector<bool> used_;  ///< sources whose node was found again
  std::unordered_map<std::uint64_t, Known> inodes_;
  std::unordered_map<std::size_t, std::optional<Bytes>> contents_;
  std::uint64_t loaded_bytes_ = 0;
};

}  // namespace

Result<void> match_moves(const WorkTree& tree, const object::ObjectReader& reader, const DirectoryState& state,
                         Scanner& scanner, Scan& scan) {
  return Matching(tree, reader, state, scanner, scan).run();
}

}  // namespace weft::work
