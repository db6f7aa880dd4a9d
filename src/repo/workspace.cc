#include "repo/workspace.h"

#include <algorithm>
#include <deque>

#include "repo/history.h"
#include "repo/recording.h"

namespace weft::repo {

namespace {

constexpr std::string_view kFileName = ".weft";
constexpr std::size_t kKeptDigits = 16;
constexpr std::string_view kDefaultFollow = "main";
constexpr std::string_view kDefaultWorkspace = "default";

Result<void> unlink_if_there(FileSystem& fs, const std::string& path) {
  auto removed = fs.unlink(path);
  if (!removed && removed.error().code != Code::not_found) return removed;
  return {};
}

/// Directory state and files record of an earlier workspace of this name must not speak for the new one.
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
  const auto status = directory->status(kFileName);
  if (!status || status->kind != FileKind::file) return Answer("its directory has no `.weft` file");
  WEFT_TRY(const Bytes content, read_file(fs, join_path(root, kFileName), kMaxWorkspaceFileBytes));
  const auto file = decode_workspace_file(content);
  if (!file || file->name != name) return Answer("the `.weft` file in its directory names something else");
  WEFT_TRY(const auto own, fs.status(repository.store().directory()));
  const auto named = fs.status(file->store);
  if (!named || named->device != own.device || named->inode != own.inode) {
    return Answer("the `.weft` file in its directory names another store");
  }
  return Answer();
}

struct Place {
  std::string path;
  bool made = false;
};

Result<Place> make_place(const Context& context, const std::string& path) {
  WEFT_DO(check_place_is_free(context.env.fs, path));
  WEFT_DO(make_directories(context.env.fs, parent_path(path)));
  const auto made = context.env.fs.make_directory(path);
  if (made) return Place{path, true};
  if (made.error().code != Code::exists) return made.error();
  return Place{path, false};
}

/// A place is given back as it was found.
void give_back(const Context& context, const Place& place) {
  if (const auto root = HostDir::open(place.path)) {
    (void)remove_everything_below(*root, context.env.random).has_value();
  }
  if (place.made) (void)context.env.fs.remove_directory(place.path).has_value();
}

Result<void> refuse_nested(const Repository& repository, const store::Snapshot& snapshot, const std::string& path) {
  WEFT_TRY(const auto all, list_workspaces(repository, snapshot));
  for (const WorkspaceListing& other : all) {
    if (!other.present || !is_below(path, other.record.path)) continue;
    return make_error(Code::refused,
                      quoted(path) + " is inside workspace " + quoted(other.name) + ", which would record it",
                      "give a place outside with --path DIR")
        .with("path", path);
  }
  if (is_below(path, repository.store().directory())) {
    return make_error(Code::refused, quoted(path) + " is inside the store", "give a place outside with --path DIR");
  }
  return {};
}

Result<void> write_workspace_file(const Repository& repository, const std::string& name, const std::string& root) {
  const std::string store = absolute_path(repository.context().directory, repository.store().directory());
  return write_file_durably(repository.context().env.fs, join_path(root, kFileName),
                            encode_workspace_file({store, name}));
}

Error name_taken(const std::string& name) {
  return make_error(Code::exists, "there is a workspace " + quoted(name) + " already",
                    "weft workspace list shows where; weft workspace rm " + name + " removes it")
      .with("workspace", name);
}

}  // namespace

Result<void> remove_everything_below(const HostDir& root, Random& random) {
  // Directories that are not empty are first moved up to the root, under a name of their own, and emptied there: depth
  // costs neither stack nor descriptors (CASES C27).
  std::deque<std::string> pending;
  const auto empty = [&](const HostDir& directory) -> Result<void> {
    WEFT_TRY(const auto entries, directory.list());
    for (const DirectoryEntry& entry : entries) {
      if (std::find(pending.begin(), pending.end(), entry.name) != pending.end() && &directory == &root) continue;
      if (entry.kind != FileKind::directory) {
        WEFT_DO(directory.remove_file(entry.name));
        continue;
      }
      if (directory.remove_dir(entry.name)) continue;
      std::string parked = ".weft-rm-" + random.id<NodeId>().hex();
      WEFT_DO(directory.rename(entry.name, root, parked));
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
  return {};
}

Result<void> check_place_is_free(FileSystem& fs, const std::string& path) {
  const auto status = fs.status(path);
  if (!status) {
    if (status.error().code == Code::not_found) return {};
    return status.error();
  }
  if (status->kind == FileKind::directory) {
    WEFT_TRY(const auto entries, fs.list(path));
    if (entries.empty()) return {};
  }
  return make_error(Code::exists, quoted(path) + " exists and is not empty", "give another place with --path DIR")
      .with("path", path);
}

Result<work::CheckoutReport> write_workspace(Repository& repository, const std::string& name,
                                             const WorkspaceRecord& record, const Version& head,
                                             const std::optional<ObjectId>& tree, const Progress& progress) {
  const Context& context = repository.context();
  WEFT_DO(make_directories(context.env.fs, record.path));
  WEFT_DO(forget_files(repository, name));
  WEFT_DO(write_files_record(context.env.fs, repository.files_path(name), {Version(), head}));
  WEFT_DO(write_workspace_file(repository, name, record.path));
  WEFT_TRY(const auto files, WorkspaceFiles::open(repository, name, record.path));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WriteOut what;
  what.to = head;
  what.from_tree = object::empty_tree_id();
  what.progress = progress;
  WEFT_TRY(what.to_tree, tree_of(snapshot, head));
  WEFT_TRY(auto report, write_out(repository, name, files, snapshot, what));
  if (tree && *tree != what.to_tree) {
    work::CheckoutOptions options;
    options.ignore = files.ignore();
    WEFT_TRY(const auto more, work::checkout(files.tree(), snapshot, what.to_tree, *tree, options));
    report.written += more.written;
    report.removed += more.removed;
    report.warnings.insert(report.warnings.end(), more.warnings.begin(), more.warnings.end());
  }
  return report;
}

Result<WorkspaceAdded> add_workspace(Repository& repository, const WorkspaceAddRequest& request) {
  const Context& context = repository.context();
  if (const auto problem = workspace_name_problem(request.name); !problem.empty()) {
    return make_error(Code::invalid, quoted(request.name) + " is no workspace name: it " + std::string(problem));
  }
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto taken, snapshot.ref(workspace_ref(request.name)));
  if (taken) return name_taken(request.name);

  WorkspaceAdded added;
  added.name = request.name;
  const auto current = repository.workspace_in(snapshot);
  added.follow = request.follow.value_or(current ? current->record.follow : std::string(kDefaultFollow));
  if (!added.follow.empty()) WEFT_DO(check_movable_ref(added.follow));
  if (request.at) {
    WEFT_TRY(auto resolved, resolve_version(repository, snapshot, *request.at));
    added.head = std::move(resolved.version);
  } else if (!added.follow.empty()) {
    WEFT_TRY(const auto value, snapshot.ref(added.follow));
    if (value) {
      added.head = value->version;
    } else if (request.follow) {
      return make_error(Code::not_found, "there is no ref " + quoted(added.follow),
                        "say where to begin with --at VERSION")
          .with("ref", added.follow);
    }
  }
  const std::string beside = current ? current->root : parent_path(repository.store().directory());
  added.path =
      request.path ? absolute_path(context.directory, *request.path) : absolute_path(beside, "../" + request.name);
  WEFT_DO(refuse_nested(repository, snapshot, added.path));
  WEFT_TRY(const Place place, make_place(context, added.path));

  const std::string author = author_text(context);
  const std::string current_name = current ? current->name : std::string();
  const WorkspaceRecord record{added.path, added.follow};
  store::RefEdit edit = move_ref(workspace_ref(added.name), std::nullopt, added.head);
  edit.after->extra = encode_workspace(record);
  transaction.edit_ref(std::move(edit));
  transaction.set_operation(operation_info(context, "workspace add " + added.name, current_name, author));
  auto committed = transaction.commit();
  if (!committed) {
    if (place.made) (void)context.env.fs.remove_directory(place.path).has_value();
    if (committed.error().code == Code::lost_race) return name_taken(added.name);
    return std::move(committed).error();
  }
  added.operation = committed->id;
  auto written = write_workspace(repository, added.name, record, added.head, std::nullopt, request.progress);
  if (!written) {
    give_back(context, place);
    (void)forget_files(repository, added.name).has_value();
    WEFT_TRY(auto back, repository.store().begin());
    store::RefEdit remove = move_ref(workspace_ref(added.name), added.head, {});
    remove.after.reset();
    back.edit_ref(std::move(remove));
    auto info = operation_info(context, "workspace add " + added.name + ": failed", current_name, author);
    info.undoes = added.operation;
    back.set_operation(std::move(info));
    (void)back.commit().has_value();
    return std::move(written).error();
  }
  added.report = *std::move(written);
  return added;
}

Result<std::vector<WorkspaceListing>> list_workspaces(const Repository& repository, const store::Snapshot& snapshot) {
  FileSystem& fs = repository.context().env.fs;
  WEFT_TRY(const auto refs, snapshot.refs("workspaces/"));
  std::vector<WorkspaceListing> out;
  for (const store::Ref& ref : refs) {
    WorkspaceListing listing;
    listing.name = ref.name.substr(std::string_view("workspaces/").size());
    listing.head = ref.value.version;
    // A ref somebody made by hand has no registration: shown as what it is, a head without files.
    if (auto record = decode_workspace(ref.value.extra)) listing.record = *std::move(record);
    // It is where the store is, also after both were moved.
    if (listing.name == kDefaultWorkspace) {
      listing.record.path = parent_path(absolute_path(repository.context().directory, repository.store().directory()));
    }
    if (!listing.record.path.empty()) {
      listing.present = fs.status(join_path(listing.record.path, kFileName)).has_value();
      const auto files = read_files_record(fs, repository.files_path(listing.name));
      WEFT_TRY(const auto state,
               files_state(snapshot, {listing.name, listing.record.path, "", listing.record, listing.head}, files));
      if (state.head_was_moved) listing.files_at = state.at;
    }
    out.push_back(std::move(listing));
  }
  return out;
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
  if (workspace.name == kDefaultWorkspace) return refuse("its directory holds the store", "");
  if (root.empty()) return {};
  if (root == "/") return refuse("its path is /", "");
  if (is_below(absolute_path(repository.context().directory, repository.store().directory()), root)) {
    return refuse("its directory holds the store", "");
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
                                 "workspace rm " + workspace.name, force ? &removed.unkept : nullptr));
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
  WEFT_DO(keep_unrecorded(repository, transaction, workspace, has_files, force, removed));
  store::RefEdit edit = move_ref(workspace_ref(name), workspace.head, {});
  edit.after.reset();
  transaction.edit_ref(std::move(edit));
  const std::string current = repository.location() ? repository.location()->name : std::string();
  transaction.set_operation(operation_info(context, "workspace rm " + name, current, author_text(context)));
  auto committed = transaction.commit();
  if (!committed) return name_winner(repository, std::move(committed).error());
  removed.operation = committed->id;
  if (has_files) {
    WEFT_DO(remove_root(repository, workspace.root));
    removed.files_removed = true;
  }
  WEFT_DO(forget_files(repository, name));
  return removed;
}

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
