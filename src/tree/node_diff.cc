#include "tree/node_diff.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

namespace weft::tree {

bool is_empty_tree(const ObjectId& tree) {
  static const ObjectId empty = object::empty_tree_id();
  return tree == empty;
}

Result<object::Entries> list_directory(const ObjectReader& reader, const ObjectId& tree) {
  if (is_empty_tree(tree)) return object::Entries();
  return object::read_directory(reader, tree);
}

Result<ObjectId> edit_or_write_directory(const ObjectReader& reader, ObjectWriter& writer,
                                         const std::optional<ObjectId>& tree, std::vector<object::EntryEdit> edits) {
  if (tree && !is_empty_tree(*tree)) return object::edit_directory(reader, writer, *tree, std::move(edits));
  object::Entries entries;
  for (object::EntryEdit& edit : edits) {
    if (edit.entry) entries.push_back(*std::move(edit.entry));
  }
  return object::write_directory(writer, std::move(entries));
}

Error too_deep(std::string_view where) {
  return make_error(Code::invalid,
                    fmt::format("the tree is more than {} directories deep, at {}", kMaxDepth, quoted(where)),
                    "flatten the directories and try again");
}

TreeEntry root_entry(const ObjectId& root) {
  TreeEntry entry;
  entry.kind = EntryKind::directory;
  entry.mode = 0755;
  entry.id = root;
  return entry;
}

std::string path_of(const DirectoryMap& directories, const Located& node) {
  std::vector<const std::string*> names{&node.entry.name};
  std::size_t length = node.entry.name.size();
  for (NodeId parent = node.parent; !parent.is_zero();) {
    const auto found = directories.find(parent);
    WEFT_CHECK(found != directories.end() && names.size() <= kMaxDepth);  // N2
    names.push_back(&found->second.entry.name);
    length += 1 + names.back()->size();
    parent = found->second.parent;
  }
  std::string path;
  path.reserve(length);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!path.empty()) path += '/';
    path += **name;
  }
  return path;
}

namespace {

class Differ {
 public:
  explicit Differ(const ObjectReader& reader) : reader_(reader) {}

  Result<NodeDiff> run(const ObjectId& before, const ObjectId& after) {
    WEFT_DO(add_pair({NodeId{}, root_entry(before), 0}, {NodeId{}, root_entry(after), 0}));
    // Pairs first: they find moves for the price of what differs. Then one unexplained directory of each side in turn,
    // so that a directory moved out of a deleted one (or into a created one) is recognised before much of it was read.
    for (bool more = true; more;) {
      more = false;
      while (!pairs_.empty()) {
        const Pair pair = pairs_.front();
        pairs_.pop_front();
        WEFT_DO(compare(pair));
      }
      for (Side* side : {&before_, &after_}) {
        while (!side->unexplained.empty()) {
          const NodeId node = side->unexplained.front();
          side->unexplained.pop_front();
          Item& item = side->items.at(node);
          if (item.matched || item.expanded) continue;
          WEFT_DO(expand(*side, node));
          more = true;
          break;
        }
      }
      more = more || !pairs_.empty();
    }
    return collect();
  }

 private:
  struct Item {
    Located place;
    bool matched = false;   // the other side has the node too
    bool expanded = false;  // what is in it became items
  };
  struct Side {
    std::unordered_map<NodeId, Item, IdHash> items;  // found at a place where the other side has not the same
    std::deque<NodeId> unexplained;                  // directories among them
    std::unordered_set<NodeId, IdHash> seen;
    DirectoryMap dirs;
  };
  struct Pair {
    NodeId node;
    std::uint32_t depth_before = 0, depth_after = 0;
    ObjectId before, after;
  };

  // N3
  static Result<void> see(Side& side, const Located& place) {
    if (place.entry.node.is_zero() || !side.seen.insert(place.entry.node).second) {
      return damaged(fmt::format("node {} is at two places of one tree, one of them {}", place.entry.node.hex(),
                                 quoted(place.entry.name)));
    }
    if (place.depth > kMaxDepth) return too_deep(place.entry.name);
    return {};
  }

  Result<void> add_pair(const Located& before, const Located& after) {
    before_.dirs.emplace(before.entry.node, before);
    after_.dirs.emplace(after.entry.node, after);
    if (before.entry.id != after.entry.id) {
      pairs_.push_back({before.entry.node, before.depth, after.depth, before.entry.id, after.entry.id});
    }
    return {};
  }

  Result<void> compare(const Pair& pair) {
    const auto visit = [&](const TreeEntry* before, const TreeEntry* after) -> Result<void> {
      if (before != nullptr && after != nullptr && before->node == after->node && before->kind == after->kind) {
        const Located was{pair.node, *before, pair.depth_before + 1}, is{pair.node, *after, pair.depth_after + 1};
        WEFT_DO(see(before_, was));
        WEFT_DO(see(after_, is));
        NodeChange change{was, is};
        if (change.differs()) in_place_.push_back(std::move(change));
        if (before->kind == EntryKind::directory) WEFT_DO(add_pair(was, is));
        return {};
      }
      if (before != nullptr) WEFT_DO(add_item(before_, after_, {pair.node, *before, pair.depth_before + 1}));
      if (after != nullptr) WEFT_DO(add_item(after_, before_, {pair.node, *after, pair.depth_after + 1}));
      return {};
    };
    if (!is_empty_tree(pair.before) && !is_empty_tree(pair.after)) {
      return object::diff_directories(reader_, pair.before, pair.after, visit);
    }
    WEFT_TRY(const auto gone, list_directory(reader_, pair.before));
    for (const TreeEntry& entry : gone) WEFT_DO(visit(&entry, nullptr));
    WEFT_TRY(const auto come, list_directory(reader_, pair.after));
    for (const TreeEntry& entry : come) WEFT_DO(visit(nullptr, &entry));
    return {};
  }

  Result<void> add_item(Side& side, Side& other, Located place) {
    WEFT_DO(see(side, place));
    const NodeId node = place.entry.node;
    const bool is_directory = place.entry.kind == EntryKind::directory;
    Item& item = side.items.emplace(node, Item{std::move(place)}).first->second;
    const auto found = other.items.find(node);
    if (found == other.items.end() || found->second.place.entry.kind != item.place.entry.kind) {
      if (is_directory) side.unexplained.push_back(node);
      return {};
    }
    Item& twin = found->second;
    item.matched = twin.matched = true;
    if (!is_directory) return {};
    if (!twin.expanded) {
      Item& was = &side == &before_ ? item : twin;
      Item& is = &side == &before_ ? twin : item;
      return add_pair(was.place, is.place);
    }
    // The other side was read as if created or deleted: read this one too; what is equal in both cancels out.
    return expand(side, node);
  }

  Result<void> expand(Side& side, const NodeId& node) {
    Side& other = &side == &before_ ? after_ : before_;
    std::vector<NodeId> todo{node};
    while (!todo.empty()) {
      const NodeId next = todo.back();
      todo.pop_back();
      Item& item = side.items.at(next);
      if (item.expanded) continue;
      item.expanded = true;
      const Located place = item.place;
      side.dirs.emplace(next, place);
      WEFT_TRY(const auto entries, list_directory(reader_, place.entry.id));
      for (const TreeEntry& entry : entries) WEFT_DO(add_child(side, other, {next, entry, place.depth + 1}, todo));
    }
    return {};
  }

  /// add_item without recursion: directories to be expanded at once go to `todo`.
  Result<void> add_child(Side& side, Side& other, Located place, std::vector<NodeId>& todo) {
    const auto found = other.items.find(place.entry.node);
    if (found != other.items.end() && found->second.expanded && place.entry.kind == EntryKind::directory &&
        found->second.place.entry.kind == EntryKind::directory) {
      WEFT_DO(see(side, place));
      const NodeId node = place.entry.node;
      found->second.matched = true;
      side.items.emplace(node, Item{std::move(place), true});
      todo.push_back(node);
      return {};
    }
    return add_item(side, other, std::move(place));
  }

  Result<NodeDiff> collect() {
    NodeDiff diff;
    diff.changes = std::move(in_place_);
    for (auto& [node, item] : before_.items) {
      NodeChange change{item.place, std::nullopt};
      if (const auto found = after_.items.find(node); found != after_.items.end()) change.after = found->second.place;
      remember(before_, item.place);
      if (change.differs()) diff.changes.push_back(std::move(change));
    }
    for (auto& [node, item] : after_.items) {
      remember(after_, item.place);
      if (!before_.items.contains(node)) diff.changes.push_back({std::nullopt, item.place});
    }
    diff.before_dirs = std::move(before_.dirs);
    diff.after_dirs = std::move(after_.dirs);
    return diff;
  }

  static void remember(Side& side, const Located& place) {
    if (place.entry.kind == EntryKind::directory) side.dirs.emplace(place.entry.node, place);
  }

  const ObjectReader& reader_;
  Side before_, after_;
  std::deque<Pair> pairs_;
  std::vector<NodeChange> in_place_;
};

}  // namespace

Result<NodeDiff> diff_nodes(const ObjectReader& reader, const ObjectId& before, const ObjectId& after) {
  return Differ(reader).run(before, after);
}

}  // namespace weft::tree
