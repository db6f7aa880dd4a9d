#include "tree/assembler.h"

#include <utility>

#include <fmt/format.h>

namespace weft::tree {

namespace {
/// With more names to look up in one directory, all of it is read.
constexpr std::size_t kMaxSingleLookups = 32;
}  // namespace

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

void Assembler::remove(Node& node) {
  node.deleted = true;
  any_deleted_ = true;
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
  if (!any_deleted_) return false;
  bool gone = false;
  WEFT_DO(for_each_above(node, [&](const NodeId&, const Node& at) { return !(gone = gone || at.deleted); }));
  return gone;
}

Result<Assembler::Outcome> Assembler::outcome(const NodeId& node, Outcomes& known) {
  std::vector<std::pair<NodeId, bool>> chain;  // with the node's own flag
  Outcome above;
  WEFT_DO(for_each_above(node, [&](const NodeId& at, const Node& here) {
    const auto found = known.find(at);
    if (found != known.end()) {
      above = found->second;
      return false;
    }
    chain.emplace_back(at, here.deleted);
    return true;
  }));
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    above.gone = above.gone || link->second;
    if (++above.depth > kMaxDepth) return too_deep(link->first.hex());
    known.emplace(link->first, above);
  }
  return above;
}

bool Assembler::stays_put(const Node& node) {
  return node.base && node.base->parent == node.now.parent && node.base->entry.name == node.now.entry.name;
}

Result<std::vector<Assembler::Clash>> Assembler::clashes() {
  std::vector<Clash> clashes;
  Outcomes outcomes;
  using Placed = std::map<std::string_view, NodeId>;
  std::map<NodeId, Placed> placed;                   // by directory
  for (std::size_t i = 0; i < known_.size(); ++i) {  // following a chain may add to known_
    const NodeId id = known_[i];
    const Node& node = *nodes_.at(id);
    if (stays_put(node)) continue;
    WEFT_TRY(const Outcome outcome_of_node, outcome(id, outcomes));
    if (outcome_of_node.gone) continue;
    const auto [other, fresh] = placed[node.now.parent].emplace(node.now.entry.name, id);
    if (!fresh) clashes.push_back({node.now.parent, node.now.entry.name, other->second, id});
  }
  // What was there before and stays.
  for (const auto& [directory, names] : placed) {
    WEFT_TRY(const Node* in, find(directory));
    if (!in->base || is_empty_tree(in->base->entry.id)) continue;
    WEFT_TRY(const auto occupants, occupants_of(in->base->entry.id, names));
    for (const TreeEntry& occupant : occupants) {
      const NodeId& coming = names.at(occupant.name);
      if (occupant.node == coming) continue;
      WEFT_TRY(const Node* staying, find(occupant.node));
      bool stays = staying == nullptr;  // nobody names it
      if (staying != nullptr && staying->now.parent == directory && staying->now.entry.name == occupant.name) {
        WEFT_TRY(const Outcome end, outcome(occupant.node, outcomes));
        stays = !end.gone;
      }
      if (stays) clashes.push_back({directory, occupant.name, occupant.node, coming});
    }
  }
  return clashes;
}

Result<object::Entries> Assembler::occupants_of(const ObjectId& tree, const std::map<std::string_view, NodeId>& names) {
  object::Entries occupants;
  if (names.size() <= kMaxSingleLookups) {
    for (const auto& [name, unused] : names) {
      WEFT_TRY(auto occupant, object::find_entry(reader_, tree, name));
      if (occupant) occupants.push_back(*std::move(occupant));
    }
    return occupants;
  }
  WEFT_TRY(occupants, list_directory(reader_, tree));
  std::erase_if(occupants, [&](const TreeEntry& entry) { return !names.contains(entry.name); });
  return occupants;
}

Result<ObjectId> Assembler::build(ObjectWriter& writer) {
  using Edits = std::map<std::string, std::optional<TreeEntry>>;
  std::map<NodeId, Edits> edits;
  std::vector<const Node*> placed;
  Outcomes outcomes;
  for (std::size_t i = 0; i < known_.size(); ++i) {  // following a chain may add to known_
    const NodeId id = known_[i];
    const Node& node = *nodes_.at(id);
    WEFT_TRY(const Outcome end, outcome(id, outcomes));
    const bool stays = stays_put(node);
    if (node.base && (end.gone || !stays)) {
      WEFT_TRY(const Outcome old_directory, outcome(node.base->parent, outcomes));
      if (!old_directory.gone) edits[node.base->parent].emplace(node.base->entry.name, std::nullopt);
    }
    if (end.gone || (stays && node.base->entry == node.now.entry)) continue;
    placed.push_back(&node);
    if (!node.base && node.now.entry.kind == EntryKind::directory) edits.try_emplace(id);
  }
  for (const Node* node : placed) edits[node->now.parent][node->now.entry.name] = node->now.entry;

  // Deepest first: what a directory becomes is an edit of the one above it.
  std::map<std::uint32_t, std::vector<NodeId>, std::greater<>> levels;
  for (const auto& [directory, unused] : edits) {
    WEFT_TRY(const Outcome end, outcome(directory, outcomes));
    levels[end.depth].push_back(directory);
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
