// workspace rm: see workspace.h, WS-2 to WS-4.
#include <algorithm>
#include <cerrno>
#include <deque>

#include "repo/history.h"
#include "repo/recording.h"
#include "repo/workspace.h"
#include "repo/workspace_directory.h"
#include "work/dir_cursor.h"
#include "work/leftovers.h"

namespace weft::repo {

namespace {

constexpr std::size_t kKeptDigits = 16;

Result<void> unlink_if_there(FileSystem& fs, const std::string& path) {
  auto removed = fs.unlink(path);
  if (!removed && removed.error().code != Code::not_found) return removed;
  return {};
}

}  // namespace

Result<void> forget_files(const Repository& repository, const std::string& name) {
  FileSystem& fs = repository.context().env.fs;
  WEFT_DO(unlink_if_there(fs, repository.state_path(name)));
  return unlink_if_there(fs, repository.files_path(name));
}

/// Whether the directory is the one that was registered (WS-3). An answer in words where it is not.
Result<std::optional<std::string>> not_ours(const Repository& repository, const std::string& name,
                                            const std::string& root) {
  using Answer = std::optional<std::string>;
  FileSystem& fs = repository.context().env.fs;
  const auto directory = HostDir::open(root);
  if (!directory) return Answer("its directory is not there");
  const auto status = directory->status(kWorkspaceFileName);
  if (!status || status->kind != FileKind::file) return Answer("its directory has no `.weft` file");
  WEFT_TRY(const Bytes content, read_file(fs, join_path(root, kWorkspaceFileName), kMaxWorkspaceFileBytes));
  const auto file = decode_workspace_file(content);
  if (!file || file->name != name) return Answer("the `.weft` file in its directory names something else");
  WEFT_TRY(const auto own, fs.status(repository.store().directory()));
  const auto named = fs.status(file->store);
  if (!named || named->device != own.device || named->inode != own.inode) {
    return Answer("the `.weft` file in its directory names another store");
  }
  return Answer();
}

Result<std::optional<store::RefMoveRecord>> newest_move(const store::Snapshot& snapshot, const std::string& name) {
  std::optional<store::RefMoveRecord> newest;
  WEFT_DO(snapshot.reflog(workspace_ref(name), [&](const store::RefMoveRecord& move) {
    newest = move;
    return false;
  }));
  return newest;
}

namespace {

/// A directory with all that is in it, where it is. For those that cannot be renamed.
Result<void> remove_in_place(const HostDir& root, const std::string& path) {
  work::DirCursor cursor(root);
  std::vector<std::string> open{path};
  while (!open.empty()) {
    const std::string at = open.back();
    WEFT_TRY(const HostDir* directory, cursor.at(at));
    WEFT_TRY(const auto entries, directory->list());
    bool emptied = true;
    for (const DirectoryEntry& entry : entries) {
      if (entry.kind != FileKind::directory) {
        WEFT_DO(directory->remove_file(entry.name));
      } else if (!directory->remove_dir(entry.name)) {
        open.push_back(work::child_path(at, entry.name));
        emptied = false;
      }
    }
    if (!emptied) continue;
    open.pop_back();
    WEFT_TRY(const HostDir* parent, cursor.at(work::parent_of(at)));
    WEFT_DO(parent->remove_dir(work::name_of(at)));
    cursor.forget(at);
  }
  return {};
}

}  // namespace

Result<void> remove_everything_below(const HostDir& root, Random& random) {
  // Directories that are not empty are first moved up to the root, under a name of their own, and emptied there: depth
  // costs neither stack nor descriptors (CASES C27).
  std::deque<std::string> pending;
  work::TemporaryNames names(random);
  const auto empty = [&](const HostDir& directory) -> Result<void> {
    WEFT_TRY(const auto entries, directory.list());
    for (const DirectoryEntry& entry : entries) {
      if (&directory == &root && entry.name == kWorkspaceFileName) continue;
      if (entry.kind != FileKind::directory) {
        WEFT_DO(directory.remove_file(entry.name));
        continue;
      }
      if (directory.remove_dir(entry.name)) continue;
      // A temporary's name: what a killed removal leaves is no content of anybody's.
      std::string parked = names.next();
      const auto moved = directory.rename_new(entry.name, root, parked);
      if (!moved && moved.error().sys_errno == EXDEV) {
        WEFT_DO(remove_in_place(directory, entry.name));  // overlayfs, of what its lower layer has
        continue;
      }
      WEFT_DO(moved);
      pending.push_back(std::move(parked));
    }
    return {};
  };
  WEFT_DO(empty(root));
  while (!pending.empty()) {
    const std::string name = pending.front();
    auto directory = root.open_dir(name);
    if (!directory && directory.error().code == Code::permission) {
      WEFT_DO(root.set_mode(name, 0700));
      directory = root.open_dir(name);
    }
    if (!directory) return std::move(directory).error();
    auto emptied = empty(*directory);
    if (!emptied && emptied.error().code == Code::permission) {
      WEFT_DO(root.set_mode(name, 0700));
      emptied = empty(*directory);
    }
    WEFT_DO(std::move(emptied));
    WEFT_DO(root.remove_dir(name));
    pending.pop_front();
  }
  // Last, so that a removal that was killed is recognised and finished (WS-4).
  const auto removed = root.remove_file(kWorkspaceFileName);
  if (!removed && removed.error().code != Code::not_found) return removed;
  return {};
}

namespace {

/// WS-3, what can be said before anything is looked at.
Result<void> check_removable(const Repository& repository, const store::Snapshot& snapshot,
                             const Repository::Workspace& workspace) {
  const std::string& root = workspace.root;
  const auto refuse = [&](std::string why, std::string hint) {
    return make_error(Code::refused, "workspace " + quoted(workspace.name) + " is not removed: " + why, std::move(hint))
        .with("workspace", workspace.name)
        .with("path", root);
  };
  if (workspace.name == kDefaultWorkspace)
    return refuse("its directory holds the store", "`weft workspace list` shows the others");
  if (root.empty()) return {};
  if (root == "/") return refuse("its path is /", "its files are not weft's alone");
  if (is_below(absolute_path(repository.context().directory, repository.store().directory()), root)) {
    return refuse("its directory holds the store", "`weft workspace list` shows the others");
  }
  if (is_below(absolute_path(repository.context().directory, ""), root)) {
    return refuse("you stand in it", "go elsewhere, or use -C DIR");
  }
  WEFT_TRY(const auto all, list_workspaces(repository, snapshot));
  for (const WorkspaceListing& other : all) {
    if (other.name != workspace.name && other.present && is_below(other.record.path, root)) {
      return refuse("workspace " + quoted(other.name) + " lies in its directory", "weft workspace rm " + other.name);
    }
  }
  return {};
}

/// WS-2: what would be gone with the workspace is put on private refs of the same transaction.
Result<void> keep_unrecorded(Repository& repository, store::Transaction& transaction,
                             const Repository::Workspace& workspace, bool has_files, bool force,
                             WorkspaceRemoved& removed) {
  const store::Snapshot& snapshot = transaction.snapshot();
  bool head_is_kept = false;
  if (has_files) {
    const auto record = read_files_record(repository.context().env.fs, repository.files_path(workspace.name));
    WEFT_TRY(FilesState state, files_state(snapshot, workspace, record));
    if (state.towards)
      state.at = *state.towards;  // what a killed write-out did not reach counts as deleted, nothing more
    WEFT_TRY(const auto files, WorkspaceFiles::open(repository, workspace.name, workspace.root));
    WEFT_TRY(const ObjectId at_tree, tree_of(snapshot, state.at));
    work::ScanOptions options = files.scan_options();
    options.list_ignored = true;
    WEFT_TRY(auto status, work::status(files.tree(), snapshot, at_tree, options));
    removed.ignored = std::move(status.ignored);
    if (!status.entries.empty() || !status.warnings.empty()) {
      WEFT_TRY(const auto overwrite,
               prepare_overwrite(repository, transaction, workspace, state, files, {}, object::empty_tree_id(),
                                 "workspace rm " + workspace.name,
                                 {.unkept = force ? &removed.unkept : nullptr, .everything_goes = true}));
      removed.kept.push_back(overwrite.rescue.ref);
      head_is_kept = state.at == workspace.head;
    }
  }
  WEFT_TRY(const auto followed, workspace.record.follow.empty() ? Result<std::optional<store::RefValue>>(std::nullopt)
                                                                : snapshot.ref(workspace.record.follow));
  WEFT_TRY(const bool landed, is_ancestor(snapshot, workspace.head, followed ? followed->version : Version()));
  if (!landed && !head_is_kept) {
    std::string digits;
    for (const ChangeId& id : workspace.head.changes) digits += id.hex();
    store::RefEdit edit;
    edit.name = std::string(kRescuePrefix) + workspace.name + "/" + digits.substr(0, kKeptDigits);
    edit.after = store::RefValue{workspace.head, {}};
    removed.kept.push_back(edit.name);
    transaction.edit_ref(std::move(edit));
  }
  return {};
}

/// WS-4. nullopt: no workspace of that name was removed here, or nothing of it is left.
Result<std::optional<WorkspaceRemoved>> finish_removal(Repository& repository, store::Transaction& transaction,
                                                       const std::string& name, bool force);

Result<void> remove_root(const Repository& repository, const std::string& path) {
  WEFT_TRY(const auto root, HostDir::open(path));
  WEFT_DO(remove_everything_below(root, repository.context().env.random));
  return repository.context().env.fs.remove_directory(path);
}

}  // namespace

Result<WorkspaceRemoved> remove_workspace(Repository& repository, const std::string& name, bool force) {
  const Context& context = repository.context();
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto value, snapshot.ref(workspace_ref(name)));
  if (!value) {
    WEFT_TRY(auto finished, finish_removal(repository, transaction, name, force));
    if (finished) return *std::move(finished);
    return make_error(Code::not_found, "there is no workspace " + quoted(name), "weft workspace list names them")
        .with("workspace", name);
  }
  Repository::Workspace workspace;
  workspace.name = name;
  // A garbled registration must not keep a workspace alive for ever: it is forgotten, and no file is touched.
  if (auto record = decode_workspace(value->extra)) workspace.record = *std::move(record);
  workspace.root = workspace.record.path;
  workspace.head = value->version;
  WEFT_DO(check_removable(repository, snapshot, workspace));

  WorkspaceRemoved removed;
  removed.name = name;
  removed.path = workspace.root;
  removed.head = workspace.head;
  bool has_files = !workspace.root.empty();
  if (has_files) {
    WEFT_TRY(const auto problem, not_ours(repository, name, workspace.root));
    if (problem) {
      has_files = false;
      removed.files_note = *problem;
    }
  }
  std::optional<WorkspaceFiles> files;
  if (has_files) {
    WEFT_TRY(auto opened, WorkspaceFiles::open(repository, name, workspace.root));
    files.emplace(std::move(opened));
    WEFT_DO(files->begin_writing());  // nobody writes to what is going
  }
  WEFT_DO(keep_unrecorded(repository, transaction, workspace, has_files, force, removed));
  store::RefEdit edit = move_ref(workspace_ref(name), workspace.head, {});
  edit.after.reset();
  transaction.edit_ref(std::move(edit));
  const std::string current = repository.location() ? repository.location()->name : std::string();
  transaction.set_operation(operation_info(context, std::string(kRemoveLabel) + name, current, author_text(context)));
  auto committed = transaction.commit();
  if (!committed) {
    if (committed.error().code == Code::lost_race) {
      // A removal that was recovered from a dead process meanwhile, perhaps: then it is finished.
      files.reset();
      WEFT_TRY(auto again, repository.store().begin());
      WEFT_TRY(const auto now, again.snapshot().ref(workspace_ref(name)));
      if (!now) {
        WEFT_TRY(auto finished, finish_removal(repository, again, name, force));
        if (finished) return *std::move(finished);
      }
    }
    return name_winner(repository, std::move(committed).error());
  }
  removed.operation = committed->id;
  if (has_files) {
    WEFT_DO(remove_root(repository, workspace.root));
    removed.files_removed = true;
  }
  WEFT_DO(forget_files(repository, name));
  return removed;
}

namespace {

/// What the removal kept of the files: the tree of its rescue change, else that of the version they stood at.
Result<ObjectId> kept_tree(const store::Snapshot& snapshot, const Repository::Workspace& workspace,
                           const store::RefMoveRecord& removal, const FilesState& state) {
  WEFT_TRY(const auto operation, snapshot.operation(removal.operation));
  const std::string rescue = std::string(kRescuePrefix) + workspace.name + "/";
  for (const auto& move : operation ? operation->moves : std::vector<store::Operation::Move>{}) {
    if (!move.ref.starts_with(rescue) || !move.after || move.after->version.changes.size() != 1) continue;
    WEFT_TRY(const auto change, snapshot.change(move.after->version.changes.front()));
    if (rescued_paths(change)) return change.tree;
  }
  return tree_of(snapshot, state.at);
}

Result<std::optional<WorkspaceRemoved>> finish_removal(Repository& repository, store::Transaction& transaction,
                                                       const std::string& name, bool force) {
  using Answer = std::optional<WorkspaceRemoved>;
  const Context& context = repository.context();
  FileSystem& fs = context.env.fs;
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto removal, newest_move(snapshot, name));
  if (!removal || removal->after || !removal->before || removal->label != std::string(kRemoveLabel) + name) {
    return Answer();
  }
  Repository::Workspace workspace;
  workspace.name = name;
  if (auto record = decode_workspace(removal->before->extra)) workspace.record = *std::move(record);
  workspace.root = workspace.record.path;
  workspace.head = removal->before->version;
  if (workspace.root.empty()) return Answer();
  WEFT_DO(check_removable(repository, snapshot, workspace));
  WorkspaceRemoved removed;
  removed.name = name;
  removed.path = workspace.root;
  removed.head = workspace.head;
  removed.operation = removal->operation;
  WEFT_TRY(const auto problem, not_ours(repository, name, workspace.root));
  if (problem) {
    // Killed between the last two steps: the empty directory is what is left.
    const bool left = fs.status(repository.files_path(name)).has_value() && fs.remove_directory(workspace.root);
    if (!left) return Answer();
    removed.files_removed = true;
    WEFT_DO(forget_files(repository, name));
    return Answer(std::move(removed));
  }
  WEFT_TRY(const auto files, WorkspaceFiles::open(repository, name, workspace.root));
  WEFT_DO(files.begin_writing());
  WEFT_TRY(FilesState state, files_state(snapshot, workspace, read_files_record(fs, repository.files_path(name))));
  if (state.towards) state.at = *state.towards;
  WEFT_TRY(const ObjectId kept, kept_tree(snapshot, workspace, *removal, state));
  WEFT_TRY(const auto status, work::status(files.tree(), snapshot, kept, files.scan_options()));
  const bool edited = std::any_of(status.entries.begin(), status.entries.end(),
                                  [](const work::StatusEntry& entry) { return entry.change != work::Change::deleted; });
  if (edited || !status.warnings.empty()) {
    WEFT_TRY(const auto overwrite,
             prepare_overwrite(repository, transaction, workspace, state, files, {}, object::empty_tree_id(),
                               std::string(kRemoveLabel) + name,
                               {.unkept = force ? &removed.unkept : nullptr, .everything_goes = true}));
    removed.kept.push_back(overwrite.rescue.ref);
    const std::string current = repository.location() ? repository.location()->name : std::string();
    transaction.set_operation(
        operation_info(context, std::string(kRemoveLabel) + name + ": finished", current, author_text(context)));
    WEFT_TRY(const auto committed, transaction.commit());
    removed.operation = committed.id;
  }
  WEFT_DO(remove_root(repository, workspace.root));
  removed.files_removed = true;
  WEFT_DO(forget_files(repository, name));
  return Answer(std::move(removed));
}

}  // namespace

Result<std::optional<std::string>> remove_clean_files(Repository& repository, const std::string& name,
                                                      const WorkspaceRecord& record, const Version& head) {
  using Answer = std::optional<std::string>;
  if (record.path.empty()) return Answer("it has none");
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  const Repository::Workspace workspace{name, record.path, "", record, head};
  if (const auto removable = check_removable(repository, snapshot, workspace); !removable) {
    return Answer(removable.error().message);
  }
  WEFT_TRY(auto problem, not_ours(repository, name, record.path));
  if (problem) return problem;
  WEFT_TRY(const auto files, WorkspaceFiles::open(repository, name, record.path));
  WEFT_DO(files.begin_writing());
  WEFT_TRY(const ObjectId head_tree, tree_of(snapshot, head));
  work::ScanOptions options = files.scan_options();
  options.list_ignored = true;
  WEFT_TRY(const auto status, work::status(files.tree(), snapshot, head_tree, options));
  if (!status.entries.empty() || !status.ignored.empty() || !status.warnings.empty()) {
    return Answer("there are files in it that no version has");
  }
  WEFT_DO(remove_root(repository, record.path));
  WEFT_DO(forget_files(repository, name));
  return Answer();
}

}  // namespace weft::repo
