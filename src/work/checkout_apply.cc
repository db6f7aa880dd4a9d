#include "work/checkout_apply.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <system_error>

#include "base/mutex.h"
#include "base/workers.h"
#include "work/leftovers.h"
#include "work/step_writer.h"

namespace weft::work {
namespace {

using object::EntryKind;
using Action = Step::Action;

/// A new directory with more files than this is made in its place at once, and its files are spread over jobs.
constexpr std::size_t kMaxHiddenFiles = 2048;
constexpr std::size_t kFilesPerJob = 256;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Outcome {
  enum class What : std::uint8_t { nothing, done, warned, skipped };  ///< skipped: the warning of another step says why
  What what = What::nothing;
  std::optional<FileStatus> status;  ///< done: of what is there now
  std::string reason;                ///< warned
};

/// One directory, or a part of a large one.
struct Job {
  std::string directory;
  std::size_t make = kNone;            ///< the step that makes it; none: it is there
  std::vector<std::size_t> steps;      ///< files and links directly in it
  std::vector<std::size_t> dependent;  ///< jobs that need this directory to be there
};

std::string reason_of(const Error& error) {
  if (error.code == Code::refused) return "kept as it is: " + error.message;
  if (error.sys_errno == 0) return "not written out: " + error.message;
  return "not written out: " + std::generic_category().message(error.sys_errno);
}

class Apply {
 public:
  Apply(const WorkTree& tree, const object::ObjectReader& reader, const CheckoutOptions& options, CheckoutPlan& plan,
        StateUpdate& update)
      : tree_(tree),
        reader_(reader),
        options_(options),
        plan_(plan),
        update_(update),
        names_(tree.env.random),
        outcomes_(plan.steps.size()) {}

  Applied run() {
    take_away();
    if (!stopped()) {
      make_jobs();
      run_workers(thread_count(), [this](unsigned) { work_on_jobs(); });
    }
    return conclude();
  }

 private:
  /// What each thread has for itself.
  struct Worker {
    explicit Worker(Apply& apply)
        : cursor(apply.tree_.root), writer(apply.tree_.env.clock, apply.reader_, apply.names_) {}
    DirCursor cursor;
    StepWriter writer;
  };

  // ---- both phases

  /// CA2. False: everything stops.
  bool settle(std::size_t step, const Result<std::optional<FileStatus>>& done) {
    Outcome& outcome = outcomes_[step];
    if (done) {
      outcome.what = Outcome::What::done;
      outcome.status = *done;
      return true;
    }
    return fail(step, done.error());
  }

  bool fail(std::size_t step, const Error& error) {
    if (concerns_one_path(error)) {
      outcomes_[step].what = Outcome::What::warned;
      outcomes_[step].reason = reason_of(error);
      return true;
    }
    const MutexLock lock(mutex_);
    if (!stopped_ || step < stopped_step_) {
      stopped_ = error;
      stopped_step_ = step;
    }
    return false;
  }

  void progress(std::size_t steps) {
    if (!options_.progress) return;
    const MutexLock lock(progress_mutex_);
    done_ += steps;
    options_.progress(done_, plan_.steps.size());
  }

  static Result<std::optional<FileStatus>> nothing_to_note(const Result<void>& done) {
    if (!done) return done.error();
    return std::optional<FileStatus>();
  }

  // ---- what goes

  void take_away() {
    Worker worker(*this);
    for (const auto& [path, kind] : plan_.leftovers) {
      if (const auto directory = worker.cursor.at(parent_of(path))) {
        (void)remove_leftover(**directory, name_of(path), kind).has_value();  // what stays keeps its directory
      }
    }
    for (std::size_t i = plan_.steps.size(); i-- > 0 && !stopped();) {
      const Step& step = plan_.steps[i];
      if (step.action == Action::remove) {
        settle(i, nothing_to_note(remove(worker, step)));
      } else if (step.action == Action::remove_directory) {
        const auto removed = remove_directory(worker, step);
        if (!removed) {
          fail(i, removed.error());
        } else if (*removed) {
          outcomes_[i].what = Outcome::What::done;
        }
      } else if (step.clear_first) {
        clear(worker, i);
      } else {
        continue;
      }
      progress(step.clear_first ? 0 : 1);
    }
  }

  static Result<void> remove(Worker& worker, const Step& step) {
    WEFT_TRY(const HostDir* directory, worker.cursor.at(parent_of(step.path)));
    return worker.writer.remove(*directory, step);
  }

  /// False: it stays, for what is not ours in it.
  static Result<bool> remove_directory(Worker& worker, const Step& step) {
    WEFT_TRY(const HostDir* directory, worker.cursor.at(parent_of(step.path)));
    const auto removed = directory->remove_dir(name_of(step.path));
    worker.cursor.forget(step.path);
    if (removed || is_missing(removed.error())) return true;
    const int errnum = removed.error().sys_errno;
    if (errnum == ENOTEMPTY || errnum == EEXIST) return false;
    return removed.error();
  }

  /// What another kind of thing takes the place of.
  void clear(Worker& worker, std::size_t i) {
    const Step& step = plan_.steps[i];
    if (step.seen && step.seen->kind == FileKind::directory) {
      const auto removed = remove_directory(worker, step);
      if (!removed) {
        fail(i, removed.error());
      } else if (!*removed) {
        fail(i, changed_meanwhile(step.path));
      }
    } else if (const auto removed = remove(worker, step); !removed) {
      fail(i, removed.error());
    }
  }

  // ---- what comes

  void make_jobs() {
    std::unordered_map<std::string_view, std::size_t> of_directory;  // the job whose files are directly in it
    std::vector<std::size_t> ready;
    const auto add = [&](Job job, std::string_view inside) {
      const auto around = of_directory.find(inside);
      const std::size_t index = jobs_.size();
      const bool waits = around != of_directory.end() && jobs_[around->second].make != kNone;
      jobs_.push_back(std::move(job));
      if (waits) {
        jobs_[around->second].dependent.push_back(index);
      } else {
        ready.push_back(index);
      }
      return index;
    };
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (step.action == Action::make_directory) {
        Job job;
        job.directory = step.path;
        job.make = i;
        of_directory.emplace(step.path, add(std::move(job), parent_of(step.path)));
      } else if (step.action == Action::write || step.action == Action::set_mode) {
        const std::string_view parent = parent_of(step.path);
        auto found = of_directory.find(parent);
        if (found == of_directory.end()) {
          Job job;
          job.directory = parent;
          const std::size_t index = add(std::move(job), parent);
          found = of_directory.emplace(parent, index).first;
        }
        jobs_[found->second].steps.push_back(i);
        ++to_write_;
        if (step.action == Action::write) bytes_to_write_ += step.after->size;
      }
    }
    for (std::size_t i = 0, count = jobs_.size(); i < count; ++i) split(i, ready);
    const MutexLock lock(mutex_);
    left_ = jobs_.size();
    queue_.assign(ready.rbegin(), ready.rend());  // taken from the back
  }

  /// A directory with many files is worked on by several.
  void split(std::size_t index, std::vector<std::size_t>& ready) {
    const bool makes = jobs_[index].make != kNone;
    if (jobs_[index].steps.size() <= (makes ? kMaxHiddenFiles : kFilesPerJob)) return;
    std::vector<std::size_t> steps = std::move(jobs_[index].steps);
    jobs_[index].steps.clear();
    for (std::size_t from = 0; from < steps.size(); from += kFilesPerJob) {
      Job part;
      part.directory = jobs_[index].directory;
      const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(from);
      part.steps.assign(begin, begin + static_cast<std::ptrdiff_t>(std::min(kFilesPerJob, steps.size() - from)));
      (makes ? jobs_[index].dependent : ready).push_back(jobs_.size());
      jobs_.push_back(std::move(part));
    }
  }

  unsigned thread_count() const {
    if (to_write_ < kFilesWorthThreads && bytes_to_write_ < kBytesWorthThreads) return 1;
    const unsigned threads = options_.max_threads != 0 ? std::min(options_.max_threads, kMaxWorkers) : worker_count();
    return static_cast<unsigned>(std::min<std::size_t>(threads, jobs_.size()));
  }

  void work_on_jobs() {
    Worker worker(*this);
    for (;;) {
      std::size_t index = 0;
      {
        const MutexLock lock(mutex_);
        while (queue_.empty() && left_ > 0 && !stopped_) changed_.wait(mutex_);
        if (left_ == 0 || stopped_) return;
        index = queue_.back();
        queue_.pop_back();
      }
      const bool there = run(worker, jobs_[index]);
      const MutexLock lock(mutex_);
      --left_;
      if (there) {
        const auto& dependent = jobs_[index].dependent;
        queue_.insert(queue_.end(), dependent.rbegin(), dependent.rend());
      } else {
        left_ -= abandon(index);
      }
      changed_.notify_all();
    }
  }

  bool stopped() {
    const MutexLock lock(mutex_);
    return stopped_.has_value();
  }

  /// What waits for a directory that could not be made; how many jobs those are.
  std::size_t abandon(std::size_t index) {
    std::size_t count = 0;
    std::vector<std::size_t> open = jobs_[index].dependent;
    while (!open.empty()) {
      const Job& job = jobs_[open.back()];
      open.pop_back();
      ++count;
      skip(job);
      open.insert(open.end(), job.dependent.begin(), job.dependent.end());
    }
    return count;
  }

  void skip(const Job& job) {
    if (job.make != kNone && outcomes_[job.make].what == Outcome::What::nothing) {
      outcomes_[job.make].what = Outcome::What::skipped;
    }
    for (const std::size_t step : job.steps) outcomes_[step].what = Outcome::What::skipped;
  }

  /// False: the directory is not there.
  bool run(Worker& worker, const Job& job) {
    if (job.make != kNone) {
      const bool made = !failed(job.make) && make(worker, job);
      if (!made) skip(job);
      progress(1 + job.steps.size());
      return made;
    }
    for (const std::size_t i : job.steps) {
      if (stopped()) break;
      if (!failed(i)) settle(i, write(worker, plan_.steps[i]));  // what could not be cleared away stays
      progress(1);
    }
    return true;
  }

  bool failed(std::size_t step) const { return outcomes_[step].what != Outcome::What::nothing; }

  Result<std::optional<FileStatus>> write(Worker& worker, const Step& step) {
    WEFT_TRY(const HostDir* directory, reach(worker.cursor, parent_of(step.path)));
    auto written = step.action == Action::set_mode ? worker.writer.set_mode(*directory, step)
                                                   : worker.writer.write(*directory, step);
    if (!written) return explain_taken(*directory, step.path, written.error());
    return std::optional(*written);
  }

  /// Code::exists as what it means: somebody was there first, or the file system takes two names for one.
  static Error explain_taken(const HostDir& directory, const std::string& path, Error error) {
    if (error.code != Code::exists) return error;
    const auto listing = directory.list();
    const bool listed = listing && std::any_of(listing->begin(), listing->end(), [&](const DirectoryEntry& entry) {
                          return entry.name == name_of(path);
                        });
    if (!listing || listed) return changed_meanwhile(path);
    return make_error(Code::invalid, "this file system takes its name for the same as another in its directory")
        .with("path", path);
  }

  bool make(Worker& worker, const Job& job) {
    const Step& step = plan_.steps[job.make];
    const std::string_view name = name_of(step.path);
    const auto parent = reach(worker.cursor, parent_of(step.path));
    if (!parent) return fail(job.make, parent.error()) && false;
    if (job.steps.empty()) {
      auto made = (*parent)->make_dir(name);
      if (!made && made.error().code == Code::exists) made = accept_present(**parent, step);
      if (!made) return fail(job.make, made.error()) && false;
      outcomes_[job.make].what = Outcome::What::done;
      return true;
    }
    return make_with_files(worker, job, **parent);
  }

  /// Something has the name: a directory somebody made meanwhile will do.
  static Result<void> accept_present(const HostDir& parent, const Step& step) {
    const auto listing = parent.list();
    if (listing) {
      for (const DirectoryEntry& entry : *listing) {
        if (entry.name == name_of(step.path) && entry.kind == FileKind::directory) return {};
      }
    }
    return explain_taken(parent, step.path, make_error(Code::exists, "").with("path", step.path));
  }

  /// CA1
  bool make_with_files(Worker& worker, const Job& job, const HostDir& parent) {
    const Step& step = plan_.steps[job.make];
    std::string hidden;
    Result<void> begun;
    do {
      hidden = names_.next();
      begun = parent.make_dir(hidden);
    } while (!begun && begun.error().code == Code::exists);
    if (!begun) return fail(job.make, begun.error()) && false;
    const auto inside = parent.open_dir(hidden);
    if (!inside) {
      (void)parent.remove_dir(hidden).has_value();
      return fail(job.make, inside.error()) && false;
    }
    for (const std::size_t i : job.steps) {
      auto written = worker.writer.write_hidden(*inside, plan_.steps[i]);
      if (written) {
        settle(i, std::optional(*written));
      } else if (!fail(i, explain_taken(*inside, plan_.steps[i].path, written.error()))) {
        break;  // what is whole is shown all the same
      }
    }
    Result<void> shown = parent.rename_new(hidden, parent, name_of(step.path));
    if (!shown && shown.error().code == Code::exists) {
      shown = accept_present(parent, step);
      if (shown) shown = move_out(*inside, parent, job);
      (void)remove_leftover(parent, hidden, FileKind::directory).has_value();
    } else if (!shown) {
      (void)remove_leftover(parent, hidden, FileKind::directory).has_value();
    }
    if (!shown) {
      for (const std::size_t i : job.steps) outcomes_[i] = {};
      return fail(job.make, shown.error()) && false;
    }
    outcomes_[job.make].what = Outcome::What::done;
    if (const auto status = inside->self_status()) outcomes_[job.make].status = *status;
    return !stopped();
  }

  /// Into a directory that somebody made in the meantime.
  Result<void> move_out(const HostDir& hidden, const HostDir& parent, const Job& job) {
    WEFT_TRY(const HostDir present, parent.open_dir(name_of(job.directory)));
    for (const std::size_t i : job.steps) {
      if (outcomes_[i].what != Outcome::What::done) continue;
      const std::string_view name = name_of(plan_.steps[i].path);
      const auto moved = hidden.rename_new(name, present, name);
      outcomes_[i].what = Outcome::What::nothing;
      if (!moved) {
        fail(i, explain_taken(present, plan_.steps[i].path, moved.error()));
        continue;
      }
      auto status = present.status(name);  // the rename set its change time
      if (status) settle(i, std::optional(*status));
    }
    return {};
  }

  /// The directory, made with everything above it that is missing.
  static Result<const HostDir*> reach(DirCursor& cursor, std::string_view path) {
    auto found = cursor.at(path);
    if (found) return found;
    if (is_no_directory(found.error())) {
      return make_error(Code::refused,
                        "something that is no directory stands at or above " + quoted(path) + ", where one belongs")
          .with("path", std::string(path));
    }
    if (!is_missing(found.error()) || path.empty()) return found;
    // Up to what there is, then down again: mostly the one level.
    std::vector<std::string_view> missing{path};
    for (;;) {
      const auto parent = cursor.at(parent_of(missing.back()));
      if (parent) break;
      if (!is_missing(parent.error()) || missing.back().empty()) return parent;
      missing.push_back(parent_of(missing.back()));
    }
    for (; !missing.empty(); missing.pop_back()) {
      WEFT_TRY(const HostDir* parent, cursor.at(parent_of(missing.back())));
      const auto made = parent->make_dir(name_of(missing.back()));
      if (!made && made.error().sys_errno != EEXIST) return made.error();
    }
    return cursor.at(path);
  }

  // ---- CA3

  Applied conclude() {
    Applied applied;
    applied.report.warnings = std::move(plan_.warnings);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) conclude_step(i, applied.report);
    std::stable_sort(applied.report.warnings.begin(), applied.report.warnings.end(),
                     [](const Warning& a, const Warning& b) { return path_less(a.path, b.path); });
    note_directories();
    const MutexLock lock(mutex_);
    applied.stopped = std::move(stopped_);
    return applied;
  }

  void conclude_step(std::size_t i, CheckoutReport& report) {
    const Step& step = plan_.steps[i];
    const Outcome& outcome = outcomes_[i];
    if (outcome.what == Outcome::What::warned) report.warnings.push_back({step.path, outcome.reason});
    const bool done = outcome.what == Outcome::What::done;
    switch (step.action) {
      case Action::none:
        if (step.after) ++report.kept;
        break;
      case Action::remove:
        if (done) ++report.removed;
        if (done) forget_state(step.path);
        break;
      case Action::remove_directory:
        if (done) forget_state(step.path);
        if (outcome.what == Outcome::What::nothing) ++report.kept;
        break;
      case Action::make_directory:
        break;
      case Action::write:
      case Action::set_mode:
        if (!done || !outcome.status) break;
        ++report.written;
        update_.put({.path = step.path,
                     .kind = step.after->kind,
                     .node = step.after->node,
                     .id = step.after->id,
                     .stamp = Stamp::of(*outcome.status)},
                    step.action == Action::write);
        break;
    }
  }

  void forget_state(const std::string& path) {
    const std::size_t index = update_.old().find(path);
    if (index != DirectoryState::kNone) update_.drop(index);
  }

  /// Directories of the new tree that directory state does not know (of their files it would then know nothing).
  void note_directories() {
    std::unordered_map<std::string_view, std::uint64_t> made;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto& status = outcomes_[i].status;
      if (plan_.steps[i].action == Action::make_directory && status) made.emplace(plan_.steps[i].path, status->inode);
    }
    DirCursor cursor(tree_.root);
    for (const auto& [path, node] : plan_.directories) {
      if (path.empty()) continue;
      StateEntry entry;
      entry.path = path;
      entry.kind = EntryKind::directory;
      entry.node = node;
      if (const auto known = made.find(path); known != made.end()) {
        entry.stamp.inode = known->second;
      } else {
        const auto directory = cursor.at(path);
        if (!directory) continue;  // not written out, or local edits removed it
        const auto status = (*directory)->self_status();
        if (!status) continue;
        entry.stamp.inode = status->inode;
      }
      update_.put(entry);
    }
  }

  const WorkTree& tree_;
  const object::ObjectReader& reader_;
  const CheckoutOptions& options_;
  CheckoutPlan& plan_;
  StateUpdate& update_;
  TemporaryNames names_;
  std::vector<Outcome> outcomes_;  ///< each written by the one job that has the step
  std::vector<Job> jobs_;          ///< not changed once threads run
  std::size_t to_write_ = 0;
  std::uint64_t bytes_to_write_ = 0;

  Mutex progress_mutex_;
  std::uint64_t done_ WEFT_GUARDED_BY(progress_mutex_) = 0;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::size_t> queue_ WEFT_GUARDED_BY(mutex_);  ///< jobs that may begin
  std::size_t left_ WEFT_GUARDED_BY(mutex_) = 0;
  std::optional<Error> stopped_ WEFT_GUARDED_BY(mutex_);
  std::size_t stopped_step_ WEFT_GUARDED_BY(mutex_) = 0;
};

}  // namespace

bool concerns_one_path(const Error& error) {
  switch (error.code) {
    case Code::no_space:
    case Code::damaged:
    case Code::store_failed:
    case Code::interrupted:
    case Code::internal:
      return false;
    default:
      break;
  }
  switch (error.sys_errno) {
    case 0:
      return error.code == Code::invalid || error.code == Code::refused || error.code == Code::exists;
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return false;
    default:
      return true;
  }
}

Applied apply_plan(const WorkTree& tree, const object::ObjectReader& reader, const CheckoutOptions& options,
                   CheckoutPlan plan, StateUpdate& update) {
  return Apply(tree, reader, options, plan, update).run();
}

}  // namespace weft::work
