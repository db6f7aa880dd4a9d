#include "repo/repository.h"

#include <algorithm>

#include "repo/config.h"
#include "repo/files.h"
#include "repo/history.h"
#include "tree/tree.h"

namespace weft::repo {

namespace {

constexpr std::string_view kStoreName = ".weft";
constexpr std::string_view kDefaultWorkspace = "default";
/// A path cannot have more components than this.
constexpr int kMaxLevels = 4096;

struct Found {
  std::string store;  ///< the `.weft` directory
  std::optional<Repository::Location> location;
};

std::string relative_to(std::string_view path, std::string_view root) {
  if (path.size() <= root.size()) return {};
  return std::string(path.substr(root.size() + (root == "/" ? 0 : 1)));
}

/// Whether `path`, a `.weft`, is in a list of those, or of directories that hold them.
bool names_store(const std::vector<std::string>& list, const std::string& path) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& named) {
    return named == "*" || named == path || join_path(named, kStoreName) == path;
  });
}

/// WEFT_SAFE_STORES: as `safe.stores`, the paths separated by colons. For containers and services without a home.
std::vector<std::string> safe_stores_of_environment(const Context& context) {
  std::vector<std::string> out;
  const auto found = context.environment.find("WEFT_SAFE_STORES");
  std::string_view rest = found == context.environment.end() ? std::string_view() : std::string_view(found->second);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// Stores of others may hold anything; only who asked for it works in one (DESIGN 12).
Result<void> check_owner(const Context& context, const std::string& path, const FileStatus& status) {
  if (status.uid == context.uid) return {};
  if (context.uid == 0) {
    const auto sudo = context.environment.find("SUDO_UID");
    if (sudo != context.environment.end() && sudo->second == std::to_string(status.uid)) return {};
  }
  if (names_store(safe_stores_of_environment(context), path)) return {};
  WEFT_TRY(const UserConfig config, read_user_config(context));
  if (names_store(config.safe_stores, path)) return {};
  return make_error(Code::refused, "the store " + quoted(path) + " belongs to another user",
                    "weft config set safe.stores " + quoted(path) + ", if you trust it")
      .with("path", path);
}

Result<Found> discover(const Context& context) {
  FileSystem& fs = context.env.fs;
  const std::string start = absolute_path(context.directory, "");
  std::string directory = start;
  for (int level = 0; level < kMaxLevels; ++level) {
    if (base_name(directory) == kStoreName) {
      // Inside a store: its history can be read from here, but there is no workspace.
      const auto status = fs.status(directory);
      const auto format = fs.status(join_path(directory, "format"));
      if (status && format && format->kind == FileKind::file) {
        WEFT_DO(check_owner(context, directory, *status));
        return Found{directory, std::nullopt};
      }
    }
    const std::string candidate = join_path(directory, kStoreName);
    const auto status = fs.status(candidate);
    if (status && status->kind == FileKind::directory) {
      WEFT_DO(check_owner(context, candidate, *status));
      return Found{candidate,
                   Repository::Location{std::string(kDefaultWorkspace), directory, relative_to(start, directory)}};
    }
    if (status && status->kind == FileKind::file) {
      WEFT_DO(check_owner(context, candidate, *status));
      WEFT_TRY(const Bytes content, read_file(fs, candidate, kMaxWorkspaceFileBytes));
      auto file = decode_workspace_file(content);
      if (!file) return std::move(file).error().with("path", candidate);
      const auto store_status = fs.status(file->store);
      if (!store_status || store_status->kind != FileKind::directory) {
        return make_error(Code::not_found,
                          "the store of this workspace is gone: " + quoted(file->store) + " is no directory",
                          "if it was moved, correct the path in " + quoted(candidate))
            .with("path", file->store);
      }
      WEFT_DO(check_owner(context, file->store, *store_status));
      return Found{file->store, Repository::Location{file->name, directory, relative_to(start, directory)}};
    }
    if (!status && status.error().code != Code::not_found) return status.error();
    if (directory == "/") break;
    directory = parent_path(directory);
  }
  return make_error(Code::not_found, "no weft store here or in any parent directory", "`weft init` makes one here")
      .with("path", start);
}

Error not_registered(const Repository::Location& location) {
  return make_error(Code::refused, "workspace " + quoted(location.name) + " is not registered in this store (any more)",
                    "`weft op log` shows who removed it, `weft undo OPERATION` brings it back; its files are untouched")
      .with("workspace", location.name)
      .with("path", location.root);
}

/// Registers the workspace `default` unless it is there: the second half of init, also of one that was killed before
/// it.
Result<void> register_default(const Context& context, store::Store& store, const std::string& root,
                              const std::string& follow) {
  WEFT_TRY(auto transaction, store.begin());
  store::RefEdit edit;
  edit.name = workspace_ref(kDefaultWorkspace);
  edit.expect = store::RefEdit::Expect::absent;
  edit.after = store::RefValue{Version{}, encode_workspace({root, follow})};
  transaction.edit_ref(std::move(edit));
  store::OperationInfo info;
  info.label = "init";
  info.author = author_text(context);
  info.workspace = kDefaultWorkspace;
  transaction.set_operation(std::move(info));
  const auto committed = transaction.commit();
  return committed ? Result<void>() : Result<void>(committed.error());
}

}  // namespace

store::StoreHooks store_hooks(const Context& context) {
  store::StoreHooks hooks = store_hooks();
  hooks.trusts_network = [context](const std::string& directory) {
    const auto config = read_user_config(context);
    return config && names_store(config->safe_network, directory);
  };
  return hooks;
}

Result<void> make_directories(FileSystem& fs, const std::string& path) {
  if (path == "/" || path == ".") return {};
  const auto made = fs.make_directory(path);
  if (made || made.error().code == Code::exists) return {};
  if (made.error().code != Code::not_found) return made.error();
  WEFT_DO(make_directories(fs, parent_path(path)));
  return fs.make_directory(path);
}

std::string author_text(const Context& context) {
  const auto identity = find_identity(context, std::nullopt);
  return identity ? identity->text() : std::string();
}

std::string absolute_path(std::string_view directory, std::string_view typed) {
  std::string joined = typed.starts_with('/') ? std::string(typed) : std::string(directory) + "/" + std::string(typed);
  std::string out;
  std::size_t at = 0;
  while (at < joined.size()) {
    std::size_t end = joined.find('/', at);
    if (end == std::string::npos) end = joined.size();
    const std::string_view part = std::string_view(joined).substr(at, end - at);
    if (part == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
    } else if (!part.empty() && part != ".") {
      out += '/';
      out += part;
    }
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

bool is_below(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

Result<Repository> Repository::init(const Context& context, const std::string& directory, const std::string& follow) {
  if (const auto problem = store::ref_name_problem(follow); !problem.empty()) {
    return make_error(Code::invalid, quoted(follow) + " is no ref name: it " + std::string(problem),
                      "choose a name like `main` or `topic/parser`");
  }
  FileSystem& fs = context.env.fs;
  const std::string root = absolute_path(context.directory, directory);
  WEFT_DO(make_directories(fs, root));
  const std::string store_path = join_path(root, kStoreName);
  auto created = store::Store::create(context.env, store_path, {}, store_hooks(context));
  if (!created && created.error().code != Code::exists) return std::move(created).error();
  const bool existed = !created.has_value();
  if (existed) {
    const Error exists = make_error(Code::exists, "there is a weft store already: " + quoted(store_path),
                                    "`weft status` shows where it stands")
                             .with("path", store_path);
    created = store::Store::open(context.env, store_path, store_hooks(context));
    if (!created) return exists;
    WEFT_TRY(const auto snapshot, created->snapshot());
    WEFT_TRY(const auto present, snapshot.ref(workspace_ref(kDefaultWorkspace)));
    if (present) return exists;
  }
  WEFT_DO(make_directories(fs, join_path(store_path, "workspaces")));
  WEFT_DO(register_default(context, *created, root, follow));
  Repository repository(context, *std::move(created));
  repository.location_ = Location{std::string(kDefaultWorkspace), root, ""};
  WEFT_DO(write_files_record(context.env.fs, repository.files_path(kDefaultWorkspace), {Version{}, std::nullopt}));
  WEFT_TRY(repository.workspace_, repository.reload_workspace());
  return repository;
}

Result<std::string> Repository::find_store(const Context& context) {
  WEFT_TRY(Found found, discover(context));
  return std::move(found.store);
}

Result<Repository> Repository::open_only(const Context& context) { return open_with(context, store_hooks(context)); }

Result<Repository> Repository::open_to_look(const Context& context) {
  store::StoreHooks hooks = store_hooks(context);
  hooks.only_look = make_error(Code::refused, "this command only looks", "run a command that records");
  return open_with(context, hooks);
}

Result<Repository> Repository::open_with(const Context& context, const store::StoreHooks& hooks) {
  WEFT_TRY(Found found, discover(context));
  WEFT_TRY(auto store, store::Store::open(context.env, found.store, hooks));
  Repository repository(context, std::move(store));
  repository.location_ = std::move(found.location);
  return repository;
}

Result<Repository> Repository::open(const Context& context) {
  WEFT_TRY(Repository repository, open_only(context));
  if (repository.location_) {
    auto workspace = repository.reload_workspace();
    if (workspace) {
      repository.workspace_ = *std::move(workspace);
    } else if (workspace.error().code != Code::refused) {
      return std::move(workspace).error();
    }
  }
  return repository;
}

Result<Repository::Workspace> Repository::workspace_in(const store::Snapshot& snapshot) const {
  if (!location_) {
    return make_error(Code::refused, "this is inside a store, not in a workspace",
                      "go to a workspace (`weft workspace list` names them), or use -C DIR");
  }
  WEFT_TRY(const auto value, snapshot.ref(workspace_ref(location_->name)));
  if (!value) return not_registered(*location_);
  WEFT_TRY(WorkspaceRecord record, decode_workspace(value->extra));
  return Workspace{location_->name, location_->root, location_->prefix, std::move(record), value->version};
}

Result<Repository::Workspace> Repository::require_workspace() const {
  if (workspace_) return *workspace_;
  return reload_workspace();
}

Result<Repository::Workspace> Repository::reload_workspace() const {
  WEFT_TRY(const auto snapshot, store_.snapshot());
  return workspace_in(snapshot);
}

std::string Repository::state_path(std::string_view workspace_name) const {
  return store_.directory() + "/workspaces/" + std::string(workspace_name) + ".state";
}

std::string Repository::files_path(std::string_view workspace_name) const {
  return store_.directory() + "/workspaces/" + std::string(workspace_name) + ".files";
}

std::string Repository::writing_path(std::string_view workspace_name) const {
  return store_.directory() + "/workspaces/" + std::string(workspace_name) + ".writing";
}

Result<std::string> Repository::repo_path(std::string_view typed) const {
  if (!location_) return require_workspace().error();
  if (typed.empty()) return make_error(Code::invalid, "an empty path names nothing", "\".\" is the current directory");
  const std::string path = absolute_path(context_.directory, typed);
  if (!is_below(path, location_->root)) {
    return make_error(Code::invalid, quoted(typed) + " is outside the workspace " + quoted(location_->root),
                      "give a path inside it; -C DIR goes to another workspace first")
        .with("path", std::string(typed));
  }
  std::string inside = relative_to(path, location_->root);
  if (!inside.empty()) WEFT_DO(tree::check_path(inside));
  return inside;
}

}  // namespace weft::repo
