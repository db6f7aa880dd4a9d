// The identities in one commit's tree: which node everything that came to a path is (convert.h, GV2).
//
// Threading: one thread; pure over the readers given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "git/git_object.h"
#include "git/rename.h"
#include "object/tree.h"
#include "tree/tree.h"

namespace weft::git {

/// What a commit changes against its first parent.
struct TreeChange {
  struct Arrival {
    std::string path;
    object::TreeEntry entry;  ///< without node
  };
  struct Departure {
    std::string path;
    object::TreeEntry entry;  ///< the first parent's
  };
  std::vector<Arrival> arrivals;      ///< new at their path, or of another kind than before
  std::vector<Departure> departures;  ///< gone from their path, or of another kind now
  std::vector<std::string> gone_directories;
};

/// Gives every arrival and every new directory its node.
struct Identities {
  std::vector<NodeId> arrivals;               ///< one for each
  std::map<std::string, NodeId> directories;  ///< of those that the first parent lacks
};
/// `parents`: root trees, first parent first (none: `TreeChange` is against the empty tree). All lists sorted by path.
Result<Identities> assign_identities(const object::ObjectReader& reader, const Sha1& commit,
                                     const std::vector<ObjectId>& parents, tree::TreeEditor& first_parent,
                                     const TreeChange& change);

/// Where the nodes wanted are in `tree`, as far as `tree` differs from `other`.
Result<std::map<NodeId, std::string>> locate_nodes(const object::ObjectReader& reader, const ObjectId& tree,
                                                   const ObjectId& other, const std::vector<NodeId>& wanted);

}  // namespace weft::git
