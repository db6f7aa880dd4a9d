// Bringing a working tree to a version: the steps checkout_plan.h decided, applied.
//
// Order: what goes, from the bottom up; then what comes, from the top down. Every step leaves its path old, new, or
// (between removing one kind and making another) absent, so a killed checkout is finished by planning again (W4).
#include <algorithm>
#include <cerrno>

#include "tree/tree.h"
#include "work/checkout_plan.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;
using Action = Step::Action;

constexpr std::size_t kCopyBytes = 256u << 10;
constexpr std::size_t kMaxLinkTargetBytes = 64u << 10;
constexpr std::size_t kMaxConflictsNamed = 5;

/// What the file system will never take under this name: the path is skipped and named, the rest goes on (CASES C26).
bool concerns_one_path(const Error& error) {
  return error.sys_errno == ENAMETOOLONG || error.sys_errno == EILSEQ || error.sys_errno == EINVAL ||
         error.code == Code::invalid;
}

Error changed_meanwhile(const std::string& path) {
  return make_error(Code::refused, quoted(path) + " changed while files were being written out",
                    "run the command again; what was written so far is kept")
      .with("path", path);
}

class Apply {
 public:
  Apply(const WorkTree& tree, const object::ObjectReader& reader, const CheckoutOptions& options, CheckoutPlan& plan,
        StateUpdate& update)
      : tree_(tree), reader_(reader), options_(options), plan_(plan), update_(update), cursor_(tree.root) {
    report_.warnings = std::move(plan.warnings);
  }

  CheckoutReport& report() { return report_; }

  Result<void> run() {
    for (const std::string& leftover : plan_.leftovers) WEFT_DO(remove_leftover(leftover));
    for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
      if (step->action == Action::remove) {
        WEFT_DO(remove(*step));
        ++report_.removed;
        progress();
      } else if (step->action == Action::remove_directory) {
        WEFT_DO(remove_directory(*step, false));
        progress();
      } else if (step->clear_first) {
        if (step->seen && step->seen->kind == FileKind::directory) {
          WEFT_DO(remove_directory(*step, true));
        } else {
          WEFT_DO(remove(*step));
        }
      }
    }
    for (const Step& step : plan_.steps) {
      if (step.action == Action::none && step.after) ++report_.kept;
      if (step.action == Action::remove || step.action == Action::remove_directory) continue;
      Result<void> done;
      if (step.action == Action::make_directory) {
        done = make_directory(step.path);
      } else if (step.action == Action::set_mode) {
        done = set_mode(step);
      } else if (step.action == Action::write) {
        done = write(step);
      }
      if (!done) {
        if (!concerns_one_path(done.error())) return done;
        report_.warnings.push_back({step.path, "not written out: " + done.error().message});
      } else if (step.action == Action::write || step.action == Action::set_mode) {
        ++report_.written;
      }
      progress();
    }
    note_directories();
    return {};
  }

 private:
  void progress() {
    ++done_;
    if (options_.progress) options_.progress(done_, plan_.steps.size());
  }

  void forget_state(const std::string& path) {
    const std::size_t index = update_.old().find(path);
    if (index != DirectoryState::kNone) update_.drop(index);
  }

  /// CP2
  Result<void> check_unchanged(const HostDir& directory, const Step& step) {
    const auto now = directory.status(name_of(step.path));
    if (!now || now->kind != step.seen->kind) return changed_meanwhile(step.path);
    Stamp stamp = Stamp::of(*now);
    // Replacing one name of a hard-linked file changes the change time under all of them.
    if (step.seen->links > 1) stamp.ctime_ns = step.seen->ctime_ns;
    if (stamp != Stamp::of(*step.seen)) return changed_meanwhile(step.path);
    return {};
  }

  Result<void> remove(const Step& step) {
    WEFT_TRY(const HostDir* directory, cursor_.at(parent_of(step.path)));
    WEFT_DO(check_unchanged(*directory, step));
    WEFT_DO(directory->remove_file(name_of(step.path)));
    forget_state(step.path);
    return {};
  }

  Result<void> remove_leftover(const std::string& path) {
    WEFT_TRY(const HostDir* directory, cursor_.at(parent_of(path)));
    auto removed = directory->remove_file(name_of(path));
    if (!removed && !is_missing(removed.error())) return removed;
    return {};
  }

  Result<void> remove_directory(const Step& step, bool must) {
    WEFT_TRY(const HostDir* directory, cursor_.at(parent_of(step.path)));
    const auto removed = directory->remove_dir(name_of(step.path));
    cursor_.forget(step.path);
    if (removed || is_missing(removed.error())) {
      forget_state(step.path);
      return {};
    }
    const int errnum = removed.error().sys_errno;
    if (errnum != ENOTEMPTY && errnum != EEXIST) return removed;
    if (must) return changed_meanwhile(step.path);
    ++report_.kept;  // what is not ours is in it
    return {};
  }

  /// The directory, made with everything above it that is missing.
  Result<const HostDir*> reach(std::string_view path) {
    auto found = cursor_.at(path);
    if (found) return found;
    if (is_no_directory(found.error())) {
      return make_error(Code::refused,
                        "something that is no directory stands at or above " + quoted(path) + ", where one belongs",
                        "move it away and run the command again")
          .with("path", std::string(path));
    }
    if (!is_missing(found.error()) || path.empty()) return found;
    // Up to what there is, then down again: mostly the one level.
    std::vector<std::string_view> missing{path};
    for (;;) {
      const auto parent = cursor_.at(parent_of(missing.back()));
      if (parent) break;
      if (!is_missing(parent.error()) || missing.back().empty()) return parent;
      missing.push_back(parent_of(missing.back()));
    }
    for (; !missing.empty(); missing.pop_back()) {
      WEFT_TRY(const HostDir* parent, cursor_.at(parent_of(missing.back())));
      const auto made = parent->make_dir(name_of(missing.back()));
      if (!made && made.error().sys_errno != EEXIST) return made.error();
    }
    return cursor_.at(path);
  }

  Result<void> make_directory(const std::string& path) {
    WEFT_TRY(const HostDir* made, reach(path));
    (void)made;
    return {};
  }

  Result<void> set_mode(const Step& step) {
    WEFT_TRY(const HostDir* directory, cursor_.at(parent_of(step.path)));
    WEFT_DO(check_unchanged(*directory, step));
    const std::uint32_t mode = step.seen->mode;
    // Whoever may read may execute, as a fresh file under the usual umask would have it.
    const std::uint32_t wanted = (step.after->mode & 0100) != 0 ? mode | 0100 | ((mode & 0444) >> 2) : mode & ~0111u;
    WEFT_DO(directory->set_mode(name_of(step.path), wanted));
    WEFT_TRY(const FileStatus now, directory->status(name_of(step.path)));
    note(step, now, false);
    return {};
  }

  void note(const Step& step, const FileStatus& status, bool written_here) {
    update_.put({.path = step.path,
                 .kind = step.after->kind,
                 .node = step.after->node,
                 .id = step.after->id,
                 .stamp = Stamp::of(status)},
                written_here);
  }

  Result<void> write(const Step& step) {
    WEFT_TRY(const HostDir* directory, reach(parent_of(step.path)));
    return step.after->kind == EntryKind::symlink ? write_link(*directory, step) : write_file(*directory, step);
  }

  /// Puts the temporary in its place: nothing is there (any more), or what was seen.
  Result<void> move_in(const HostDir& directory, const std::string& temporary, const Step& step) {
    const std::string_view name = name_of(step.path);
    Result<void> moved;
    if (step.seen && !step.clear_first) {
      moved = check_unchanged(directory, step);
      if (moved) moved = directory.rename(temporary, directory, name);
    } else {
      moved = directory.rename_new(temporary, directory, name);
      if (!moved && moved.error().code == Code::exists) moved = changed_meanwhile(step.path);
    }
    if (!moved) (void)directory.remove_file(temporary).has_value();  // the first failure is the one to tell
    return moved;
  }

  Result<void> write_file(const HostDir& directory, const Step& step) {
    WEFT_TRY(const auto temporary, directory.create_temporary((step.after->mode & 0100) != 0 ? 0777 : 0666));
    const auto filled = fill(temporary.fd, *step.after, step.path);
    if (!filled) {
      (void)directory.remove_file(temporary.name).has_value();
      return filled;
    }
    WEFT_DO(move_in(directory, temporary.name, step));
    // Behind the rename, which sets the change time.
    WEFT_TRY(const FileStatus status, file_status(temporary.fd, step.path));
    note(step, status, true);
    return {};
  }

  Result<void> fill(const Fd& fd, const TreeEntry& entry, const std::string& path) {
    if (entry.size < object::kLargeBlobBytes) {
      WEFT_TRY(const Bytes bytes, reader_.read(object::ObjectKind::blob, entry.id));
      return write_all(fd, bytes, path);
    }
    WEFT_TRY(const auto source, reader_.open_blob(entry.id));
    Bytes buffer(kCopyBytes, '\0');
    for (;;) {
      WEFT_TRY(const std::size_t got, source->read(buffer));
      if (got == 0) return {};
      WEFT_DO(write_all(fd, ByteView(buffer).substr(0, got), path));
    }
  }

  Result<void> write_link(const HostDir& directory, const Step& step) {
    if (step.after->size > kMaxLinkTargetBytes) {
      return make_error(Code::invalid, "the link's target is too long").with("path", step.path);
    }
    WEFT_TRY(const Bytes target, reader_.read(object::ObjectKind::blob, step.after->id));
    if (target.empty()) return make_error(Code::invalid, "the link's target is empty").with("path", step.path);
    const std::string temporary = ".weft-" + tree_.env.random.id<Id<struct LinkTag, 4>>().hex();
    WEFT_DO(directory.make_symlink(temporary, target));
    WEFT_DO(move_in(directory, temporary, step));
    WEFT_TRY(const FileStatus status, directory.status(name_of(step.path)));
    note(step, status, true);
    return {};
  }

  /// Directories of the new tree that directory state does not know (of their files it would then know nothing).
  void note_directories() {
    for (const auto& [path, node] : plan_.directories) {
      if (path.empty()) continue;
      const auto directory = cursor_.at(path);
      if (!directory) continue;  // not written out, or local edits removed it
      const auto status = (*directory)->self_status();
      if (!status) continue;
      StateEntry entry;
      entry.path = path;
      entry.kind = EntryKind::directory;
      entry.node = node;
      entry.stamp.inode = status->inode;
      update_.put(entry);
    }
  }

  const WorkTree& tree_;
  const object::ObjectReader& reader_;
  const CheckoutOptions& options_;
  CheckoutPlan& plan_;
  StateUpdate& update_;
  DirCursor cursor_;
  CheckoutReport report_;
  std::uint64_t done_ = 0;
};

Error refusal(const std::vector<Warning>& conflicts) {
  std::string message = conflicts.size() == 1
                            ? "one path is in the way of writing out files: "
                            : std::to_string(conflicts.size()) + " paths are in the way of writing out files: ";
  for (std::size_t i = 0; i < conflicts.size() && i < kMaxConflictsNamed; ++i) {
    if (i > 0) message += ", ";
    message += quoted(conflicts[i].path) + " " + conflicts[i].reason;
  }
  if (conflicts.size() > kMaxConflictsNamed) message += ", ...";
  Error error = make_error(Code::refused, std::move(message),
                           "nothing was changed; commit these files, move them away or delete them, then try again");
  for (const Warning& conflict : conflicts) error.details.emplace_back("path", conflict.path);
  return error;
}

}  // namespace

Result<CheckoutReport> checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                const ObjectId& to, const CheckoutOptions& options) {
  for (const std::string& path : options.paths) WEFT_DO(tree::check_path(path));
  WEFT_TRY(const FileStatus top, tree.root.self_status());
  const std::int64_t begun_monotonic_ns = tree.env.clock.monotonic_ns();
  const std::int64_t begun_ns = tree.env.clock.now_ns();
  const auto state =
      std::make_shared<const DirectoryState>(DirectoryState::load(tree.env.fs, tree.state_path, top.device, top.inode));
  StateUpdate update(state, begun_monotonic_ns, begun_ns);
  WEFT_TRY(CheckoutPlan plan, plan_checkout(tree, reader, from, to, options, update));
  if (!plan.conflicts.empty()) return refusal(plan.conflicts);  // W3

  Apply apply(tree, reader, options, plan, update);
  const Result<void> applied = apply.run();
  // Also after a failure: what was written is known, and finishing will not have to read it.
  const StateUpdate::Target target{tree.state_path, top.device, top.inode,
                                   applied && options.paths.empty() ? to : from};
  (void)update.write(tree.env, target).has_value();
  if (!applied) return applied.error();
  return std::move(apply.report());
}

}  // namespace weft::work
