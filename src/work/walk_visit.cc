// One name of a directory under a walk: what is there, compared with what the head has.
#include <algorithm>

#include "tree/tree.h"
#include "work/walk.h"

namespace weft::work {

using object::EntryKind;
using object::TreeEntry;
using Outcome = ContentRead::Outcome;

namespace {

std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) + 1;
}

}  // namespace

TreeEntry Walker::head_of(const Child& child) const {
  if (child.head != nullptr) return *child.head;
  TreeEntry entry = tree_entry_of(in_.old.entry(child.state));
  entry.name = child.name;
  return entry;
}

Result<void> Walker::visit(const Here& here, const Child& child) {
  const Pending& pending = here.pending;
  if (object::name_is_reserved(child.name)) {  // W1
    if (child.on_disk && !is_repository_mark(child.name)) {
      warn(child_path(pending.path, child.name), "has a name that is reserved: not recorded");
    }
    return {};
  }
  std::string path = child_path(pending.path, child.name);
  if (!pending.inside) {
    const Scope::Place place = in_.scope.place(path);
    if (place == Scope::Place::outside) return {};
    if (place == Scope::Place::route && !(child.on_disk && child.kind == FileKind::directory)) {
      if (!child.tracked) return {};
      const TreeEntry head = head_of(child);
      return head.kind == EntryKind::directory ? gone(path, head, false) : Result<void>();
    }
  }
  if (!child.on_disk) return visit_missing(child, path);
  if (!child.tracked && is_temporary_name(child.name)) {
    if (in_.options.list_ignored) out_.ignored.push_back(std::move(path));
    forget(child);
    return {};
  }
  if (is_file_or_link(child.kind) && !child.looked_at && !child.ignored) {
    const auto found = here.directory.status(child.name);
    if (!found && is_missing(found.error())) return visit_missing(child, path);
    if (!found) {
      warn(std::move(path), "cannot be looked at (" + found.error().message + ")");
      return {};
    }
    Child seen = child;
    seen.looked_at = true;
    seen.status = *found;
    seen.kind = found->kind;
    return visit(here, seen);
  }
  Child seen = child;
  if (seen.looked_at) seen.kind = seen.status.kind;
  if (seen.tracked) return visit_tracked(here, seen, std::move(path));
  if (here.nested) return {};  // SC3
  return visit_untracked(here, seen, std::move(path));
}

Result<void> Walker::visit_missing(const Child& child, const std::string& path) {
  if (!child.tracked) {
    forget(child);
    return {};
  }
  forget(child);
  return gone(path, head_of(child), true);
}

void Walker::put_off(const Here& here, const Child& child, std::string path, std::optional<TreeEntry> head,
                     Exclusion::Pointer excluded) {
  const bool inside = here.pending.inside || in_.scope.place(path) == Scope::Place::inside;
  found_.push_back({.path = std::move(path),
                    .head = std::move(head),
                    .state = child.state,
                    .inode = child.inode,
                    .rules = here.rules,
                    .excluded = std::move(excluded),
                    .inside = inside,
                    .nested = here.nested});
}

Result<void> Walker::visit_tracked(const Here& here, const Child& child, std::string path) {
  TreeEntry head = head_of(child);
  if (child.kind == FileKind::other) {
    warn(std::move(path), "is no file, directory or link any more: the head's content is kept");
    return {};
  }
  if (child.kind == FileKind::directory) {
    if (head.kind == EntryKind::submodule) {
      check_submodule(here, child, path);
      return {};
    }
    if (head.kind != EntryKind::directory && (here.nested || is_ignored(here, path, true))) {
      // The file is gone, and what took its place is not ours to look into.
      forget(child);
      if (in_.options.list_ignored && !here.nested) out_.ignored.push_back(path + "/");
      return gone(path, head, true);
    }
    auto excluded = Exclusion::of(here.pending.excluded, path, here.rules);
    put_off(here, child, std::move(path), std::move(head), std::move(excluded));
    return {};
  }
  ++out_.files_seen;
  if (head.kind == entry_kind_of(child.kind)) return compare(here, child, std::move(path), head);
  const std::size_t before = out_.observations.size();
  WEFT_DO(add(here, child, path));
  // What the head has below is gone only if what replaced it can be recorded. // SC1
  const bool replaced = out_.observations.size() > before && out_.observations.back().present;
  if (head.kind == EntryKind::directory && replaced) return gone(path, head, false);
  return {};
}

Result<void> Walker::visit_untracked(const Here& here, const Child& child, std::string path) {
  const bool is_directory = child.kind == FileKind::directory;
  if (child.ignored) {
    if (in_.scope.names(path)) warn(path, "is ignored: not recorded");
    if (!in_.scope.everything() && in_.scope.place(path) == Scope::Place::route) {
      for (const std::string_view asked : in_.scope.asked_below(path)) {
        warn(std::string(asked), "is below " + quoted(path) + ", which is ignored: not recorded");
      }
    }
    if (in_.options.list_ignored) out_.ignored.push_back(is_directory ? path + "/" : path);
    forget(child);
    return {};
  }
  if (child.kind == FileKind::other) {
    warn(std::move(path), "is no file, directory or link: not recorded");
    return {};
  }
  if (const std::string_view problem = object::name_problem(child.name); !problem.empty()) {
    warn(std::move(path), "has a name that " + std::string(problem) + ": not recorded");
    return {};
  }
  if (is_directory) {
    if (depth_of(path) >= tree::kMaxDepth) {
      warn(std::move(path), "lies deeper than " + std::to_string(tree::kMaxDepth) + " levels: not recorded");
      return {};
    }
    put_off(here, child, std::move(path), std::nullopt, Exclusion::none());
    return {};
  }
  ++out_.files_seen;
  const std::uint64_t limit = in_.options.max_new_file_bytes;
  if (limit != 0 && child.kind == FileKind::file && child.status.size > limit && !in_.scope.names(path)) {
    Observation large;
    large.path = std::move(path);
    large.present = true;
    large.stamp = Stamp::of(child.status);
    large.size = child.status.size;
    large.mode = recorded_mode(child.status.mode, std::nullopt);
    out_.oversized.push_back(std::move(large));
    return {};
  }
  return add(here, child, std::move(path));
}

Result<void> Walker::compare(const Here& here, const Child& child, std::string path, const TreeEntry& head) {
  Observation seen;
  seen.present = true;
  seen.kind = head.kind;
  seen.stamp = Stamp::of(child.status);
  seen.size = child.status.size;
  if (child.state != DirectoryState::kNone) {
    const StateEntry known = in_.old.entry(child.state);
    if (known.kind == head.kind && known.stamp == seen.stamp && !known.racy) {
      seen.id = known.id;
      // Moved by a change that was made elsewhere.
      if (known.node != head.node && known.id == head.id) {
        StateEntry moved = known;
        moved.node = head.node;
        out_.notes.amended.push_back({path, moved});
      }
    }
  }
  const bool must_store = in_.writer != nullptr && seen.id != head.id;
  // Another size says enough, unless the content itself is wanted.
  const bool must_know = !seen.id && (head.kind == EntryKind::symlink || child.status.size == head.size);
  if (must_store || must_know) {
    ++out_.files_read;
    const KnownContent known{head.id, head.size};
    WEFT_TRY(const ContentRead read,
             head.kind == EntryKind::file
                 ? read_content(in_.tree.env.clock, here.directory, child.name, in_.writer, known)
                 : read_link_content(here.directory, child.name, in_.writer, known));
    if (read.outcome == Outcome::missing) {
      forget(child);
      return gone(path, head, true);
    }
    if (read.outcome == Outcome::failed) {  // SC1
      warn(std::move(path), "cannot be read (" + read.reason + "): the head's content is kept");
      return {};
    }
    in_.bytes_done.fetch_add(read.size, std::memory_order_relaxed);
    seen.id = read.id;
    seen.size = read.size;
    seen.stamp = Stamp::of(read.status);
    note_content(path, head.kind, head.node, read);
  }
  seen.mode = head.kind == EntryKind::file ? recorded_mode(seen.stamp.mode, head) : head.mode;
  if (seen.id == head.id && seen.mode == head.mode) return {};
  seen.head = head;
  seen.path = std::move(path);
  out_.observations.push_back(std::move(seen));
  return {};
}

Result<void> Walker::add(const Here& here, const Child& child, std::string path) {
  Observation seen;
  if (child.tracked) seen.head = head_of(child);
  seen.present = true;
  seen.kind = entry_kind_of(child.kind);
  seen.stamp = Stamp::of(child.status);
  seen.size = child.status.size;
  seen.mode = seen.kind == EntryKind::symlink ? 0777 : recorded_mode(child.status.mode, std::nullopt);
  seen.path = std::move(path);
  if (child.state != DirectoryState::kNone) {
    const StateEntry known = in_.old.entry(child.state);
    if (known.kind == EntryKind::directory) {
      out_.notes.dropped.push_back(child.state);
    } else if (known.kind == seen.kind && known.stamp == seen.stamp && !known.racy) {
      seen.id = known.id;
    }
  }
  if (in_.writer != nullptr) {
    ++out_.files_read;
    WEFT_TRY(const ContentRead read,
             seen.kind == EntryKind::file
                 ? read_content(in_.tree.env.clock, here.directory, child.name, in_.writer, std::nullopt)
                 : read_link_content(here.directory, child.name, in_.writer, std::nullopt));
    if (read.outcome == Outcome::missing) {
      if (seen.head) return gone(seen.path, *seen.head, true);
      return {};
    }
    if (read.outcome == Outcome::failed) {
      warn(seen.path, "cannot be read (" + read.reason + "): not recorded");
      if (seen.head) return {};  // SC1
      seen.unreadable = true;
    } else {
      in_.bytes_done.fetch_add(read.size, std::memory_order_relaxed);
      seen.id = read.id;
      seen.size = read.size;
      seen.stamp = Stamp::of(read.status);
      if (seen.kind == EntryKind::file) seen.mode = recorded_mode(read.status.mode, std::nullopt);
      note_content(seen.path, seen.kind, known_node(child.state, seen.kind), read);
    }
    report();
  }
  out_.observations.push_back(std::move(seen));
  return {};
}

Result<void> Walker::gone(const std::string& path, const TreeEntry& entry, bool itself) {
  struct Below {
    std::string path;
    TreeEntry entry;
    bool itself;
  };
  std::vector<Below> open{{path, entry, itself}};
  while (!open.empty()) {
    const Below next = std::move(open.back());
    open.pop_back();
    const Scope::Place place = in_.scope.place(next.path);
    if (place == Scope::Place::outside) continue;
    if (next.itself && place == Scope::Place::inside) {
      Observation observation;
      observation.path = next.path;
      observation.head = next.entry;
      out_.observations.push_back(std::move(observation));
    }
    if (next.entry.kind != EntryKind::directory) continue;
    WEFT_TRY(const object::Entries entries, tree_entries(in_.reader, next.entry.id));
    for (const TreeEntry& child : entries) {
      // W1: never written out, so its absence says nothing.
      if (!object::name_is_reserved(child.name)) open.push_back({child_path(next.path, child.name), child, true});
    }
  }
  return {};
}

void Walker::check_submodule(const Here& here, const Child& child, const std::string& path) {
  // What lies in a submodule's directory is another repository's. Files without a repository would go unnoticed.
  const auto directory = here.directory.open_dir(child.name);
  if (!directory) return;
  const auto listed = directory->list();
  if (!listed || listed->empty()) return;
  const bool repository = std::any_of(listed->begin(), listed->end(),
                                      [](const DirectoryEntry& entry) { return is_repository_mark(entry.name); });
  if (!repository) warn(path, "is a submodule's place: the files in it are not recorded");
}

NodeId Walker::known_node(std::size_t state, EntryKind kind) const {
  if (state == DirectoryState::kNone) return {};
  const StateEntry entry = in_.old.entry(state);
  return entry.kind == kind ? entry.node : NodeId{};
}

void Walker::note_content(const std::string& path, EntryKind kind, const NodeId& node, const ContentRead& read) {
  StateEntry entry;
  entry.kind = kind;
  entry.node = node;
  entry.id = read.id;
  entry.stamp = Stamp::of(read.status);
  out_.notes.puts.push_back({path, entry});
}

void Walker::forget(const Child& child) {
  if (child.state != DirectoryState::kNone) out_.notes.dropped.push_back(child.state);
}

void Walker::warn(std::string path, std::string reason) {
  out_.warnings.push_back({std::move(path), std::move(reason)});
}

}  // namespace weft::work
