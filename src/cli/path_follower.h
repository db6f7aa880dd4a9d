// Which changes touched one path, followed back through renames and moves by the identity of its node.
//
// Invariants:
//   PF-1  Between a change and a parent the path is where its node is in the parent's tree; if it is not there,
//         the change created it and the line ends.
//   PF-2  A merge that took the path unchanged from one parent is not shown, and only that parent is followed (git's
//         default simplification); a merge that differs from every parent is shown and all are followed.
//   PF-3  A path that the newest version does not have is looked for further back, up to the change that deleted it.
// Changes are visited children first.
// Threading: one thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tree/tree.h"

namespace weft::cli {

class PathFollower {
 public:
  /// `reader` must outlive it.
  PathFollower(const object::ObjectReader& reader, std::string path) : reader_(reader), path_(std::move(path)) {}

  void start(const ChangeId& id) { tracked_.try_emplace(id, Track{path_, std::nullopt}); }

  struct Parent {
    ChangeId id;
    ObjectId tree;
  };
  struct Verdict {
    bool shown = false;
    std::string path;              ///< where it is in this change (in its parent, where this change deleted it)
    std::vector<ChangeId> follow;  ///< parents in whose past more may be found
  };
  /// nullopt: nobody followed the path to this change.
  Result<std::optional<Verdict>> visit(const ChangeId& id, const ObjectId& tree, const std::vector<Parent>& parents);

  /// Whether `id` is one the path was followed to.
  bool wants(const ChangeId& id) const { return tracked_.contains(id); }
  bool done() const { return tracked_.empty(); }
  /// Whether anything of that name was seen at all.
  bool found() const { return found_; }

 private:
  struct Track {
    std::string path;
    std::optional<NodeId> node;  ///< not known before it was seen
  };
  Result<std::optional<tree::PathEntry>> locate(const ObjectId& child_tree, const tree::PathEntry& child,
                                                const ObjectId& parent_tree) const;

  const object::ObjectReader& reader_;
  std::string path_;
  std::unordered_map<ChangeId, Track, IdHash> tracked_;
  bool found_ = false;
};

}  // namespace weft::cli
