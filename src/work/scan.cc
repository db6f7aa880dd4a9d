#include "work/scan.h"

#include <algorithm>

#include "work/content.h"
#include "work/ignore_sources.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;
using Outcome = ContentRead::Outcome;

constexpr std::uint32_t kOwnerExecute = 0100;

EntryKind kind_of(FileKind kind) {
  switch (kind) {
    case FileKind::directory:
      return EntryKind::directory;
    case FileKind::symlink:
      return EntryKind::symlink;
    default:
      return EntryKind::file;
  }
}

bool is_repository_mark(std::string_view name) { return name == ".git" || name == ".weft"; }

bool is_file_or_link(EntryKind kind) { return kind == EntryKind::file || kind == EntryKind::symlink; }

}  // namespace

Result<object::Entries> tree_entries(const object::ObjectReader& reader, const ObjectId& tree) {
  if (tree.is_zero() || tree == object::empty_tree_id()) return object::Entries{};
  return object::read_directory(reader, tree);
}

bool is_temporary_name(std::string_view name) {
  constexpr std::string_view kPrefix = ".weft-";
  if (name.size() != kPrefix.size() + 8 || !name.starts_with(kPrefix)) return false;
  return std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::uint32_t recorded_mode(std::uint32_t disk, const std::optional<TreeEntry>& head) {
  if (head && head->kind == EntryKind::file && (head->mode & kOwnerExecute) == (disk & kOwnerExecute))
    return head->mode;
  return (disk & kOwnerExecute) != 0 ? 0755 : 0644;
}

// ---- Scope

Scope::Place Scope::place(std::string_view path) const {
  if (paths_.empty()) return Place::inside;
  bool route = false;
  for (const std::string& asked : paths_) {
    if (is_at_or_below(path, asked)) return Place::inside;
    if (is_at_or_below(asked, path)) route = true;
  }
  return route ? Place::route : Place::outside;
}

bool Scope::names(std::string_view path) const { return std::find(paths_.begin(), paths_.end(), path) != paths_.end(); }

// ---- Scanner

Scanner::Scanner(const WorkTree& tree, const object::ObjectReader& reader, object::ObjectWriter* writer,
                 const ScanOptions& options, StateUpdate& update)
    : tree_(tree),
      reader_(reader),
      writer_(writer),
      options_(options),
      update_(update),
      cursor_(tree.root),
      scope_(options.paths) {}

Result<Scan> Scanner::run(const ObjectId& head) {
  Pending top;
  top.head = TreeEntry{.name = "", .kind = EntryKind::directory, .mode = 0755, .node = {}, .id = head};
  top.rules = IgnoreLevel::base(options_.ignore.global_patterns, git_exclude_patterns(tree_.env.fs, tree_.root.path()),
                                options_.ignore.fold_case);
  top.inside = scope_.place("") == Scope::Place::inside;
  pending_.push_back(std::move(top));
  while (!pending_.empty()) {
    const Pending next = std::move(pending_.back());
    pending_.pop_back();
    WEFT_DO(step(next));
  }
  std::sort(scan_.observations.begin(), scan_.observations.end(),
            [](const Observation& a, const Observation& b) { return path_less(a.path, b.path); });
  return std::move(scan_);
}

Result<void> Scanner::step(const Pending& pending) {
  const bool at_top = pending.path.empty();
  const auto opened = cursor_.at(pending.path);
  auto listed = opened ? (*opened)->list() : Result<std::vector<DirectoryEntry>>(opened.error());
  if (!listed) {
    if (at_top) return std::move(listed).error();
    warn(pending.path, "cannot be looked into (" + listed.error().message + "); what the head has there is kept");
    return {};
  }
  const HostDir& directory = **opened;
  std::sort(listed->begin(), listed->end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });

  const bool nested = !at_top && std::any_of(listed->begin(), listed->end(),
                                             [](const DirectoryEntry& e) { return is_repository_mark(e.name); });
  if (nested) {
    warn(pending.path, pending.tracked()
                           ? "is a repository of its own inside: only what the head already has there is recorded"
                           : "is a repository of its own: not recorded");
    if (!pending.tracked()) {  // SC3
      if (pending.head) WEFT_DO(gone(pending.path, *pending.head, true));
      if (pending.state != DirectoryState::kNone) update_.drop(pending.state);
      return {};
    }
  }

  Pending here = pending;
  WEFT_TRY(here.rules, rules_of(pending, directory, *listed));
  object::Entries head;
  if (here.tracked()) {
    WEFT_TRY(head, tree_entries(reader_, here.head->id));
  } else {
    Observation added;
    added.path = here.path;
    added.head = here.head;
    added.present = true;
    added.kind = EntryKind::directory;
    added.mode = 0755;
    if (const auto status = directory.self_status()) added.stamp.inode = status->inode;
    scan_.observations.push_back(std::move(added));
  }
  if (!at_top) {
    StateEntry entry;
    entry.path = here.path;
    entry.kind = EntryKind::directory;
    entry.node = here.tracked() ? here.head->node : known_node(here.state, EntryKind::directory);
    if (const auto status = directory.self_status()) entry.stamp.inode = status->inode;
    const DirectoryState& old = update_.old();
    if (here.state != DirectoryState::kNone && old.entry(here.state).kind != EntryKind::directory) {
      update_.drop(here.state);
      here.state = DirectoryState::kNone;
    }
    const bool known = here.state != DirectoryState::kNone && old.entry(here.state).node == entry.node &&
                       old.entry(here.state).stamp.inode == entry.stamp.inode;
    if (!known) update_.put(entry);
  }

  const DirectoryState& old = update_.old();
  std::size_t state = at_top ? 0 : here.state == DirectoryState::kNone ? 0 : here.state + 1;
  const std::size_t state_end = at_top ? old.size() : here.state == DirectoryState::kNone ? 0 : old.end(here.state);
  auto disk_next = listed->begin();
  auto head_next = head.begin();
  const std::size_t first_pending = pending_.size();
  while (disk_next != listed->end() || head_next != head.end() || state < state_end) {
    std::optional<std::string_view> name;
    const auto consider = [&name](std::string_view candidate) {
      if (!name || candidate < *name) name = candidate;
    };
    if (disk_next != listed->end()) consider(disk_next->name);
    if (head_next != head.end()) consider(head_next->name);
    if (state < state_end) consider(name_of(old.path(state)));
    Child child{.name = *name};
    if (disk_next != listed->end() && disk_next->name == *name) child.disk = &*disk_next++;
    if (head_next != head.end() && head_next->name == *name) child.head = &*head_next++;
    if (state < state_end && name_of(old.path(state)) == *name) {
      child.state = state;
      state = std::min(old.end(state), state_end);
    }
    WEFT_DO(visit(here, directory, child, nested));
  }
  // The last pushed comes first: turned round, so that the walk meets subdirectories in name order and the cursor's
  // chain stays useful.
  std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first_pending), pending_.end());
  return {};
}

Result<void> Scanner::visit(const Pending& pending, const HostDir& directory, const Child& child, bool nested) {
  if (object::name_is_reserved(child.name)) {  // W1
    if (child.disk != nullptr && !is_repository_mark(child.name)) {
      warn(child_path(pending.path, child.name), "has a name that is reserved: not recorded");
    }
    return {};
  }
  std::string path = child_path(pending.path, child.name);
  if (!pending.inside) {
    const Scope::Place place = scope_.place(path);
    if (place == Scope::Place::outside) return {};
    if (place == Scope::Place::route) {
      const bool directory_on_disk = child.disk != nullptr && child.disk->kind == FileKind::directory;
      if (!directory_on_disk) {
        if (child.head != nullptr && child.head->kind == EntryKind::directory) return gone(path, *child.head, false);
        return {};
      }
    }
  }
  if (child.disk == nullptr) return visit_missing(pending, child, path, nested);
  if (child.head == nullptr && is_temporary_name(child.name)) {
    if (options_.list_ignored) scan_.ignored.push_back(std::move(path));
    forget(child);
    return {};
  }
  FileStatus status;
  status.kind = child.disk->kind;
  if (status.kind == FileKind::file || status.kind == FileKind::symlink) {
    auto found = directory.status(child.name);
    if (!found) {
      if (is_missing(found.error())) return visit_missing(pending, child, path, nested);
      warn(std::move(path), "cannot be looked at (" + found.error().message + ")");
      return {};
    }
    status = *found;
  }
  if (child.head != nullptr) return visit_tracked(pending, directory, child, std::move(path), status);
  if (nested) return {};  // SC3
  return visit_untracked(pending, directory, child, std::move(path), status);
}

Result<void> Scanner::visit_missing(const Pending& pending, const Child& child, const std::string& path, bool nested) {
  (void)pending;
  if (child.head == nullptr) {
    forget(child);
    return {};
  }
  if (nested) return {};  // SC3
  forget(child);
  return gone(path, *child.head, true);
}

Result<void> Scanner::visit_tracked(const Pending& pending, const HostDir& directory, const Child& child,
                                    std::string path, const FileStatus& status) {
  const TreeEntry& head = *child.head;
  if (status.kind == FileKind::other) {
    warn(std::move(path), "is no file, directory or link any more: the head's content is kept");
    return {};
  }
  if (status.kind == FileKind::directory) {
    if (head.kind == EntryKind::submodule) {
      check_submodule(path);
      return {};
    }
    const bool ignored = head.kind != EntryKind::directory && (pending.excluded || pending.rules->ignores(path, true));
    if (ignored) {  // the file is gone, and what took its place is not ours to look into
      forget(child);
      if (options_.list_ignored) scan_.ignored.push_back(path + "/");
      return gone(path, head, true);
    }
    Pending below{.path = path,
                  .head = head,
                  .state = child.state,
                  .rules = pending.rules,
                  .inside = pending.inside || scope_.place(path) == Scope::Place::inside,
                  .excluded = pending.excluded};
    if (!below.excluded) below.excluded = pending.rules->ignores(path, true);
    pending_.push_back(std::move(below));
    return {};
  }
  ++scan_.files_seen;
  if (head.kind == kind_of(status.kind)) return compare(directory, child, std::move(path), status);
  const std::size_t before = scan_.observations.size();
  WEFT_DO(add(directory, child, path, status));
  // What the head has below is gone only if what replaced it can be recorded. // SC1
  const bool replaced = scan_.observations.size() > before && scan_.observations.back().present;
  if (head.kind == EntryKind::directory && replaced) return gone(path, head, false);
  return {};
}

Result<void> Scanner::visit_untracked(const Pending& pending, const HostDir& directory, const Child& child,
                                      std::string path, const FileStatus& status) {
  const bool is_directory = status.kind == FileKind::directory;
  if (pending.excluded || pending.rules->ignores(path, is_directory)) {
    if (scope_.names(path)) warn(path, "is ignored: not recorded");
    if (!scope_.everything() && scope_.place(path) == Scope::Place::route) {
      for (const std::string& asked : options_.paths) {
        if (!is_at_or_below(asked, path)) continue;
        warn(asked, "is below " + quoted(path) + ", which is ignored: not recorded");
      }
    }
    if (options_.list_ignored) scan_.ignored.push_back(is_directory ? path + "/" : path);
    forget(child);
    return {};
  }
  if (status.kind == FileKind::other) {
    warn(std::move(path), "is no file, directory or link: not recorded");
    return {};
  }
  if (const std::string_view problem = object::name_problem(child.name); !problem.empty()) {
    warn(std::move(path), "has a name that " + std::string(problem) + ": not recorded");
    return {};
  }
  if (is_directory) {
    if (static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) + 1 >= tree::kMaxDepth) {
      warn(std::move(path), "lies deeper than " + std::to_string(tree::kMaxDepth) + " levels: not recorded");
      return {};
    }
    pending_.push_back({.path = path,
                        .head = std::nullopt,
                        .state = child.state,
                        .rules = pending.rules,
                        .inside = pending.inside || scope_.place(path) == Scope::Place::inside,
                        .excluded = false});
    return {};
  }
  ++scan_.files_seen;
  if (options_.max_new_file_bytes != 0 && status.kind == FileKind::file && status.size > options_.max_new_file_bytes &&
      !scope_.names(path)) {
    warn(std::move(path), "is new and has " + std::to_string(status.size) + " bytes, above the limit of " +
                              std::to_string(options_.max_new_file_bytes) + ": left out; name it to record it");
    forget(child);
    return {};
  }
  return add(directory, child, std::move(path), status);
}

Result<void> Scanner::compare(const HostDir& directory, const Child& child, std::string path,
                              const FileStatus& status) {
  const TreeEntry& head = *child.head;
  Observation seen;
  seen.head = head;
  seen.present = true;
  seen.kind = head.kind;
  seen.stamp = Stamp::of(status);
  seen.size = status.size;
  if (child.state != DirectoryState::kNone) {
    const StateEntry known = update_.old().entry(child.state);
    if (known.kind == head.kind && known.stamp == seen.stamp && !known.racy) {
      seen.id = known.id;
      // Moved by a change that was made elsewhere.
      if (known.node != head.node && known.id == head.id) update_.set_node(path, head.node);
    }
  }
  const bool must_store = writer_ != nullptr && seen.id != head.id;
  // Another size says enough, unless the content itself is wanted.
  const bool must_know = !seen.id && (head.kind == EntryKind::symlink || status.size == head.size);
  if (must_store || must_know) {
    ++scan_.files_read;
    const KnownContent known{head.id, head.size};
    WEFT_TRY(const ContentRead read, head.kind == EntryKind::file
                                         ? read_content(tree_.env.clock, directory, child.name, writer_, known)
                                         : read_link_content(directory, child.name, writer_, known));
    if (read.outcome == Outcome::missing) {
      forget(child);
      return gone(path, head, true);
    }
    if (read.outcome == Outcome::failed) {  // SC1
      warn(std::move(path), "cannot be read (" + read.reason + "): the head's content is kept");
      return {};
    }
    seen.id = read.id;
    seen.size = read.size;
    seen.stamp = Stamp::of(read.status);
    update_.put({.path = path, .kind = head.kind, .node = head.node, .id = read.id, .stamp = seen.stamp});
  }
  seen.mode = head.kind == EntryKind::file ? recorded_mode(seen.stamp.mode, seen.head) : head.mode;
  if (seen.id == head.id && seen.mode == head.mode) return {};
  seen.path = std::move(path);
  scan_.observations.push_back(std::move(seen));
  return {};
}

Result<void> Scanner::add(const HostDir& directory, const Child& child, std::string path, const FileStatus& status) {
  Observation seen;
  if (child.head != nullptr) seen.head = *child.head;
  seen.present = true;
  seen.kind = kind_of(status.kind);
  seen.stamp = Stamp::of(status);
  seen.size = status.size;
  seen.mode = seen.kind == EntryKind::symlink ? 0777 : recorded_mode(status.mode, std::nullopt);
  seen.path = std::move(path);
  if (child.state != DirectoryState::kNone) {
    const StateEntry known = update_.old().entry(child.state);
    if (known.kind == EntryKind::directory) {
      update_.drop(child.state);
    } else if (known.kind == seen.kind && known.stamp == seen.stamp && !known.racy) {
      seen.id = known.id;
    }
  }
  if (writer_ != nullptr) {
    ++scan_.files_read;
    WEFT_TRY(const ContentRead read, seen.kind == EntryKind::file
                                         ? read_content(tree_.env.clock, directory, child.name, writer_, std::nullopt)
                                         : read_link_content(directory, child.name, writer_, std::nullopt));
    if (read.outcome == Outcome::missing) {
      if (seen.head) return gone(seen.path, *seen.head, true);
      return {};
    }
    if (read.outcome == Outcome::failed) {
      warn(seen.path, "cannot be read (" + read.reason + "): not recorded");
      if (seen.head) return {};  // SC1
      seen.unreadable = true;
    } else {
      seen.id = read.id;
      seen.size = read.size;
      seen.stamp = Stamp::of(read.status);
      if (seen.kind == EntryKind::file) seen.mode = recorded_mode(read.status.mode, std::nullopt);
      update_.put({.path = seen.path,
                   .kind = seen.kind,
                   .node = known_node(child.state, seen.kind),
                   .id = read.id,
                   .stamp = seen.stamp});
    }
  }
  scan_.observations.push_back(std::move(seen));
  return {};
}

Result<void> Scanner::read_new(Observation& observation, Scan& scan) {
  if (observation.id || observation.unreadable || !is_file_or_link(observation.kind)) return {};
  ++scan.files_read;
  const auto directory = cursor_.at(parent_of(observation.path));
  ContentRead read;
  if (directory) {
    const std::string_view name = name_of(observation.path);
    WEFT_TRY(read, observation.kind == EntryKind::file
                       ? read_content(tree_.env.clock, **directory, name, writer_, std::nullopt)
                       : read_link_content(**directory, name, writer_, std::nullopt));
  } else {
    read.reason = directory.error().message;
  }
  if (read.outcome != Outcome::ok) {
    observation.unreadable = true;
    scan.warnings.push_back({observation.path, "cannot be read (" + read.reason + "): not recorded"});
    return {};
  }
  observation.id = read.id;
  observation.size = read.size;
  observation.stamp = Stamp::of(read.status);
  update_.put({.path = observation.path,
               .kind = observation.kind,
               .node = known_node(update_.old().find(observation.path), observation.kind),
               .id = read.id,
               .stamp = observation.stamp});
  return {};
}

Result<void> Scanner::gone(const std::string& path, const TreeEntry& entry, bool itself) {
  struct Below {
    std::string path;
    TreeEntry entry;
    bool itself;
  };
  std::vector<Below> open{{path, entry, itself}};
  while (!open.empty()) {
    const Below next = std::move(open.back());
    open.pop_back();
    const Scope::Place place = scope_.place(next.path);
    if (place == Scope::Place::outside) continue;
    if (next.itself && place == Scope::Place::inside) {
      Observation observation;
      observation.path = next.path;
      observation.head = next.entry;
      scan_.observations.push_back(std::move(observation));
    }
    if (next.entry.kind != EntryKind::directory) continue;
    WEFT_TRY(const object::Entries entries, tree_entries(reader_, next.entry.id));
    for (const TreeEntry& child : entries) {
      // W1: never written out, so its absence says nothing.
      if (!object::name_is_reserved(child.name)) open.push_back({child_path(next.path, child.name), child, true});
    }
  }
  return {};
}

void Scanner::check_submodule(const std::string& path) {
  // What lies in a submodule's directory is another repository's. Files without a repository would go unnoticed.
  const auto directory = cursor_.at(path);
  if (!directory) return;
  const auto listed = (*directory)->list();
  if (!listed || listed->empty()) return;
  const bool repository = std::any_of(listed->begin(), listed->end(),
                                      [](const DirectoryEntry& entry) { return is_repository_mark(entry.name); });
  if (!repository) warn(path, "is a submodule's place: the files in it are not recorded");
}

Result<IgnoreLevel::Pointer> Scanner::rules_of(const Pending& pending, const HostDir& directory,
                                               const std::vector<DirectoryEntry>& listing) {
  if (pending.excluded) return pending.rules;
  const auto gitignore = ignore_file(directory, listing, ".gitignore", pending.path);
  const auto weftignore = ignore_file(directory, listing, ".weftignore", pending.path);
  if (!gitignore && !weftignore) return pending.rules;
  return IgnoreLevel::enter(pending.rules, pending.path, gitignore, weftignore);
}

std::optional<Bytes> Scanner::ignore_file(const HostDir& directory, const std::vector<DirectoryEntry>& listing,
                                          std::string_view name, std::string_view directory_path) {
  const auto found = std::lower_bound(listing.begin(), listing.end(), name,
                                      [](const DirectoryEntry& a, std::string_view b) { return a.name < b; });
  if (found == listing.end() || found->name != name || found->kind == FileKind::directory) return std::nullopt;
  auto bytes = read_small(directory, name, kMaxIgnoreFileBytes);
  if (!bytes) warn(child_path(directory_path, name), "cannot be read as an ignore file: its rules do not count");
  return bytes;
}

NodeId Scanner::known_node(std::size_t state, EntryKind kind) const {
  if (state == DirectoryState::kNone) return {};
  const StateEntry entry = update_.old().entry(state);
  return entry.kind == kind ? entry.node : NodeId{};
}

void Scanner::forget(const Child& child) {
  if (child.state != DirectoryState::kNone) update_.drop(child.state);
}

void Scanner::warn(std::string path, std::string reason) {
  scan_.warnings.push_back({std::move(path), std::move(reason)});
}

}  // namespace weft::work
