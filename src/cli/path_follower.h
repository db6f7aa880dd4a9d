// Which changes touched one path, followed back through renames and moves by the identity of its node.
//
// Invariants:
//   PF-1  Between a change and a parent the path is where its node is in the parent's tree; if it is not there,
//         the change created it and the line ends.
//   PF-2  A merge that took the path unchanged from one parent is not shown, and only that parent is followed (git's
//         default simplification); a merge that differs from every parent is shown and all are followed.
//   PF-3  A path that the newest version does not have is looked for further back, up to the change that deleted it.
//   PF-4  With a History, changes that touched neither the node nor a place on the way to it are passed over: none of
//         them would be shown, and of a merge among them the first parent would be followed. One that touched the node
//         and no place is shown without a look at the trees. A directory's own node says nothing about what is in it,
//         so directories go step by step.
// Changes are visited children first.
// Threading: one thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/history.h"
#include "tree/tree.h"

namespace weft::cli {

class PathFollower {
 public:
  /// `reader` and `history` must outlive it. Without a history every change is visited.
  PathFollower(const object::ObjectReader& reader, std::string path, const store::History* history = nullptr)
      : reader_(reader), path_(std::move(path)), history_(history) {}

  /// Returns the change to visit first, if there is any.
  Result<std::optional<ChangeId>> start(const ChangeId& id, const ObjectId& tree) {
    return track(id, tree, Track{path_, std::nullopt, {}});
  }

  struct Parent {
    ChangeId id;
    ObjectId tree;
  };
  struct Verdict {
    bool shown = false;
    std::string path;              ///< where it is in this change (in its parent, where this change deleted it)
    std::vector<ChangeId> follow;  ///< what to visit for what may be found in the past of the parents
  };
  /// nullopt: nobody followed the path to this change.
  Result<std::optional<Verdict>> visit(const ChangeId& id, const ObjectId& tree, const std::vector<Parent>& parents);

  /// Whether `id` is one the path was followed to.
  bool wants(const ChangeId& id) const { return tracked_.contains(id); }
  bool done() const { return tracked_.empty(); }
  /// Whether anything of that name was seen at all.
  bool found() const { return found_; }

 private:
  /// Whatever can change what the path means, or the file there. Both empty: not known, or of a directory (PF-4).
  struct Keys {
    std::vector<store::TouchKey> places, node;
  };
  struct Track {
    std::string path;
    std::optional<NodeId> node;  ///< not known before it was seen
    Keys keys;                   ///< once they are known
    bool in_place = false;       ///< this change did something to the node, and to nothing on the way to it
  };
  Result<std::optional<tree::PathEntry>> locate(const ObjectId& child_tree, const tree::PathEntry& child,
                                                const ObjectId& parent_tree) const;
  Result<Keys> keys(const ObjectId& tree, const Track& track) const;
  /// From this change on the path is followed; returns the change at which it is visited next.
  Result<std::optional<ChangeId>> track(ChangeId id, const ObjectId& tree, Track track);

  const object::ObjectReader& reader_;
  std::string path_;
  const store::History* history_;
  std::unordered_map<ChangeId, Track, IdHash> tracked_;
  bool found_ = false;
};

}  // namespace weft::cli
