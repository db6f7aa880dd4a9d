// merge_by_node: what two sides did to one base, where it cannot interact.
//
// Every judgement below is symmetric in the sides, and made before anything is built: nodes that both touched
// (judge_node), what came into a directory that the other side deleted (judge_arrivals), names (judge_names), cycles
// (judge_cycles). What one side did alone and none of these names is taken as it is; so nothing of either side is lost,
// or all is refused.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tree/assembler.h"
#include "tree/tree.h"

namespace weft::tree {
namespace {

struct Side {
  NodeDiff diff;
  std::map<NodeId, const NodeChange*> by_node;
  std::map<std::pair<NodeId, std::string_view>, const NodeChange*> created_at;

  static Result<Side> read(const ObjectReader& reader, const ObjectId& base, const ObjectId& tip) {
    Side side;
    WEFT_TRY(side.diff, diff_nodes(reader, base, tip));
    for (const NodeChange& change : side.diff.changes) {
      side.by_node.emplace(change.node(), &change);
      if (change.created())
        side.created_at.emplace(std::pair{change.after->parent, std::string_view(change.after->entry.name)}, &change);
    }
    return side;
  }
  const NodeChange* find(const NodeId& node) const {
    const auto found = by_node.find(node);
    return found == by_node.end() ? nullptr : found->second;
  }
  bool deletes(const NodeId& node) const {
    const NodeChange* change = find(node);
    return change != nullptr && change->deleted();
  }
  /// Created or moved by this side.
  static bool places(const NodeChange& change) { return change.created() || change.moved(); }
};

bool same_content(const TreeEntry& a, const TreeEntry& b) {
  return a.kind == EntryKind::directory || (a.id == b.id && a.size == b.size);
}

class Merger {
 public:
  Merger(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& ours_tree, Side ours, Side theirs)
      : reader_(reader), writer_(writer), ours_tree_(ours_tree), ours_(std::move(ours)), theirs_(std::move(theirs)) {}

  Result<NodeMerge> run() {
    for (const auto& [node, change] : ours_.by_node) {
      if (const NodeChange* other = theirs_.find(node)) judge_node(*change, *other);
      if (change->kind_changed()) block(node, "its kind changed under one identity");
    }
    for (const auto& [node, change] : theirs_.by_node) {
      if (change->kind_changed()) block(node, "its kind changed under one identity");
    }
    judge_arrivals(ours_, theirs_, "here", "there");
    judge_arrivals(theirs_, ours_, "there", "here");
    judge_names();
    judge_cycles();
    NodeMerge merge;
    if (blocked_.empty()) {
      WEFT_TRY(merge.tree, build());
    }
    for (auto& [node, reason] : blocked_) merge.blocked.push_back({shown_path(node), std::move(reason), node});
    std::sort(merge.blocked.begin(), merge.blocked.end(), [](const auto& a, const auto& b) {
      return a.path != b.path ? path_less(a.path, b.path) : a.node < b.node;
    });
    return merge;
  }

 private:
  /// The first reason found for a node stands.
  void block(const NodeId& node, std::string reason) { blocked_.emplace(node, std::move(reason)); }

  void judge_node(const NodeChange& ours, const NodeChange& theirs) {
    const NodeId& node = ours.node();
    if (ours.created() || theirs.created()) {
      const bool equal =
          ours.created() && theirs.created() && ours.after->parent == theirs.after->parent &&
          ours.after->entry.name == theirs.after->entry.name && ours.after->entry.kind == theirs.after->entry.kind &&
          ours.after->entry.mode == theirs.after->entry.mode && same_content(ours.after->entry, theirs.after->entry);
      if (!equal) block(node, "both sides created it, differently");
      return;
    }
    if (ours.deleted() && theirs.deleted()) return;
    if (ours.deleted()) return block(node, what(theirs) + " there, " + gone(ours_, ours) + " here");
    if (theirs.deleted()) return block(node, what(ours) + " here, " + gone(theirs_, theirs) + " there");
    if (ours.content_changed() && theirs.content_changed() && !same_content(ours.after->entry, theirs.after->entry)) {
      block(node, "both sides edited it");
    }
    if (ours.mode_changed() && theirs.mode_changed() && ours.after->entry.mode != theirs.after->entry.mode) {
      block(node, "both sides changed its mode");
    }
    if (moved_apart(ours, theirs)) block(node, "both sides moved it, to different places");
  }

  static bool moved_apart(const NodeChange& ours, const NodeChange& theirs) {
    return Side::places(ours) && Side::places(theirs) &&
           (ours.after->parent != theirs.after->parent || ours.after->entry.name != theirs.after->entry.name);
  }

  static std::string what(const NodeChange& change) {
    if (change.content_changed()) return change.moved() ? "edited and moved" : "edited";
    return change.moved() ? "moved" : "mode changed";
  }

  /// "deleted", or "replaced by a directory" where the side has something of another kind in its place.
  static std::string gone(const Side& side, const NodeChange& change) {
    const auto other = side.created_at.find({change.before->parent, change.before->entry.name});
    if (other != side.created_at.end() && other->second->after->entry.kind != change.before->entry.kind) {
      return fmt::format("replaced by a {}", object::name(other->second->after->entry.kind));
    }
    return "deleted";
  }

  /// Nothing may come into a directory that is gone. (What was in it and moved or edited is judge_node's.)
  void judge_arrivals(const Side& side, const Side& other, std::string_view where, std::string_view elsewhere) {
    for (const auto& [node, change] : side.by_node) {
      if (!Side::places(*change) || !other.deletes(change->after->parent)) continue;
      block(node,
            fmt::format("{} {}, in a directory deleted {}", change->created() ? "created" : "moved", where, elsewhere));
    }
  }

  /// Two nodes may not be placed at one name. What stood at a name that a side gave to another node has left it on that
  /// side, so only placed nodes can meet.
  void judge_names() {
    std::map<std::pair<NodeId, std::string_view>, NodeId> taken;
    std::set<std::pair<NodeId, NodeId>> met;
    for (const Side* side : {&ours_, &theirs_}) {
      for (const auto& [node, change] : side->by_node) {
        if (!Side::places(*change)) continue;
        const auto [at, fresh] =
            taken.emplace(std::pair{change->after->parent, std::string_view(change->after->entry.name)}, node);
        if (!fresh && at->second != node) met.insert(std::minmax(at->second, node));
      }
    }
    // One of the two is listed, the created one if there is one: its path is the name on whichever side has it.
    for (const auto& [first, second] : met) {
      const bool both_new = created(first) && created(second);
      block(created(first) || !created(second) ? first : second,
            both_new ? "both sides created this name" : "both sides gave this name to different things");
    }
  }

  bool created(const NodeId& node) const {
    const NodeChange* change = ours_.find(node);
    if (change == nullptr) change = theirs_.find(node);
    return change->created();
  }

  /// The directory a node would be in; nullopt for the root, and where both sides moved it apart (blocked already).
  std::optional<NodeId> merged_parent(const NodeId& node) const {
    const NodeChange* ours = ours_.find(node);
    const NodeChange* theirs = theirs_.find(node);
    if (ours != nullptr && theirs != nullptr && moved_apart(*ours, *theirs)) return std::nullopt;
    for (const NodeChange* change : {ours, theirs}) {
      if (change != nullptr && change->after && Side::places(*change)) return change->after->parent;
    }
    for (const DirectoryMap* map : {&ours_.diff.before_dirs, &theirs_.diff.before_dirs}) {
      if (const auto found = map->find(node); found != map->end() && !node.is_zero()) return found->second.parent;
    }
    return std::nullopt;
  }

  void judge_cycles() {
    std::set<NodeId> followed;  // judged already
    for (const Side* side : {&ours_, &theirs_}) {
      for (const auto& [start, change] : side->by_node) {
        if (!change->moved() || change->after->entry.kind != EntryKind::directory) continue;
        std::vector<NodeId> chain;
        std::set<NodeId> on_chain;
        NodeId at = start;
        while (!followed.contains(at) && on_chain.insert(at).second) {
          chain.push_back(at);
          const auto above = merged_parent(at);
          if (!above) break;
          at = *above;
        }
        const auto loop = std::find(chain.begin(), chain.end(), at);
        const bool cycle = loop != chain.end() && merged_parent(chain.back()) == at;
        if (cycle) {
          for (auto node = loop; node != chain.end(); ++node) {
            if (moved(*node)) block(*node, "the moves of both sides together put it into itself");
          }
        }
        followed.insert(chain.begin(), chain.end());
      }
    }
  }

  bool moved(const NodeId& node) const {
    const NodeChange* ours = ours_.find(node);
    const NodeChange* theirs = theirs_.find(node);
    return (ours != nullptr && ours->moved()) || (theirs != nullptr && theirs->moved());
  }

  /// Theirs carried over to our tree.
  Result<ObjectId> build() {
    Assembler tree(reader_, ours_tree_,
                   [&](const NodeId& node) { return Result<std::optional<Located>>(place_on_ours(node)); });
    // Creations first: later ones may be in earlier ones, and moves go into them.
    for (const auto& [node, change] : theirs_.by_node) {
      if (!change->created() || ours_.find(node) != nullptr) continue;
      Located now = *change->after;
      if (now.entry.kind == EntryKind::directory) now.entry.id = object::empty_tree_id();
      tree.create(std::move(now));
    }
    for (const auto& [node, change] : theirs_.by_node) {
      if (change->created()) continue;
      WEFT_TRY(Assembler::Node * here, tree.find(node));
      if (here == nullptr) {
        WEFT_CHECK(change->deleted() && ours_.deletes(node));
        continue;
      }
      if (change->deleted()) {
        tree.remove(*here);
        continue;
      }
      if (change->moved()) {
        here->now.parent = change->after->parent;
        here->now.entry.name = change->after->entry.name;
      }
      if (change->content_changed()) {
        here->now.entry.id = change->after->entry.id;
        here->now.entry.size = change->after->entry.size;
      }
      if (change->mode_changed()) here->now.entry.mode = change->after->entry.mode;
    }
    WEFT_TRY(const auto clashes, tree.clashes());
    if (!clashes.empty()) {  // judge_names excludes it for trees in which no node is twice
      return damaged(fmt::format("{} is the name of two nodes after the merge", quoted(clashes[0].name)));
    }
    return tree.build(writer_);
  }

  /// Where a node is in our tree; directories with what they hold there.
  std::optional<Located> place_on_ours(const NodeId& node) const {
    if (const NodeChange* change = ours_.find(node)) return change->after;
    for (const DirectoryMap* map : {&ours_.diff.after_dirs, &theirs_.diff.before_dirs}) {
      if (const auto found = map->find(node); found != map->end()) return found->second;
    }
    if (const NodeChange* change = theirs_.find(node)) return change->before;
    return std::nullopt;
  }

  std::string shown_path(const NodeId& node) const {
    if (!ours_.deletes(node)) {
      if (auto path = path_with(node, ours_, theirs_)) return *std::move(path);
    }
    if (!theirs_.deletes(node)) {
      if (auto path = path_with(node, theirs_, ours_)) return *std::move(path);
    }
    for (const Side* side : {&ours_, &theirs_}) {
      const NodeChange* change = side->find(node);
      if (change != nullptr && change->before) return path_of(side->diff.before_dirs, *change->before);
    }
    return node.hex();
  }

  /// The path on `side`; nullopt when the node is not there.
  static std::optional<std::string> path_with(const NodeId& node, const Side& side, const Side& other) {
    const auto place = [&](const NodeId& at) -> const Located* {
      if (const NodeChange* change = side.find(at)) return change->after ? &*change->after : nullptr;
      for (const DirectoryMap* map : {&side.diff.after_dirs, &side.diff.before_dirs, &other.diff.before_dirs}) {
        if (const auto found = map->find(at); found != map->end()) return &found->second;
      }
      const NodeChange* change = other.find(at);
      return change != nullptr && change->before ? &*change->before : nullptr;
    };
    std::string path;
    for (NodeId at = node; !at.is_zero();) {
      const Located* here = place(at);
      if (here == nullptr) return std::nullopt;
      path = path.empty() ? here->entry.name : here->entry.name + '/' + path;
      at = here->parent;
    }
    return path;
  }

  const ObjectReader& reader_;
  ObjectWriter& writer_;
  const ObjectId ours_tree_;
  Side ours_, theirs_;
  std::map<NodeId, std::string> blocked_;
};

}  // namespace

Result<NodeMerge> merge_by_node(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& base,
                                const ObjectId& ours, const ObjectId& theirs) {
  NodeMerge merge;
  if (base == theirs || ours == theirs) {
    merge.tree = ours;
    return merge;
  }
  if (base == ours) {
    merge.tree = theirs;
    return merge;
  }
  WEFT_TRY(Side our_side, Side::read(reader, base, ours));
  WEFT_TRY(Side their_side, Side::read(reader, base, theirs));
  return Merger(reader, writer, ours, std::move(our_side), std::move(their_side)).run();
}

}  // namespace weft::tree
