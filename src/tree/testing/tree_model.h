// A tree as a plain map of nodes, edited at random: what the tests compare the real thing with.
#pragma once

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "object/memory_objects.h"
#include "tree/tree.h"

namespace weft::tree::testing {

inline NodeId node_number(std::uint64_t number) {
  NodeId node;
  const ObjectId hash = sha256(std::to_string(number));
  std::memcpy(node.bytes.data(), hash.bytes.data(), NodeId::kSize);
  return node;
}

template <typename T>
T must(Result<T> result) {
  if (!result) check_failed(result.error().message.c_str(), __FILE__, __LINE__);
  return *std::move(result);
}

struct ModelNode {
  NodeId parent;
  std::string name;
  EntryKind kind = EntryKind::file;
  std::uint32_t mode = 0644;
  Bytes content;
  bool operator==(const ModelNode&) const = default;
};

struct TreeModel {
  std::map<NodeId, ModelNode> nodes;  // the root is not among them
  bool operator==(const TreeModel&) const = default;

  bool is_directory(const NodeId& node) const { return node.is_zero() || nodes.at(node).kind == EntryKind::directory; }
  bool is_within(NodeId node, const NodeId& above) const {
    for (; !node.is_zero(); node = nodes.at(node).parent) {
      if (node == above) return true;
    }
    return above.is_zero();
  }
  const NodeId* at(const NodeId& directory, const std::string& name) const {
    for (const auto& [node, is] : nodes) {
      if (is.parent == directory && is.name == name) return &node;
    }
    return nullptr;
  }
  std::string path(const NodeId& node) const {
    if (node.is_zero()) return "";
    const auto& is = nodes.at(node);
    return is.parent.is_zero() ? is.name : path(is.parent) + "/" + is.name;
  }
  void remove(const NodeId& node) {
    std::vector<NodeId> gone;
    for (const auto& [each, is] : nodes) {
      if (is_within(each, node)) gone.push_back(each);
    }
    for (const NodeId& each : gone) nodes.erase(each);
  }

  ObjectId write(object::MemoryObjects& objects, const NodeId& directory = {}) const {
    object::Entries entries;
    for (const auto& [node, is] : nodes) {
      if (is.parent != directory) continue;
      TreeEntry entry{is.name, is.kind, is.mode, node, {}, 0};
      if (is.kind == EntryKind::directory) {
        entry.id = write(objects, node);
      } else {
        entry.id = must(objects.put(object::ObjectKind::blob, is.content));
        entry.size = is.content.size();
      }
      entries.push_back(std::move(entry));
    }
    return must(object::write_directory(objects, std::move(entries)));
  }

  static TreeModel read(const object::MemoryObjects& objects, const ObjectId& root) {
    TreeModel model;
    std::map<std::string, NodeId> directories{{"", NodeId{}}};
    const auto done = walk(objects, root, "", [&](const PathEntry& item) -> Result<bool> {
      const std::size_t slash = item.path.rfind('/');
      const NodeId parent = directories.at(slash == std::string::npos ? "" : item.path.substr(0, slash));
      ModelNode node{parent, item.entry.name, item.entry.kind, item.entry.mode, {}};
      if (node.kind == EntryKind::directory) {
        directories[item.path] = item.entry.node;
      } else {
        node.content = must(objects.read(object::ObjectKind::blob, item.entry.id));
      }
      if (!model.nodes.emplace(item.entry.node, std::move(node)).second) return damaged("a node twice");
      return true;
    });
    if (!done) check_failed(done.error().message.c_str(), __FILE__, __LINE__);
    return model;
  }
};

/// Random edits. Names come from a small pool, so that they are reused, swapped and fought over.
class Editing {
 public:
  /// Nodes are numbered from `first_node`.
  Editing(std::uint32_t seed, std::uint64_t first_node) : random_(seed), next_node_(first_node) {}

  void edit(TreeModel& tree, int times) {
    while (times-- > 0) step(tree);
  }
  void grow(TreeModel& tree, int times) {
    while (times-- > 0) {
      const NodeId parent = any_directory(tree);
      const std::string free = name();
      if (tree.at(parent, free) != nullptr) continue;
      create(tree, parent, free, pick(3) ? EntryKind::file : EntryKind::directory);
    }
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::string name() { return std::string(1, static_cast<char>('a' + pick(6))); }
  Bytes content() {
    if (pick(6) == 0) return Bytes("\0binary", 7) + std::to_string(random_());
    Bytes text;
    for (std::size_t lines = pick(12); lines > 0; --lines) text += "line " + std::to_string(pick(20)) + "\n";
    if (pick(3) == 0) text += "no newline";
    return text;
  }
  NodeId any_node(const TreeModel& tree) {
    auto at = tree.nodes.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(pick(tree.nodes.size())));
    return at->first;
  }
  NodeId any_directory(const TreeModel& tree) {
    std::vector<NodeId> directories{NodeId{}};
    for (const auto& [node, is] : tree.nodes) {
      if (is.kind == EntryKind::directory) directories.push_back(node);
    }
    return directories[pick(directories.size())];
  }
  NodeId create(TreeModel& tree, const NodeId& parent, const std::string& name, EntryKind kind) {
    if (const NodeId* old = tree.at(parent, name)) tree.remove(*old);
    const NodeId node = node_number(next_node_++);
    const std::uint32_t mode = kind == EntryKind::file      ? (pick(4) ? 0644 : 0755)
                               : kind == EntryKind::symlink ? 0777
                                                            : 0755;
    tree.nodes[node] = {parent, name, kind, mode, kind == EntryKind::directory ? Bytes() : content() + "x"};
    return node;
  }
  void place(TreeModel& tree, const NodeId& node, const NodeId& parent, const std::string& to) {
    if (tree.is_within(parent, node)) return;
    const NodeId* there = tree.at(parent, to);
    ModelNode& moving = tree.nodes.at(node);
    if (there != nullptr && *there != node) {
      if (tree.is_within(node, *there)) return;                      // its own directory is in the way
      if (pick(2) != 0 && !tree.is_within(moving.parent, *there)) {  // swap
        tree.nodes.at(*there).parent = moving.parent;
        tree.nodes.at(*there).name = moving.name;
      } else {
        tree.remove(NodeId(*there));
      }
    }
    moving.parent = parent;
    moving.name = to;
  }
  void step(TreeModel& tree) {
    const std::size_t what = tree.nodes.size() < 3 ? pick(3) : pick(12);
    switch (what) {
      case 0:
      case 1:
        create(tree, any_directory(tree), name(), EntryKind::file);
        return;
      case 2:
        create(tree, any_directory(tree), name(), pick(4) ? EntryKind::directory : EntryKind::symlink);
        return;
      case 3:
      case 4: {
        ModelNode& node = tree.nodes.at(any_node(tree));
        if (node.kind == EntryKind::directory) return;
        node.content = pick(2) ? content() : node.content + "more\n";
        if (node.content.empty()) node.content = "x";
        return;
      }
      case 5: {
        ModelNode& node = tree.nodes.at(any_node(tree));
        if (node.kind == EntryKind::file) node.mode ^= 0111;
        return;
      }
      case 6:
      case 7:
        place(tree, any_node(tree), any_directory(tree), name());
        return;
      case 8:
        tree.remove(any_node(tree));
        return;
      case 9: {  // replaced by another kind
        const NodeId node = any_node(tree);
        const ModelNode old = tree.nodes.at(node);
        const NodeId fresh = create(tree, old.parent, old.name,
                                    old.kind == EntryKind::directory ? EntryKind::file : EntryKind::directory);
        if (tree.nodes.at(fresh).kind == EntryKind::directory && pick(2)) create(tree, fresh, name(), EntryKind::file);
        return;
      }
      case 10: {  // what is in a directory leaves it; then the directory goes
        const NodeId directory = any_directory(tree);
        if (directory.is_zero()) return;
        const NodeId node = any_node(tree);
        const NodeId refuge = any_directory(tree);
        if (node != directory && tree.is_within(node, directory) && !tree.is_within(refuge, directory)) {
          place(tree, node, refuge, name());
        }
        if (tree.nodes.contains(directory)) tree.remove(directory);
        return;
      }
      default: {  // into a new directory
        const NodeId node = any_node(tree);
        const NodeId parent = any_directory(tree);
        const std::string made = name();
        if (tree.is_within(parent, node)) return;
        if (const NodeId* old = tree.at(parent, made); old != nullptr && tree.is_within(node, *old)) return;
        const NodeId directory = create(tree, parent, made, EntryKind::directory);
        place(tree, node, directory, name());
        return;
      }
    }
  }

  std::mt19937 random_;
  std::uint64_t next_node_;
};

inline TreeModel random_tree(std::uint32_t seed, int size) {
  TreeModel tree;
  Editing editing(seed, 1);
  editing.grow(tree, size);
  editing.edit(tree, size / 4);
  return tree;
}

}  // namespace weft::tree::testing
