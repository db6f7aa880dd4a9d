// Two trees compared by node identity: what derive_ops, diff_trees and merge_by_node are built on. Internal to tree/.
//
// Invariants:
//   N1  Directories that are equal on both sides (same node, same tree id) are not read, wherever they were moved; what
//   is
//       read is the directories that differ, and those created or deleted, wholly.
//   N2  For every place named in the result, the chain of directories up to the root is in before_dirs or after_dirs.
//   N3  A node found at two places of one tree is damage. (Seen only in what is read; this also bounds the work on
//   trees
//       that hold one subtree many times.)
// Threading: pure functions.
#pragma once

#include <unordered_map>

#include "tree/tree.h"

namespace weft::tree {

/// A node in a tree: the directory it is in, and its entry there.
struct Located {
  NodeId parent;
  TreeEntry entry;
  std::uint32_t depth = 0;  ///< the root's children have 1
};
using DirectoryMap = std::unordered_map<NodeId, Located, IdHash>;

struct NodeChange {
  std::optional<Located> before;  ///< absent: created
  std::optional<Located> after;   ///< absent: deleted

  const NodeId& node() const { return (after ? after : before)->entry.node; }
  bool created() const { return !before; }
  bool deleted() const { return !after; }
  bool kept() const { return before && after; }
  bool moved() const { return kept() && (before->parent != after->parent || before->entry.name != after->entry.name); }
  bool kind_changed() const { return kept() && before->entry.kind != after->entry.kind; }
  /// What a directory holds is no content of its own.
  bool content_changed() const {
    return kept() && !(before->entry.kind == EntryKind::directory && after->entry.kind == EntryKind::directory) &&
           (before->entry.id != after->entry.id || before->entry.size != after->entry.size);
  }
  bool mode_changed() const { return kept() && before->entry.mode != after->entry.mode; }
  bool differs() const { return !kept() || moved() || kind_changed() || content_changed() || mode_changed(); }
};

struct NodeDiff {
  std::vector<NodeChange> changes;  ///< one a node, in no particular order
  DirectoryMap before_dirs;         ///< directories visited, the root included under the zero node
  DirectoryMap after_dirs;
};
Result<NodeDiff> diff_nodes(const ObjectReader& reader, const ObjectId& before, const ObjectId& after);

/// The path of a node whose chain is in `directories`.
std::string path_of(const DirectoryMap& directories, const Located& node);

/// Whether this is the empty directory, which nobody needs to have stored in order to mean it.
bool is_empty_tree(const ObjectId& tree);
/// read_directory that never looks for the empty one.
Result<object::Entries> list_directory(const ObjectReader& reader, const ObjectId& tree);
/// edit_directory likewise; `tree` may be absent or empty.
Result<ObjectId> edit_or_write_directory(const ObjectReader& reader, ObjectWriter& writer,
                                         const std::optional<ObjectId>& tree, std::vector<object::EntryEdit> edits);
Error too_deep(std::string_view where);
/// The root as if it had an entry.
TreeEntry root_entry(const ObjectId& root);

}  // namespace weft::tree
