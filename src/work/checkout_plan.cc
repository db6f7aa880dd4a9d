#include "work/checkout_plan.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "work/content.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;
using Action = Step::Action;

constexpr std::uint32_t kOwnerExecute = 0100;

bool is_content(const std::optional<TreeEntry>& entry) {
  return entry && (entry->kind == EntryKind::file || entry->kind == EntryKind::symlink);
}
/// Written out as a directory.
bool is_place(const std::optional<TreeEntry>& entry) {
  return entry && (entry->kind == EntryKind::directory || entry->kind == EntryKind::submodule);
}
bool is_directory(const std::optional<TreeEntry>& entry) { return entry && entry->kind == EntryKind::directory; }

/// Whether both are written out alike.
bool same_on_disk(const TreeEntry& a, const TreeEntry& b) {
  return a.kind == b.kind && a.id == b.id && (a.kind != EntryKind::file || ((a.mode ^ b.mode) & kOwnerExecute) == 0);
}

class Planner {
 public:
  Planner(const WorkTree& tree, const object::ObjectReader& reader, const CheckoutOptions& options, StateUpdate& update)
      : tree_(tree), reader_(reader), options_(options), update_(update), cursor_(tree.root), scope_(options.paths) {}

  Result<CheckoutPlan> run(const ObjectId& from, const ObjectId& to) {
    WEFT_DO(collect(from, to));
    std::sort(plan_.steps.begin(), plan_.steps.end(),
              [](const Step& a, const Step& b) { return path_less(a.path, b.path); });
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) by_path_.emplace(plan_.steps[i].path, i);
    for (Step& step : plan_.steps) WEFT_DO(decide(step));
    return std::move(plan_);
  }

 private:
  struct Pair {
    std::string path;
    std::optional<TreeEntry> before;
    std::optional<TreeEntry> after;
  };

  // ---- what differs between the trees, by path

  Result<void> collect(const ObjectId& from, const ObjectId& to) {
    std::vector<Pair> open;
    const auto top = [](const ObjectId& id) {
      return TreeEntry{.name = "", .kind = EntryKind::directory, .mode = 0755, .node = {}, .id = id};
    };
    open.push_back({"", top(from), top(to)});
    while (!open.empty()) {
      const Pair pair = std::move(open.back());
      open.pop_back();
      WEFT_DO(collect_below(pair, open));
    }
    return {};
  }

  Result<void> collect_below(const Pair& pair, std::vector<Pair>& open) {
    if (is_directory(pair.after)) plan_.directories.emplace_back(pair.path, pair.after->node);
    const auto met = [&](const TreeEntry* before, const TreeEntry* after) -> Result<void> {
      Pair child;
      child.path = child_path(pair.path, before != nullptr ? before->name : after->name);
      if (before != nullptr) child.before = *before;
      if (after != nullptr) child.after = *after;
      meet(std::move(child), open);
      return {};
    };
    if (is_directory(pair.before) && is_directory(pair.after) && pair.before->id != object::empty_tree_id() &&
        pair.after->id != object::empty_tree_id()) {
      return object::diff_directories(reader_, pair.before->id, pair.after->id, met);
    }
    object::Entries before;
    object::Entries after;
    if (is_directory(pair.before)) {
      WEFT_TRY(before, tree_entries(reader_, pair.before->id));
    }
    if (is_directory(pair.after)) {
      WEFT_TRY(after, tree_entries(reader_, pair.after->id));
    }
    auto b = before.begin();
    auto a = after.begin();
    while (b != before.end() || a != after.end()) {
      const bool use_before = b != before.end() && (a == after.end() || b->name <= a->name);
      const bool use_after = a != after.end() && (b == before.end() || a->name <= b->name);
      WEFT_DO(met(use_before ? &*b : nullptr, use_after ? &*a : nullptr));
      if (use_before) ++b;
      if (use_after) ++a;
    }
    return {};
  }

  void meet(Pair pair, std::vector<Pair>& open) {
    const Scope::Place place = scope_.place(pair.path);
    if (place == Scope::Place::outside) return;
    if (pair.before && pair.after && same_on_disk(*pair.before, *pair.after)) return;
    if (object::name_is_reserved(name_of(pair.path))) {  // W1
      if (pair.after) plan_.warnings.push_back({pair.path, "has a reserved name: kept in history, not written out"});
      return;
    }
    const bool both_directories = is_directory(pair.before) && is_directory(pair.after);
    if (place == Scope::Place::inside && !both_directories) {
      Step step;
      step.path = pair.path;
      step.before = pair.before;
      step.after = pair.after;
      plan_.steps.push_back(std::move(step));
    }
    if (is_directory(pair.before) || is_directory(pair.after)) open.push_back(std::move(pair));
  }

  // ---- what is on disk

  enum class Around { reachable, missing, blocked, closed };  // the directory a path lies in; closed: to us

  /// Missing also where something stands in the way that this plan removes.
  Result<Around> look(const std::string& path, std::optional<FileStatus>& status, std::string& why_closed) {
    status.reset();
    if (missing_ && is_at_or_below(path, *missing_)) return Around::missing;
    const auto directory = cursor_.at(parent_of(path));
    if (directory) {
      auto found = (*directory)->status(name_of(path));
      if (found) {
        status = *found;
      } else if (is_missing(found.error()) || found.error().sys_errno == ENAMETOOLONG) {
        missing_ = path;
      } else if (found.error().code == Code::permission) {
        why_closed = found.error().message;
        return Around::closed;
      } else {
        return std::move(found).error();
      }
      return Around::reachable;
    }
    if (is_missing(directory.error()) || directory.error().sys_errno == ENAMETOOLONG) {
      missing_ = parent_of(path);
      return Around::missing;
    }
    if (directory.error().code == Code::permission) {
      why_closed = directory.error().message;
      return Around::closed;
    }
    if (!is_no_directory(directory.error())) return directory.error();
    // The topmost ancestor that is no directory decides: everything above it is one.
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string_view ancestor = std::string_view(path).substr(0, slash);
      const auto step = by_path_.find(ancestor);
      if (step == by_path_.end()) continue;
      const Step& above = plan_.steps[step->second];
      if (above.action == Action::make_directory && above.clear_first) return Around::missing;
    }
    return Around::blocked;
  }

  /// Whether the directory of a path that is there finds it in another case as well; found out once per directory.
  bool folds_case(const Step& step) {
    const std::string_view parent = parent_of(step.path);
    if (folding_.path == parent && folding_.known) return folding_.folds;
    std::string other(name_of(step.path));
    const auto letter = std::find_if(other.begin(), other.end(),
                                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
    if (letter == other.end()) return false;
    *letter = static_cast<char>(*letter ^ ('a' ^ 'A'));
    folding_ = {std::string(parent), true, false};
    const auto directory = cursor_.at(parent);
    if (!directory) return false;
    const auto status = (*directory)->status(other);
    folding_.folds = status && status->inode == step.seen->inode && status->device == step.seen->device;
    return folding_.folds;
  }

  /// Another name of its directory that this file system takes for the same as this one; "" if there is none. Asked
  /// only where something is there that nothing should have put there.
  Result<std::string> other_spelling(const Step& step) {
    const std::string_view parent = parent_of(step.path);
    if (!listed_ || listed_->path != parent) {
      WEFT_TRY(const HostDir* directory, cursor_.at(parent));
      WEFT_TRY(const auto listing, directory->list());
      listed_.emplace();
      listed_->path = parent;
      for (const DirectoryEntry& entry : listing) listed_->names.insert(entry.name);
    }
    if (listed_->names.contains(std::string(name_of(step.path)))) return std::string();
    WEFT_TRY(const HostDir* directory, cursor_.at(parent));
    for (const std::string& name : listed_->names) {
      const auto status = directory->status(name);
      if (status && status->inode == step.seen->inode && status->device == step.seen->device) return name;
    }
    return std::string();
  }

  /// Whether the file or link on disk has the entry's kind and content.
  Result<bool> has_content(const std::string& path, const FileStatus& status, const TreeEntry& entry) {
    const bool is_link = status.kind == FileKind::symlink;
    if (entry.kind != (is_link ? EntryKind::symlink : EntryKind::file)) return false;
    if (!is_link && status.kind != FileKind::file) return false;
    const std::size_t known = update_.old().find(path);
    if (known != DirectoryState::kNone) {
      const StateEntry state = update_.old().entry(known);
      if (state.kind == entry.kind && state.stamp == Stamp::of(status) && !state.racy) return state.id == entry.id;
    }
    if (!is_link && status.size != entry.size) return false;
    if (read_.path != path) {
      WEFT_TRY(const HostDir* directory, cursor_.at(parent_of(path)));
      WEFT_TRY(read_.content, is_link
                                  ? read_link_content(*directory, name_of(path), nullptr, std::nullopt)
                                  : read_content(tree_.env.clock, *directory, name_of(path), nullptr, std::nullopt));
      read_.path = path;
    }
    const ContentRead& read = read_.content;
    // What cannot be read is not known, and so not overwritten.
    if (read.outcome != ContentRead::Outcome::ok || Stamp::of(read.status) != Stamp::of(status)) return false;
    if (read.id == entry.id) {
      update_.put(
          {.path = path, .kind = entry.kind, .node = entry.node, .id = read.id, .stamp = Stamp::of(read.status)});
    }
    return read.id == entry.id;
  }

  static bool has_mode(const FileStatus& status, const TreeEntry& entry) {
    return entry.kind != EntryKind::file || ((status.mode ^ entry.mode) & kOwnerExecute) == 0;
  }

  // ---- what is to be done

  bool is_below_a_problem(std::string_view path) const {
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      if (problem_paths_.contains(std::string(path.substr(0, slash)))) return true;
    }
    return false;
  }

  void conflict(const std::string& path, std::string reason) {
    ++problems_;
    problem_paths_.insert(path);
    if (options_.keep_edits) {
      plan_.warnings.push_back({path, "kept as it is: it " + std::move(reason)});
    } else {
      plan_.conflicts.push_back({path, std::move(reason)});
    }
  }

  Result<void> decide(Step& step) {
    std::string why_closed;
    WEFT_TRY(const Around around, look(step.path, step.seen, why_closed));
    if (around == Around::closed) {
      plan_.warnings.push_back({step.path, "not brought to the version: " + why_closed});
      return {};
    }
    if (around == Around::blocked) {
      // Where edits are kept, what blocks may have been named already.
      if (step.after && !(options_.keep_edits && is_below_a_problem(step.path))) {
        conflict(step.path, "something that is no directory stands where a directory of it belongs");
      }
      return {};
    }
    if (!spelled_away_.empty() && is_at_or_below(step.path, spelled_away_)) return {};
    if (step.seen && (!step.before || folds_case(step))) {
      WEFT_TRY(const std::string other, other_spelling(step));
      if (!other.empty()) {
        const auto taker = by_path_.find(child_path(parent_of(step.path), other));
        if (!step.after || taker == by_path_.end() || plan_.steps[taker->second].after) {
          skip_spelling(step, other);
          return {};
        }
        step.seen.reset();  // it goes first
      }
    }
    if (!step.after) return decide_removal(step);
    if (!step.seen) {
      step.action = is_place(step.after) ? Action::make_directory : Action::write;
      return {};
    }
    const bool directory_there = step.seen->kind == FileKind::directory;
    if (is_place(step.after)) {
      if (directory_there) return {};
      WEFT_TRY(const bool known, may_go(step));
      if (known) {
        step.action = Action::make_directory;
        step.clear_first = true;
      }
      return {};
    }
    if (directory_there) return decide_directory_to_file(step);
    return decide_file(step);
  }

  /// What is there is another path's, and so is everything below.
  void skip_spelling(const Step& step, const std::string& other) {
    if (step.after) {
      plan_.warnings.push_back(
          {step.path, "not written out: this file system takes its name for the same as " + quoted(other)});
    }
    spelled_away_ = step.path;
  }

  Result<void> decide_removal(Step& step) {
    if (!step.seen) return {};
    const bool directory_there = step.seen->kind == FileKind::directory;
    if (is_place(step.before)) {
      if (directory_there) step.action = Action::remove_directory;
      return {};
    }
    if (directory_there) return {};  // the file is gone already; what took its place is not ours
    WEFT_TRY(const bool known, may_go(step));
    if (known) step.action = Action::remove;
    return {};
  }

  /// A file, link or other thing that must go: what the old tree has. Otherwise a conflict.
  Result<bool> may_go(Step& step) {
    if (is_content(step.before)) {
      WEFT_TRY(const bool same, has_content(step.path, *step.seen, *step.before));
      step.known = step.before->id;
      if (same && has_mode(*step.seen, *step.before)) return true;
      const bool unreadable = read_.path == step.path && read_.content.outcome == ContentRead::Outcome::failed;
      conflict(step.path, unreadable ? "cannot be read: " + read_.content.reason : "has local edits");
      return false;
    }
    conflict(step.path, "is not tracked");
    return false;
  }

  Result<void> decide_directory_to_file(Step& step) {
    if (is_place(step.before)) {
      const std::size_t problems = problems_;
      WEFT_DO(check_vanishing(step.path, step.before->kind == EntryKind::directory));
      if (problems_ > problems) return {};
      step.action = Action::write;
      step.clear_first = true;
      return {};
    }
    conflict(step.path, step.before ? "has local edits (it is a directory now)" : "is not tracked");
    return {};
  }

  /// Everything in a directory that must go has to be the old tree's; whether it is edited is its own step's question.
  Result<void> check_vanishing(const std::string& path, bool has_tracked) {
    std::vector<std::string> open{path};
    while (!open.empty()) {
      const std::string directory_path = std::move(open.back());
      open.pop_back();
      WEFT_TRY(const HostDir* directory, cursor_.at(directory_path));
      WEFT_TRY(const auto listing, directory->list());
      for (const DirectoryEntry& entry : listing) {
        std::string below = child_path(directory_path, entry.name);
        const auto step = has_tracked ? by_path_.find(below) : by_path_.end();
        const std::optional<TreeEntry> before =
            step == by_path_.end() ? std::nullopt : plan_.steps[step->second].before;
        if (entry.kind == FileKind::directory && is_place(before)) {
          open.push_back(std::move(below));
        } else if (!before && is_temporary_name(entry.name)) {
          plan_.leftovers.emplace_back(std::move(below), entry.kind);
        } else if (entry.kind == FileKind::directory || !is_content(before)) {
          conflict(below, "is not tracked");
        }
      }
    }
    return {};
  }

  Result<void> decide_file(Step& step) {
    const FileStatus& status = *step.seen;
    WEFT_TRY(const bool as_after, has_content(step.path, status, *step.after));
    if (as_after) {
      step.known = step.after->id;
      if (has_mode(status, *step.after)) return {};
      const bool mode_is_old = !step.before || step.before->kind != EntryKind::file || has_mode(status, *step.before);
      if (mode_is_old) {
        // A mode belongs to the inode, which other names may share (CASES C29).
        step.action = status.links > 1 ? Action::write : Action::set_mode;
      } else {
        conflict(step.path, "has local edits (its mode)");
      }
      return {};
    }
    if (is_place(step.before)) {
      conflict(step.path, "has local edits (it is no directory any more)");
      return {};
    }
    WEFT_TRY(const bool known, may_go(step));
    if (known) step.action = Action::write;
    return {};
  }

  const WorkTree& tree_;
  const object::ObjectReader& reader_;
  const CheckoutOptions& options_;
  StateUpdate& update_;
  DirCursor cursor_;
  Scope scope_;
  CheckoutPlan plan_;
  std::unordered_map<std::string_view, std::size_t> by_path_;
  std::size_t problems_ = 0;
  std::set<std::string> problem_paths_;
  std::optional<std::string> missing_;  ///< looked for last and not there: neither is anything below it
  std::string spelled_away_;            ///< left out for its name, with everything below it
  struct {
    std::string path;
    bool known = false;
    bool folds = false;
  } folding_;
  struct Listed {
    std::string path;
    std::set<std::string> names;
  };
  std::optional<Listed> listed_;
  struct {
    std::string path;
    ContentRead content;
  } read_;  ///< of the path decided last: it may be asked for both trees
};

}  // namespace

Result<CheckoutPlan> plan_checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                   const ObjectId& to, const CheckoutOptions& options, StateUpdate& update) {
  return Planner(tree, reader, options, update).run(from, to);
}

}  // namespace weft::work
