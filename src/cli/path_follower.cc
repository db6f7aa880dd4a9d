#include "cli/path_follower.h"

#include <utility>

namespace weft::cli {
namespace {

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

bool same(const tree::PathEntry& a, const tree::PathEntry& b) {
  return a.path == b.path && a.entry.id == b.entry.id && a.entry.mode == b.entry.mode && a.entry.kind == b.entry.kind;
}

}  // namespace

Result<std::optional<tree::PathEntry>> PathFollower::locate(const ObjectId& child_tree, const tree::PathEntry& child,
                                                            const ObjectId& parent_tree) const {
  using Found = std::optional<tree::PathEntry>;
  if (child_tree == parent_tree) return Found(child);
  const auto at = [&](std::string path) -> Result<Found> {
    WEFT_TRY(auto entry, tree::find_path(reader_, parent_tree, path));
    if (!entry || entry->node != child.entry.node) return Found();
    return Found(tree::PathEntry{std::move(path), std::move(*entry)});
  };
  WEFT_TRY(auto in_place, at(child.path));
  if (in_place) return in_place;
  // It moved itself, or a directory above it did; the nearest one that moved says where from.
  WEFT_TRY(const auto differences, tree::diff_trees(reader_, parent_tree, child_tree));
  const tree::Difference* nearest = nullptr;
  for (const auto& difference : differences) {
    if (!difference.before || !difference.after) continue;
    if (difference.after->path == child.path) return Found(*difference.before);
    if (is_below(child.path, difference.after->path) &&
        (nearest == nullptr || difference.after->path.size() > nearest->after->path.size())) {
      nearest = &difference;
    }
  }
  if (nearest == nullptr) return Found();
  return at(nearest->before->path + child.path.substr(nearest->after->path.size()));
}

Result<PathFollower::Keys> PathFollower::keys(const ObjectId& tree, const Track& track) const {
  Keys keys;
  object::TreeEntry entry;
  entry.kind = object::EntryKind::directory;
  entry.id = tree;
  for (ByteView rest = track.path;;) {
    const std::size_t slash = rest.find('/');
    const ByteView name = rest.substr(0, slash);
    keys.places.push_back(store::place_key(entry.node, name));
    if (entry.kind != object::EntryKind::directory || entry.id == object::empty_tree_id()) return keys;
    WEFT_TRY(auto found, object::find_entry(reader_, entry.id, name));
    if (!found) return keys;
    entry = *std::move(found);
    if (slash != ByteView::npos) {
      rest.remove_prefix(slash + 1);
      continue;
    }
    if (entry.kind == object::EntryKind::directory) return Keys();
    if (!track.node || *track.node == entry.node) keys.node.push_back(store::node_key(entry.node));
    return keys;
  }
}

Result<std::optional<ChangeId>> PathFollower::track(ChangeId id, const ObjectId& tree, Track track) {
  track.in_place = false;
  if (history_ != nullptr) {
    if (track.keys.places.empty()) {
      WEFT_TRY(track.keys, keys(tree, track));
    }
    if (!track.keys.places.empty()) {
      std::vector<store::TouchKey> any = track.keys.places;
      any.insert(any.end(), track.keys.node.begin(), track.keys.node.end());
      WEFT_TRY(const auto target, history_->nearest_touch(id, any));
      if (!target) return target;
      id = *target;
      WEFT_TRY(const auto of_node, history_->touches(id, track.keys.node));
      WEFT_TRY(const auto of_place, history_->touches(id, track.keys.places));
      track.in_place = of_node == true && of_place == false;
    }
  }
  tracked_.try_emplace(id, std::move(track));
  return std::optional(id);
}

Result<std::optional<PathFollower::Verdict>> PathFollower::visit(const ChangeId& id, const ObjectId& tree,
                                                                 const std::vector<Parent>& parents) {
  const auto found = tracked_.find(id);
  if (found == tracked_.end()) return std::optional<Verdict>();
  Track track = std::move(found->second);
  tracked_.erase(found);

  if (track.in_place && parents.size() == 1) {  // PF-4
    found_ = true;
    Verdict verdict{true, track.path, {}};
    WEFT_TRY(const auto onward, this->track(parents[0].id, parents[0].tree, std::move(track)));
    if (onward) verdict.follow = {*onward};
    return std::optional(std::move(verdict));
  }

  std::optional<tree::PathEntry> here;
  WEFT_TRY(auto entry, tree::find_path(reader_, tree, track.path));
  if (entry && (!track.node || entry->node == *track.node)) {
    here = tree::PathEntry{track.path, std::move(*entry)};
    found_ = true;
  }

  Verdict verdict{false, track.path, {}};
  std::vector<std::pair<const Parent*, Track>> onwards;
  for (const auto& parent : parents) {
    std::optional<tree::PathEntry> there;
    if (here) {
      WEFT_TRY(there, locate(tree, *here, parent.tree));
    } else {
      WEFT_TRY(auto before, tree::find_path(reader_, parent.tree, track.path));
      if (before) there = tree::PathEntry{track.path, std::move(*before)};
    }
    if (there) found_ = true;
    const bool unchanged = here && there ? same(*here, *there) : !here && !there;
    Track next{there ? there->path : track.path, there ? std::optional(there->entry.node) : track.node, {}};
    if (unchanged) {  // PF-2
      WEFT_TRY(const auto onward, this->track(parent.id, parent.tree, std::move(next)));
      if (onward) verdict.follow = {*onward};
      return std::optional(std::move(verdict));
    }
    if (there) onwards.emplace_back(&parent, std::move(next));
  }
  verdict.shown = here.has_value() || !parents.empty();
  for (auto& [parent, next] : onwards) {
    WEFT_TRY(const auto onward, this->track(parent->id, parent->tree, std::move(next)));
    if (onward) verdict.follow.push_back(*onward);
  }
  return std::optional(std::move(verdict));
}

}  // namespace weft::cli
