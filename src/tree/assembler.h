// A tree rebuilt from where its nodes shall be: the common end of apply_ops and merge_by_node. Internal to tree/.
//
// Nodes are looked up when named (`locate`), then moved, deleted, created and edited in any order; names may clash and
// chains pass through deleted directories on the way. Deleting is a flag: what is gone in the end is every node with a
// flagged one on its final chain to the root. build() writes the directories that differ and no others. Threading: one
// user at a time.
#pragma once

#include "tree/node_diff.h"

namespace weft::tree {

class Assembler {
 public:
  /// Where a node is in the tree being edited; nullopt when it is nowhere there. For a directory entry.id is what it
  /// holds there.
  using Locate = std::function<Result<std::optional<Located>>(const NodeId&)>;

  Assembler(const ObjectReader& reader, const ObjectId& root, Locate locate);

  struct Node {
    std::optional<Located> base;  ///< absent: created
    Located now;
    bool deleted = false;
  };
  /// Null when the tree does not have it. The zero node is the root.
  Result<Node*> find(const NodeId& node);
  /// The node must not be known.
  Node& create(Located now);
  void remove(Node& node);
  /// Whether `above` is `node` or on its chain to the root, as things are now.
  Result<bool> is_within(const NodeId& node, const NodeId& above);
  /// Whether the node is flagged, or a directory above it is.
  Result<bool> is_gone(const NodeId& node);

  struct Clash {
    NodeId directory;
    std::string name;
    NodeId first, second;
  };
  /// Names that two nodes have, as things are now.
  Result<std::vector<Clash>> clashes();
  /// No clashes, no cycles. Code::invalid when it gets too deep.
  Result<ObjectId> build(ObjectWriter& writer);

 private:
  /// What holds of a node once all is done.
  struct Outcome {
    bool gone = false;
    std::uint32_t depth = 0;
  };
  using Outcomes = std::unordered_map<NodeId, Outcome, IdHash>;

  /// The node's chain, itself first, the root excluded; at most kMaxDepth. visit returns false to stop.
  template <typename Visit>
  Result<void> for_each_above(const NodeId& node, const Visit& visit);
  /// Each directory of a chain is followed once for all nodes.
  Result<Outcome> outcome(const NodeId& node, Outcomes& known);
  static bool stays_put(const Node& node);
  /// The entries of a directory that have one of these names.
  Result<object::Entries> occupants_of(const ObjectId& tree, const std::map<std::string_view, NodeId>& names);

  const ObjectReader& reader_;
  Locate locate_;
  std::unordered_map<NodeId, std::optional<Node>, IdHash> nodes_;
  std::vector<NodeId> known_;  // those of nodes_ that exist, in the order they became known
  bool any_deleted_ = false;
};

}  // namespace weft::tree
