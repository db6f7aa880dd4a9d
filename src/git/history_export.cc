#include "git/history_export.h"

#include <algorithm>

#include "git/commit_object.h"
#include "git/export_commit.h"
#include "repo/history.h"
#include "tree/tree.h"

namespace weft::git {

HistoryExport::HistoryExport(const store::Snapshot& snapshot, GitTarget& target, const ExportCache& cache)
    : snapshot_(snapshot), target_(target), cache_(cache), trees_(snapshot, target) {}

Result<void> HistoryExport::plan(std::vector<object::Version> wanted, std::vector<object::Version> known) {
  order_.clear();
  planned_targets_ = 0;
  const repo::SnapshotHistory source(snapshot_);
  repo::HistoryWalk walk(source, repo::WalkOrder::causal);
  for (const auto& version : wanted) WEFT_DO(walk.from(version));
  for (const auto& version : known) WEFT_DO(walk.without(version));
  while (true) {
    WEFT_TRY(const auto step, walk.next());
    if (!step) break;
    order_.push_back(step->id);
    if (!step->parents.empty()) continue;
    WEFT_TRY(const bool target, is_target(step->id));
    if (target) ++planned_targets_;
  }
  std::reverse(order_.begin(), order_.end());
  wanted_ = std::move(wanted);
  return {};
}

Result<void> HistoryExport::run(const Progress& progress) {
  WEFT_TRY(bool complete, run_planned(progress));
  if (complete) return {};
  WEFT_DO(plan(std::move(wanted_), {}));  // HE3
  WEFT_TRY(complete, run_planned(progress));
  if (!complete) return make_error(Code::internal, "the commit of a parent of an exported change is not known");
  return {};
}

Result<bool> HistoryExport::run_planned(const Progress& progress) {
  std::uint64_t done = 0;
  for (const ChangeId& id : order_) {
    if (!commits_.contains(id)) {
      WEFT_TRY(const object::Change change, snapshot_.change(id));
      // Helper changes of imported merges are no commits of their own.
      if (!change.find_extra(kExtraGather)) {
        WEFT_TRY(const bool exported, export_change(id));
        if (!exported) return false;
      }
    }
    if (progress) progress(++done, order_.size());
  }
  for (const auto& version : wanted_) {
    for (const ChangeId& id : version.changes) {
      WEFT_TRY(const auto commit, commit_of(id));
      if (commit) continue;
      WEFT_TRY(const bool exported, export_change(id));
      if (!exported) return false;
    }
  }
  return true;
}

Result<bool> HistoryExport::collect_parents(const object::Change& change, std::vector<Sha1>& parents) {
  // Those of a merge of more parents than a version holds are in the change itself.
  if (change.find_extra(kExtraParents) || change.find_extra(kExtraObject)) return true;
  for (const ChangeId& parent : change.parents) {
    WEFT_TRY(const bool target, is_target(parent));
    if (target) continue;  // HE4
    WEFT_TRY(auto commit, commit_of(parent));
    if (!commit) {
      WEFT_TRY(const object::Change below, snapshot_.change(parent));
      if (!below.find_extra(kExtraGather)) return false;
      WEFT_TRY(const bool exported, export_change(parent));
      if (!exported) return false;
      WEFT_TRY(commit, commit_of(parent));
    }
    parents.push_back(*commit);
  }
  return true;
}

Result<bool> HistoryExport::export_change(const ChangeId& id) {
  WEFT_TRY(const object::Change change, snapshot_.change(id));
  const auto imported = git_id(change);
  if (imported && imported_kind(change) != Imported::commit) return export_target(id, change, *imported);
  std::vector<Sha1> parents;
  WEFT_TRY(const bool known, collect_parents(change, parents));
  if (!known) return false;

  std::optional<TreePair> parent;
  bool without_base = false;
  if (!change.parents.empty()) {
    WEFT_TRY(without_base, is_target(change.parents[0]));
  }
  if (!change.parents.empty() && !without_base) {
    WEFT_TRY(const auto first, commit_of(change.parents[0]));
    if (!first) return false;
    WEFT_TRY(const auto summary, snapshot_.change_summary(change.parents[0]));
    WEFT_TRY(const Sha1 git_tree, git_tree_of(change.parents[0]));
    parent = TreePair{summary.tree, git_tree};
  }
  Sha1 tree;
  Bytes object;
  if (imported) {
    WEFT_TRY(const OddTrees odd, odd_trees(change));
    WEFT_TRY(tree, trees_.run(change.tree, parent, &odd));
    WEFT_TRY(object, commit_bytes(change, tree, parents));
  } else {
    WEFT_TRY(tree, trees_.run(change.tree, parent, nullptr));
    object = native_commit_bytes(change, id, tree, parents);
  }
  const Sha1 commit = git_object_id("commit", object);
  WEFT_TRY(const CommitObject parsed, parse_commit(object));
  if (imported && (commit != *imported || parsed.tree != tree)) {  // HE1
    return make_error(Code::damaged,
                      "change " + id.hex() + " says that it is the git commit " + imported->hex() +
                          ", but does not give it back (" + (parsed.tree == tree ? commit : tree).hex() + ")",
                      "run `weft verify --deep`; nothing was moved in the git repository")
        .with("change", id.hex())
        .with("commit", imported->hex());
  }
  WEFT_DO(target_.write(wire::GitKind::commit, commit, "", object));
  commits_[id] = commit;
  changes_[commit] = id;
  remember_tree(id, tree);
  if (!imported) made_.emplace_back(id, commit);
  return true;
}

Result<bool> HistoryExport::export_target(const ChangeId& id, const object::Change& change, const Sha1& expected) {
  Sha1 made;
  if (imported_kind(change) == Imported::tree) {
    WEFT_TRY(const OddTrees odd, odd_trees(change));
    WEFT_TRY(made, trees_.run(change.tree, std::nullopt, &odd));
  } else {
    WEFT_TRY(const auto entry, tree::find_path(snapshot_, change.tree, wire::kTargetName));
    if (!entry) return damaged("change " + id.hex() + " lacks the content of the git blob " + expected.hex());
    WEFT_TRY(made, trees_.export_blob(std::string(wire::kTargetName), *entry));
  }
  if (made != expected) {  // HE1
    return make_error(Code::damaged,
                      "change " + id.hex() + " says that it is the git object " + expected.hex() +
                          ", but does not give it back (" + made.hex() + ")",
                      "run `weft verify --deep`; nothing was moved in the git repository")
        .with("change", id.hex());
  }
  commits_[id] = made;
  changes_[made] = id;
  targets_.insert(id);
  return true;
}

Result<bool> HistoryExport::is_target(const ChangeId& change) const {
  if (commits_.contains(change)) return targets_.contains(change);
  WEFT_TRY(const object::Change whole, snapshot_.change(change));
  return git_id(whole) && imported_kind(whole) != Imported::commit;
}

Result<std::optional<Sha1>> HistoryExport::commit_of(const ChangeId& change) const {
  if (const auto found = commits_.find(change); found != commits_.end()) return std::optional(found->second);
  WEFT_TRY(const object::Change whole, snapshot_.change(change));
  if (const auto imported = git_id(whole)) return imported;
  return cache_.find(change);
}

std::optional<ChangeId> HistoryExport::change_of(const Sha1& commit) const {
  const auto found = changes_.find(commit);
  return found == changes_.end() ? std::nullopt : std::optional(found->second);
}

Result<Sha1> HistoryExport::git_tree_of(const ChangeId& change) {
  for (const auto* generation : {&git_trees_, &older_git_trees_}) {
    if (const auto found = generation->find(change); found != generation->end()) return found->second;
  }
  WEFT_TRY(const auto commit, commit_of(change));
  if (!commit) return make_error(Code::internal, "the git tree of a change that is no commit");
  WEFT_TRY(const Bytes object, target_.read(wire::GitKind::commit, *commit));
  WEFT_TRY(const CommitObject parsed, parse_commit(object));
  remember_tree(change, parsed.tree);
  return parsed.tree;
}

void HistoryExport::remember_tree(const ChangeId& change, const Sha1& tree) {
  if (git_trees_.size() >= kRememberedTrees) {
    older_git_trees_ = std::move(git_trees_);
    git_trees_.clear();
  }
  git_trees_[change] = tree;
}

}  // namespace weft::git
