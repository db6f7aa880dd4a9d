#include "work/moves.h"

#include <algorithm>
#include <map>
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
    // Hard links give one node two names: a new one rather than a path that has a node of its own. Each node goes to one
    // place and each place takes one node, before anything is concluded from who receives.
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
    for (bool changed = true; changed;) {
      changed = std::erase_if(edges, [&](const auto& edge) {
                  const bool keeps = !all_[edge.first].vacates() && !receives[edge.first];
                  if (keeps) receives[edge.second] = false;
                  return keeps;
                }) > 0;
    }
    for (const auto& [source, target] : edges) take(source, target);
  }

  Result<void> match_reused_inode() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_target(i) || all_[i].kind != EntryKind::file) continue;
      const Known known = known_inode(i);
      if (known.source == kNone || !is_source(known.source)) continue;
      WEFT_DO(scanner_.read_new(all_[i], scan_));
      if (!all_[i].id) continue;
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

  Result<void> match_equal_content() {
    std::multimap<std::uint64_t, std::size_t> by_size;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto kind = all_[i].vacates() ? all_[i].head->kind : EntryKind::directory;
      if (is_source(i) && (kind == EntryKind::file || kind == EntryKind::symlink) && all_[i].head->size > 0) {
        by_size.emplace(all_[i].head->size, i);
      }
    }
    for (const bool same_name : {true, false}) {
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!is_target(i) || all_[i].kind == EntryKind::directory) continue;
        auto [begin, end] = by_size.equal_range(all_[i].size);
        if (begin == end) continue;
        WEFT_DO(scanner_.read_new(all_[i], scan_));
        if (!all_[i].id) continue;
        for (auto candidate = begin; candidate != end; ++candidate) {
          const std::size_t source = candidate->second;
          if (!is_source(source) || source == i || all_[source].head->kind != all_[i].kind ||
              all_[source].head->id != *all_[i].id || (same_name && name_rank(all_[source], all_[i]) != 0)) {
            continue;
          }
          take(source, i);
          by_size.erase(candidate);
          break;
        }
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
    for (const std::size_t source : sources) {
      for (const std::size_t target : targets) {
        if (source == target) continue;
        if (text::max_similarity_percent(all_[source].head->size, all_[target].size) < kMinSimilarity) continue;
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

  void match_directories() {
    std::unordered_map<std::string_view, std::size_t> by_path;  // every observation
    for (std::size_t i = 0; i < all_.size(); ++i) by_path.emplace(all_[i].path, i);

    // Votes of the files: a file found again speaks for the pair of directories around it, and for those above as long
    // as they have the same name.
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> votes;  // (target, source) -> count
    std::vector<std::size_t> files(all_.size(), 0);                    // of a vanished directory, all below it
    const auto directory_pair = [&](std::string_view from, std::string_view to) {
      const auto source = by_path.find(from);
      const auto target = by_path.find(to);
      const bool both = source != by_path.end() && target != by_path.end() && is_source(source->second) &&
                        all_[source->second].head->kind == EntryKind::directory && is_target(target->second) &&
                        all_[target->second].kind == EntryKind::directory;
      return both ? std::pair(target->second, source->second) : std::pair(kNone, kNone);
    };
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].vacates() && all_[i].head->kind != EntryKind::directory) {
        for (std::string_view up = parent_of(all_[i].path); !up.empty(); up = parent_of(up)) {
          const auto above = by_path.find(up);
          if (above == by_path.end()) break;
          ++files[above->second];
        }
      }
      if (!all_[i].from || all_[i].kind == EntryKind::directory) continue;
      std::string_view from = parent_of(all_[*all_[i].from].path);
      std::string_view to = parent_of(all_[i].path);
      while (!from.empty() && !to.empty()) {
        const auto pair = directory_pair(from, to);
        if (pair.first == kNone) break;
        ++votes[pair];
        if (name_of(from) != name_of(to)) break;
        from = parent_of(from);
        to = parent_of(to);
      }
    }

    std::vector<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>>
        ranked;  // -inode, -votes, target, source
    for (const auto& [pair, count] : votes) {
      const bool inode = known_inode(pair.first).source == pair.second;
      if (inode || count * 2 >= files[pair.second]) {
        ranked.emplace_back(inode ? 0 : 1, all_.size() - count, pair.first, pair.second);
      }
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_target(i) || all_[i].kind != EntryKind::directory) continue;
      const Known known = known_inode(i);
      // Without a file to speak for it the inode alone counts only for a directory without files.
      if (known.source != kNone && is_source(known.source) && files[known.source] == 0) {
        ranked.emplace_back(1, all_.size(), i, known.source);
      }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::size_t> matched;
    for (const auto& [inode, rank, target, source] : ranked) {
      if (!is_source(source) || !is_target(target)) continue;
      take(source, target);
      matched.push_back(target);
    }
    // What has the same place in both goes along, from the top down.
    std::sort(matched.begin(), matched.end());
    for (const std::size_t directory : matched) take_along(directory, by_path);
  }

  void take_along(std::size_t directory, const std::unordered_map<std::string_view, std::size_t>& by_path) {
    const std::string& to = all_[directory].path;
    const std::string& from = all_[*all_[directory].from].path;
    for (std::size_t i = directory + 1; i < all_.size() && is_at_or_below(all_[i].path, to); ++i) {
      if (!is_target(i)) continue;
      // Only where all directories between moved the same way.
      if (const auto up = by_path.find(parent_of(all_[i].path)); up == by_path.end() || !all_[up->second].from)
        continue;
      const auto source = by_path.find(from + all_[i].path.substr(to.size()));
      if (source == by_path.end() || !is_source(source->second) || all_[source->second].head->kind != all_[i].kind) {
        continue;
      }
      take(source->second, i);
    }
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
