// An import as the helper sees it: facts and refs, then the history weft lacks (wire.h).
//
// Memory: the order of commits (walk.h), caches with named limits (tree_diff.h, kRootTrees), one object at a time.
// Threading: one thread.
#pragma once

#include <map>
#include <unordered_map>

#include "git/helper/channel.h"
#include "git/helper/repository.h"
#include "git/helper/tree_diff.h"
#include "git/wire.h"

namespace weft::git::helper {

class Session {
 public:
  explicit Session(Channel& channel) : channel_(channel) {}
  Result<void> run(const std::string& repository_path);

 private:
  static constexpr std::size_t kRootTrees = 65536;  ///< remembered root trees of commits

  class Sender;
  Result<void> send_history(const Repository& repository, const std::vector<Sha1>& order);
  Result<void> send_one(const Repository& repository, TreeDiff& trees, const Sha1& id);
  Result<void> send_target(const Repository& repository, TreeDiff& trees, const Sha1& id, wire::TargetKind kind);
  Result<void> send_commit(const Repository& repository, TreeDiff& trees, const Sha1& id);
  Result<Sha1> root_tree(const Repository& repository, const Sha1& commit);
  void remember_root(const Sha1& commit, const Sha1& tree);

  Channel& channel_;
  std::map<Sha1, wire::TargetKind> targets_;  ///< what is to be sent and is no commit
  wire::BlobTable<char> blobs_;
  std::unordered_map<Sha1, Sha1, IdHash> roots_,
      older_roots_;  ///< two generations: when one is full the older one goes
};

}  // namespace weft::git::helper
