// Repository: a store, and the workspace the user stands in. Where every verb begins.
//
// A directory holds a workspace if it has `.weft`: a directory (the store itself; workspace `default`) or a file
//   weft workspace 1
//   store: HOST-PATH-OF-.weft
//   name: NAME
// What counts as standing inside a workspace is decided by the path alone, upward from the working directory.
// Workspaces are refs: `workspaces/NAME` holds the head; its `extra` the registration (WorkspaceRecord).
// Threading: one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/host_dir.h"
#include "object/change.h"
#include "store/store.h"

namespace weft::repo {

using object::Version;

/// What a process brings along besides Env: passed explicitly so that tests run in process (STYLE: golden CLI).
struct Context {
  Env& env;
  std::string directory;                           ///< working directory, absolute (`-C` applied)
  std::map<std::string, std::string> environment;  ///< WEFT_AUTHOR, HOME, XDG_CONFIG_HOME, EDITOR, VISUAL, ...
  std::uint32_t uid = 0;                           ///< effective
};

/// What a store is opened with in this context (store_hooks() in history.h, and what the user's configuration says of
/// network file systems: asked only on such a one).
store::StoreHooks store_hooks(const Context& context);

/// In a workspace ref's `extra`.
struct WorkspaceRecord {
  std::string path;    ///< host path of the files; empty when the workspace has none
  std::string follow;  ///< the followed ref
  bool operator==(const WorkspaceRecord&) const = default;
};
Bytes encode_workspace(const WorkspaceRecord& record);
Result<WorkspaceRecord> decode_workspace(ByteView bytes);
std::string workspace_ref(std::string_view name);  ///< "workspaces/NAME"
std::string_view workspace_name_problem(std::string_view name);

/// Author, committer and the like: `--author`, WEFT_AUTHOR, user configuration, git's user configuration, else refused
/// with the command that sets it (DESIGN 11).
struct Identity {
  Bytes name;
  Bytes email;
  std::string text() const { return name + " <" + email + ">"; }
};
/// "Name <email>".
Result<Identity> parse_identity(std::string_view text);
Result<Identity> find_identity(const Context& context, const std::optional<std::string>& author_option);
/// For the author of an operation that records no change: "Name <email>", empty when nobody is named.
std::string author_text(const Context& context);

class Repository {
 public:
  /// Makes a store in `directory`/.weft and its workspace `default`, following `follow` ("main"). Code::exists where
  /// one is.
  static Result<Repository> init(const Context& context, const std::string& directory, const std::string& follow);
  /// Looks upward from context.directory. not_found: "no weft store here or in any parent directory". Stores owned by
  /// someone else are refused unless user configuration names them (`safe.stores`) (DESIGN 12).
  static Result<Repository> open(const Context& context);

  /// For commands on the fast path: finds the store and where the workspace is, and reads no ref. workspace() is
  /// absent; workspace_in() reads it from the one snapshot the command works on.
  static Result<Repository> open_only(const Context& context);

  /// The store's directory, of a store that may be too damaged to be opened.
  static Result<std::string> find_store(const Context& context);

  const Context& context() const { return context_; }
  Env env() const { return context_.env; }
  store::Store& store() { return store_; }
  const store::Store& store() const { return store_; }
  /// What the path says: which workspace's directory this is. It may not be registered (any more).
  struct Location {
    std::string name;
    std::string root;
    std::string prefix;
  };
  const std::optional<Location>& location() const { return location_; }
  /// As open_only(), making, locking and writing nothing: for commands that explain (`weft doctor`).
  static Result<Repository> open_to_look(const Context& context);

  /// The workspace found; absent when -C stands inside no workspace (e.g. inside `.weft`).
  struct Workspace {
    std::string name;
    std::string root;    ///< host path of its top
    std::string prefix;  ///< path of context.directory inside it ("" at the top), for paths the user types
    WorkspaceRecord record;
    Version head;
  };
  const std::optional<Workspace>& workspace() const { return workspace_; }
  /// refused, with what to do, when there is none.
  Result<Workspace> require_workspace() const;
  /// Head and record as they are now (others may have moved them).
  Result<Workspace> reload_workspace() const;
  /// As this snapshot has it. refused, with what to do, when there is none.
  Result<Workspace> workspace_in(const store::Snapshot& snapshot) const;
  std::string state_path(std::string_view workspace_name) const;    ///< directory state file
  std::string files_path(std::string_view workspace_name) const;    ///< see files.h
  std::string writing_path(std::string_view workspace_name) const;  ///< see files.h, F-4

  /// A user's path relative to the current directory -> path inside the workspace ("" for the top). invalid when
  /// outside.
  Result<std::string> repo_path(std::string_view typed) const;

 private:
  Repository(const Context& context, store::Store store) : context_(context), store_(std::move(store)) {}
  static Result<Repository> open_with(const Context& context, const store::StoreHooks& hooks);
  Context context_;
  store::Store store_;
  std::optional<Location> location_;
  std::optional<Workspace> workspace_;
};

/// The content of a workspace's `.weft` file.
struct WorkspaceFile {
  std::string store;  ///< host path of the `.weft` directory, absolute
  std::string name;
  bool operator==(const WorkspaceFile&) const = default;
};
inline constexpr std::uint64_t kMaxWorkspaceFileBytes = 16 << 10;
Bytes encode_workspace_file(const WorkspaceFile& file);
Result<WorkspaceFile> decode_workspace_file(ByteView bytes);

/// `typed` against `directory`, with "." and ".." taken out by the letter; absolute.
std::string absolute_path(std::string_view directory, std::string_view typed);
/// mkdir -p.
Result<void> make_directories(FileSystem& fs, const std::string& path);
/// Whether `path` is `root` or below it, by the letter. Both absolute and normalised.
bool is_below(std::string_view path, std::string_view root);

/// Ref, id, unique prefix (4 digits and more), `git:SHA`, `@`, `@-`, `REF@{N}`, `A+B`; each may be followed by `-`
/// (first parent) repeatedly. A ref name wins over a prefix, with a notice. not_found, ambiguous (details list the
/// candidates).
struct Resolved {
  Version version;
  std::string ref;     ///< when it was named by a ref
  std::string notice;  ///< for stderr; may be empty
};
Result<Resolved> resolve_version(const Repository& repository, const store::Snapshot& snapshot, std::string_view text);

/// The tree of a version: its change's result tree; the empty tree for the empty version. Versions of several changes
/// are merged by node (Code::conflicts where that needs the real merge).
Result<ObjectId> tree_of(const store::Snapshot& snapshot, const Version& version);

/// The shortest unique prefix, at least 8 digits.
Result<std::string> short_id(const store::Snapshot& snapshot, object::ObjectKind kind, const ObjectId& id);

}  // namespace weft::repo
