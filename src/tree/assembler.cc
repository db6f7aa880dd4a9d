#include "tree/assembler.h"

#include <utility>

#include <fmt/format.h>

namespace weft::tree {

Assembler::Assembler(const ObjectReader& reader, const ObjectId& root, Locate locate)
    : reader_(reader), locate_(std::move(locate)) {
  const Located place{NodeId{}, root_entry(root), 0};
  nodes_.emplace(NodeId{}, Node{place, place, false});
}

Result<Assembler::Node*> Assembler::find(const NodeId& node) {
  auto known = nodes_.find(node);
  if (known == nodes_.end()) {
    WEFT_TRY(auto place, locate_(node));
    std::optional<Node> fresh;
    if (place) fresh = Node{*place, *place, false};
    known = nodes_.emplace(node, std::move(fresh)).first;
    if (known->second) known_.push_back(node);
  }
  return known->second ? &*known->second : nullptr;
}

Assembler::Node& Assembler::create(Located now) {
  const NodeId node = now.entry.node;
  std::optional<Node>& slot = nodes_[node];
  WEFT_CHECK(!slot);
  slot = Node{std::nullopt, std::move(now), false};
  known_.push_back(node);
  return *slot;
}

template <typename Visit>
Result<void> Assembler::for_each_above(const NodeId& node, const Visit& visit) {
  NodeId at = node;
  for (std::size_t steps = 0; !at.is_zero(); ++steps) {
    WEFT_TRY(Node * here, find(at));
    if (here == nullptr) {
      return make_error(Code::invalid, fmt::format("the directory with node {} is not in the tree", at.hex()));
    }
    if (steps > kMaxDepth) return too_deep(here->now.entry.name);
    if (!visit(at, *here)) return {};
    at = here->now.parent;
  }
  return {};
}

Result<bool> Assembler::is_within(const NodeId& node, const NodeId& above) {
  if (above.is_zero()) return true;
  bool within = false;
  WEFT_DO(for_each_above(node, [&](const NodeId& at, const Node&) { return !(within = within || at == above); }));
  return within;
}

Result<bool> Assembler::is_gone(const NodeId& node) {
  bool gone = false;
  WEFT_DO(for_each_above(node, [&](const NodeId&, const Node& at) { return !(gone = gone || at.deleted); }));
  return gone;
}

Result<std::uint32_t> Assembler::depth(const NodeId& directory) {
  std::uint32_t depth = 0;
  WEFT_DO(for_each_above(directory, [&](const NodeId&, const Node&) { return ++depth, true; }));
  return depth;
}

Result<std::vector<Assembler::Clash>> Assembler::clashes() {
  std::vector<Clash> clashes;
  std::map<std::pair<NodeId, std::string>, NodeId> taken;
  for (std::size_t i = 0; i < known_.size(); ++i) {  // finding may add to known_
    const NodeId id = known_[i];
    WEFT_TRY(const Node* node, find(id));
    const Located& now = node->now;
    if (node->base && node->base->parent == now.parent && node->base->entry.name == now.entry.name) continue;
    WEFT_TRY(const bool gone, is_gone(id));
    if (gone) continue;
    const auto [other, fresh] = taken.emplace(std::pair{now.parent, now.entry.name}, id);
    if (!fresh) {
      clashes.push_back({now.parent, now.entry.name, other->second, id});
      continue;
    }
    // What was there before and stays.
    WEFT_TRY(const Node* directory, find(now.parent));
    if (!directory->base || directory->base->entry.kind != EntryKind::directory ||
        is_empty_tree(directory->base->entry.id)) {
      continue;
    }
    WEFT_TRY(const auto occupant, object::find_entry(reader_, directory->base->entry.id, now.entry.name));
    if (!occupant || occupant->node == id) continue;
    WEFT_TRY(const Node* staying, find(occupant->node));
    if (staying == nullptr) {  // nobody names it, so it stays
      clashes.push_back({now.parent, now.entry.name, occupant->node, id});
      continue;
    }
    WEFT_TRY(const bool occupant_gone, is_gone(occupant->node));
    if (!occupant_gone && staying->now.parent == now.parent && staying->now.entry.name == now.entry.name) {
      clashes.push_back({now.parent, now.entry.name, occupant->node, id});
    }
  }
  return clashes;
}

Result<ObjectId> Assembler::build(ObjectWriter& writer) {
  using Edits = std::map<std::string, std::optional<TreeEntry>>;
  std::map<NodeId, Edits> edits;
  std::vector<std::pair<NodeId, Located>> placed;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const NodeId id = known_[i];
    WEFT_TRY(const Node* node, find(id));
    const Located now = node->now;
    const std::optional<Located> base = node->base;
    WEFT_TRY(const bool gone, is_gone(id));
    const bool elsewhere = base && (base->parent != now.parent || base->entry.name != now.entry.name);
    if (base && (gone || elsewhere)) {
      WEFT_TRY(const bool directory_gone, is_gone(base->parent));
      if (!directory_gone) edits[base->parent].emplace(base->entry.name, std::nullopt);
    }
    if (gone || (base && !elsewhere && base->entry == now.entry)) continue;
    placed.emplace_back(id, now);
    if (!base && now.entry.kind == EntryKind::directory) edits.try_emplace(id);
  }
  for (const auto& [id, now] : placed) edits[now.parent][now.entry.name] = now.entry;

  // Deepest first: what a directory becomes is an edit of the one above it.
  std::map<std::uint32_t, std::vector<NodeId>, std::greater<>> levels;
  for (const auto& [directory, unused] : edits) {
    WEFT_TRY(const std::uint32_t level, depth(directory));
    levels[level].push_back(directory);
  }
  WEFT_TRY(const Node* root, find(NodeId{}));
  while (!levels.empty()) {
    const auto [level, directories] = std::move(*levels.begin());
    levels.erase(levels.begin());
    for (const NodeId& id : directories) {
      WEFT_TRY(Node * directory, find(id));
      std::vector<object::EntryEdit> list;
      for (auto& [name, entry] : edits[id]) list.push_back({name, std::move(entry)});
      std::optional<ObjectId> stored;
      if (directory->base) stored = directory->base->entry.id;
      WEFT_TRY(directory->now.entry.id, edit_or_write_directory(reader_, writer, stored, std::move(list)));
      if (level == 0) continue;
      const NodeId parent = directory->now.parent;
      const auto [above, fresh] = edits.try_emplace(parent);
      above->second[directory->now.entry.name] = directory->now.entry;
      if (fresh) levels[level - 1].push_back(parent);
    }
  }
  if (is_empty_tree(root->now.entry.id)) return object::write_directory(writer, {});
  return root->now.entry.id;
}

}  // namespace weft::tree
