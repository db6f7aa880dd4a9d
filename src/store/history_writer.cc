#include "store/history_writer.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "store/history.h"
#include "store/history_index.h"

namespace weft::store {

/// One extension, inside the lock.
class HistoryWriter {
 public:
  HistoryWriter(Store::State& store, const Snapshot& snapshot, const HistoryExtent& extent)
      : store_(store),
        snapshot_(snapshot),
        extent_(extent),
        directory_(store.index.directory()),
        index_(store.env.fs, directory_) {}

  Result<std::uint64_t> run() {
    FileSystem& fs = store_.env.fs;
    WEFT_TRY(index_, HistoryIndex::open(fs, directory_, [&] { return snapshot_.position(); }));
    WEFT_TRY(const auto start, store_.index.log_start());
    // A gc by somebody who does not know this index: what it would go on from is gone.
    if (index_.manifest().point.position < start.position) index_ = HistoryIndex(fs, directory_);
    const bool anew = index_.manifest().point.position == 0;
    if (anew) WEFT_DO(number_behind_leftovers());
    changes_ = index_.manifest().changes;
    log::LogPoint before = index_.manifest().point;
    if (anew) {
      WEFT_TRY(before, gather_base());
    }
    const auto scanned =
        store_.segments.scan_durable(before, snapshot_.position(), [&](const log::Frame& frame) -> Result<void> {
          if (ids_.size() >= kHistoryBatch) {
            WEFT_DO(add_batch(before));
            if (!extent_.all) return make_error(Code::busy, "enough for now");
          }
          WEFT_DO(gather(frame));
          before = log::LogPoint{frame.end(), frame.header.checksum};
          return {};
        });
    if (scanned) {
      WEFT_DO(add_batch(*scanned));
    } else if (!(extent_.all == false && added_ > 0 && scanned.error().code == Code::busy)) {
      return scanned.error();
    }
    if (anew) remove_leftovers();
    return added_;
  }

 private:
  struct Pending {
    ChangeId id;
    object::ChangeSummary summary;
    std::int64_t committed_ns = 0;
    std::vector<TouchKey> touches;
  };

  static bool is_history_file(const std::string& name) {
    return name.ends_with(".graph") || name.ends_with(".touches");
  }

  /// New files get numbers that no file of an index that came to nothing has: somebody may be about to open those.
  Result<void> number_behind_leftovers() {
    WEFT_TRY(const auto entries, store_.env.fs.list(directory_));
    for (const auto& entry : entries) {
      if (!is_history_file(entry.name)) continue;
      const std::uint64_t number = std::strtoull(entry.name.c_str(), nullptr, 10);
      if (number < UINT64_MAX) index_.manifest_.next_file = std::max(index_.manifest_.next_file, number + 1);
      leftovers_.push_back(entry.name);
    }
    return {};
  }
  void remove_leftovers() {
    for (const auto& name : leftovers_) (void)store_.env.fs.unlink(join_path(directory_, name));
  }

  /// What the log does not hold any more; returns where it begins.
  Result<log::LogPoint> gather_base() {
    WEFT_TRY(const auto base, store_.index.base());
    if (!base) return log::LogPoint{};
    if (base->lost) return *base->lost;
    for (const auto& pack : base->kept->packs()) {
      changes_ += pack.changes;
      if (pack.changes == 0) continue;
      const auto reader = store_.packs.open(pack.name.id);
      if (!reader) {
        if (reader.error().code == Code::damaged) continue;  // HI5
        return reader.error();
      }
      std::uint64_t place = 0;
      WEFT_DO((*reader)->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t) -> Result<void> {
        if (!pack.is_dead(place++) && kind == ObjectKind::change) ids_.push_back(id);
        return {};
      }));
    }
    return base->start;
  }

  Result<void> gather(const log::Frame& frame) {
    if (frame.header.kind == log::FrameKind::checkpoint) {  // from here on others are counted
      WEFT_TRY(const Checkpoint checkpoint, decode_checkpoint(frame.payload, frame.header.position));
      changes_ = checkpoint.client[kChanges];
    }
    if (frame.header.kind != log::FrameKind::transaction) return {};
    bool packs = false;
    WEFT_DO(for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t) {
      if (kind == EntryKind::change) {
        ids_.push_back(key);
        ++changes_;
      }
      if (kind == EntryKind::pack) packs = true;
    }));
    if (!packs) return {};
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (const auto& pack : payload.packs) {
      changes_ += pack.changes;
      if (pack.changes == 0) continue;
      const auto reader = store_.packs.open(pack.id);
      if (!reader) {
        if (reader.error().code == Code::damaged) continue;  // HI5
        return reader.error();
      }
      WEFT_DO((*reader)->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t) -> Result<void> {
        if (kind == ObjectKind::change) ids_.push_back(id);
        return {};
      }));
    }
    return {};
  }

  /// What the index needs of a change; nullopt when it has it, or cannot have it (HI5).
  Result<std::optional<Pending>> read(const ChangeId& id) {
    WEFT_TRY(const auto known, index_.find(id));
    if (known) return std::optional<Pending>();
    const auto beyond_us = [](const Error& error) {
      return error.code == Code::damaged || error.code == Code::not_found;
    };
    auto change = snapshot_.change(id);
    if (!change) {
      if (beyond_us(change.error())) return std::optional<Pending>();
      return std::move(change).error();
    }
    auto touches = store_.touches(snapshot_, *change);
    if (!touches) {
      if (beyond_us(touches.error())) return std::optional<Pending>();
      return std::move(touches).error();
    }
    Pending pending;
    pending.id = id;
    pending.summary = {std::move(change->parents), change->lamport, change->tree};
    pending.committed_ns = change->committer.time.unix_ns;
    pending.touches = *std::move(touches);
    return std::optional(std::move(pending));
  }

  Result<GraphRecord> record(Ordinal ordinal) const {
    if (ordinal >= base_) return records_[ordinal - base_];
    return index_.record(ordinal);
  }

  Result<void> add_batch(log::LogPoint point) {
    std::vector<Pending> batch;
    std::unordered_set<ChangeId, IdHash> seen;
    for (const auto& id : ids_) {
      if (!seen.insert(id).second) continue;
      WEFT_TRY(auto pending, read(id));
      if (pending) batch.push_back(*std::move(pending));
    }
    ids_.clear();
    base_ = static_cast<Ordinal>(index_.manifest().records);
    records_.clear();
    if (batch.size() > kMaxOrdinal - base_) {
      return make_error(Code::unsupported, "the store's history has too many changes to index");
    }
    HistoryLists lists;
    std::unordered_map<ChangeId, Ordinal, IdHash> placed;
    WEFT_DO(parents_first(batch, [&](const Pending& pending) -> Result<void> {
      WEFT_TRY(const bool whole, add(pending, placed, lists));
      if (whole) ++added_;
      return {};
    }));
    for (auto& list : lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    WEFT_DO(write(point, lists));
    if (extent_.progress) extent_.progress(added_);
    return {};
  }

  /// HI1. A pack lists its changes by id, and no Lamport time is trusted here; where there is a choice it decides, so
  /// that lines that grew at the same time lie beside each other.
  static Result<void> parents_first(const std::vector<Pending>& batch,
                                    const std::function<Result<void>(const Pending&)>& visit) {
    std::unordered_map<ChangeId, std::size_t, IdHash> places;
    for (std::size_t i = 0; i < batch.size(); ++i) places.emplace(batch[i].id, i);
    std::vector<std::size_t> waits_for(batch.size(), 0);
    std::vector<std::vector<std::size_t>> children(batch.size());
    std::set<std::tuple<std::uint64_t, ChangeId, std::size_t>> ready;
    const auto free = [&](std::size_t i) { ready.emplace(batch[i].summary.lamport, batch[i].id, i); };
    for (std::size_t i = 0; i < batch.size(); ++i) {
      for (const auto& parent : batch[i].summary.parents) {
        const auto place = places.find(parent);
        if (place == places.end()) continue;
        ++waits_for[i];
        children[place->second].push_back(i);
      }
      if (waits_for[i] == 0) free(i);
    }
    while (!ready.empty()) {
      const std::size_t i = std::get<2>(*ready.begin());
      ready.erase(ready.begin());
      WEFT_DO(visit(batch[i]));
      for (const std::size_t child : children[i]) {
        if (--waits_for[child] == 0) free(child);
      }
    }
    return {};
  }

  /// False when a parent has no record (HI5).
  Result<bool> add(const Pending& pending, std::unordered_map<ChangeId, Ordinal, IdHash>& placed, HistoryLists& lists) {
    const auto ordinal = static_cast<Ordinal>(base_ + records_.size());
    GraphRecord graph;
    graph.id = pending.id;
    graph.tree = pending.summary.tree;
    graph.lamport = pending.summary.lamport;
    graph.shown_ns = pending.committed_ns;
    graph.jump = ordinal;
    for (std::size_t i = 0; i < pending.summary.parents.size(); ++i) {
      const auto& parent = pending.summary.parents[i];
      const auto in_batch = placed.find(parent);
      std::optional<Ordinal> number;
      if (in_batch != placed.end()) {
        number = in_batch->second;
      } else {
        WEFT_TRY(number, index_.find(parent));
      }
      if (!number) return false;
      WEFT_TRY(const GraphRecord above, record(*number));
      graph.shown_ns = std::max(graph.shown_ns, later_than(above.shown_ns));
      if (i == 0) {
        graph.first = *number;
        graph.depth = above.depth + 1;
        WEFT_TRY(const GraphRecord far, record(above.jump));
        WEFT_TRY(const GraphRecord farther, record(far.jump));
        // Skew-binary: two equal jumps in a row become one of their sum and this step.
        const bool equal = above.depth - far.depth == far.depth - farther.depth;
        graph.jump = equal ? far.jump : *number;
      } else {
        graph.second = i == 1 ? *number : GraphRecord::kMore;
      }
    }
    records_.push_back(graph);
    placed.emplace(pending.id, ordinal);
    lists[static_cast<std::size_t>(HistoryKind::id)].push_back({half_key(pending.id), ordinal});
    for (const auto& parent : pending.summary.parents) {
      lists[static_cast<std::size_t>(HistoryKind::child)].push_back({half_key(parent), ordinal});
    }
    for (const auto& key : pending.touches) {
      lists[static_cast<std::size_t>(HistoryKind::touch)].push_back({key, ordinal});
    }
    return true;
  }

  /// HI2.
  Result<void> write(log::LogPoint point, const HistoryLists& lists) {
    FileSystem& fs = store_.env.fs;
    if (auto made = fs.make_directory(directory_); !made && made.error().code != Code::exists) return made;
    HistoryManifest manifest = index_.manifest();
    manifest.point = point;
    manifest.changes = changes_;
    std::vector<std::string> swallowed;
    if (!records_.empty()) {
      if (manifest.graph == 0) manifest.graph = manifest.next_file++;
      Bytes bytes;
      bytes.reserve(records_.size() * GraphRecord::kBytes);
      for (const auto& graph : records_) append_record(bytes, graph);
      WEFT_TRY(const auto file,
               fs.open(join_path(directory_, history_file_name(manifest.graph, "graph")), OpenMode::create));
      WEFT_DO(file->write_at(manifest.records * GraphRecord::kBytes, bytes));
      WEFT_DO(file->sync());
      manifest.records += records_.size();
      store_.control->point("history:graph-written");

      std::uint64_t size = 0;
      for (const auto& list : lists) size += list.size();
      std::vector<std::shared_ptr<const HistoryRun>> runs;
      while (!manifest.runs.empty() &&
             (manifest.runs.back().entries < kHistoryRunFactor * size || manifest.runs.size() >= kMaxHistoryRuns)) {
        WEFT_TRY(const HistoryRun* const run, index_.run(manifest.runs.size() - 1));
        (void)run;
        runs.push_back(index_.runs_[manifest.runs.size() - 1]);
        size += manifest.runs.back().entries;
        swallowed.push_back(history_file_name(manifest.runs.back().number, "touches"));
        manifest.runs.pop_back();
      }
      const std::uint64_t number = manifest.next_file++;
      const std::string path = join_path(directory_, history_file_name(number, "touches"));
      if (fs.status(path)) WEFT_DO(fs.unlink(path));  // left by an extension that died
      WEFT_TRY(size, HistoryRun::write(fs, path, lists, runs));
      manifest.runs.push_back({number, size});
      WEFT_DO(fs.sync_directory(directory_));  // or the manifest might outlive the names of what it names
      store_.control->point("history:run-written");
    }
    WEFT_DO(write_file_durably(fs, join_path(directory_, kHistoryManifestName), encode_history_manifest(manifest)));
    store_.control->point("history:manifest-written");
    // Readers that have them mapped keep them; those about to open them find them gone and take the new manifest.
    for (const auto& name : swallowed) (void)fs.unlink(join_path(directory_, name));
    WEFT_TRY(index_, HistoryIndex::open(fs, directory_, [&] { return snapshot_.position(); }));
    return {};
  }

  Store::State& store_;
  const Snapshot& snapshot_;
  const HistoryExtent& extent_;
  std::string directory_;
  HistoryIndex index_;
  std::vector<std::string> leftovers_;
  std::vector<ChangeId> ids_;  ///< gathered, not yet in a batch
  std::uint64_t changes_ = 0;  ///< as HistoryManifest::changes, with those gathered
  std::uint64_t added_ = 0;
  Ordinal base_ = 0;  ///< records in the index before this batch
  std::vector<GraphRecord> records_;
};

Result<std::uint64_t> extend_history(const std::shared_ptr<Store::State>& store, const HistoryExtent& extent) {
  if (!store->touches || store->damage || store->unwritable) return std::uint64_t{0};
  WEFT_TRY(const OwnerToken me, store->control->token());
  log::SharedMutex mutex(*store->control, store->env.clock, store->shared().history);
  log::SharedMutex::Acquired acquired;
  if (extent.wait) {
    mutex.lock(me, {});
  } else if (!mutex.try_lock(me, acquired)) {
    return std::uint64_t{0};
  }
  const log::SharedUnlock held(mutex);
  // Taken inside the lock: not behind what another extension has just covered.
  auto now = std::make_shared<Snapshot::State>();
  now->store = store;
  now->durable = store->log.durable();
  const Snapshot snapshot(std::move(now));
  return HistoryWriter(*store, snapshot, extent).run();
}

}  // namespace weft::store
