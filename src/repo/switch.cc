#include "repo/switch.h"

#include "repo/recording.h"
#include "work/checkout_preview.h"

namespace weft::repo {

namespace {

struct Target {
  Version version;
  std::string follow;
  std::string notice;
  std::optional<std::string> create;
};

Result<Target> find_target(const Repository& repository, const store::Snapshot& snapshot,
                           const Repository::Workspace& workspace, const SwitchRequest& request) {
  Target target;
  target.follow = workspace.record.follow;
  if (request.create) {
    WEFT_DO(check_movable_ref(request.target));
    WEFT_TRY(const auto present, snapshot.ref(request.target));
    if (present) {
      return make_error(Code::exists, "there is a ref " + quoted(request.target) + " already",
                        "weft switch " + request.target)
          .with("ref", request.target);
    }
    target.version = workspace.head;
    target.follow = request.target;
    // A ref to nothing yet comes with the first commit, as `main` does.
    if (!workspace.head.empty()) target.create = request.target;
    return target;
  }
  WEFT_TRY(auto resolved, resolve_version(repository, snapshot, request.target));
  target.version = std::move(resolved.version);
  target.notice = std::move(resolved.notice);
  if (can_be_followed(resolved.ref)) target.follow = resolved.ref;
  return target;
}

struct Attempt {
  std::optional<SwitchResult> result;
};

Result<Attempt> try_switch(Repository& repository, const WorkspaceFiles& files, const SwitchRequest& request) {
  const Context& context = repository.context();
  const std::string files_path = repository.files_path(repository.location()->name);
  const auto record = read_files_record(context.env.fs, files_path);
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(FilesState state, files_state(snapshot, workspace, record));
  WEFT_TRY(const Target target, find_target(repository, snapshot, workspace, request));
  SwitchResult result;
  result.before = workspace.head;
  result.after = target.version;
  result.follow = target.follow;
  result.notice = target.notice;
  std::optional<ObjectId> unreached;
  if (request.force && state.towards) {
    // Edits made before or since may be in the way of finishing it: whatever differs from its end is recorded, then
    // overwritten.
    WEFT_TRY(unreached, tree_of(snapshot, state.at));
    state.at = *state.towards;
    state.towards.reset();
    state.head_was_moved = state.at != workspace.head;
  } else {
    WEFT_TRY(state, finish_interrupted(repository, snapshot, workspace, files, std::move(state)));
  }
  result.files_before = state.at;

  WriteOut what;
  what.from = state.at;
  what.to = target.version;
  what.progress = request.progress;
  WEFT_TRY(what.from_tree, tree_of(snapshot, state.at));
  WEFT_TRY(what.to_tree, tree_of(snapshot, target.version));
  if (request.force) {
    WEFT_TRY(const auto status, work::status(files.tree(), snapshot, what.from_tree, files.scan_options()));
    if (!status.entries.empty()) {
      WEFT_TRY(auto overwrite, prepare_overwrite(repository, transaction, workspace, state, files, {}, what.to_tree,
                                                 "switch", {.unreached = unreached}));
      result.rescue = std::move(overwrite.rescue);
      what.from_tree = overwrite.from;
    }
    // Whatever could be refused is, before the head moves; what comes up later is kept by name.
    work::CheckoutOptions options;
    options.ignore = files.ignore();
    WEFT_DO(work::preview_checkout(files.tree(), transaction.reader(), what.from_tree, what.to_tree, options));
    what.keep_edits = true;
  } else {
    WEFT_TRY(result.report, write_out(repository, workspace.name, files, snapshot, what));
  }

  const bool moves = target.version != workspace.head || target.follow != workspace.record.follow;
  if (moves || result.rescue || target.create) {
    store::RefEdit head = move_ref(workspace_ref(workspace.name), workspace.head, target.version);
    WorkspaceRecord registration = workspace.record;
    registration.follow = target.follow;
    head.after->extra = encode_workspace(registration);
    transaction.edit_ref(std::move(head));
    if (target.create) transaction.edit_ref(move_ref(*target.create, std::nullopt, target.version));
    transaction.set_operation(
        operation_info(context, "switch to " + request.target, workspace.name, author_text(context)));
    const auto committed = transaction.commit();
    if (!committed) {
      // Somebody moved the head meanwhile: the files stand where they were brought; look again from there.
      if (committed.error().code == Code::lost_race) return Attempt{};
      return committed.error();
    }
    result.operation = committed->id;
  }
  if (request.force) {
    WEFT_TRY(const auto now, repository.store().snapshot());
    WEFT_TRY(result.report, write_out(repository, workspace.name, files, now, what));
  }
  return Attempt{std::move(result)};
}

}  // namespace

bool can_be_followed(std::string_view ref) {
  return !ref.empty() && check_movable_ref(ref).has_value() && !ref.starts_with("tags/") && !ref.starts_with("peer/");
}

Result<work::CheckoutReport> write_out(const Repository& repository, const std::string& workspace,
                                       const WorkspaceFiles& files, const object::ObjectReader& reader,
                                       const WriteOut& what) {
  WEFT_DO(files.begin_writing());
  FileSystem& fs = repository.context().env.fs;
  const std::string path = repository.files_path(workspace);
  if (what.from_tree == what.to_tree) {
    WEFT_DO(write_files_record(fs, path, {what.to, std::nullopt}));
    return work::CheckoutReport{};
  }
  WEFT_DO(write_files_record(fs, path, {what.from, what.to}));
  work::CheckoutOptions options;
  options.ignore = files.ignore();
  options.keep_edits = what.keep_edits;
  options.progress = what.progress;
  auto report = work::checkout(files.tree(), reader, what.from_tree, what.to_tree, options);
  if (!report) {
    // A refusal touched nothing (W3); anything else may have left files on either side: the record keeps saying so, as
    // it does of a killed write-out that could not be finished.
    if (report.error().code == Code::refused && !what.resumes) {
      WEFT_DO(write_files_record(fs, path, {what.from, std::nullopt}));
    }
    return std::move(report).error();
  }
  WEFT_DO(write_files_record(fs, path, {what.to, std::nullopt}));
  return report;
}

Result<FilesState> finish_interrupted(const Repository& repository, const store::Snapshot& snapshot,
                                      const Repository::Workspace& workspace, const WorkspaceFiles& files,
                                      FilesState state) {
  if (!state.towards) return state;
  WriteOut what;
  what.from = state.at;
  what.to = *state.towards;
  what.resumes = true;
  WEFT_TRY(what.from_tree, tree_of(snapshot, what.from));
  WEFT_TRY(what.to_tree, tree_of(snapshot, what.to));
  WEFT_DO(write_out(repository, workspace.name, files, snapshot, what));
  state.at = *state.towards;
  state.towards.reset();
  state.head_was_moved = state.at != workspace.head;
  return state;
}

Result<SwitchResult> switch_workspace(Repository& repository, const SwitchRequest& request) {
  if (!repository.location()) return repository.require_workspace().error();
  WEFT_TRY(const auto files,
           WorkspaceFiles::open(repository, repository.location()->name, repository.location()->root));
  WEFT_DO(files.begin_writing());
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    WEFT_TRY(auto tried, try_switch(repository, files, request));
    if (tried.result) return *std::move(tried.result);
  }
  return make_error(Code::lost_race, "the head of this workspace was moved by others all the time", "try again");
}

}  // namespace weft::repo
