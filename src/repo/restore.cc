#include "repo/restore.h"

#include "repo/recording.h"

namespace weft::repo {

namespace {

constexpr std::size_t kShownDigits = 8;

/// What the three verbs begin with.
struct Begun {
  WorkspaceFiles files;
  store::Transaction transaction;
  Repository::Workspace workspace;
  FilesState state;
  ObjectId head_tree;
};

Result<Begun> begin(Repository& repository) {
  if (!repository.location()) return repository.require_workspace().error();
  const auto& location = *repository.location();
  WEFT_TRY(auto files, WorkspaceFiles::open(repository, location.name, location.root));
  WEFT_DO(files.begin_writing());
  const auto record = read_files_record(repository.context().env.fs, repository.files_path(location.name));
  WEFT_TRY(auto transaction, repository.store().begin());
  WEFT_TRY(auto workspace, repository.workspace_in(transaction.snapshot()));
  WEFT_TRY(auto state, files_state(transaction.snapshot(), workspace, record));
  WEFT_DO(require_files_at_head(repository, state, workspace));
  WEFT_TRY(const ObjectId head_tree, tree_of(transaction.snapshot(), workspace.head));
  return Begun{std::move(files), std::move(transaction), std::move(workspace), std::move(state), head_tree};
}

/// "" means the whole tree, which scans and checkouts write as no path at all.
std::vector<std::string> scope_of(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.empty()) return {};
  }
  return paths;
}

std::string label_of(std::string_view verb, const std::vector<std::string>& paths) {
  std::string label(verb);
  label += " " + (paths.front().empty() ? std::string(".") : quoted(paths.front()));
  if (paths.size() > 1) label += " and " + std::to_string(paths.size() - 1) + " more";
  return label;
}

/// Of a failure after the operation was made durable.
Error with_operation(Error error, const TransactionId& operation) {
  error.message += "; what the files held before is recorded, as operation " + operation.hex().substr(0, kShownDigits);
  if (error.hint.empty()) error.hint = "`weft undo` brings back what was changed already";
  return error;
}

/// Records what is there, makes the operation durable, then brings the files at `paths` to `target`.
Result<FilesEdited> replace(Repository& repository, Begun& begun, std::vector<std::string> paths,
                            const ObjectId& target, std::string_view verb, const Progress& progress) {
  const std::vector<std::string> scope = scope_of(paths);
  WEFT_TRY(auto overwrite, prepare_overwrite(repository, begun.transaction, begun.workspace, begun.state, begun.files,
                                             scope, target, verb, {.paths_alone = true}));
  FilesEdited out;
  if (overwrite.nothing) {
    out.paths = std::move(paths);
    return out;
  }
  begun.transaction.set_operation(operation_info(repository.context(), label_of(verb, paths), begun.workspace.name,
                                                 author_text(repository.context())));
  WEFT_TRY(const auto committed, begun.transaction.commit());
  out.operation = committed.id;
  out.rescue = std::move(overwrite.rescue);
  out.paths = std::move(paths);
  work::CheckoutOptions options;
  options.ignore = begun.files.ignore();
  options.paths = scope;
  options.keep_edits = true;
  options.progress = progress;
  WEFT_TRY(const auto now, repository.store().snapshot());
  auto report = work::checkout(begun.files.tree(), now, overwrite.from, target, options);
  if (!report) return with_operation(std::move(report).error(), committed.id);
  out.report = *std::move(report);
  return out;
}

Error not_tracked(const std::string& path, const std::string& where) {
  return make_error(Code::not_found, where + " has no " + quoted(path), "`weft ls -r` lists what it has")
      .with("path", path);
}

/// The directory that holds `path`, by descriptor, and the last name.
struct Spot {
  HostDir directory;
  std::string name;
};
Result<Spot> find_spot(const HostDir& root, const std::string& path) {
  WEFT_TRY(HostDir directory, HostDir::open(root.path()));
  std::string_view rest = path;
  for (std::size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    WEFT_TRY(directory, directory.open_dir(rest.substr(0, slash)));
    rest.remove_prefix(slash + 1);
  }
  return Spot{std::move(directory), std::string(rest)};
}

Result<std::optional<FileStatus>> status_at(const HostDir& root, const std::string& path) {
  using Answer = std::optional<FileStatus>;
  if (path.empty()) {
    WEFT_TRY(const auto status, root.self_status());
    return Answer(status);
  }
  const auto spot = find_spot(root, path);
  if (!spot) return Answer();  // some directory on the way is none
  const auto status = spot->directory.status(spot->name);
  if (status) return Answer(*status);
  if (status.error().code == Code::not_found) return Answer();
  return status.error();
}

/// Nothing is brought to where something that is no directory stands above it.
Result<void> check_way_is_free(const HostDir& root, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string above = path.substr(0, slash);
    WEFT_TRY(const auto there, status_at(root, above));
    if (!there) return {};
    if (there->kind == FileKind::directory) continue;
    return make_error(Code::refused, quoted(path) + " cannot be there: " + quoted(above) + " is no directory any more",
                      "`weft restore` with that path brings the directory back, or move away what stands there")
        .with("path", above);
  }
  return {};
}

struct Renaming {
  std::string from;
  std::string to;
};

Result<std::vector<Renaming>> plan_moves(const Begun& begun, const MoveRequest& request) {
  const HostDir& root = begun.files.root();
  WEFT_TRY(const auto target, status_at(root, request.to));
  const bool into = target && target->kind == FileKind::directory;
  if (request.from.size() > 1 && !into) {
    return make_error(Code::invalid, quoted(request.to) + " is no directory to move several files into",
                      "make it first, or move them one by one");
  }
  std::vector<Renaming> moves;
  for (const std::string& from : request.from) {
    if (from.empty())
      return make_error(Code::invalid, "the top of the workspace cannot be moved", "name files or directories in it");
    WEFT_TRY(const auto present, status_at(root, from));
    if (!present) {
      return make_error(Code::not_found, "there is no " + quoted(from),
                        "`weft status` and `weft ls -r` show what is there")
          .with("path", from);
    }
    std::string to = request.to;
    if (into) to = (to.empty() ? "" : to + "/") + base_name(from);
    if (to == from)
      return make_error(Code::invalid, quoted(from) + " is there already", "give the place it is to move to");
    if (is_below(to, from)) {
      return make_error(Code::invalid, quoted(from) + " cannot be moved into itself", "give a place outside of it")
          .with("path", from);
    }
    WEFT_DO(tree::check_path(to));
    for (std::string_view rest = to; !rest.empty();) {
      const std::size_t slash = rest.find('/');
      if (object::name_is_reserved(rest.substr(0, slash))) {
        return make_error(Code::invalid, quoted(to) + " holds a reserved name",
                          "choose another name: weft never writes out `.git`, `.weft` and the like")
            .with("path", to);
      }
      rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    }
    WEFT_TRY(const auto in_the_way, status_at(root, to));
    if (in_the_way && (!request.force || in_the_way->kind == FileKind::directory)) {
      return make_error(Code::exists, quoted(to) + " exists",
                        in_the_way->kind == FileKind::directory ? "give another name, or move that directory away first"
                                                                : "--force replaces it, and keeps what it held")
          .with("path", to);
    }
    WEFT_TRY(const auto parent, status_at(root, parent_path(to) == "." ? "" : parent_path(to)));
    if (!parent || parent->kind != FileKind::directory) {
      return make_error(Code::not_found, "there is no directory for " + quoted(to), "make it first").with("path", to);
    }
    moves.push_back({from, std::move(to)});
  }
  return moves;
}

/// What is recorded, with the moves made in it.
Result<ObjectId> tree_after(Begun& begun, const std::vector<Renaming>& moves, const ObjectId& recorded,
                            const Context& context) {
  tree::TreeEditor editor(begun.transaction.reader(), recorded);
  for (const Renaming& move : moves) {
    WEFT_TRY(auto entry, editor.find(move.from));
    if (!entry) continue;  // ignored
    WEFT_DO(editor.remove(move.from));
    WEFT_DO(
        editor.set_with_parents(move.to, *std::move(entry), [&](ByteView) { return context.env.random.id<NodeId>(); }));
  }
  return editor.finish(begun.transaction);
}

Result<void> rename(const HostDir& root, const Renaming& move, bool force) {
  WEFT_TRY(const Spot from, find_spot(root, move.from));
  WEFT_TRY(const Spot to, find_spot(root, move.to));
  if (force) return from.directory.rename(from.name, to.directory, to.name);
  return from.directory.rename_new(from.name, to.directory, to.name);
}

}  // namespace

Result<FilesEdited> restore_paths(Repository& repository, const std::optional<std::string>& from,
                                  const std::vector<std::string>& paths, const Progress& progress) {
  WEFT_CHECK(!paths.empty());
  WEFT_TRY(Begun begun, begin(repository));
  ObjectId target = begun.head_tree;
  if (from) {
    WEFT_TRY(const auto resolved, resolve_version(repository, begun.transaction.snapshot(), *from));
    WEFT_TRY(target, tree_of(begun.transaction.snapshot(), resolved.version));
  }
  for (const std::string& path : paths) {
    WEFT_TRY(const auto there, tree::find_path(begun.transaction.reader(), target, path));
    if (there) {
      WEFT_DO(check_way_is_free(begun.files.root(), path));
      continue;
    }
    WEFT_TRY(const auto here, tree::find_path(begun.transaction.reader(), begun.head_tree, path));
    if (!here) return not_tracked(path, from ? quoted(*from) : "the head");
  }
  return replace(repository, begun, paths, target, "restore", progress);
}

Result<FilesEdited> remove_paths(Repository& repository, const RemoveRequest& request) {
  WEFT_CHECK(!request.paths.empty());
  WEFT_TRY(Begun begun, begin(repository));
  tree::TreeEditor editor(begun.transaction.reader(), begun.head_tree);
  for (const std::string& path : request.paths) {
    if (path.empty())
      return make_error(Code::invalid, "the top of the workspace cannot be removed",
                        "name what is in it, or use `weft workspace rm NAME`");
    WEFT_TRY(const auto entry, editor.find(path));
    if (!entry) return not_tracked(path, "the head");
    if (entry->kind == object::EntryKind::directory && !request.recursive) {
      return make_error(Code::refused, quoted(path) + " is a directory", "`weft rm -r` removes it with what is in it")
          .with("path", path);
    }
    WEFT_DO(editor.remove(path));
  }
  WEFT_TRY(const ObjectId target, editor.finish(begun.transaction));
  return replace(repository, begun, request.paths, target, "rm", request.progress);
}

Result<FilesEdited> move_paths(Repository& repository, const MoveRequest& request) {
  WEFT_CHECK(!request.from.empty());
  WEFT_TRY(Begun begun, begin(repository));
  WEFT_TRY(const auto moves, plan_moves(begun, request));
  std::vector<std::string> touched;
  for (const Renaming& move : moves) {
    touched.push_back(move.from);
    touched.push_back(move.to);
  }
  OverwriteOptions options;
  options.after = [&](const ObjectId& recorded) { return tree_after(begun, moves, recorded, repository.context()); };
  WEFT_TRY(auto overwrite, prepare_overwrite(repository, begun.transaction, begun.workspace, begun.state, begun.files,
                                             touched, begun.head_tree, "mv", options));
  begun.transaction.set_operation(operation_info(repository.context(), label_of("mv", request.from),
                                                 begun.workspace.name, author_text(repository.context())));
  WEFT_TRY(const auto committed, begun.transaction.commit());
  FilesEdited out;
  out.paths = std::move(touched);
  out.rescue = std::move(overwrite.rescue);
  out.operation = committed.id;
  for (const Renaming& move : moves) {
    if (const auto renamed = rename(begun.files.root(), move, request.force); !renamed) {
      Error error = with_operation(renamed.error(), committed.id);
      error.message +=
          "; " + std::to_string(out.report.written) + " of " + std::to_string(moves.size()) + " were moved";
      return error;
    }
    ++out.report.written;
  }
  return out;
}

}  // namespace weft::repo
