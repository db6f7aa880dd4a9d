#include "repo/workspace.h"

#include "repo/recording.h"
#include "repo/workspace_directory.h"
#include "work/leftovers.h"

namespace weft::repo {

namespace {

constexpr std::string_view kDefaultFollow = "main";

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
  FileSystem& fs = repository.context().env.fs;
  // As write_file_durably(), under a temporary's name: what is left of it when this is killed is no content.
  const std::string temporary = join_path(root, work::TemporaryNames(repository.context().env.random).next());
  const auto written = [&]() -> Result<void> {
    WEFT_TRY(const auto file, fs.open(temporary, OpenMode::create_new));
    WEFT_DO(file->write_at(0, encode_workspace_file({store, name})));
    WEFT_DO(file->sync());
    return fs.rename(temporary, join_path(root, kWorkspaceFileName));
  }();
  if (!written) {
    (void)fs.unlink(temporary).has_value();
    return written;
  }
  return fs.sync_directory(root);
}

Error name_taken(const std::string& name) {
  return make_error(Code::exists, "there is a workspace " + quoted(name) + " already",
                    "weft workspace list shows where; weft workspace rm " + name + " removes it")
      .with("workspace", name);
}

}  // namespace

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
                                             const std::optional<ObjectId>& tree, const Progress& progress,
                                             const WorkspaceFiles* held) {
  const Context& context = repository.context();
  if (held == nullptr) {
    WEFT_DO(make_directories(context.env.fs, record.path));
    WEFT_TRY(const auto opened, WorkspaceFiles::open(repository, name, record.path));
    WEFT_DO(opened.begin_writing());
    return write_workspace(repository, name, record, head, tree, progress, &opened);
  }
  const WorkspaceFiles& files = *held;
  WEFT_DO(forget_files(repository, name));
  WEFT_DO(write_files_record(context.env.fs, repository.files_path(name), {Version(), head}));
  WEFT_DO(write_workspace_file(repository, name, record.path));
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

namespace {

/// WS-1: the same `add` again after one that was killed once the workspace was registered. Anything else with that
/// name: it is taken.
Result<WorkspaceAdded> finish_add(Repository& repository, const store::Snapshot& snapshot, const store::RefValue& taken,
                                  WorkspaceAdded added, const Progress& progress, const WorkspaceFiles* held) {
  WEFT_TRY(const auto newest, newest_move(snapshot, added.name));
  const auto record = decode_workspace(taken.extra);
  const bool untouched = newest && newest->label == std::string(kAddLabel) + added.name;
  if (!untouched || !record || record->path != added.path || record->follow != added.follow ||
      taken.version != added.head) {
    return name_taken(added.name);
  }
  const auto files = read_files_record(repository.context().env.fs, repository.files_path(added.name));
  const bool unfinished = files ? files->towards.has_value() : true;
  if (!unfinished) return name_taken(added.name);
  std::optional<WorkspaceFiles> opened;
  if (held == nullptr) {
    WEFT_DO(make_directories(repository.context().env.fs, added.path));
    WEFT_TRY(auto directory, WorkspaceFiles::open(repository, added.name, added.path));
    WEFT_DO(directory.begin_writing());
    held = &opened.emplace(std::move(directory));
  }
  // Its directory must still be this workspace's, or hold nothing.
  WEFT_TRY(const auto problem, not_ours(repository, added.name, added.path));
  if (problem) WEFT_DO(check_place_is_free(repository.context().env.fs, added.path));
  added.operation = newest->operation;
  WEFT_TRY(added.report, write_workspace(repository, added.name, *record, added.head, std::nullopt, progress, held));
  return added;
}

}  // namespace

Result<WorkspaceAdded> add_workspace(Repository& repository, const WorkspaceAddRequest& request) {
  const Context& context = repository.context();
  if (const auto problem = workspace_name_problem(request.name); !problem.empty()) {
    return make_error(Code::invalid, quoted(request.name) + " is no workspace name: it " + std::string(problem),
                      "choose a name like `fix` or `alice`");
  }
  WEFT_TRY(auto transaction, repository.store().begin());
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const auto taken, snapshot.ref(workspace_ref(request.name)));

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
  if (taken) return finish_add(repository, snapshot, *taken, std::move(added), request.progress, nullptr);
  WEFT_DO(refuse_nested(repository, snapshot, added.path));
  WEFT_TRY(const Place place, make_place(context, added.path));
  // From before it is registered: another add of the same must not take this one for dead.
  WEFT_TRY(const auto files, WorkspaceFiles::open(repository, added.name, added.path));
  WEFT_DO(files.begin_writing());

  const std::string author = author_text(context);
  const std::string current_name = current ? current->name : std::string();
  const WorkspaceRecord record{added.path, added.follow};
  store::RefEdit edit = move_ref(workspace_ref(added.name), std::nullopt, added.head);
  edit.after->extra = encode_workspace(record);
  transaction.edit_ref(std::move(edit));
  transaction.set_operation(operation_info(context, std::string(kAddLabel) + added.name, current_name, author));
  auto committed = transaction.commit();
  if (!committed) {
    if (committed.error().code == Code::lost_race) {
      // What a dead process wrote was recovered meanwhile, perhaps: then it is finished.
      WEFT_TRY(const auto now, repository.store().snapshot());
      WEFT_TRY(const auto winner, now.ref(workspace_ref(added.name)));
      auto finished = winner ? finish_add(repository, now, *winner, added, request.progress, &files)
                             : Result<WorkspaceAdded>(name_taken(added.name));
      if (finished) return finished;
      committed = std::move(finished).error();
    }
    if (place.made) (void)context.env.fs.remove_directory(place.path).has_value();
    return std::move(committed).error();
  }
  added.operation = committed->id;
  auto written = write_workspace(repository, added.name, record, added.head, std::nullopt, request.progress, &files);
  if (!written) {
    give_back(context, place);
    (void)forget_files(repository, added.name).has_value();
    WEFT_TRY(auto back, repository.store().begin());
    store::RefEdit remove = move_ref(workspace_ref(added.name), added.head, {});
    remove.after.reset();
    back.edit_ref(std::move(remove));
    auto info = operation_info(context, std::string(kAddLabel) + added.name + ": failed", current_name, author);
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
      listing.present = fs.status(join_path(listing.record.path, kWorkspaceFileName)).has_value();
      const auto files = read_files_record(fs, repository.files_path(listing.name));
      WEFT_TRY(const auto state,
               files_state(snapshot, {listing.name, listing.record.path, "", listing.record, listing.head}, files));
      if (state.head_was_moved) listing.files_at = state.at;
    }
    out.push_back(std::move(listing));
  }
  return out;
}

}  // namespace weft::repo
