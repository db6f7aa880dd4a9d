// A tree rebuilt from where its nodes shall be: the common end of apply_ops and merge_by_node. Internal to tree/.
//
// Nodes are looked up when named (`locate`), then moved, deleted, created and edited in any order; names may clash and
// chains pass through deleted directories on the way. Deleting is a flag: what is gone in the end is every node with a
// flagged one on its final chain to the root. build() writes the directories that differ and no others. Threading: one
// user at a time.
#pragma once

#include <deque>

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
  /// The node's directories, nearest first, the root excluded; at most kMaxDepth.
  template <typename Visit>
  Result<void> for_each_above(const NodeId& node, const Visit& visit);
  Result<std::uint32_t> depth(const NodeId& directory);

  const ObjectReader& reader_;
  Locate locate_;
  std::map<NodeId, std::optional<Node>> nodes_;
  std::deque<NodeId> known_;  // those of nodes_ that exist, in the order they became known
};

}  // namespace weft::tree
