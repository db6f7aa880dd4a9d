#include "store/needs.h"

#include <algorithm>
#include <set>

#include "object/tree_codec.h"

namespace weft::store {
namespace {

/// Trees nest no deeper (tree::kMaxDepth), each level perhaps with a table over chunks.
constexpr int kMaxRounds = 8192;
/// Directories looked through for the paths of one damage.
constexpr std::size_t kMaxSteps = 20'000;

struct Child {
  std::string name;
  ObjectName object;
};

/// What a tree object names, with the names; a chunk of a large directory has none.
Result<std::vector<Child>> children_of(ByteView encoded) {
  std::vector<Child> children;
  WEFT_TRY(const auto form, object::tree_form(encoded));
  if (form == object::TreeForm::table) {
    WEFT_TRY(const auto table, object::decode_table(encoded));
    for (const auto& chunk : table.chunks) children.push_back({{}, {ObjectKind::tree, chunk.id}});
    return children;
  }
  WEFT_TRY(auto cursor, form == object::TreeForm::chunk ? object::EntryCursor::chunk(encoded, nullptr, {})
                                                        : object::EntryCursor::directory(encoded));
  while (const auto* entry = cursor.next()) {
    const auto kind = entry->kind == object::EntryKind::directory ? ObjectKind::tree : ObjectKind::blob;
    children.push_back({std::string(entry->name), {kind, entry->id}});
  }
  WEFT_DO(cursor.finish());
  return children;
}

}  // namespace

Needs::Mask Needs::lost_mask(ObjectKind kind, const ObjectId& id) const {
  const auto found = survey_.lost().find({kind, id});
  return found == survey_.lost().end() ? 0 : bit(found->second);
}

Result<bool> Needs::look_at_tree(const ObjectId& id, ByteView encoded) {
  WEFT_TRY(auto children, children_of(encoded));
  AffectedTree affected;
  for (auto& child : children) {
    Mask mask = lost_mask(child.object.kind, child.object.id);
    if (child.object.kind == ObjectKind::tree) {
      if (mask != 0) {
        affected.lacks_directory = true;
      } else if (const auto below = trees_.find(child.object.id); below != trees_.end()) {
        mask = below->second.mask;
        affected.lacks_directory = affected.lacks_directory || below->second.lacks_directory;
      }
    }
    if (mask == 0) continue;
    affected.mask |= mask;
    affected.children.emplace_back(std::move(child.name), child.object);
  }
  if (affected.mask == 0) return false;
  AffectedTree& known = trees_[id];
  const bool news = known.mask != affected.mask || known.lacks_directory != affected.lacks_directory ||
                    known.children.size() != affected.children.size();
  known = std::move(affected);
  return news;
}

/// A tree is usually stored after what is in it: mostly the second round finds nothing new.
Result<void> Needs::find_trees() {
  for (int round = 0; round < kMaxRounds; ++round) {
    bool news = false;
    WEFT_DO(survey_.for_each_object(true, false, [&](ObjectKind, const ObjectId& id, ByteView content) -> Result<void> {
      const auto looked = look_at_tree(id, content);
      if (looked && *looked) news = true;
      return {};
    }));
    if (!news) break;
  }
  return {};
}

Result<void> Needs::find_changes() {
  return survey_.for_each_object(false, true, [&](ObjectKind, const ObjectId& id, ByteView content) -> Result<void> {
    const auto summary = object::decode_change_summary(content);
    if (!summary || !by_id_.emplace(id, static_cast<std::uint32_t>(nodes_.size())).second) return {};
    Node node;
    node.id = id;
    node.tree = summary->tree;
    node.parents = static_cast<std::uint32_t>(parents_.size());
    parents_.insert(parents_.end(), summary->parents.begin(), summary->parents.end());
    node.parents_end = static_cast<std::uint32_t>(parents_.size());
    node.own = lost_mask(ObjectKind::tree, summary->tree);
    node.lacks_directory = node.own != 0;
    if (const auto tree = trees_.find(summary->tree); tree != trees_.end()) {
      node.own |= tree->second.mask;
      node.lacks_directory = node.lacks_directory || tree->second.lacks_directory;
    }
    nodes_.push_back(node);
    return {};
  });
}

/// Parents before children, whatever order they lie in.
void Needs::propagate() {
  std::vector<std::uint8_t> state(nodes_.size(), 0);  // 1: entered, 2: done
  std::vector<std::uint32_t> stack;
  for (std::uint32_t start = 0; start < nodes_.size(); ++start) {
    if (state[start] != 0) continue;
    stack.push_back(start);
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      Node& node = nodes_[at];
      if (state[at] == 0) {
        state[at] = 1;
        for (std::uint32_t i = node.parents; i < node.parents_end; ++i) {
          const auto parent = by_id_.find(parents_[i]);
          if (parent != by_id_.end() && state[parent->second] == 0) stack.push_back(parent->second);
        }
        continue;
      }
      stack.pop_back();
      if (state[at] == 2) continue;
      state[at] = 2;
      for (std::uint32_t i = node.parents; i < node.parents_end; ++i) {
        const auto parent = by_id_.find(parents_[i]);
        if (parent == by_id_.end()) {
          node.own |= lost_mask(ObjectKind::change, parents_[i]);
          node.rooted = false;
          continue;
        }
        node.past |= nodes_[parent->second].past;
        node.rooted = node.rooted && nodes_[parent->second].rooted;
      }
      node.past |= node.own;
    }
  }
}

void Needs::find_paths() {
  for (std::size_t damage = 0; damage < of_.size(); ++damage) {
    Of& of = of_[damage];
    const Mask mask = bit(damage);
    std::set<std::string> seen;
    std::set<ObjectId> roots;
    std::size_t steps = 0;
    for (const Node& node : nodes_) {
      if ((node.own & mask) == 0) continue;
      ++of.changes;
      if (of.some_changes.size() < kMaxChanges) of.some_changes.push_back(node.id);
      if (of.more_paths || !roots.insert(node.tree).second) continue;
      if (roots.size() > kMaxSteps) roots.clear();
      std::vector<std::pair<std::string, ObjectName>> open{{"", {ObjectKind::tree, node.tree}}};
      while (!open.empty()) {
        auto [path, object] = std::move(open.back());
        open.pop_back();
        if (++steps > kMaxSteps || seen.size() >= kMaxPaths) {
          of.more_paths = true;
          break;
        }
        if ((lost_mask(object.kind, object.id) & mask) != 0) {
          if (seen.insert(path).second) of.paths.emplace_back(path, object);
          continue;
        }
        const auto tree = object.kind == ObjectKind::tree ? trees_.find(object.id) : trees_.end();
        if (tree == trees_.end() || (tree->second.mask & mask) == 0) continue;
        for (auto child = tree->second.children.rbegin(); child != tree->second.children.rend(); ++child) {
          std::string below = path;
          if (!below.empty() && !child->first.empty()) below += '/';
          open.emplace_back(below + child->first, child->second);
        }
      }
    }
  }
}

Result<void> Needs::run() {
  of_.resize(std::min(survey_.damages().size(), kMaxTold));
  WEFT_DO(find_trees());
  WEFT_DO(find_changes());
  propagate();
  find_paths();
  for (const Node& node : nodes_) {
    if (node.past == 0 && node.rooted) ++whole_changes_;
  }
  for (const auto& [name, ref] : survey_.refs()) {
    if (!ref.version) continue;
    Mask mask = 0;
    for (const auto& change : ref.version->changes) {
      const Node* found = node(change);
      mask |= found == nullptr ? lost_mask(ObjectKind::change, change) : found->past;
    }
    if (mask == 0 && is_rooted(*ref.version)) whole_refs_.push_back(name);
    for (std::size_t damage = 0; damage < of_.size(); ++damage) {
      if ((mask & bit(damage)) != 0) of_[damage].refs.push_back(name);
    }
  }
  return {};
}

const Needs::Node* Needs::node(const ChangeId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &nodes_[found->second];
}

bool Needs::has_changes(const Version& version) const {
  return std::all_of(version.changes.begin(), version.changes.end(),
                     [&](const ChangeId& id) { return node(id) != nullptr; });
}

bool Needs::is_rooted(const Version& version) const {
  return std::all_of(version.changes.begin(), version.changes.end(), [&](const ChangeId& id) {
    const Node* found = node(id);
    return found != nullptr && found->rooted;
  });
}

bool Needs::is_sound(const Version& version) const {
  return is_rooted(version) && std::none_of(version.changes.begin(), version.changes.end(),
                                            [&](const ChangeId& id) { return node(id)->lacks_directory; });
}

}  // namespace weft::store
