// StateUpdate: what was seen is gathered and compared with the trees that were read; then state_encode.cc makes bytes
// of it.
#include <algorithm>

#include "work/dir_cursor.h"
#include "work/directory_state.h"
#include "work/state_format.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;

constexpr std::uint32_t kOwnerExecute = 0100;

bool same(const StateEntry& a, const StateEntry& b) {
  return a.kind == b.kind && a.node == b.node && a.id == b.id && a.stamp == b.stamp && a.racy == b.racy &&
         a.in_tree == b.in_tree && a.exact == b.exact && a.tree_mode == b.tree_mode;
}

/// DS5: whether the entry says of its place what the tree has there, so that a look at the disk which finds the stamp
/// unchanged finds the tree's entry unchanged.
bool is_as_in_tree(const StateEntry& entry, const TreeEntry& tree) {
  if (entry.kind != tree.kind || entry.node != tree.node || tree.mode > object::kModeMask) return false;
  switch (entry.kind) {
    case EntryKind::directory:
      return true;  // its content is its own entries' affair
    case EntryKind::symlink:
      return entry.id == tree.id && entry.stamp.size == tree.size;
    case EntryKind::file:
      return entry.id == tree.id && entry.stamp.size == tree.size &&
             ((entry.stamp.mode ^ tree.mode) & kOwnerExecute) == 0;
    case EntryKind::submodule:
      return false;
  }
  return false;
}

void mark_in_tree(StateEntry& entry, const TreeEntry& tree) {
  entry.in_tree = true;
  entry.tree_mode = static_cast<std::uint16_t>(tree.mode);
  if (entry.kind == EntryKind::directory && entry.id != tree.id) {
    entry.id = tree.id;
    entry.exact = false;
  }
}

/// Whether what `exact` says of the directory around it holds for `now` as it did for `before`.
bool same_in_tree(const StateEntry& before, const StateEntry& now) {
  if (before.in_tree != now.in_tree) return false;
  if (!before.in_tree) return true;
  return before.kind == now.kind && before.node == now.node && before.id == now.id &&
         before.tree_mode == now.tree_mode &&
         (before.kind == EntryKind::directory || before.stamp.size == now.stamp.size);
}

}  // namespace

StateUpdate::StateUpdate(std::shared_ptr<const DirectoryState> old, std::int64_t begun_monotonic_ns,
                         std::int64_t begun_ns)
    : old_(std::move(old)),
      begun_monotonic_ns_(begun_monotonic_ns),
      begun_ns_(begun_ns),
      dropped_(old_->size(), false) {}

void StateUpdate::put(StateEntry entry, bool seen_late) {
  std::string path(entry.path);
  const auto [at, fresh] = put_index_.try_emplace(path, puts_.size());
  Put put{std::move(path), entry, seen_late ? Seen::written : Seen::begun};
  if (fresh) {
    puts_.push_back(std::move(put));
  } else {
    puts_[at->second] = std::move(put);
  }
}

void StateUpdate::drop(std::size_t index) {
  std::fill(dropped_.begin() + static_cast<std::ptrdiff_t>(index),
            dropped_.begin() + static_cast<std::ptrdiff_t>(old_->end(index)), true);
}

void StateUpdate::confirm(std::size_t index) {
  const StateEntry entry = old_->entry(index);
  put(entry);
}

void StateUpdate::set_node(const std::string& path, const NodeId& node) {
  if (Put* const known = find_put(path)) {
    known->entry.node = node;
    return;
  }
  const std::size_t index = old_->find(path);
  if (index == DirectoryState::kNone || dropped_[index]) return;
  StateEntry entry = old_->entry(index);
  if (entry.node == node) return;
  entry.node = node;
  amend(path, entry);
}

void StateUpdate::claim(StateNotes::Claim claim) { claims_.push_back(std::move(claim)); }

void StateUpdate::add(StateNotes notes) {
  for (StateNotes::Put& put : notes.puts) {
    put.entry.path = put.path;
    this->put(put.entry);
  }
  for (const StateNotes::Put& put : notes.amended) amend(put.path, put.entry);
  for (const std::size_t index : notes.dropped) drop(index);
  std::move(notes.claims.begin(), notes.claims.end(), std::back_inserter(claims_));
}

StateUpdate::Put* StateUpdate::find_put(std::string_view path) {
  if (puts_.empty()) return nullptr;
  const auto found = put_index_.find(std::string(path));
  return found == put_index_.end() ? nullptr : &puts_[found->second];
}

std::optional<StateEntry> StateUpdate::current(const std::string& path, std::size_t index) {
  if (const Put* const put = find_put(path)) return put->entry;
  if (index == DirectoryState::kNone || dropped_[index]) return std::nullopt;
  return old_->entry(index);
}

void StateUpdate::amend(const std::string& path, const StateEntry& entry) {
  if (Put* const known = find_put(path)) {
    known->entry = entry;
    return;
  }
  put_index_.emplace(path, puts_.size());
  puts_.push_back({path, entry, Seen::before});
}

/// What was known of trees stays known of an entry that says the same of its content.
void StateUpdate::inherit_tree_facts() {
  const std::size_t count = puts_.size();
  std::vector<std::size_t> replaced;  // directories that are none any more
  for (std::size_t i = 0; i < count; ++i) {
    Put& put = puts_[i];
    const std::size_t index = old_->find(put.path);
    StateEntry& now = put.entry;
    now.in_tree = false;
    now.exact = false;
    now.tree_mode = 0;
    if (index == DirectoryState::kNone) continue;
    const StateEntry before = old_->entry(index);
    const bool directory = before.kind == EntryKind::directory;
    if (directory && now.kind != EntryKind::directory) replaced.push_back(index);
    if (before.kind != now.kind || before.node != now.node) continue;
    if (directory) {
      now.id = before.id;
      now.exact = before.exact;
      now.in_tree = before.in_tree;
      now.tree_mode = before.tree_mode;
    } else if (before.in_tree && is_as_in_tree(now, tree_entry_of(before))) {
      now.in_tree = true;
      now.tree_mode = before.tree_mode;
    }
  }
  for (const std::size_t index : replaced) drop(index);
}

bool StateUpdate::resolve_entry(const StateNotes::Claim& claim, std::string_view name, std::size_t index,
                                const TreeEntry* tree) {
  const std::string path = child_path(claim.path, name);
  const auto known = current(path, index);
  if (!known) return tree == nullptr;
  StateEntry now = *known;
  now.in_tree = tree != nullptr && is_as_in_tree(now, *tree);
  now.tree_mode = 0;
  if (now.in_tree) mark_in_tree(now, *tree);
  if (!same(*known, now)) amend(path, now);
  return tree == nullptr || now.in_tree;
}

bool StateUpdate::resolve_all(const StateNotes::Claim& claim, std::size_t place) {
  const bool top = claim.path.empty();
  std::size_t next = top || place == DirectoryState::kNone ? 0 : place + 1;
  const std::size_t end = top ? old_->size() : place == DirectoryState::kNone ? 0 : old_->end(place);
  bool exact = true;
  auto entry = claim.entries.begin();
  while (next < end || entry != claim.entries.end()) {
    const std::string_view old_name = next < end ? name_of(old_->path(next)) : std::string_view();
    const bool use_old = next < end && (entry == claim.entries.end() || old_name <= entry->name);
    const bool use_entry = entry != claim.entries.end() && (next >= end || entry->name <= old_name);
    const bool equal = resolve_entry(claim, use_old ? old_name : std::string_view(entry->name),
                                     use_old ? next : DirectoryState::kNone, use_entry ? &*entry : nullptr);
    exact = exact && equal;
    if (use_old) next = std::min(old_->end(next), end);
    if (use_entry) ++entry;
  }
  return exact;
}

bool StateUpdate::resolve_edited(const StateNotes::Claim& claim) {
  bool exact = true;
  const auto place = [&](std::string_view name) { return old_->find(child_path(claim.path, name)); };
  for (const TreeEntry& entry : claim.entries) {
    const bool equal = resolve_entry(claim, entry.name, place(entry.name), &entry);
    exact = exact && equal;
  }
  for (const std::string& name : claim.gone) {
    const bool equal = resolve_entry(claim, name, place(name), nullptr);
    exact = exact && equal;
  }
  return exact;
}

bool StateUpdate::resolve(const StateNotes::Claim& claim) {
  if (claim.path.empty()) {
    if (claim.base && !(root_exact_ && root_tree_ == *claim.base)) return false;
    root_exact_ = claim.base ? resolve_edited(claim) : resolve_all(claim, 0);
    root_tree_ = claim.tree;
    return true;
  }
  const std::size_t place = old_->find(claim.path);
  const auto before = current(claim.path, place);
  if (!before || before->kind != EntryKind::directory) return false;
  if (claim.base && !(before->exact && before->id == *claim.base)) return false;
  StateEntry now = *before;
  now.id = claim.tree;
  now.exact = claim.base ? resolve_edited(claim) : resolve_all(claim, place);
  if (!same(*before, now)) amend(claim.path, now);
  return true;
}

void StateUpdate::unsettle_directory(std::string_view path) {
  if (path.empty()) {
    root_exact_ = false;
    return;
  }
  const std::string owned(path);
  const auto directory = current(owned, old_->find(path));
  if (!directory || !directory->exact) return;
  StateEntry now = *directory;
  now.exact = false;
  amend(owned, now);
}

void StateUpdate::unsettle(const std::vector<const StateNotes::Claim*>& claims) {
  std::unordered_map<std::string_view, const StateNotes::Claim*> claimed;
  for (const StateNotes::Claim* claim : claims) claimed[claim->path] = claim;  // the last one
  const auto spoken_of = [&](std::string_view path) {
    const auto claim = claimed.find(parent_of(path));
    if (claim == claimed.end()) return false;
    if (!claim->second->base) return true;
    const std::string_view name = name_of(path);
    const auto& entries = claim->second->entries;
    const auto entry = std::lower_bound(entries.begin(), entries.end(), name,
                                        [](const TreeEntry& a, std::string_view b) { return a.name < b; });
    if (entry != entries.end() && entry->name == name) return true;
    return std::binary_search(claim->second->gone.begin(), claim->second->gone.end(), name);
  };
  std::vector<std::string> changed;      // directories
  std::vector<std::string> other_names;  // in these directories (DS7)
  const auto comes_or_goes = [&](std::string_view path) {
    const std::string_view directory = parent_of(path);
    if (other_names.empty() || other_names.back() != directory) other_names.emplace_back(directory);
  };
  std::vector<bool> still_there(old_->size(), false);
  const auto change = [&](std::string_view path) {
    const std::string_view directory = parent_of(path);
    if (!spoken_of(path) && (changed.empty() || changed.back() != directory)) changed.emplace_back(directory);
  };
  for (const Put& put : puts_) {
    const std::size_t index = old_->find(put.path);
    if (index != DirectoryState::kNone) still_there[index] = true;
    if (index == DirectoryState::kNone || old_->entry(index).kind != put.entry.kind) comes_or_goes(put.path);
    const bool as_before =
        index == DirectoryState::kNone ? !put.entry.in_tree : same_in_tree(old_->entry(index), put.entry);
    if (!as_before) change(put.path);
  }
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    if (!dropped_[i] || still_there[i]) continue;
    comes_or_goes(old_->path(i));
    if (old_->entry(i).in_tree) change(old_->path(i));
  }
  for (const std::string& directory : changed) unsettle_directory(directory);
  for (const std::string& directory : other_names) forget_names(directory);
}

void StateUpdate::forget_names(std::string_view directory) {
  const std::string owned(directory);
  const auto entry = directory.empty() ? std::nullopt : current(owned, old_->find(directory));
  if (!entry || !entry->names_known()) return;
  StateEntry now = *entry;
  now.stamp.mtime_ns = now.stamp.ctime_ns = 0;
  amend(owned, now);
}

bool StateUpdate::says_something_new(const Target& target) const {
  if (old_->head() != target.head || old_->root_exact() != root_exact_) return true;
  std::vector<bool> still_there(old_->size(), false);
  for (const Put& put : puts_) {
    const std::size_t index = old_->find(put.path);
    if (index == DirectoryState::kNone) return true;
    StateEntry known = old_->entry(index);
    // Racy times of a directory will not be said (DS7): they are nothing new, or each look would write.
    if (put.entry.names_known() && is_racy(put.entry.stamp, begun_ns_)) {
      StateEntry without = put.entry;
      without.stamp.mtime_ns = without.stamp.ctime_ns = known.stamp.mtime_ns = known.stamp.ctime_ns = 0;
      if (!same(known, without)) return true;
      still_there[index] = true;
      continue;
    }
    if (known.racy && put.seen != Seen::before && !is_racy(put.entry.stamp, begun_ns_)) return true;
    known.racy = put.entry.racy;
    if (!same(known, put.entry)) return true;
    still_there[index] = true;
  }
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    if (dropped_[i] && !still_there[i]) return true;
  }
  return false;
}

void StateUpdate::settle_races(const Moments& moments) {
  for (Put& put : puts_) {
    put.entry.path = put.path;
    if (put.seen == Seen::before) continue;
    if (put.entry.names_known() && is_racy(put.entry.stamp, moments.begun_ns)) {
      put.entry.stamp.mtime_ns = put.entry.stamp.ctime_ns = 0;
    }
    put.entry.racy = put.entry.kind != EntryKind::directory &&
                     is_racy(put.entry.stamp, put.seen == Seen::written ? moments.written_ns : moments.begun_ns);
  }
}

Result<void> StateUpdate::write(Env& env, const Target& target) {
  root_tree_ = old_->head();
  root_exact_ = old_->root_exact();
  inherit_tree_facts();
  // From the bottom up: a directory's own claim says of which tree it is, then that of the one around it whether it is
  // that tree's.
  std::stable_sort(claims_.begin(), claims_.end(), [](const auto& a, const auto& b) {
    return a.round != b.round ? a.round < b.round : path_less(b.path, a.path);
  });
  std::vector<const StateNotes::Claim*> resolved;
  for (const StateNotes::Claim& claim : claims_) {
    if (resolve(claim)) resolved.push_back(&claim);
  }
  unsettle(resolved);
  root_exact_ = root_exact_ && root_tree_ == target.head;
  if (!says_something_new(target)) return {};

  const std::string temporary = target.path + ".new-" + env.random.id<Id<struct TemporaryTag, 4>>().hex();
  auto file = env.fs.open(temporary, OpenMode::create_new);
  if (!file && file.error().code == Code::not_found) {
    WEFT_DO(env.fs.make_directory(parent_path(target.path)));
    file = env.fs.open(temporary, OpenMode::create_new);
  }
  if (!file) return std::move(file).error();

  // What "seen" means on the clock that stamps files, which need not be ours (a test's, another machine's): the new
  // file's own time, less what has passed since looking began. The earlier of both clocks errs towards reading again.
  Moments moments{begun_ns_, env.clock.now_ns()};
  if (const auto status = env.fs.status(temporary)) {
    moments.begun_ns = std::min(moments.begun_ns, status->mtime_ns - (env.clock.monotonic_ns() - begun_monotonic_ns_));
    moments.written_ns = std::min(moments.written_ns, status->mtime_ns);
  } else {
    moments = {};
  }
  settle_races(moments);
  std::sort(puts_.begin(), puts_.end(), [](const Put& a, const Put& b) { return path_less(a.path, b.path); });
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    puts_[i].entry.path = puts_[i].path;  // a short one moved with its string
    put_index_[puts_[i].path] = i;
  }

  auto delta = encode_delta(target, moments.begun_ns);
  const Bytes bytes = delta ? *std::move(delta) : encode_base(target, moments.begun_ns);
  const bool is_delta = ByteView(bytes).starts_with(kDeltaMagic);
  auto done = (*file)->write_at(0, ByteView(bytes));
  if (done) done = env.fs.rename(temporary, is_delta ? delta_path(target.path) : target.path);
  if (!done) {
    (void)env.fs.unlink(temporary).has_value();  // the first failure is the one to tell
    return done;
  }
  // Of the base before: it counts for nothing any more.
  if (!is_delta && old_->delta_count_ > 0) (void)env.fs.unlink(delta_path(target.path)).has_value();
  return done;
}

}  // namespace weft::work
