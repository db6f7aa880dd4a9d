#include "repo/rescue.h"

#include "repo/recording.h"
#include "tree/tree.h"

namespace weft::repo {

namespace {

constexpr std::string_view kPathsHeader = "weft-rescued-paths";
constexpr std::uint64_t kMaxPaths = 100'000;
constexpr std::uint64_t kMaxPathBytes = 1u << 20;
constexpr std::size_t kRefDigits = 16;
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

}  // namespace

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

Result<Overwrite> prepare_overwrite(Repository& repository, store::Transaction& transaction,
                                    const Repository::Workspace& workspace, const FilesState& state,
                                    const WorkspaceFiles& files, const std::vector<std::string>& paths,
                                    const ObjectId& target, std::string_view verb, std::vector<work::Warning>* unkept,
                                    const ObjectId* unreached) {
  const Context& context = repository.context();
  const store::Snapshot& snapshot = transaction.snapshot();
  WEFT_TRY(const ObjectId at_tree, tree_of(snapshot, state.at));
  work::ScanOptions options = files.scan_options();
  options.paths = paths;
  WEFT_TRY(auto recorded, work::record(files.tree(), transaction.reader(), transaction, at_tree, options));
  if (unkept != nullptr) {
    *unkept = recorded.status.warnings;
  } else if (!recorded.status.warnings.empty()) {
    return cannot_keep(recorded.status.warnings.front(), verb);
  }

  const auto identity = find_identity(context, std::nullopt);
  const Identity author = identity ? *identity : Identity{"weft", ""};  // keeping files must not need a configuration
  WEFT_TRY(auto change,
           draft_change(context, snapshot, state.at.changes, author, "Files before " + std::string(verb) + "\n"));
  change.tree = recorded.tree;
  change.ops = std::move(recorded.ops);
  change.extra.emplace_back(std::string(kPathsHeader), encode_rescued_paths(paths));
  WEFT_TRY(const ChangeId id, put_recorded(transaction, at_tree, change));

  Overwrite out;
  out.rescue = {std::string(kRescuePrefix) + workspace.name + "/" + id.hex().substr(0, kRefDigits), id};
  transaction.edit_ref(move_ref(out.rescue.ref, std::nullopt, Version(id)));

  // RE-3: an untracked file the target has no place for stays where it is; it is recorded all the same.
  tree::TreeEditor known(transaction.reader(), recorded.tree);
  for (const work::StatusEntry& entry : recorded.status.entries) {
    if (entry.change != work::Change::added) continue;
    WEFT_TRY(const bool replaced, occupied(transaction.reader(), target, entry.path));
    if (replaced) continue;
    if (unreached != nullptr) {
      WEFT_TRY(bool left, same_at(transaction.reader(), recorded.tree, *unreached, entry.path));
      if (!left && entry.kind == object::EntryKind::directory) {
        // Empty by now, of what it held then; it goes only if nothing else is in it.
        WEFT_TRY(const auto then, tree::find_path(transaction.reader(), *unreached, entry.path));
        left = then && then->kind == object::EntryKind::directory;
      }
      if (left) continue;
    }
    WEFT_TRY(const auto present, known.find(entry.path));
    if (present) WEFT_DO(known.remove(entry.path));
  }
  WEFT_TRY(out.from, known.finish(transaction));
  out.status = std::move(recorded.status);
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
