#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tree/tree.h"
#include "work/comparison.h"
#include "work/moves.h"

namespace weft::work {
namespace {

using object::EntryKind;

bool content_differs(const Observation& now, const object::TreeEntry& before) {
  if (now.kind == EntryKind::directory || now.unreadable) return false;
  return !now.id || *now.id != before.id;
}

/// Where what the head has in `directory` is to be found now: a moved directory's new path, else itself.
class MovedDirectories {
 public:
  explicit MovedDirectories(const std::vector<Observation>& all) {
    for (const Observation& observation : all) {
      if (observation.from && observation.kind == EntryKind::directory) {
        moved_.emplace(all[*observation.from].path, observation.path);
      }
    }
  }
  /// The path a node has without being moved itself.
  std::string expected(const std::string& old_path) const {
    const auto found = moved_.find(parent_of(old_path));
    return child_path(found == moved_.end() ? parent_of(old_path) : std::string_view(found->second), name_of(old_path));
  }

 private:
  std::map<std::string, std::string, std::less<>> moved_;
};

/// Directories with an entry of their own would double what their content says already.
bool speaks_for_itself(const std::vector<Observation>& all, std::size_t i, bool present) {
  if (i + 1 >= all.size() || !is_at_or_below(all[i + 1].path, all[i].path)) return true;
  for (std::size_t below = i + 1; below < all.size() && is_at_or_below(all[below].path, all[i].path); ++below) {
    const Observation& other = all[below];
    if (present ? other.present && !other.unreadable : other.head.has_value()) return false;
  }
  return true;
}

/// Large new files that may be the head's under another name (of the size or inode of one that is gone) take part in
/// the search for moves; the others are left out at once, unread.
void admit_candidates(const DirectoryState& state, Scan& scan) {
  if (scan.oversized.empty()) return;
  std::set<std::uint64_t> sizes;
  std::set<std::uint64_t> inodes;
  for (const Observation& observation : scan.observations) {
    if (!observation.vacates() || observation.head->kind != EntryKind::file) continue;
    sizes.insert(observation.head->size);
    if (const std::size_t known = state.find(observation.path); known != DirectoryState::kNone) {
      inodes.insert(state.entry(known).stamp.inode);
    }
  }
  for (Observation& large : scan.oversized) {
    if (sizes.contains(large.size) || inodes.contains(large.stamp.inode)) {
      large.oversized = true;
      scan.observations.push_back(std::move(large));
    } else {
      scan.left_out.push_back({std::move(large.path), large.size});
    }
  }
  scan.oversized.clear();
  std::sort(scan.observations.begin(), scan.observations.end(),
            [](const Observation& a, const Observation& b) { return tree::path_less(a.path, b.path); });
}

/// Of those, the ones that were no move are left out as well. The indexes of moves stay right.
void leave_out_new(Scan& scan) {
  std::vector<std::size_t> place(scan.observations.size());
  std::vector<Observation> kept;
  for (std::size_t i = 0; i < scan.observations.size(); ++i) {
    Observation& observation = scan.observations[i];
    place[i] = kept.size();
    if (observation.oversized && !observation.from) {
      scan.left_out.push_back({std::move(observation.path), observation.size});
    } else {
      kept.push_back(std::move(observation));
    }
  }
  if (kept.size() != scan.observations.size()) {
    for (Observation& observation : kept) {
      if (observation.from) observation.from = place[*observation.from];
    }
  }
  scan.observations = std::move(kept);
  std::sort(scan.left_out.begin(), scan.left_out.end(),
            [](const LeftOut& a, const LeftOut& b) { return a.path < b.path; });
}

}  // namespace

Result<Comparison> compare_with_head(const WorkTree& tree, const object::ObjectReader& reader,
                                     object::ObjectWriter* writer, const ObjectId& head, const ScanOptions& options) {
  for (const std::string& path : options.paths) WEFT_DO(tree::check_path(path));
  WEFT_TRY(const FileStatus top, tree.root.self_status());
  const std::int64_t begun_monotonic_ns = tree.env.clock.monotonic_ns();
  const std::int64_t begun_ns = tree.env.clock.now_ns();
  auto state =
      std::make_shared<const DirectoryState>(DirectoryState::load(tree.env.fs, tree.state_path, top.device, top.inode));
  Comparison out;
  out.target = {tree.state_path, top.device, top.inode, head};
  out.update = std::make_shared<StateUpdate>(state, begun_monotonic_ns, begun_ns);
  Scanner scanner(tree, reader, writer, options, *out.update);
  WEFT_TRY(out.scan, scanner.run(head));
  admit_candidates(*state, out.scan);
  WEFT_DO(match_moves(tree, reader, *state, scanner, out.scan));
  leave_out_new(out.scan);
  for (const Observation& observation : out.scan.observations) {
    if (!observation.repository || !observation.from) continue;
    // It is the head's after all.
    std::erase_if(out.scan.warnings, [&](const Warning& warning) { return warning.path == observation.path; });
  }
  std::vector<Observation*> moved;  // edited as well?
  for (Observation& observation : out.scan.observations) {
    if (observation.from) moved.push_back(&observation);
  }
  WEFT_DO(scanner.read_all_new(moved, out.scan));
  for (const Observation& observation : out.scan.observations) {
    if (!observation.present) continue;
    // Remembered, as the next look will find the old path's entry gone; and what an earlier look thought is forgotten.
    const bool keeps = !observation.from && observation.head && !observation.kind_changed();
    out.update->set_node(observation.path, observation.from ? out.scan.observations[*observation.from].head->node
                                           : keeps          ? observation.head->node
                                                            : NodeId{});
  }
  std::sort(out.scan.ignored.begin(), out.scan.ignored.end());
  std::sort(out.scan.warnings.begin(), out.scan.warnings.end(),
            [](const Warning& a, const Warning& b) { return std::tie(a.path, a.reason) < std::tie(b.path, b.reason); });
  return out;
}

Status make_status(Scan& scan) {
  const std::vector<Observation>& all = scan.observations;
  const MovedDirectories moved(all);
  std::vector<bool> found_again(all.size(), false);
  for (const Observation& observation : all) {
    if (observation.from) found_again[*observation.from] = true;
  }
  Status status;
  const auto emit = [&status](Change change, const std::string& path, EntryKind kind) -> StatusEntry& {
    StatusEntry entry;
    entry.change = change;
    entry.path = path;
    entry.kind = kind;
    status.entries.push_back(std::move(entry));
    return status.entries.back();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Observation& now = all[i];
    // The head's node of this path, if it is neither here nor anywhere.
    const bool stays = now.present && now.head && !now.kind_changed() && !now.from;
    const bool lost = now.head && !stays && !found_again[i];
    if (now.from) {
      const Observation& before = all[*now.from];
      const bool edited = content_differs(now, *before.head);
      const bool mode = now.kind == EntryKind::file && recorded_mode(now.stamp.mode, before.head) != before.head->mode;
      if (lost) emit(Change::deleted, now.path, now.head->kind);
      if (moved.expected(before.path) == now.path && !edited && !mode) continue;  // its directory's entry says it
      StatusEntry& entry = emit(Change::moved, now.path, now.kind);
      entry.old_path = before.path;
      entry.content_changed = edited;
      entry.mode_changed = mode;
    } else if (now.kind_changed()) {
      if (lost) {
        emit(Change::type, now.path, now.kind);
      } else if (now.kind != EntryKind::directory || speaks_for_itself(all, i, true)) {
        emit(Change::added, now.path, now.kind);
      }
    } else if (now.present && now.head) {
      const bool edited = content_differs(now, *now.head);
      const bool mode = now.mode != now.head->mode;
      StatusEntry& entry = emit(edited ? Change::modified : Change::mode, now.path, now.kind);
      entry.content_changed = edited;
      entry.mode_changed = mode;
    } else if (now.present) {
      if (now.unreadable) continue;
      if (now.kind == EntryKind::directory && !speaks_for_itself(all, i, true)) continue;
      emit(Change::added, now.path, now.kind);
    } else if (lost) {
      if (now.head->kind == EntryKind::directory && !speaks_for_itself(all, i, false)) continue;
      emit(Change::deleted, now.path, now.head->kind);
    }
  }
  std::stable_sort(status.entries.begin(), status.entries.end(),
                   [](const StatusEntry& a, const StatusEntry& b) { return a.path < b.path; });
  status.ignored = std::move(scan.ignored);
  status.left_out = std::move(scan.left_out);
  status.warnings = std::move(scan.warnings);
  status.files_seen = scan.files_seen;
  status.files_read = scan.files_read;
  return status;
}

Result<Status> status(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& head,
                      const ScanOptions& options) {
  WEFT_TRY(Comparison comparison, compare_with_head(tree, reader, nullptr, head, options));
  Status out = make_status(comparison.scan);
  // A cache that cannot be written (a read-only disk, another user's store) costs time, not the answer.
  (void)comparison.update->write(tree.env, comparison.target).has_value();
  return out;
}

}  // namespace weft::work
