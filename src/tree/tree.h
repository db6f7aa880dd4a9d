// Whole trees over directories: paths, edits, differences, and the fold of ops on a tree. Pure functions over an
// ObjectReader (and an ObjectWriter for what they build).
//
// Paths are '/'-separated names without leading or trailing '/', "" is the root. Every function that takes a path from
// outside has it checked (check_path). Depth is bounded by kMaxDepth; nothing recurses on the native stack per level
// beyond that bound (CASES C27: 2,000 levels).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "object/change.h"
#include "object/tree.h"

namespace weft::tree {

using object::EntryKind;
using object::ObjectReader;
using object::ObjectWriter;
using object::TreeEntry;

inline constexpr std::size_t kMaxDepth = 4096;

/// invalid, with the reason and the path, unless every component passes object::name_problem.
Result<void> check_path(ByteView path);

/// The order of walk(): '/' before every other byte, so that a directory's contents follow it at once.
bool path_less(std::string_view a, std::string_view b);

/// The entry at `path`; nullopt when there is none. "" gives the root: kind directory, node zero, id `root`.
Result<std::optional<TreeEntry>> find_path(const ObjectReader& reader, const ObjectId& root, ByteView path);

struct PathEntry {
  std::string path;
  TreeEntry entry;
};
/// Depth first, in path_less order (a directory before what is in it; the root itself is not visited). Paths begin with
/// `prefix`, which is where `root` is. `visit` returns false to skip what is in a directory. invalid below kMaxDepth;
/// damaged when a tree holds a directory's node twice.
Result<void> walk(const ObjectReader& reader, const ObjectId& root, std::string_view prefix,
                  const std::function<Result<bool>(const PathEntry&)>& visit);

/// What happened to one node between two trees.
struct Difference {
  std::optional<PathEntry> before;  ///< absent: created
  std::optional<PathEntry> after;   ///< absent: deleted
  /// The node itself has another directory or name; false where only a directory above it was moved or renamed.
  bool relocated = false;
  /// Shown under another path, for whatever reason.
  bool moved() const { return before && after && before->path != after->path; }
  bool content_changed() const { return before && after && before->entry.id != after->entry.id; }
  bool mode_changed() const { return before && after && before->entry.mode != after->entry.mode; }
};
/// By node identity: a moved directory is one difference (its unchanged contents none). Equal subtrees are not read.
/// Directories appear only when created, deleted, moved or changed in mode. Everything below a created or deleted
/// directory is listed too. Sorted by the path after (before, where deleted), in path_less order; at one path what was
/// deleted comes first. damaged when a tree holds a node twice.
Result<std::vector<Difference>> diff_trees(const ObjectReader& reader, const ObjectId& before, const ObjectId& after);

/// A tree being edited by paths. Of a directory only the names touched are looked up (one chunk of a large one);
/// finish() writes only what changed, and may be called again after further edits. A directory set with a zero id is a
/// new empty one. Objects that set() names must be readable through `reader` by then. Not checked: that no node is set
/// at two places.
class TreeEditor {
 public:
  TreeEditor(const ObjectReader& reader, const ObjectId& root);
  ~TreeEditor();
  TreeEditor(TreeEditor&&) noexcept;

  Result<std::optional<TreeEntry>> find(ByteView path);
  /// Creates or replaces the entry at `path` (entry.name is set from it). The parent must be a directory (not_found,
  /// or invalid where it is a file). Replacing a directory drops what is in it.
  Result<void> set(ByteView path, TreeEntry entry);
  /// Makes missing parent directories, each with a node id from `new_node(path)`.
  Result<void> set_with_parents(ByteView path, TreeEntry entry, const std::function<NodeId(ByteView path)>& new_node);
  /// not_found when there is nothing.
  Result<void> remove(ByteView path);
  /// Takes a whole subtree along. `to` must be free (exists) and not below `from` (invalid).
  Result<void> move(ByteView from, ByteView to);
  /// Empty directories stay: they are tracked as what they are (CASES C31).
  Result<ObjectId> finish(ObjectWriter& writer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The recorder's half of DESIGN 5: the ops that turn `before` into `after`, by node identity: creates, moves, deletes
/// (one for the topmost), set content or edit text (whole-line hunks with three lines of context), set mode; ordered so
/// that applying them one after the other works on names in use (swaps and cycles of renames included): two nodes may
/// share a name until the last op, a deleted directory's survivors leave before or after it. A create at the place of a
/// deleted node of another kind names it in `replaces`, which deletes it: it gets no delete of its own. invalid when a
/// node is of one kind before and of another after.
Result<std::vector<object::Op>> derive_ops(const ObjectReader& reader, const ObjectId& before, const ObjectId& after);

/// The fold of one recorded change's ops on the tree of its only parent (or the empty tree): the result's id.
/// Code::invalid when an op does not apply (unknown node, wrong base, name taken at the end). Results of text edits are
/// put into `writer`. Ops name nodes, and nothing leads from a node to its path: without `likely_result` (usually the
/// change's tree, which need not be right) the base tree is searched for them; with it the cost follows the difference.
/// Not checked: that a created node is nowhere else in the tree.
Result<ObjectId> apply_ops(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& base,
                           const std::vector<object::Op>& ops, const ObjectId* likely_result = nullptr);

/// Every node an op names, directories of places included; some may be zero, the root.
void for_each_node(const object::Op& any, const std::function<void(const NodeId&)>& visit);

/// What a change did something to, against its first parent (nothing, without one): the nodes it created, moved,
/// deleted, edited or gave another mode, and the places where something began or ceased to be. Of a deleted directory
/// only the topmost node may be named. In no order; may name one twice. `reader` is asked only for merges and changes
/// without ops.
struct Touched {
  std::vector<NodeId> nodes;
  std::vector<object::Place> places;
};
Result<Touched> touched(const ObjectReader& reader, const object::Change& change);

/// Delta id of a change against its first parent's tree.
Result<DeltaId> change_delta_id(const ObjectReader& reader, const ObjectId& parent_tree, const object::Change& change);

/// Two sides of one base merged by node: clean where they edited the content or mode of different nodes, moved
/// different nodes, created different names; equal edits count once. `blocked` lists every node that needs the real
/// merge; then `tree` is empty.
struct NodeMerge {
  std::optional<ObjectId> tree;
  struct Blocked {
    std::string path;    ///< as shown on `ours`, else on `theirs`, else in the base
    std::string reason;  ///< "both sides edited it", "edited here, deleted there", "both sides created this name", ...
    NodeId node;
  };
  /// One a node (of two at one name, one), sorted by path; "here" is ours, "there" theirs.
  std::vector<Blocked> blocked;
};
/// Symmetric: with the sides exchanged, the same tree, or the same nodes blocked. Reads what differs from the base on
/// either side and nothing else (base equal to a side: nothing at all). Two nodes at one name are blocked even when
/// they are equal: making them one is the real merge's.
Result<NodeMerge> merge_by_node(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& base,
                                const ObjectId& ours, const ObjectId& theirs);

}  // namespace weft::tree
