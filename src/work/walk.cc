#include "work/walk.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/workers.h"
#include "tree/tree.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;
using Outcome = ContentRead::Outcome;

constexpr auto kIdleInterval = std::chrono::milliseconds(100);

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

bool is_file_or_link(FileKind kind) { return kind == FileKind::file || kind == FileKind::symlink; }

bool is_repository_mark(std::string_view name) { return name == ".git" || name == ".weft"; }

template <typename T>
void append_all(std::vector<T>& out, std::vector<T> more) {
  if (out.empty()) {
    out = std::move(more);
  } else {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
}

std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) + 1;
}

}  // namespace

// ---- Exclusion

Exclusion::Pointer Exclusion::of(Pointer above, std::string path, IgnoreLevel::Pointer rules) {
  auto made = std::make_shared<Exclusion>();
  made->above_ = std::move(above);
  made->path_ = std::move(path);
  made->rules_ = std::move(rules);
  return made;
}

bool Exclusion::holds(const Pointer& exclusion) {
  // Up to what is known, then down again: trees may be deeper than a stack. Two threads may both find out the same.
  std::vector<const Exclusion*> unknown;
  bool holds = false;
  for (const Exclusion* at = exclusion.get(); at != nullptr; at = at->above_.get()) {
    const int known = at->known_.load(std::memory_order_relaxed);
    if (known >= 0) {
      holds = known != 0;
      break;
    }
    unknown.push_back(at);
  }
  for (auto at = unknown.rbegin(); at != unknown.rend(); ++at) {
    holds = holds || (*at)->rules_->ignores((*at)->path_, true);
    (*at)->known_.store(holds ? 1 : 0, std::memory_order_relaxed);
  }
  return holds;
}

// ---- WalkOutput

void WalkOutput::append(WalkOutput other) {
  append_all(observations, std::move(other.observations));
  append_all(ignored, std::move(other.ignored));
  append_all(warnings, std::move(other.warnings));
  append_all(notes.puts, std::move(other.notes.puts));
  append_all(notes.amended, std::move(other.notes.amended));
  append_all(notes.dropped, std::move(other.notes.dropped));
  append_all(notes.claims, std::move(other.notes.claims));
  files_seen += other.files_seen;
  files_read += other.files_read;
}

// ---- Walker: a step

Result<void> Walker::step(const Pending& pending) {
  const bool at_top = pending.path.empty();
  const auto opened = cursor_.at(pending.path);
  const auto unreachable = [&](Error error) -> Result<void> {
    if (at_top) return error;
    warn(pending.path, "cannot be looked into (" + error.message + "); what the head has there is kept");
    return {};
  };
  if (!opened) return unreachable(opened.error());
  Here here{.pending = pending, .directory = **opened, .rules = pending.rules, .state = pending.state};
  here.listed = pending.inside;

  bool gitignore = true;  // on the way to what was asked for they are simply tried
  bool weftignore = true;
  if (here.listed) {
    // Each is listed once, and but for the top by a descriptor of this walker's own.
    const auto position = at_top ? DirListing::Position::rewind : DirListing::Position::fresh;
    if (auto listed = listing_.read(here.directory, position); !listed) return unreachable(std::move(listed).error());
    gitignore = weftignore = false;
    for (std::size_t i = 0; i < listing_.size(); ++i) {
      const std::string_view name = listing_.name(i);
      if (name.front() != '.') continue;
      here.nested = here.nested || (!at_top && is_repository_mark(name));
      if (listing_[i].kind == FileKind::directory) continue;
      gitignore = gitignore || name == ".gitignore";
      weftignore = weftignore || name == ".weftignore";
    }
  } else if (!at_top) {
    here.nested = here.directory.status(".git").has_value() || here.directory.status(".weft").has_value();
  }
  if (here.nested) {
    warn(pending.path, pending.tracked()
                           ? "is a repository of its own inside: only what the head already has there is recorded"
                           : "is a repository of its own: not recorded");
    if (!pending.tracked()) {  // SC3
      if (pending.state != DirectoryState::kNone) out_.notes.dropped.push_back(pending.state);
      if (pending.head) return gone(pending.path, *pending.head, true);
      // It may be one that the head has elsewhere (moves.h), and its inode is what tells, the next time too.
      StateEntry entry;
      entry.kind = EntryKind::directory;
      entry.node = known_node(pending.state, EntryKind::directory);
      entry.stamp.inode = pending.inode;
      out_.notes.puts.push_back({pending.path, entry});
      Observation repository;
      repository.path = pending.path;
      repository.present = true;
      repository.kind = EntryKind::directory;
      repository.mode = 0755;
      repository.stamp.inode = pending.inode;
      repository.unreadable = true;
      repository.repository = true;
      out_.observations.push_back(std::move(repository));
      return {};
    }
  }
  if (gitignore || weftignore) read_rules(here, gitignore, weftignore);
  if (!at_top) note_directory(here);

  const DirectoryState& old = in_.old;
  if (pending.tracked()) {  // WK2
    if (at_top) {
      here.exact = old.root_exact() && old.head() == pending.head->id;
    } else if (here.state != DirectoryState::kNone) {
      const StateEntry known = old.entry(here.state);
      here.exact = known.exact && known.id == pending.head->id;
    }
  }
  children_.clear();
  head_.clear();
  WEFT_DO(here.listed ? gather_listed(here) : gather_asked(here));
  WEFT_DO(visit_all(here));
  if (pending.tracked() && here.listed && !here.exact && !here.nested) {
    StateNotes::Claim claim;
    claim.path = pending.path;
    claim.tree = pending.head->id;
    claim.entries = std::move(head_);
    out_.notes.claims.push_back(std::move(claim));
    head_ = {};
  }
  return {};
}

void Walker::note_directory(Here& here) {
  const Pending& pending = here.pending;
  const DirectoryState& old = in_.old;
  if (!pending.tracked()) {
    Observation added;
    added.path = pending.path;
    added.head = pending.head;
    added.present = true;
    added.kind = EntryKind::directory;
    added.mode = 0755;
    added.stamp.inode = pending.inode;
    out_.observations.push_back(std::move(added));
  }
  StateEntry entry;
  entry.kind = EntryKind::directory;
  entry.node = pending.tracked() ? pending.head->node : known_node(here.state, EntryKind::directory);
  entry.stamp.inode = pending.inode;
  if (here.state != DirectoryState::kNone) {
    const StateEntry known = old.entry(here.state);
    if (known.kind != EntryKind::directory) {
      out_.notes.dropped.push_back(here.state);
      here.state = DirectoryState::kNone;
    } else if (known.node == entry.node && known.stamp.inode == entry.stamp.inode) {
      return;
    }
  }
  out_.notes.puts.push_back({pending.path, entry});
}

Result<void> Walker::gather_listed(Here& here) {
  const Pending& pending = here.pending;
  const DirectoryState& old = in_.old;
  const bool at_top = pending.path.empty();
  if (pending.tracked() && !here.exact) {
    WEFT_TRY(head_, tree_entries(in_.reader, pending.head->id));
  }
  listing_.sorted(sorted_);
  children_.reserve(std::max(sorted_.size(), head_.size()));
  const std::size_t cut = at_top ? 0 : pending.path.size() + 1;  // what a child's path has in front of its name
  std::size_t state = at_top || here.state == DirectoryState::kNone ? 0 : here.state + 1;
  const std::size_t state_end = at_top ? old.size() : here.state == DirectoryState::kNone ? 0 : old.end(here.state);
  auto disk = sorted_.begin();
  auto head = head_.begin();
  std::string_view state_name;
  const auto load_state = [&] {
    if (state < state_end) state_name = old.path(state).substr(std::min(cut, old.path(state).size()));
  };
  load_state();
  while (disk != sorted_.end() || head != head_.end() || state < state_end) {
    std::optional<std::string_view> name;
    const auto consider = [&name](std::string_view candidate) {
      if (!name || candidate < *name) name = candidate;
    };
    if (disk != sorted_.end()) consider(listing_.name(*disk));
    if (head != head_.end()) consider(head->name);
    if (state < state_end) consider(state_name);
    Child& child = children_.emplace_back();
    child.name = *name;
    if (head != head_.end() && head->name == child.name) {
      child.head = &*head++;
      child.tracked = true;
    }
    if (state < state_end && state_name == child.name) {
      child.state = state;
      if (here.exact) child.tracked = old.entry(state).in_tree;
      state = std::min(old.end(state), state_end);
      load_state();
    }
    if (disk != sorted_.end() && listing_.name(*disk) == child.name) {
      child.name = listing_.name(*disk);
      child.on_disk = true;
      child.order = *disk;
      child.kind = listing_[*disk].kind;
      child.inode = listing_[*disk].inode;
      ++disk;
    }
  }
  return {};
}

// WK3
Result<void> Walker::gather_asked(Here& here) {
  const Pending& pending = here.pending;
  const DirectoryState& old = in_.old;
  const auto names = in_.scope.next_names(pending.path);
  const bool read_tree =
      pending.tracked() && !here.exact && !pending.head->id.is_zero() && pending.head->id != object::empty_tree_id();
  const bool one_by_one = names.size() <= kMaxSingleLookups;
  if (read_tree && !one_by_one) {
    WEFT_TRY(head_, tree_entries(in_.reader, pending.head->id));
  }
  head_.reserve(head_.size() + names.size());  // entries are pointed to
  for (const std::string_view name : names) {
    Child child{.name = name};
    if (read_tree && one_by_one) {
      WEFT_TRY(auto found, object::find_entry(in_.reader, pending.head->id, name));
      if (found) child.head = &head_.emplace_back(*std::move(found));
    } else if (read_tree) {
      const auto found =
          std::lower_bound(head_.begin(), head_.end(), name,
                           [](const TreeEntry& entry, std::string_view wanted) { return entry.name < wanted; });
      if (found != head_.end() && found->name == name) child.head = &*found;
    }
    child.tracked = child.head != nullptr;
    const std::string path = child_path(pending.path, name);
    if (pending.path.empty() || here.state != DirectoryState::kNone) child.state = old.find(path);
    if (here.exact && child.state != DirectoryState::kNone) child.tracked = old.entry(child.state).in_tree;
    const auto status = here.directory.status(name);
    if (status) {
      child.on_disk = true;
      child.looked_at = true;
      child.kind = status->kind;
      child.inode = status->inode;
      child.status = *status;
    } else if (!is_missing(status.error())) {
      warn(path, "cannot be looked at (" + status.error().message + ")");
      continue;
    }
    children_.push_back(child);
  }
  return {};
}

Result<void> Walker::visit_all(const Here& here) {
  if (children_.size() < kSplitFrom || in_.max_workers < 2) return visit_range(here, children_);
  // One directory that is large by itself: shared out in pieces, put together in their order.
  const std::size_t pieces = (children_.size() + kSplitNames - 1) / kSplitNames;
  std::vector<std::optional<Walker>> walkers(pieces);
  std::vector<std::optional<Error>> errors(pieces);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  run_workers(in_.max_workers, [&](unsigned worker) {
    for (std::size_t piece = next++; piece < pieces && !failed; piece = next++) {
      Walker& walker = walkers[piece].emplace(in_, reports_ && worker == 0);
      const std::size_t begin = piece * kSplitNames;
      const std::size_t count = std::min(kSplitNames, children_.size() - begin);
      auto done = walker.visit_range(here, std::span(children_).subspan(begin, count));
      if (!done) {
        errors[piece] = std::move(done).error();
        failed = true;
      }
    }
  });
  for (const auto& error : errors) {
    if (error) return *error;
  }
  for (auto& walker : walkers) {
    out_.append(std::move(walker->out_));
    append_all(found_, std::move(walker->found_));
  }
  return {};
}

Result<void> Walker::visit_range(const Here& here, std::span<Child> children) {
  // What needs no stat is told apart first, then the rest is looked at in the directory's own order.
  for (Child& child : children) {
    if (!child.on_disk || child.tracked || object::name_is_reserved(child.name)) continue;
    path_ = here.pending.path;
    if (!path_.empty()) path_ += '/';
    path_ += child.name;
    child.ignored = is_ignored(here, path_, child.kind == FileKind::directory);
  }
  look_at(here, children);
  for (const Child& child : children) {
    if (is_clean(here, child)) {
      ++out_.files_seen;
      continue;
    }
    WEFT_DO(visit(here, child));
  }
  in_.files_done.fetch_add(children.size(), std::memory_order_relaxed);
  report();
  return {};
}

void Walker::look_at(const Here& here, std::span<Child> children) {
  by_order_.clear();
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Child& child = children[i];
    if (child.on_disk && !child.looked_at && is_file_or_link(child.kind) && !child.ignored) {
      by_order_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  std::sort(by_order_.begin(), by_order_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return children[a].order < children[b].order; });
  for (const std::uint32_t i : by_order_) {
    children[i].looked_at = status_of_listed(here.directory, children[i].name.data(), children[i].status);
  }
}

/// The common case, told without making anything.
bool Walker::is_clean(const Here& here, const Child& child) {
  if (!here.exact || !child.tracked || !child.looked_at || !is_file_or_link(child.status.kind)) return false;
  if (!here.pending.inside) return false;
  const StateEntry known = in_.old.entry(child.state);
  return known.kind == kind_of(child.status.kind) && !known.racy && known.stamp == Stamp::of(child.status);
}

// ---- Walker: one name

TreeEntry Walker::head_of(const Child& child) const {
  if (child.head != nullptr) return *child.head;
  TreeEntry entry = tree_entry_of(in_.old.entry(child.state));
  entry.name = child.name;
  return entry;
}

bool Walker::is_ignored(const Here& here, std::string_view path, bool directory) const {
  return Exclusion::holds(here.pending.excluded) || here.rules->ignores(path, directory);
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
  if (!child.on_disk) return visit_missing(here, child, path);
  if (!child.tracked && is_temporary_name(child.name)) {
    if (in_.options.list_ignored) out_.ignored.push_back(std::move(path));
    forget(child);
    return {};
  }
  if (is_file_or_link(child.kind) && !child.looked_at && !child.ignored) {
    const auto found = here.directory.status(child.name);
    if (!found && is_missing(found.error())) return visit_missing(here, child, path);
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

Result<void> Walker::visit_missing(const Here& here, const Child& child, const std::string& path) {
  if (!child.tracked) {
    forget(child);
    return {};
  }
  if (here.nested) return {};  // SC3
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
                    .inside = inside});
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
    if (head.kind != EntryKind::directory && is_ignored(here, path, true)) {
      // The file is gone, and what took its place is not ours to look into.
      forget(child);
      if (in_.options.list_ignored) out_.ignored.push_back(path + "/");
      return gone(path, head, true);
    }
    auto excluded = Exclusion::of(here.pending.excluded, path, here.rules);
    put_off(here, child, std::move(path), std::move(head), std::move(excluded));
    return {};
  }
  ++out_.files_seen;
  if (head.kind == kind_of(child.kind)) return compare(here, child, std::move(path), head);
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
    warn(std::move(path), "is new and has " + std::to_string(child.status.size) + " bytes, above the limit of " +
                              std::to_string(limit) + ": left out; name it to record it");
    forget(child);
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
  seen.kind = kind_of(child.kind);
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

void Walker::read_rules(Here& here, bool gitignore, bool weftignore) {
  if (Exclusion::holds(here.pending.excluded)) return;
  const auto read = [&](bool there, std::string_view name) -> std::optional<Bytes> {
    if (!there) return std::nullopt;
    if (!here.listed) {
      const auto status = here.directory.status(name);
      if (!status || status->kind == FileKind::directory) return std::nullopt;
    }
    auto bytes = read_small(here.directory, name, kMaxIgnoreFileBytes);
    if (!bytes) warn(child_path(here.pending.path, name), "cannot be read as an ignore file: its rules do not count");
    return bytes;
  };
  const auto git_rules = read(gitignore, ".gitignore");
  const auto weft_rules = read(weftignore, ".weftignore");
  if (git_rules || weft_rules) {
    here.rules = IgnoreLevel::enter(here.pending.rules, here.pending.path, git_rules, weft_rules);
  }
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

void Walker::report() const {
  if (reports_ && in_.options.progress) {
    in_.options.progress(in_.files_done.load(std::memory_order_relaxed),
                         in_.bytes_done.load(std::memory_order_relaxed));
  }
}

// ---- WalkQueue

void WalkQueue::start(Pending top) {
  const MutexLock lock(mutex_);
  waiting_[0].push_back(std::move(top));
  ++count_;
}

std::size_t WalkQueue::size() {
  const MutexLock lock(mutex_);
  return count_;
}

std::optional<Pending> WalkQueue::take(unsigned walker, const std::function<void()>& idle) {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      for (;;) {
        if (failed_ || (count_ == 0 && busy_ == 0)) return std::nullopt;
        if (count_ > 0) break;
        if (changed_.wait_for(mutex_, kIdleInterval) == std::cv_status::timeout) break;
      }
      if (count_ > 0) {
        --count_;
        ++busy_;
        auto& own = waiting_[walker];
        if (!own.empty()) {
          Pending next = std::move(own.back());
          own.pop_back();
          return next;
        }
        // The oldest of another is the nearest to the top, and so likely the largest.
        const auto other = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& q) { return !q.empty(); });
        Pending next = std::move(other->front());
        other->pop_front();
        return next;
      }
    }
    idle();
  }
}

void WalkQueue::finish(unsigned walker, std::vector<Pending> found) {
  const MutexLock lock(mutex_);
  // The last added is taken first: turned round, so that a walk meets subdirectories in name order and its cursor's
  // chain stays useful.
  for (auto next = found.rbegin(); next != found.rend(); ++next) waiting_[walker].push_back(std::move(*next));
  count_ += found.size();
  --busy_;
  if (!found.empty() || (count_ == 0 && busy_ == 0)) changed_.notify_all();
}

void WalkQueue::fail(Error error, std::string path) {
  const MutexLock lock(mutex_);
  --busy_;
  // Of several the one that comes first in the tree.
  if (!failed_ || path_less(path, failed_path_)) {
    failed_ = std::move(error);
    failed_path_ = std::move(path);
  }
  changed_.notify_all();
}

Result<void> WalkQueue::result() {
  const MutexLock lock(mutex_);
  if (failed_) return *failed_;
  return {};
}

}  // namespace weft::work
