// A step of a walk: one directory's names gathered from listing, head and state, and the common case told at once.
#include "work/walk.h"

#include <algorithm>

#include "base/workers.h"

namespace weft::work {

using object::EntryKind;
using object::TreeEntry;

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
  bool nested_top = false;
  children_.clear();
  head_.clear();
  const bool may_note = here.listed && !at_top && pending.tracked() && pending.state != DirectoryState::kNone;
  if (may_note) {
    if (const auto self = here.directory.self_status()) here.self = *self;
  }
  const bool names_known = may_note && gather_known(here);
  if (names_known) {
    gitignore = weftignore = false;
    for (const Child& child : children_) {
      if (child.kind == FileKind::directory) continue;
      gitignore = gitignore || child.name == ".gitignore";
      weftignore = weftignore || child.name == ".weftignore";
    }
  } else if (here.listed) {
    // Each is listed once, and but for the top by a descriptor of this walker's own.
    const auto descriptor = at_top ? DirListing::Descriptor::shared : DirListing::Descriptor::own;
    if (auto listed = listing_.read(here.directory, descriptor); !listed) return unreachable(std::move(listed).error());
    gitignore = weftignore = false;
    for (std::size_t i = 0; i < listing_.size(); ++i) {
      const std::string_view name = listing_.name(i);
      if (name.front() != '.') continue;
      nested_top = nested_top || (!at_top && is_repository_mark(name));
      if (listing_[i].kind == FileKind::directory) continue;
      gitignore = gitignore || name == ".gitignore";
      weftignore = weftignore || name == ".weftignore";
    }
  } else if (!at_top) {
    nested_top = here.directory.status(".git").has_value() || here.directory.status(".weft").has_value();
  }
  here.nested = nested_top || pending.nested;
  if (nested_top) {
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
  const std::size_t dropped = out_.notes.dropped.size();
  if (!names_known) WEFT_DO(here.listed ? gather_listed(here) : gather_asked(here));
  WEFT_DO(visit_all(here));
  if (here.self && !names_known) note_names(here, dropped);
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

bool Walker::gather_known(Here& here) {
  const Pending& pending = here.pending;
  const DirectoryState& old = in_.old;
  const StateEntry known = old.entry(pending.state);
  if (!here.self || !known.names_known() || !known.exact || known.id != pending.head->id ||
      known.stamp.inode != here.self->inode || known.stamp.mtime_ns != here.self->mtime_ns ||
      known.stamp.ctime_ns != here.self->ctime_ns) {
    return false;
  }
  const std::size_t cut = pending.path.size() + 1;
  const std::size_t end = old.end(pending.state);
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (std::size_t at = pending.state + 1; at < end; at = std::min(old.end(at), end)) {
    bytes += old.path(at).size() - cut + 1;
    ++count;
  }
  names_.clear();
  names_.reserve(bytes);  // names are pointed to
  children_.reserve(count);
  for (std::size_t at = pending.state + 1; at < end; at = std::min(old.end(at), end)) {
    const StateEntry entry = old.entry(at);
    const std::string_view name = entry.path.substr(cut);
    const std::size_t begin = names_.size();
    names_.append(name).push_back('\0');
    Child& child = children_.emplace_back();
    child.name = std::string_view(names_).substr(begin, name.size());
    child.on_disk = true;
    child.tracked = entry.in_tree;
    child.kind = file_kind_of(entry.kind);
    child.order = static_cast<std::uint32_t>(children_.size());
    child.inode = entry.stamp.inode;
    child.state = at;
  }
  return true;
}

void Walker::note_names(const Here& here, std::size_t dropped_before) {
  const Pending& pending = here.pending;
  if (!here.exact || here.nested || here.state == DirectoryState::kNone || here.self->inode != pending.inode ||
      out_.notes.dropped.size() != dropped_before) {
    return;
  }
  for (const Child& child : children_) {
    if (!child.on_disk || child.ignored || child.state == DirectoryState::kNone || is_temporary_name(child.name) ||
        object::name_is_reserved(child.name)) {
      return;
    }
    const FileKind kind = child.looked_at ? child.status.kind : child.kind;
    if (kind == FileKind::other || file_kind_of(in_.old.entry(child.state).kind) != kind) return;
  }
  StateEntry entry = in_.old.entry(here.state);
  if (entry.stamp.inode == here.self->inode && entry.stamp.mtime_ns == here.self->mtime_ns &&
      entry.stamp.ctime_ns == here.self->ctime_ns) {
    return;
  }
  entry.node = pending.head->node;
  entry.stamp.inode = here.self->inode;
  entry.stamp.mtime_ns = here.self->mtime_ns;
  entry.stamp.ctime_ns = here.self->ctime_ns;
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
    std::move(walker->found_.begin(), walker->found_.end(), std::back_inserter(found_));
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
  return known.kind == entry_kind_of(child.status.kind) && !known.racy && known.stamp == Stamp::of(child.status);
}

bool Walker::is_ignored(const Here& here, std::string_view path, bool directory) const {
  return Exclusion::holds(here.pending.excluded) || here.rules->ignores(path, directory);
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

void Walker::report() const {
  if (reports_ && in_.options.progress) {
    in_.options.progress(in_.files_done.load(std::memory_order_relaxed),
                         in_.bytes_done.load(std::memory_order_relaxed));
  }
}

}  // namespace weft::work
