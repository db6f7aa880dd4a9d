#include "repo/commit.h"

#include "repo/files.h"
#include "repo/recording.h"
#include "repo/settings.h"
#include "work/name_fold.h"

namespace weft::repo {

namespace {

constexpr std::size_t kKeptDigits = 16;

/// A path the user named that is neither in the head nor on disk is a slip, not "nothing to commit".
Result<void> check_paths_exist(const object::ObjectReader& reader, const ObjectId& head_tree, const HostDir& root,
                               const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    WEFT_TRY(const auto entry, tree::find_path(reader, head_tree, path));
    if (entry) continue;
    std::string_view rest = path;
    std::vector<HostDir> opened;
    const HostDir* directory = &root;
    bool present = true;
    while (present) {
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) {
        present = directory->status(rest).has_value();
        break;
      }
      auto next = directory->open_dir(rest.substr(0, slash));
      if (!next) {
        present = false;
        break;
      }
      opened.clear();
      opened.push_back(*std::move(next));
      directory = &opened.back();
      rest.remove_prefix(slash + 1);
    }
    if (!present) {
      return make_error(Code::not_found, quoted(path) + " is neither in the head nor among the files",
                        "weft status shows what there is to commit")
          .with("path", path);
    }
  }
  return {};
}

Error lost_too_often(Error error) {
  return std::move(error).hinted("try again: the head was moved by others " + std::to_string(kMaxAttempts) + " times");
}

struct Attempt {
  std::optional<CommitResult> result;
  std::optional<Error> lost_head;
};

Result<Attempt> try_commit(Repository& repository, const WorkspaceFiles& files, const CommitRequest& request,
                           const Identity& author) {
  const Context& context = repository.context();
  FileSystem& fs = context.env.fs;
  const std::string files_path = repository.files_path(repository.location()->name);
  const auto record = read_files_record(fs, files_path);
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(const auto state, files_state(snapshot, workspace, record));
  WEFT_DO(require_files_at_head(repository, state, workspace));
  WEFT_TRY(const ObjectId head_tree, tree_of(snapshot, workspace.head));

  work::ScanOptions options = files.scan_options();
  options.paths = request.paths;
  options.progress = request.progress;
  options.max_new_file_bytes = request.max_new_file_bytes.value_or(0);
  WEFT_TRY(auto recorded, work::record(files.tree(), transaction.reader(), transaction, head_tree, options));
  CommitResult result;
  result.parents = workspace.head;
  result.ref = request.advance.value_or(workspace.record.follow);
  if (recorded.tree == head_tree && !request.allow_empty) {
    WEFT_DO(check_paths_exist(snapshot, head_tree, files.root(), request.paths));
    result.status = std::move(recorded.status);
    return Attempt{std::move(result), std::nullopt};
  }

  WEFT_TRY(auto change, draft_change(context, snapshot, workspace.head.changes, author, request.message));
  change.tree = recorded.tree;
  change.ops = std::move(recorded.ops);
  WEFT_TRY(const ChangeId id, put_recorded(transaction, head_tree, change));

  const std::string head_ref = workspace_ref(workspace.name);
  store::RefEdit head = move_ref(head_ref, workspace.head, Version(id));
  head.keep_extra = true;
  transaction.edit_ref(std::move(head));
  const std::optional<Version> before = workspace.head.empty() ? std::nullopt : std::optional(workspace.head);
  const std::string& follow = workspace.record.follow;
  std::size_t edits = 1;
  std::optional<std::size_t> reported;
  if (request.advance) {
    transaction.edit_ref(move_ref(*request.advance, before, Version(id)));
    reported = edits++;
  }
  if (!follow.empty() && follow != request.advance) {
    store::RefEdit edit = move_ref(follow, before, Version(id));
    edit.skip = true;
    transaction.edit_ref(std::move(edit));
    if (!reported) reported = edits;
  }
  transaction.set_operation(
      operation_info(context, std::string(kCommitLabel) + subject_of(request.message), workspace.name, author.text()));
  // A remark: it fails nothing (CASES C23).
  auto alike = work::find_lookalikes(transaction.reader(), change.tree, recorded.status);
  if (alike) recorded.status.warnings.insert(recorded.status.warnings.end(), alike->begin(), alike->end());
  if (request.settling) request.settling(true);
  const auto committed = transaction.commit();
  if (!committed) {
    if (request.settling) request.settling(false);
    if (committed.error().code == Code::lost_race && detail(committed.error(), "ref") == head_ref) {
      return Attempt{std::nullopt, committed.error()};
    }
    return committed.error();
  }
  result.change = id;
  result.operation = committed->id;
  result.advanced = reported && committed->moved[*reported];
  result.status = std::move(recorded.status);
  // Both are caches of what is durable already: a failure here costs a re-read, not the commit.
  if (recorded.accept) (void)recorded.accept().has_value();
  (void)write_files_record(fs, files_path, {Version(id), std::nullopt}).has_value();
  return Attempt{std::move(result), std::nullopt};
}

/// The edits of refs a change without a working tree makes.
Result<void> place_change(store::Transaction& transaction, const ChangeListRequest& request, const Resolved& parent,
                          const ChangeId& id, CommitResult& result) {
  if (!request.advance) {
    result.ref = std::string(kKeptPrefix) + id.hex().substr(0, kKeptDigits);
    transaction.edit_ref(move_ref(result.ref, std::nullopt, Version(id)));
    return {};
  }
  result.ref = *request.advance;
  const bool creates = parent.version.empty();
  transaction.edit_ref(move_ref(result.ref, creates ? std::nullopt : std::optional(parent.version), Version(id)));
  return {};
}

}  // namespace

std::uint64_t max_new_file_bytes(const Repository& repository) {
  return Settings::read(repository.context(), repository.store().directory()).size("record.max-new-file-size");
}

Result<CommitResult> commit(Repository& repository, const CommitRequest& asked) {
  CommitRequest request = asked;
  WEFT_CHECK(!request.message.empty());
  if (!request.max_new_file_bytes) request.max_new_file_bytes = max_new_file_bytes(repository);
  if (request.advance) WEFT_DO(check_movable_ref(*request.advance));
  WEFT_TRY(const Identity author, find_identity(repository.context(), request.author));
  if (!repository.location()) return repository.require_workspace().error();
  WEFT_TRY(const auto files,
           WorkspaceFiles::open(repository, repository.location()->name, repository.location()->root));
  for (int attempt = 1;; ++attempt) {
    auto tried = try_commit(repository, files, request, author);
    if (!tried) return name_winner(repository, std::move(tried).error());
    if (tried->result) {
      tried->result->attempts = attempt;
      return *std::move(tried->result);
    }
    if (attempt == kMaxAttempts) return lost_too_often(name_winner(repository, *std::move(tried->lost_head)));
  }
}

Result<CommitResult> commit_change_list(Repository& repository, const ChangeList& list,
                                        const ChangeListRequest& request) {
  WEFT_CHECK(!request.message.empty());
  if (request.advance) WEFT_DO(check_movable_ref(*request.advance));
  const Context& context = repository.context();
  WEFT_TRY(const Identity author, find_identity(context, request.author));
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const Resolved parent, resolve_version(repository, snapshot, request.parent));
  WEFT_TRY(const ObjectId parent_tree, tree_of(snapshot, parent.version));
  WEFT_TRY(const ObjectId tree, apply_change_list(context, list, transaction, parent_tree));
  CommitResult result;
  result.parents = parent.version;
  result.ref = request.advance.value_or("");
  if (tree == parent_tree && !request.allow_empty) return result;

  WEFT_TRY(auto change, draft_change(context, snapshot, parent.version.changes, author, request.message));
  change.tree = tree;
  WEFT_TRY(change.ops, tree::derive_ops(transaction.reader(), parent_tree, tree));
  WEFT_TRY(const ChangeId id, put_recorded(transaction, parent_tree, change));
  WEFT_DO(place_change(transaction, request, parent, id, result));
  const std::string workspace = repository.location() ? repository.location()->name : std::string();
  transaction.set_operation(
      operation_info(context, "commit --changes: " + subject_of(request.message), workspace, author.text()));
  auto committed = transaction.commit();
  if (!committed) return name_winner(repository, std::move(committed).error());
  result.change = id;
  result.operation = committed->id;
  result.advanced = request.advance.has_value();
  return result;
}

}  // namespace weft::repo
