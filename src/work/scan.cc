#include "work/scan.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/workers.h"
#include "work/ignore_sources.h"
#include "work/walk.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;
using Outcome = ContentRead::Outcome;

constexpr std::uint32_t kOwnerExecute = 0100;
/// Reading fewer files than this starts no thread.
constexpr std::size_t kShareFromReads = 64;

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
  const unsigned workers = options_.max_threads != 0 ? options_.max_threads : worker_count();
  const WalkInput input{.tree = tree_,
                        .reader = reader_,
                        .writer = writer_,
                        .options = options_,
                        .old = update_.old(),
                        .scope = scope_,
                        .max_workers = workers};
  Pending top;
  top.head = TreeEntry{.name = "", .kind = EntryKind::directory, .mode = 0755, .node = {}, .id = head};
  top.rules = IgnoreLevel::base(options_.ignore.global_patterns, git_exclude_patterns(tree_.env.fs, tree_.root.path()),
                                options_.ignore.fold_case);
  top.inside = scope_.place("") == Scope::Place::inside;

  WalkQueue queue(workers);
  queue.start(std::move(top));
  std::vector<std::unique_ptr<Walker>> walkers;
  for (unsigned i = 0; i < workers; ++i) walkers.push_back(std::make_unique<Walker>(input, i == 0));
  const auto walk = [&](unsigned worker, bool alone) {
    Walker& walker = *walkers[worker];
    const auto idle = [&walker] { walker.report(); };
    while (!alone || queue.size() < kShareFromDirectories) {
      const auto next = queue.take(worker, idle);
      if (!next) return;
      auto done = walker.step(*next);
      if (!done) {
        queue.fail(std::move(done).error(), next->path);
        return;
      }
      queue.finish(worker, walker.take_found());
    }
  };
  walk(0, workers > 1);
  // WK1
  if (queue.size() > 0 && workers > 1) run_workers(workers, [&](unsigned worker) { walk(worker, false); });
  WEFT_DO(queue.result());

  WalkOutput all;
  for (const auto& walker : walkers) all.append(std::move(walker->output()));
  update_.add(std::move(all.notes));
  Scan scan;
  scan.observations = std::move(all.observations);
  scan.oversized = std::move(all.oversized);
  scan.ignored = std::move(all.ignored);
  scan.warnings = std::move(all.warnings);
  scan.files_seen = all.files_seen;
  scan.files_read = all.files_read;
  // SC4
  std::sort(scan.observations.begin(), scan.observations.end(),
            [](const Observation& a, const Observation& b) { return path_less(a.path, b.path); });
  if (!scope_.everything()) drop_bare_routes(scan.observations);
  return scan;
}

/// A new directory on the way to what was asked for is of interest for what was found in it.
void Scanner::drop_bare_routes(std::vector<Observation>& observations) const {
  std::vector<Observation> kept;  // from the last to the first
  for (auto next = observations.rbegin(); next != observations.rend(); ++next) {
    const bool bare = next->is_new() && next->kind == EntryKind::directory && !next->head &&
                      scope_.place(next->path) == Scope::Place::route &&
                      (kept.empty() || !is_at_or_below(kept.back().path, next->path));
    if (!bare) kept.push_back(std::move(*next));
  }
  observations.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

bool Scanner::needs_reading(const Observation& observation) {
  return !observation.id && !observation.unreadable &&
         (observation.kind == EntryKind::file || observation.kind == EntryKind::symlink);
}

Result<Scanner::Reading> Scanner::read(const Observation& observation, DirCursor& cursor) const {
  Reading reading;
  reading.asked = true;
  const auto directory = cursor.at(parent_of(observation.path));
  if (!directory) {
    reading.content.reason = directory.error().message;
    return reading;
  }
  const std::string_view name = name_of(observation.path);
  WEFT_TRY(reading.content, observation.kind == EntryKind::file
                                ? read_content(tree_.env.clock, **directory, name, writer_, std::nullopt)
                                : read_link_content(**directory, name, writer_, std::nullopt));
  return reading;
}

void Scanner::take(Observation& observation, const Reading& reading, Scan& scan) {
  ++scan.files_read;
  const ContentRead& read = reading.content;
  if (read.outcome != Outcome::ok) {
    observation.unreadable = true;
    scan.warnings.push_back({observation.path, "cannot be read (" + read.reason + "): not recorded"});
    return;
  }
  observation.id = read.id;
  observation.size = read.size;
  observation.stamp = Stamp::of(read.status);
  NodeId node;
  if (const std::size_t index = update_.old().find(observation.path); index != DirectoryState::kNone) {
    const StateEntry known = update_.old().entry(index);
    if (known.kind == observation.kind) node = known.node;
  }
  update_.put(
      {.path = observation.path, .kind = observation.kind, .node = node, .id = read.id, .stamp = observation.stamp});
}

Result<void> Scanner::read_new(Observation& observation, Scan& scan) {
  if (!needs_reading(observation)) return {};
  WEFT_TRY(const Reading reading, read(observation, cursor_));
  take(observation, reading, scan);
  return {};
}

Result<void> Scanner::read_all_new(const std::vector<Observation*>& observations, Scan& scan) {
  std::vector<Observation*> wanted;
  std::copy_if(observations.begin(), observations.end(), std::back_inserter(wanted),
               [](const Observation* observation) { return needs_reading(*observation); });
  const unsigned most = options_.max_threads != 0 ? options_.max_threads : worker_count();
  const unsigned workers = wanted.size() < kShareFromReads ? 1 : most;
  std::vector<Reading> readings(wanted.size());
  std::vector<std::optional<Error>> errors(wanted.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  run_workers(workers, [&](unsigned) {
    DirCursor cursor(tree_.root);
    for (std::size_t i = next++; i < wanted.size() && !failed; i = next++) {
      auto reading = read(*wanted[i], cursor);
      if (reading) {
        readings[i] = *std::move(reading);
      } else {
        errors[i] = std::move(reading).error();
        failed = true;
      }
    }
  });
  for (const auto& error : errors) {
    if (error) return *error;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) take(*wanted[i], readings[i], scan);
  return {};
}

}  // namespace weft::work
