#include "repo/land.h"

#include <algorithm>

#include "repo/history.h"
#include "repo/recording.h"
#include "work/checkout_preview.h"

namespace weft::repo {

namespace {

/// What the loop learns once and keeps over its retries.
struct Landing {
  const LandRequest& request;
  const WorkspaceFiles& files;
  const Identity* author = nullptr;
  std::optional<work::Status> status;  ///< of the files against `status_tree`
  ObjectId status_tree;
};

/// LA-3. The files are scanned once per tree they stand at, not once per retry.
Result<void> check_edits(Landing& landing, const store::Transaction& transaction, const ObjectId& from,
                         const ObjectId& to) {
  if (!landing.status || landing.status_tree != from) {
    work::ScanOptions options = landing.files.scan_options();
    options.list_ignored = true;
    WEFT_TRY(landing.status, work::status(landing.files.tree(), transaction.reader(), from, options));
    landing.status_tree = from;
  }
  WEFT_TRY(const InTheWay blocking, in_the_way(transaction.reader(), from, to, *landing.status));
  if (!blocking.empty()) return refuse_in_the_way(blocking, "land");
  // What is no file at all is in no status, and what changed since is not in this one.
  work::CheckoutOptions options;
  options.ignore = landing.files.ignore();
  WEFT_DO(work::preview_checkout(landing.files.tree(), transaction.reader(), from, to, options));
  return {};
}

std::vector<ChangeId> both(const Version& first, const Version& second) {
  std::vector<ChangeId> parents = first.changes;
  for (const ChangeId& id : second.changes) {
    if (std::find(parents.begin(), parents.end(), id) == parents.end()) parents.push_back(id);
  }
  return parents;
}

Result<ChangeId> put_merge(Repository& repository, store::Transaction& transaction, const Landing& landing,
                           const LandResult& result, const std::string& workspace, const ObjectId& tree) {
  Bytes message = landing.request.message;
  if (message.empty()) message = "Land " + workspace + " on " + result.ref + "\n";
  std::vector<ChangeId> parents = both(*result.ref_before, result.head_before);
  if (parents.size() > object::kMaxVersionChanges) {
    return make_error(Code::unsupported, "this merge would have more than 64 parents", "land a part of it first");
  }
  WEFT_TRY(auto change, draft_change(repository.context(), transaction.snapshot(), std::move(parents), *landing.author,
                                     std::move(message)));
  change.tree = tree;
  change.form = object::OpsForm::derived;
  return transaction.put_change(change);
}

/// nullopt: a race was lost, try again; `lost` then says which.
Result<std::optional<LandResult>> try_land(Repository& repository, Landing& landing, std::optional<Error>& lost) {
  const Context& context = repository.context();
  const auto record = read_files_record(context.env.fs, repository.files_path(repository.location()->name));
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(const auto state, files_state(snapshot, workspace, record));
  WEFT_DO(require_files_at_head(repository, state, workspace));

  LandResult result;
  result.ref = landing.request.ref.value_or(workspace.record.follow);
  if (result.ref.empty()) {
    return make_error(Code::refused, "this workspace follows no ref", "name one: weft land REF");
  }
  WEFT_DO(check_movable_ref(result.ref));
  result.head_before = workspace.head;
  result.after = workspace.head;
  WEFT_TRY(const auto value, snapshot.ref(result.ref));
  if (value) result.ref_before = value->version;
  WEFT_TRY(const bool contained, is_ancestor(snapshot, workspace.head, result.ref_before.value_or(Version())));
  if (contained) return std::optional(std::move(result));

  const Version target = result.ref_before.value_or(Version());
  WEFT_TRY(const bool forward, is_ancestor(snapshot, target, workspace.head));
  ObjectId head_tree;
  ObjectId merged_tree;
  if (forward) {
    result.how = LandResult::How::fast_forward;
  } else {
    WEFT_TRY(const auto merge, merge_versions(transaction, workspace.head, target));
    if (!merge.tree) return blocked_error(merge, "landing on " + quoted(result.ref));
    WEFT_TRY(head_tree, tree_of(snapshot, workspace.head));
    merged_tree = *merge.tree;
    WEFT_DO(landing.files.begin_writing());
    WEFT_DO(check_edits(landing, transaction, head_tree, merged_tree));
    WEFT_TRY(result.change, put_merge(repository, transaction, landing, result, workspace.name, merged_tree));
    result.after = Version(*result.change);
    result.how = LandResult::How::merged;
  }
  transaction.edit_ref(move_ref(result.ref, result.ref_before, result.after));
  if (result.how == LandResult::How::merged) {
    store::RefEdit head = move_ref(workspace_ref(workspace.name), workspace.head, result.after);
    head.keep_extra = true;
    transaction.edit_ref(std::move(head));
  }
  transaction.set_operation(operation_info(context, "land on " + result.ref, workspace.name, landing.author->text()));
  const auto committed = transaction.commit();
  if (!committed) {
    if (committed.error().code != Code::lost_race) return committed.error();
    lost = committed.error();
    return std::optional<LandResult>();
  }
  result.operation = committed->id;
  if (result.how == LandResult::How::merged) {
    WEFT_TRY(const auto now, repository.store().snapshot());
    WriteOut what;
    what.from = workspace.head;
    what.to = result.after;
    what.from_tree = head_tree;
    what.to_tree = merged_tree;
    what.progress = landing.request.progress;
    auto report = write_out(repository, workspace.name, landing.files, now, what);
    if (report) {
      result.report = *std::move(report);
    } else {
      result.files_left_behind = std::move(report).error();  // it has landed all the same
    }
  }
  return std::optional(std::move(result));
}

}  // namespace

Result<tree::NodeMerge> merge_versions(store::Transaction& transaction, const Version& ours, const Version& theirs) {
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const Version bases, merge_bases(snapshot, ours, theirs));
  WEFT_TRY(const ObjectId our_tree, tree_of(snapshot, ours));
  WEFT_TRY(const ObjectId their_tree, tree_of(snapshot, theirs));
  if (bases.empty()) {
    return tree::merge_by_node(transaction.reader(), transaction, object::empty_tree_id(), our_tree, their_tree);
  }
  std::optional<tree::NodeMerge> agreed;
  for (const ChangeId& base : bases.changes) {
    WEFT_TRY(const ObjectId base_tree, tree_of(snapshot, Version(base)));
    WEFT_TRY(auto merge, tree::merge_by_node(transaction.reader(), transaction, base_tree, our_tree, their_tree));
    if (!merge.tree) return merge;
    if (agreed && agreed->tree != merge.tree) {
      tree::NodeMerge unclear;
      unclear.blocked.push_back({"", "the histories have several points in common, which do not agree", NodeId{}});
      return unclear;
    }
    agreed = std::move(merge);
  }
  return *std::move(agreed);
}

Error blocked_error(const tree::NodeMerge& merge, const std::string& what) {
  Error error = make_error(Code::conflicts,
                           what + " needs a merge of " + std::to_string(merge.blocked.size()) +
                               (merge.blocked.size() == 1 ? " path" : " paths") + " that both sides changed",
                           "nothing moved; make one side's edits in files the other did not touch");
  for (const auto& blocked : merge.blocked) {
    error.details.emplace_back("path", blocked.path);
    error.details.emplace_back("reason", blocked.reason);
  }
  return error;
}

Result<LandResult> land(Repository& repository, const LandRequest& request) {
  if (!repository.location()) return repository.require_workspace().error();
  WEFT_TRY(const Identity author, find_identity(repository.context(), request.author));
  WEFT_TRY(const auto files,
           WorkspaceFiles::open(repository, repository.location()->name, repository.location()->root));
  Landing landing{request, files, &author, std::nullopt, {}};
  std::optional<Error> lost;
  for (int attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    WEFT_TRY(auto landed, try_land(repository, landing, lost));
    if (!landed) continue;
    landed->attempts = attempt;
    return *std::move(landed);
  }
  return name_winner(repository, *std::move(lost))
      .hinted("try again: " + std::to_string(kMaxAttempts) + " races were lost");
}

}  // namespace weft::repo
