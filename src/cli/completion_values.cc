// The names that can stand at a place: out of the store, the working tree and the configuration; see completion.h.

#include <algorithm>
#include <set>

#include "cli/completion.h"
#include "cli/dates.h"
#include "cli/session.h"
#include "cli/text.h"
#include "repo/files.h"
#include "repo/history.h"
#include "repo/settings.h"
#include "tree/tree.h"
#include "work/work.h"

namespace weft::cli {
namespace {

// CP-2: more than anybody reads, few enough to be there at once.
constexpr std::size_t kMaxNames = 2'000;
constexpr std::size_t kMaxDescribedRefs = 200;
constexpr std::size_t kLastChanges = 16;
constexpr std::size_t kMaxFound = 64;
constexpr std::size_t kLastMoves = 16;
constexpr std::size_t kAuthorsFrom = 200;
constexpr std::size_t kOperationDigits = 12;
constexpr std::size_t kMinDigits = 4;

constexpr std::string_view kWorkspaces = "workspaces/";
constexpr std::string_view kPrivate[] = {"kept/", "rescue/"};

std::string first_line(std::string_view text) { return printable(subject(text)); }

bool is_hex(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

class Values {
 public:
  static Result<Values> open(Invocation& invocation) {
    WEFT_TRY(auto repository, repo::Repository::open_only(invocation.context));
    WEFT_TRY(auto snapshot, repository.store().snapshot());
    return Values(invocation, std::move(repository), std::move(snapshot));
  }

  Result<void> add(const Place& place, WordKind kind) {
    switch (kind) {
      case WordKind::ref:
        return refs("", place.typed);
      case WordKind::version:
        return versions(place.typed);
      case WordKind::version_path:
        return version_paths(place.typed);
      case WordKind::tracked_path:
        return tracked_paths(place.typed, "@");
      case WordKind::changed_path:
        if (!place.from.empty()) return tracked_paths(place.typed, place.from);
        return changed_paths(place.typed);
      case WordKind::workspace:
        return workspaces(place.typed);
      case WordKind::operation:
        return operations(place.typed);
      case WordKind::author:
        return authors(place.typed);
      default:
        return {};
    }
  }
  std::vector<Candidate> take() { return std::move(out_); }

 private:
  Values(Invocation& invocation, repo::Repository repository, store::Snapshot snapshot)
      : invocation_(invocation), repository_(std::move(repository)), snapshot_(std::move(snapshot)) {}

  void offer(std::string text, std::string help) {
    if (out_.size() < kMaxNames) out_.push_back({std::move(text), std::move(help)});
  }

  /// "1a2b3c4d Subject".
  std::string described(const object::Version& version) const {
    if (version.empty()) return "nothing recorded yet";
    const auto names = short_version(snapshot_, version);
    const auto change = snapshot_.change(version.changes.front());
    if (!names || !change) return {};
    return *names + " " + first_line(change->message);
  }

  Result<void> refs(const std::string& stem, const std::string& typed) {
    WEFT_TRY(const auto all, snapshot_.refs(typed));
    std::size_t count = 0;
    for (const auto& ref : all) {
      // What weft keeps for undo shows only to those who ask for it.
      const bool hidden = std::any_of(std::begin(kPrivate), std::end(kPrivate), [&](auto prefix) {
        return ref.name.starts_with(prefix) && !typed.starts_with(prefix);
      });
      if (hidden) continue;
      offer(stem + ref.name, ++count <= kMaxDescribedRefs ? described(ref.value.version) : std::string());
    }
    return {};
  }

  /// The last changes of this workspace, or those whose ids begin as typed.
  Result<void> changes(const std::string& stem, const std::string& typed) {
    if (is_hex(typed) && typed.size() >= kMinDigits) {
      WEFT_TRY(const auto ids, snapshot_.find_by_prefix(object::ObjectKind::change, typed, kMaxFound));
      for (const auto& id : ids) {
        WEFT_TRY(auto shortened, repo::short_id(snapshot_, object::ObjectKind::change, id));
        if (shortened.size() < typed.size()) shortened = id.hex();
        WEFT_TRY(const auto change, snapshot_.change(ChangeId(id)));
        offer(stem + shortened, first_line(change.message));
      }
      return {};
    }
    if (!typed.empty() && !is_hex(typed)) return {};
    return last_changes(kLastChanges, [&](const ChangeId& id, const object::Change& change) -> Result<void> {
      WEFT_TRY(const auto shortened, repo::short_id(snapshot_, object::ObjectKind::change, id));
      if (shortened.starts_with(typed)) offer(stem + shortened, first_line(change.message));
      return {};
    });
  }

  template <typename Visit>
  Result<void> last_changes(std::size_t count, const Visit& visit) {
    WEFT_TRY(const auto workspace, repository_.workspace_in(snapshot_));
    const repo::SnapshotHistory history(snapshot_);
    repo::HistoryWalk walk(history, repo::WalkOrder::time);
    WEFT_DO(walk.from(workspace.head));
    for (std::size_t at = 0; at < count; ++at) {
      WEFT_TRY(const auto step, walk.next());
      if (!step) break;
      WEFT_TRY(const auto change, snapshot_.change(step->id));
      WEFT_DO(visit(step->id, change));
    }
    return {};
  }

  /// A ref, `@`, a change; the last part of `A..B`, `A...B`, `A+B`; `REF@{N}`.
  Result<void> versions(const std::string& typed) {
    std::size_t begin = 0;
    if (const std::size_t dots = typed.rfind(".."); dots != std::string::npos) begin = dots + 2;
    if (const std::size_t plus = typed.rfind('+'); plus != std::string::npos) begin = std::max(begin, plus + 1);
    const std::string stem = typed.substr(0, begin);
    const std::string last = typed.substr(begin);
    if (const std::size_t at = last.find("@{"); at != std::string::npos) {
      return moves(stem, last.substr(0, at), last.substr(at));
    }
    if (std::string_view("@").starts_with(last)) {
      if (const auto workspace = repository_.workspace_in(snapshot_)) offer(stem + "@", described(workspace->head));
    }
    WEFT_DO(refs(stem, last));
    return changes(stem, last);
  }

  Result<void> moves(const std::string& stem, std::string ref, const std::string& typed) {
    const std::string shown = ref;
    if (ref.empty()) {
      WEFT_TRY(const auto workspace, repository_.workspace_in(snapshot_));
      ref = repo::workspace_ref(workspace.name);
    }
    std::size_t index = 0;
    return snapshot_.reflog(ref, [&](const store::RefMoveRecord& move) {
      const std::string name = "@{" + std::to_string(index++) + "}";
      if (name.starts_with(typed)) offer(stem + shown + name, first_line(move.label));
      return index < kLastMoves;
    });
  }

  Result<void> version_paths(const std::string& typed) {
    const std::size_t colon = typed.starts_with("git:") ? typed.find(':', 4) : typed.find(':');
    if (colon != std::string::npos) {
      const std::string version = typed.substr(0, colon);
      return paths_in(version, typed.substr(0, colon + 1), typed.substr(colon + 1), true);
    }
    const std::size_t before = out_.size();
    WEFT_DO(versions(typed));
    for (std::size_t at = before; at < out_.size(); ++at) out_[at].text += ':';
    return paths_in("@", "", typed, false);
  }

  Result<void> tracked_paths(const std::string& typed, const std::string& version) {
    return paths_in(version, "", typed, false);
  }

  /// `typed` is "DIRECTORY/" and the beginning of a name. `from_top`: it does not depend on the current directory.
  Result<std::string> directory_of(const std::string& typed, bool from_top) const {
    const std::size_t slash = typed.rfind('/');
    std::string directory = slash == std::string::npos ? "" : typed.substr(0, slash);
    if (!from_top) return repository_.repo_path(directory.empty() ? "." : directory);
    if (!directory.empty()) WEFT_DO(tree::check_path(directory));
    return directory;
  }

  Result<void> paths_in(const std::string& version, const std::string& stem, const std::string& typed, bool from_top) {
    WEFT_TRY(const auto path, directory_of(typed, from_top));
    const std::size_t leaf = typed.rfind('/') == std::string::npos ? 0 : typed.rfind('/') + 1;
    WEFT_TRY(const auto resolved, repo::resolve_version(repository_, snapshot_, version));
    WEFT_TRY(const auto root, repo::tree_of(snapshot_, resolved.version));
    WEFT_TRY(const auto directory, tree::find_path(snapshot_, root, path));
    if (!directory || directory->kind != object::EntryKind::directory) return {};
    return tree::walk(snapshot_, directory->id, "", [&](const tree::PathEntry& entry) -> Result<bool> {
      if (std::string_view(entry.path).starts_with(std::string_view(typed).substr(leaf))) {
        const bool goes_on = entry.entry.kind == object::EntryKind::directory;
        offer(stem + typed.substr(0, leaf) + entry.path + (goes_on ? "/" : ""), "");
      }
      return false;
    });
  }

  /// What `status` lists at or below the directory that is typed, a part at a time.
  Result<void> changed_paths(const std::string& typed) {
    if (!repository_.location()) return {};
    WEFT_TRY(const auto path, directory_of(typed, false));
    const std::size_t leaf = typed.rfind('/') == std::string::npos ? 0 : typed.rfind('/') + 1;
    const auto record =
        repo::read_files_record(invocation_.context.env.fs, repository_.files_path(repository_.location()->name));
    WEFT_TRY(const auto workspace, repository_.workspace_in(snapshot_));
    WEFT_TRY(const auto state, repo::files_state(snapshot_, workspace, record));
    WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository_, workspace.name, workspace.root));
    WEFT_TRY(const ObjectId tree, repo::tree_of(snapshot_, state.at));
    auto scan = files.scan_options();
    if (!path.empty()) scan.paths = {path};
    WEFT_TRY(const auto status, work::status(files.tree(), snapshot_, tree, scan));
    std::set<std::string> seen;
    for (const auto& entry : status.entries) {
      std::string_view rest = entry.path;
      if (!path.empty()) {
        if (!rest.starts_with(path + "/")) continue;
        rest.remove_prefix(path.size() + 1);
      }
      if (!rest.starts_with(std::string_view(typed).substr(leaf))) continue;
      const std::size_t slash = rest.find('/');
      const std::string name(rest.substr(0, slash == std::string_view::npos ? slash : slash + 1));
      if (!seen.insert(name).second) continue;
      offer(typed.substr(0, leaf) + name, slash == std::string_view::npos ? std::string(word_for(entry.change)) : "");
    }
    return {};
  }

  static std::string_view word_for(work::Change change) {
    switch (change) {
      case work::Change::added:
        return "added";
      case work::Change::modified:
        return "modified";
      case work::Change::deleted:
        return "deleted";
      case work::Change::moved:
        return "moved";
      case work::Change::mode:
        return "mode changed";
      case work::Change::type:
        return "another type";
    }
    return {};
  }

  Result<void> workspaces(const std::string& typed) {
    WEFT_TRY(const auto all, snapshot_.refs(std::string(kWorkspaces) + typed));
    for (const auto& ref : all) {
      const auto record = repo::decode_workspace(ref.value.extra);
      offer(ref.name.substr(kWorkspaces.size()), record ? record->path : std::string());
    }
    return {};
  }

  Result<void> operations(const std::string& typed) {
    if (!typed.empty() && !is_hex(typed)) return {};
    std::size_t count = 0;
    return snapshot_.operations([&](const store::Operation& operation) {
      const std::string id = operation.id.hex().substr(0, std::max(kOperationDigits, typed.size()));
      if (id.starts_with(typed)) offer(id, first_line(operation.label));
      return ++count < kMaxFound && out_.size() < kLastMoves;
    });
  }

  Result<void> authors(const std::string& typed) {
    std::set<std::string> seen;
    return last_changes(kAuthorsFrom, [&](const ChangeId&, const object::Change& change) -> Result<void> {
      const std::string author = change.author.name + " <" + change.author.email + ">";
      if (author.starts_with(typed) && seen.insert(author).second) offer(author, "");
      return {};
    });
  }

  Invocation& invocation_;
  repo::Repository repository_;
  store::Snapshot snapshot_;
  std::vector<Candidate> out_;
};

std::vector<Candidate> config_keys(std::string_view typed) {
  std::vector<Candidate> out;
  for (const auto& setting : repo::settings()) {
    const std::size_t star = setting.key.find('*');
    const std::string_view key = setting.key.substr(0, star);
    if (star == std::string_view::npos || setting.values.empty()) {
      if (key.starts_with(typed)) out.push_back({std::string(key), std::string(setting.meaning)});
      continue;
    }
    for (const auto& name : literals_of(setting.values)) {
      if ((std::string(key) + name).starts_with(typed)) out.push_back({std::string(key) + name, ""});
    }
  }
  return out;
}

/// What the key in front of it takes.
std::vector<Candidate> config_values(const Place& place) {
  std::vector<Candidate> out;
  const auto* setting = place.before.empty() ? nullptr : repo::find_setting(place.before.front());
  if (setting == nullptr) return out;
  std::vector<std::string> values;
  if (setting->type == repo::SettingType::choice) values = literals_of(setting->values);
  if (setting->type == repo::SettingType::boolean) values = {"true", "false"};
  for (const auto& value : values) {
    if (value.starts_with(place.typed)) out.push_back({value, value == setting->fallback ? "the default" : ""});
  }
  return out;
}

/// Those the user has named.
std::vector<Candidate> diff_tools(const Invocation& invocation, std::string_view typed) {
  constexpr std::string_view kPrefix = "diff-tools.";
  std::vector<Candidate> out;
  const auto settings = repo::Settings::read(invocation.context);
  for (const auto& [key, value] : settings.values()) {
    if (!key.starts_with(kPrefix)) continue;
    const std::string name = key.substr(kPrefix.size());
    if (name.starts_with(typed)) out.push_back({name, value.text});
  }
  return out;
}

std::vector<Candidate> dates(std::string_view typed) {
  std::vector<Candidate> out;
  for (const std::string_view date : {"today", "yesterday", "monday", "2 days ago", "last week", "1 month ago"}) {
    if (date.starts_with(typed)) out.push_back({std::string(date), ""});
  }
  return out;
}

}  // namespace

std::vector<Candidate> find_values(Invocation& invocation, const Place& place, WordKind kind) {
  if (kind == WordKind::date) return dates(place.typed);
  if (kind == WordKind::config_key) return config_keys(place.typed);
  if (kind == WordKind::config_value) return config_values(place);
  if (kind == WordKind::diff_tool) return diff_tools(invocation, place.typed);
  auto values = Values::open(invocation);
  if (!values) return {};
  (void)values->add(place, kind);  // CP-1: what could be read until it failed is offered
  return values->take();
}

}  // namespace weft::cli
