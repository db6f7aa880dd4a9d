// The ops between two trees, and the delta id of a change.
//
// Order of the ops: creations and moves from the root of the new tree downwards, so that every directory is in place
// before something comes into it and no step makes a cycle (the chain above the place moved to is already the final
// one); then deletions, when everything that survives has left; then contents and modes.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "text/diff.h"
#include "tree/node_diff.h"
#include "tree/tree.h"

namespace weft::tree {
namespace {

namespace op = object::op;
using object::Op;
using object::Place;

constexpr int kContextLines = 3;

Place place_of(const Located& node) { return {node.parent, node.entry.name}; }

bool above(const Located& a, const Located& b) {
  return std::tie(a.depth, a.parent, a.entry.name) < std::tie(b.depth, b.parent, b.entry.name);
}

/// Up to three whole lines that end at `end` / begin at `begin`.
std::string_view lines_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  for (int lines = 0; begin > 0 && lines < kContextLines; ++lines) {
    --begin;  // the newline of the line to take
    while (begin > 0 && text[begin - 1] != '\n') --begin;
  }
  return text.substr(begin, end - begin);
}
std::string_view lines_behind(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  for (int lines = 0; end < text.size() && lines < kContextLines; ++lines) {
    const std::size_t newline = text.find('\n', end);
    end = newline == std::string_view::npos ? text.size() : newline + 1;
  }
  return text.substr(begin, end - begin);
}

Result<Op> content_op(const ObjectReader& reader, const TreeEntry& before, const TreeEntry& after) {
  const Op whole = op::SetContent{after.node, before.id, after.id, after.size};
  if (after.kind != EntryKind::file || before.id == after.id ||
      std::max(before.size, after.size) > text::kMaxTextBytes) {
    return whole;
  }
  WEFT_TRY(const Bytes old_text, reader.read(object::ObjectKind::blob, before.id));
  if (!text::is_text(old_text)) return whole;
  WEFT_TRY(const Bytes new_text, reader.read(object::ObjectKind::blob, after.id));
  if (!text::is_text(new_text)) return whole;
  op::EditText edit{after.node, before.id, after.id, after.size, {}};
  for (const text::ByteChange& change : text::diff_bytes(old_text, new_text)) {
    edit.hunks.push_back({change.offset, Bytes(change.removed), Bytes(change.added),
                          Bytes(lines_before(old_text, change.offset)),
                          Bytes(lines_behind(old_text, change.offset + change.removed.size()))});
  }
  return Op(std::move(edit));
}

Result<std::vector<Op>> ops_of(const ObjectReader& reader, const NodeDiff& diff) {
  std::vector<const NodeChange*> placed, removed, edited;
  std::unordered_set<NodeId, IdHash> gone;
  for (const NodeChange& change : diff.changes) {
    if (change.kind_changed()) {
      return make_error(
          Code::invalid,
          fmt::format("{} is a {} before and a {} after, under one node; what changes its kind is a new node",
                      quoted(path_of(diff.after_dirs, *change.after)), object::name(change.before->entry.kind),
                      object::name(change.after->entry.kind)));
    }
    if (change.created() || change.moved()) placed.push_back(&change);
    if (change.content_changed() || change.mode_changed()) edited.push_back(&change);
    if (change.deleted()) {
      removed.push_back(&change);
      gone.insert(change.node());
    }
  }
  const auto by_after = [](const NodeChange* a, const NodeChange* b) { return above(*a->after, *b->after); };
  std::sort(placed.begin(), placed.end(), by_after);
  std::sort(edited.begin(), edited.end(), by_after);
  std::sort(removed.begin(), removed.end(),
            [](const NodeChange* a, const NodeChange* b) { return above(*a->before, *b->before); });

  std::map<std::pair<NodeId, std::string_view>, const NodeChange*> gone_from;
  for (const NodeChange* change : removed) gone_from[{change->before->parent, change->before->entry.name}] = change;

  std::vector<Op> ops;
  std::unordered_set<NodeId, IdHash> replaced;
  for (const NodeChange* change : placed) {
    const TreeEntry& entry = change->after->entry;
    if (change->moved()) {
      ops.emplace_back(op::Move{entry.node, place_of(*change->before), place_of(*change->after)});
      continue;
    }
    op::Create create{entry.node, place_of(*change->after), entry.kind, entry.mode, ObjectId{}, 0, std::nullopt};
    if (entry.kind != EntryKind::directory) create.blob = entry.id, create.size = entry.size;
    const auto old = gone_from.find({change->after->parent, entry.name});
    if (old != gone_from.end() && old->second->before->entry.kind != entry.kind) {
      create.replaces = old->second->node();
      replaced.insert(old->second->node());
    }
    ops.emplace_back(std::move(create));
  }
  for (const NodeChange* change : removed) {
    if (gone.contains(change->before->parent) || replaced.contains(change->node())) continue;
    ops.emplace_back(op::Delete{change->node(), place_of(*change->before)});
  }
  for (const NodeChange* change : edited) {
    const TreeEntry& before = change->before->entry;
    const TreeEntry& after = change->after->entry;
    if (change->content_changed()) {
      WEFT_TRY(Op content, content_op(reader, before, after));
      ops.push_back(std::move(content));
    }
    if (change->mode_changed()) ops.emplace_back(op::SetMode{after.node, before.mode, after.mode});
  }
  return ops;
}

}  // namespace

Result<std::vector<Op>> derive_ops(const ObjectReader& reader, const ObjectId& before, const ObjectId& after) {
  WEFT_TRY(const NodeDiff diff, diff_nodes(reader, before, after));
  return ops_of(reader, diff);
}

Result<DeltaId> change_delta_id(const ObjectReader& reader, const ObjectId& parent_tree, const object::Change& change) {
  WEFT_TRY(const NodeDiff diff, diff_nodes(reader, parent_tree, change.tree));
  object::Change patch;
  patch.ops = change.ops;
  if (change.form == object::OpsForm::derived) {
    WEFT_TRY(patch.ops, ops_of(reader, diff));
  }
  std::unordered_map<NodeId, std::string, IdHash> paths;
  for (const NodeChange& node : diff.changes) {
    paths.emplace(node.node(),
                  node.after ? path_of(diff.after_dirs, *node.after) : path_of(diff.before_dirs, *node.before));
  }
  // Everything that the ops name is in the difference of the two trees, unless they undo each other (a mode set and set
  // back): then it has to be searched for.
  const auto known_directory = [&](const NodeId& node) -> std::optional<std::string> {
    if (const auto after = diff.after_dirs.find(node); after != diff.after_dirs.end()) {
      return path_of(diff.after_dirs, after->second);
    }
    if (const auto before = diff.before_dirs.find(node); before != diff.before_dirs.end()) {
      return path_of(diff.before_dirs, before->second);
    }
    return std::nullopt;
  };
  std::unordered_set<NodeId, IdHash> searched;
  const auto want = [&](const NodeId& node) {
    if (node.is_zero() || paths.contains(node)) return;
    if (auto path = known_directory(node)) {
      paths.emplace(node, *std::move(path));
    } else {
      searched.insert(node);
    }
  };
  for (const Op& each : patch.ops) for_each_node(each, want);
  for (const ObjectId& tree : {change.tree, parent_tree}) {
    if (searched.empty()) break;
    WEFT_DO(walk(reader, tree, "", [&](const PathEntry& item) -> Result<bool> {
      if (searched.erase(item.entry.node) != 0) paths.emplace(item.entry.node, item.path);
      return !searched.empty();
    }));
  }
  return object::delta_id(patch, [&](const NodeId& node) {
    const auto path = paths.find(node);
    return path == paths.end() ? std::string() : path->second;
  });
}

void for_each_node(const object::Op& any, const std::function<void(const NodeId&)>& visit) {
  struct Visitor {
    const std::function<void(const NodeId&)>& visit;
    void operator()(const op::Create& create) const {
      visit(create.node);
      visit(create.place.directory);
      if (create.replaces) visit(*create.replaces);
    }
    void operator()(const op::Move& move) const {
      visit(move.node);
      visit(move.from.directory);
      visit(move.to.directory);
    }
    void operator()(const op::Delete& remove) const {
      visit(remove.node);
      visit(remove.from.directory);
    }
    void operator()(const op::SetContent& set) const { visit(set.node); }
    void operator()(const op::EditText& edit) const { visit(edit.node); }
    void operator()(const op::SetMode& set) const { visit(set.node); }
    void operator()(const op::Settle&) const {}
  };
  std::visit(Visitor{visit}, any);
}

}  // namespace weft::tree
