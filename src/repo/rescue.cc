#include "repo/rescue.h"

#include <algorithm>
#include <set>

#include "repo/recording.h"
#include "tree/tree.h"
#include "work/checkout_preview.h"

namespace weft::repo {

namespace {

constexpr std::string_view kPathsHeader = "weft-rescued-paths";
constexpr std::string_view kDirectoriesHeader = "weft-made-directories";
constexpr std::string_view kMadeTreeHeader = "weft-made-tree";
/// A verb that touches more speaks for all it was asked for.
constexpr std::size_t kMaxPathsNamed = 10'000;
constexpr std::uint64_t kMaxPaths = 100'000;
constexpr std::uint64_t kMaxPathBytes = 1u << 20;
constexpr std::size_t kRefDigits = 16;
constexpr int kMaxSameRescues = 1000;
constexpr std::size_t kNamedInMessage = 10;

/// Whether the entries at `path` are the same in both trees (also: absent in both).
Result<bool> same_at(const object::ObjectReader& reader, const ObjectId& a, const ObjectId& b, std::string_view path) {
  WEFT_TRY(const auto in_a, tree::find_path(reader, a, path));
  WEFT_TRY(const auto in_b, tree::find_path(reader, b, path));
  if (!in_a || !in_b) return !in_a && !in_b;
  return in_a->id == in_b->id && in_a->mode == in_b->mode && in_a->kind == in_b->kind;
}

/// Whether `tree` has something at `path`, or something that is no directory on the way to it.
Result<bool> occupied(const object::ObjectReader& reader, const ObjectId& tree, std::string_view path) {
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    WEFT_TRY(const auto entry, tree::find_path(reader, tree, path.substr(0, slash)));
    if (!entry) return false;
    if (slash == std::string_view::npos || entry->kind != object::EntryKind::directory) return true;
  }
}

Error cannot_keep(const work::Warning& warning, std::string_view verb) {
  return make_error(Code::refused,
                    quoted(warning.path) + " cannot be recorded (" + warning.reason + "), so " + std::string(verb) +
                        " would lose it",
                    "move it away, or make it readable")
      .with("path", warning.path);
}

/// Whether the verb would take away what `warning` says could not be recorded (RE-5).
Result<bool> would_lose(const object::ObjectReader& reader, const HostDir& root, const work::Warning& warning,
                        const std::vector<std::string>& paths, const ObjectId& at, const ObjectId& target) {
  const auto concerns = [&](const std::string& path) {
    return path.empty() || is_below(warning.path, path) || is_below(path, warning.path);
  };
  if (!paths.empty() && std::none_of(paths.begin(), paths.end(), concerns)) return false;
  WEFT_TRY(const auto tracked, tree::find_path(reader, at, warning.path));
  if (!tracked) return occupied(reader, target, warning.path);
  // A directory that can be opened was looked into, but for the untracked files of a repository inside: those stay.
  return tracked->kind != object::EntryKind::directory || !open_below(root, warning.path);
}

}  // namespace

Result<HostDir> open_below(const HostDir& root, std::string_view path) {
  WEFT_TRY(HostDir directory, HostDir::open(root.path()));
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    WEFT_TRY(directory, directory.open_dir(path.substr(0, slash)));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return directory;
}

Bytes encode_rescued_paths(const std::vector<std::string>& paths) {
  Bytes out;
  ByteWriter writer(out);
  writer.varint(paths.size());
  for (const std::string& path : paths) writer.sized(path);
  return out;
}

Result<std::vector<std::string>> decode_rescued_paths(ByteView bytes) {
  ByteReader reader(bytes);
  const std::uint64_t count = reader.varint_max(kMaxPaths);
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) paths.emplace_back(reader.sized(kMaxPathBytes));
  if (!reader.ok() || !reader.at_end()) return damaged("the paths of a rescue change are garbled");
  for (const std::string& path : paths) WEFT_DO(tree::check_path(path));
  return paths;
}

std::optional<std::vector<std::string>> rescued_paths(const object::Change& change) {
  const Bytes* header = change.find_extra(kPathsHeader);
  if (header == nullptr) return std::nullopt;
  auto paths = decode_rescued_paths(*header);
  if (!paths) return std::nullopt;
  return *std::move(paths);
}

std::vector<std::string> directories_made(const object::Change& change) {
  const Bytes* header = change.find_extra(kDirectoriesHeader);
  if (header == nullptr) return {};
  auto paths = decode_rescued_paths(*header);
  if (!paths) return {};
  return *std::move(paths);
}

std::optional<ObjectId> made_tree(const object::Change& change) {
  const Bytes* header = change.find_extra(kMadeTreeHeader);
  return header == nullptr ? std::nullopt : ObjectId::parse(*header);
}

namespace {

std::string_view above(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Of the directories the paths lie in, those that are not there; topmost first.
std::vector<std::string> missing_directories(const HostDir& root, const std::vector<std::string>& paths) {
  std::set<std::string, std::less<>> present{""};
  std::set<std::string> missing;
  for (const std::string& path : paths) {
    for (std::string_view up = above(path); !present.contains(up) && !missing.contains(std::string(up));
         up = above(up)) {
      if (open_below(root, up)) {
        present.emplace(up);
        break;
      }
      missing.emplace(up);
    }
  }
  return {missing.begin(), missing.end()};
}

/// RE-3: what the verb takes away or replaces. The rest stays where it is; it is recorded all the same.
Result<ObjectId> known_tree(store::Transaction& transaction, const work::Recorded& recorded, const ObjectId& target,
                            const OverwriteOptions& options) {
  const object::ObjectReader& reader = transaction.reader();
  tree::TreeEditor known(reader, recorded.tree);
  for (const work::StatusEntry& entry : recorded.status.entries) {
    const bool is_guess = options.paths_alone && entry.change == work::Change::moved && entry.content_changed &&
                          entry.kind != object::EntryKind::directory;
    if (entry.change != work::Change::added && !is_guess) continue;
    WEFT_TRY(const bool replaced, occupied(reader, target, entry.path));
    if (replaced) continue;
    if (options.unreached) {
      WEFT_TRY(bool left, same_at(reader, recorded.tree, *options.unreached, entry.path));
      if (!left && (is_guess || entry.kind == object::EntryKind::directory)) {
        // A directory may be empty by now, of what it held then; it goes only if nothing else is in it.
        WEFT_TRY(const auto then, tree::find_path(reader, *options.unreached, entry.path));
        left = then && (is_guess || then->kind == object::EntryKind::directory);
      }
      if (left) continue;
    }
    WEFT_TRY(const auto present, known.find(entry.path));
    if (present) WEFT_DO(known.remove(entry.path));
  }
  return known.finish(transaction);
}

}  // namespace

void remove_empty_directories(const HostDir& root, const std::vector<std::string>& paths) {
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    const auto parent = open_below(root, above(*path));
    // What is not empty, or not there, is as it should be.
    if (parent) (void)parent->remove_dir(base_name(*path)).has_value();
  }
}

Result<Overwrite> prepare_overwrite(Repository& repository, store::Transaction& transaction,
                                    const Repository::Workspace& workspace, const FilesState& state,
                                    const WorkspaceFiles& files, const std::vector<std::string>& paths,
                                    const ObjectId& target, std::string_view verb, const OverwriteOptions& options) {
  const Context& context = repository.context();
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const ObjectId at_tree, tree_of(snapshot, state.at));
  work::ScanOptions scan = files.scan_options();
  scan.paths = paths;
  WEFT_TRY(auto recorded, work::record(files.tree(), transaction.reader(), transaction, at_tree, scan));
  if (options.unkept != nullptr) {
    *options.unkept = recorded.status.warnings;
  } else {
    for (const work::Warning& warning : recorded.status.warnings) {
      bool lost = options.everything_goes;
      if (!lost) {
        WEFT_TRY(lost, would_lose(transaction.reader(), files.root(), warning, paths, at_tree, target));
      }
      if (lost) return cannot_keep(warning, verb);
    }
  }
  Overwrite out;
  out.paths = paths;
  WEFT_TRY(out.from, known_tree(transaction, recorded, target, options));
  std::vector<std::string> made;
  if (options.paths_alone) {
    work::CheckoutOptions checkout;
    checkout.ignore = files.ignore();
    checkout.paths = paths;
    WEFT_TRY(auto preview, work::preview_checkout(files.tree(), transaction.reader(), out.from, target, checkout));
    out.nothing = preview.paths.empty();
    made = missing_directories(files.root(), preview.paths);
    if (made.size() > kMaxPathsNamed) made.clear();
    if (preview.paths.size() <= kMaxPathsNamed) out.paths = std::move(preview.paths);
  }
  out.status = std::move(recorded.status);
  if (out.nothing) return out;

  const auto identity = find_identity(context, std::nullopt);
  const Identity author = identity ? *identity : Identity{"weft", ""};  // keeping files must not need a configuration
  WEFT_TRY(auto change,
           draft_change(context, snapshot, state.at.changes, author, "Files before " + std::string(verb) + "\n"));
  change.tree = recorded.tree;
  change.ops = std::move(recorded.ops);
  change.extra.emplace_back(std::string(kPathsHeader), encode_rescued_paths(out.paths));
  if (!made.empty()) change.extra.emplace_back(std::string(kDirectoriesHeader), encode_rescued_paths(made));
  if (options.paths_alone || options.after) {
    ObjectId made_of_it = target;
    if (options.after) {
      WEFT_TRY(made_of_it, options.after(recorded.tree));
    }
    change.extra.emplace_back(std::string(kMadeTreeHeader), made_of_it.hex());
  }
  WEFT_TRY(const ChangeId id, put_recorded(transaction, at_tree, change));
  out.rescue = {std::string(kRescuePrefix) + workspace.name + "/" + id.hex().substr(0, kRefDigits), id};
  // Equal edits rescued twice by one tick of the clock are one change; each operation has a ref of its own to take
  // back.
  for (int more = 2; more <= kMaxSameRescues; ++more) {
    WEFT_TRY(const auto taken, snapshot.ref(out.rescue.ref));
    if (!taken) break;
    out.rescue.ref =
        std::string(kRescuePrefix) + workspace.name + "/" + id.hex().substr(0, kRefDigits) + "-" + std::to_string(more);
  }
  transaction.edit_ref(move_ref(out.rescue.ref, std::nullopt, Version(id)));
  return out;
}

Result<InTheWay> in_the_way(const object::ObjectReader& reader, const ObjectId& from, const ObjectId& to,
                            const work::Status& status) {
  InTheWay out;
  for (const work::StatusEntry& entry : status.entries) {
    if (entry.change == work::Change::added || entry.change == work::Change::moved) {
      WEFT_TRY(const bool was_there, occupied(reader, from, entry.path));
      WEFT_TRY(bool will_be_there, occupied(reader, to, entry.path));
      if (will_be_there && entry.kind == object::EntryKind::directory) {
        WEFT_TRY(const auto there, tree::find_path(reader, to, entry.path));
        if (there && there->kind == object::EntryKind::directory) will_be_there = false;  // it is there already
      }
      if (will_be_there && !was_there) out.untracked.push_back(entry.path);
      if (entry.change == work::Change::added) continue;
    }
    const std::string& path = entry.change == work::Change::moved ? entry.old_path : entry.path;
    WEFT_TRY(const bool same, same_at(reader, from, to, path));
    if (!same) out.edited.push_back(entry.path);
  }
  for (std::string path : status.ignored) {
    while (path.ends_with('/')) path.pop_back();
    WEFT_TRY(const bool was_there, occupied(reader, from, path));
    WEFT_TRY(const bool will_be_there, occupied(reader, to, path));
    if (will_be_there && !was_there) out.untracked.push_back(path);
  }
  return out;
}

Error refuse_in_the_way(const InTheWay& files, std::string_view verb) {
  std::string list;
  std::size_t named = 0;
  const auto name_some = [&](const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (named++ < kNamedInMessage) list += (list.empty() ? "" : ", ") + quoted(path);
    }
  };
  name_some(files.edited);
  name_some(files.untracked);
  if (named > kNamedInMessage) list += " and " + std::to_string(named - kNamedInMessage) + " more";
  Error error = make_error(Code::refused, std::string(verb) + " would overwrite what is not recorded: " + list,
                           files.untracked.empty() ? "commit these edits first, or `weft restore` them"
                                                   : "commit or move these files away first");
  for (const std::string& path : files.edited) error.details.emplace_back("path", path);
  for (const std::string& path : files.untracked) error.details.emplace_back("path", path);
  return error;
}

}  // namespace weft::repo
