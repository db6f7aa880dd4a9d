// Changes -> git commits, those that a target lacks, parents first.
//
// Invariants:
//   HE1  The commit of an imported change is the imported one, byte for byte: its id is computed again and compared
//        before it is written. Any other change becomes the commit of export rules 1 (export_commit.h).
//   HE2  A commit is written behind everything it needs. What was planned as known is never written, nor read beyond
//        the trees that new commits build upon.
//   HE3  Where the cache cannot say which commit a known change is, everything is computed again: the cache saves time
//        and decides nothing.
//   HE4  A change that stands for a tree or a blob becomes that object and no commit; a change on top of it becomes a
//        commit without that parent.
// Memory: about 150 bytes a change to export. Threading: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "git/export_cache.h"
#include "git/tree_export.h"
#include "store/store.h"

namespace weft::git {

class HistoryExport {
 public:
  /// All must outlive it. The target is not asked before run().
  HistoryExport(const store::Snapshot& snapshot, GitTarget& target, const ExportCache& cache);

  /// `known`: what the target has, with all its ancestors.
  Result<void> plan(std::vector<object::Version> wanted, std::vector<object::Version> known);
  /// Commits, as far as is known before.
  std::size_t planned() const { return order_.size() - planned_targets_; }
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  Result<void> run(const Progress& progress);

  /// Whether the change stands for a tree or a blob that a tag names (HE4).
  Result<bool> is_target(const ChangeId& change) const;
  /// nullopt where it was not exported.
  Result<std::optional<Sha1>> commit_of(const ChangeId& change) const;
  /// Of the commits computed by run().
  std::optional<ChangeId> change_of(const Sha1& commit) const;
  /// Changes that were not imported and whose commits run() computed.
  const std::vector<ExportCache::Entry>& made() const { return made_; }
  std::uint64_t empty_directories() const { return trees_.empty_directories(); }

 private:
  static constexpr std::size_t kRememberedTrees = 65536;
  /// false: the commit of a parent is not known (HE3).
  Result<bool> run_planned(const Progress& progress);
  Result<bool> export_change(const ChangeId& id);
  Result<bool> export_target(const ChangeId& id, const object::Change& change, const Sha1& expected);
  Result<bool> collect_parents(const object::Change& change, std::vector<Sha1>& parents);
  Result<Sha1> git_tree_of(const ChangeId& change);
  void remember_tree(const ChangeId& change, const Sha1& tree);

  const store::Snapshot& snapshot_;
  GitTarget& target_;
  const ExportCache& cache_;
  TreeExporter trees_;
  std::vector<object::Version> wanted_;
  std::vector<ChangeId> order_;
  std::size_t planned_targets_ = 0;  ///< of `order_`, what becomes no commit
  std::unordered_map<ChangeId, Sha1, IdHash> commits_;
  std::unordered_map<Sha1, ChangeId, IdHash> changes_;
  std::unordered_set<ChangeId, IdHash> targets_;                            ///< of `commits_`, what is none (HE4)
  std::unordered_map<ChangeId, Sha1, IdHash> git_trees_, older_git_trees_;  ///< two generations
  std::vector<ExportCache::Entry> made_;
};

}  // namespace weft::git
