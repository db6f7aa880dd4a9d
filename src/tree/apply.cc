// The fold of one change's ops on its parent's tree.
//
// Ops take effect one after the other, each judged against what the ones before it made: what it says of its node
// (place, content, mode) must be so. Only names may clash, and nodes lie in deleted directories, until the end.
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "tree/assembler.h"
#include "tree/tree.h"

namespace weft::tree {
namespace {

namespace op = object::op;
using object::Op;
using object::Place;
using Node = Assembler::Node;

/// Where nodes are in a tree. There is no index from node to path: the difference to a tree that is likely to be the
/// result names nearly all that ops touch; the rest is searched for, breadth first, until found.
class Locator {
 public:
  Locator(const ObjectReader& reader, const ObjectId& root) : reader_(reader), root_(root) {
    directories_.emplace(NodeId{}, Located{NodeId{}, root_entry(root), 0});
  }

  Result<void> learn_from(const ObjectId& other) {
    WEFT_TRY(NodeDiff diff, diff_nodes(reader_, root_, other));
    for (NodeChange& change : diff.changes) {
      if (change.before) found_.emplace(change.node(), *std::move(change.before));
    }
    directories_.merge(diff.before_dirs);
    return {};
  }

  Result<void> search(std::unordered_set<NodeId, IdHash> wanted) {
    std::erase_if(wanted, [&](const NodeId& node) { return locate(node).has_value(); });
    std::deque<NodeId> todo{NodeId{}};
    std::unordered_set<NodeId, IdHash> visited;
    while (!wanted.empty() && !todo.empty()) {
      const NodeId node = todo.front();
      todo.pop_front();
      if (!visited.insert(node).second) {
        return damaged(fmt::format("directory node {} is at two places of one tree", node.hex()));
      }
      const Located directory = directories_.at(node);
      if (directory.depth >= kMaxDepth) return too_deep(directory.entry.name);
      WEFT_TRY(auto entries, list_directory(reader_, directory.entry.id));
      for (TreeEntry& entry : entries) {
        const NodeId child = entry.node;
        const bool is_directory = entry.kind == EntryKind::directory;
        if (wanted.erase(child) == 0 && !is_directory) continue;
        Located place{node, std::move(entry), directory.depth + 1};
        if (is_directory) {
          directories_.emplace(child, std::move(place));
          todo.push_back(child);
        } else {
          found_.emplace(child, std::move(place));
        }
      }
    }
    return {};
  }

  std::optional<Located> locate(const NodeId& node) const {
    if (const auto known = found_.find(node); known != found_.end()) return known->second;
    if (const auto known = directories_.find(node); known != directories_.end()) return known->second;
    return std::nullopt;
  }

 private:
  const ObjectReader& reader_;
  const ObjectId root_;
  DirectoryMap found_, directories_;
};

Error misfit(std::string text) { return make_error(Code::invalid, std::move(text)); }

class Fold {
 public:
  Fold(const ObjectReader& reader, ObjectWriter& writer, Assembler& tree)
      : reader_(reader), writer_(writer), tree_(tree) {}

  Result<void> operator()(const op::Create& create) {
    WEFT_TRY(const Node* known, tree_.find(create.node));
    if (create.node.is_zero() || known != nullptr) return misfit("creates a node that is there already");
    WEFT_DO(check_target(create.place));
    if (create.replaces) {
      WEFT_TRY(Node * replaced, existing(*create.replaces));
      if (place_of(*replaced) != create.place) return misfit("replaces a node that has another place");
      tree_.remove(*replaced);
    }
    TreeEntry entry{create.place.name, create.kind, create.mode, create.node, create.blob, create.size};
    if (create.kind == EntryKind::directory) entry.id = object::empty_tree_id();
    tree_.create({create.place.directory, std::move(entry), 0});
    return {};
  }

  Result<void> operator()(const op::Move& move) {
    WEFT_TRY(Node * node, existing(move.node));
    if (place_of(*node) != move.from) return misfit("moves a node from where it is not");
    WEFT_DO(check_target(move.to));
    bool cycle = false;
    if (node->now.entry.kind == EntryKind::directory) {
      WEFT_TRY(cycle, tree_.is_within(move.to.directory, move.node));
    }
    if (cycle) return misfit("moves a directory into itself");
    node->now.parent = move.to.directory;
    node->now.entry.name = move.to.name;
    return {};
  }

  Result<void> operator()(const op::Delete& remove) {
    WEFT_TRY(Node * node, existing(remove.node));
    if (place_of(*node) != remove.from) return misfit("deletes a node from where it is not");
    tree_.remove(*node);
    return {};
  }

  Result<void> operator()(const op::SetContent& set) {
    WEFT_TRY(Node * node, with_content(set.node, set.base));
    node->now.entry.id = set.result;
    node->now.entry.size = set.size;
    return {};
  }

  Result<void> operator()(const op::EditText& edit) {
    WEFT_TRY(Node * node, with_content(edit.node, edit.base));
    if (node->now.entry.kind != EntryKind::file) return misfit("edits the text of what is no file");
    WEFT_TRY(const Bytes before, reader_.read(object::ObjectKind::blob, edit.base));
    Bytes after;
    std::uint64_t at = 0;
    for (const object::Hunk& hunk : edit.hunks) {
      if (hunk.offset < at || hunk.offset > before.size() ||
          ByteView(before).substr(hunk.offset, hunk.removed.size()) != hunk.removed) {
        return misfit("has a hunk that does not fit its base");
      }
      after += ByteView(before).substr(at, hunk.offset - at);
      after += hunk.added;
      at = hunk.offset + hunk.removed.size();
    }
    after += ByteView(before).substr(at);
    WEFT_TRY(const ObjectId result, writer_.put(object::ObjectKind::blob, after));
    if (result != edit.result || after.size() != edit.size)
      return misfit("has hunks that do not give the result it names");
    node->now.entry.id = result;
    node->now.entry.size = after.size();
    return {};
  }

  Result<void> operator()(const op::SetMode& set) {
    WEFT_TRY(Node * node, existing(set.node));
    if (node->now.entry.mode != set.from) return misfit("changes a mode that is not so");
    node->now.entry.mode = set.to;
    return {};
  }

  Result<void> operator()(const op::Settle&) { return {}; }

 private:
  static Place place_of(const Node& node) { return {node.now.parent, node.now.entry.name}; }

  Result<Node*> existing(const NodeId& id) {
    WEFT_TRY(Node * node, tree_.find(id));
    if (id.is_zero()) return misfit("concerns the root itself");
    if (node == nullptr) return misfit("concerns a node that the tree does not have");
    if (node->deleted) return misfit("concerns a node that an op before it deleted");
    return node;
  }

  Result<Node*> with_content(const NodeId& id, const ObjectId& base) {
    WEFT_TRY(Node * node, existing(id));
    if (node->now.entry.kind == EntryKind::directory) return misfit("sets the content of a directory");
    if (node->now.entry.id != base) return misfit("has another base than the content that is there");
    return node;
  }

  Result<void> check_target(const Place& place) {
    if (const auto problem = object::name_problem(place.name); !problem.empty()) {
      return misfit(fmt::format("names something {}, which {}", quoted(place.name), problem));
    }
    WEFT_TRY(const Node* directory, tree_.find(place.directory));
    if (directory == nullptr || directory->now.entry.kind != EntryKind::directory) {
      return misfit("puts something into what is no directory of the tree");
    }
    WEFT_TRY(const bool gone, tree_.is_gone(place.directory));
    if (gone) return misfit("puts something into a directory that an op before it deleted");
    return {};
  }

  const ObjectReader& reader_;
  ObjectWriter& writer_;
  Assembler& tree_;
};

}  // namespace

Result<ObjectId> apply_ops(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& base,
                           const std::vector<Op>& ops, const ObjectId* likely_result) {
  Locator locator(reader, base);
  if (likely_result != nullptr) WEFT_DO(locator.learn_from(*likely_result));
  std::unordered_set<NodeId, IdHash> wanted;
  for (const Op& each : ops) for_each_node(each, [&](const NodeId& node) { wanted.insert(node); });
  for (const Op& each : ops) {
    if (const auto* create = std::get_if<op::Create>(&each)) wanted.erase(create->node);
  }
  WEFT_DO(locator.search(std::move(wanted)));

  Assembler tree(reader, base,
                 [&](const NodeId& node) -> Result<std::optional<Located>> { return locator.locate(node); });
  Fold fold(reader, writer, tree);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (auto done = std::visit(fold, ops[i]); !done) {
      Error error = std::move(done).error();
      if (error.code == Code::invalid) error.message = fmt::format("op {} {}", i, error.message);
      return error;
    }
  }
  WEFT_TRY(const auto clashes, tree.clashes());
  if (!clashes.empty()) {
    return misfit(fmt::format("the ops leave two nodes under the name {} in one directory", quoted(clashes[0].name)));
  }
  return tree.build(writer);
}

}  // namespace weft::tree
