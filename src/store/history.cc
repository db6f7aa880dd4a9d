#include "store/history.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "store/history_index.h"
#include "store/history_writer.h"

namespace weft::store {
namespace {

/// Ordinals of parents kept from one question to the next; a walk asks for them soon.
constexpr std::size_t kMaxKnownOrdinals = 1u << 20;
/// More changes behind the index than commits leave there: a reader extends it first.
constexpr std::uint64_t kMostBehind = 4 * kHistoryStep;

}  // namespace

struct History::State {
  State(const Snapshot& view, std::shared_ptr<Store::State> of, HistoryIndex opened)
      : snapshot(view), store(std::move(of)), index(std::move(opened)) {}

  Snapshot snapshot;
  std::shared_ptr<Store::State> store;
  HistoryIndex index;
  std::unordered_map<ChangeId, Ordinal, IdHash> ordinals;
  std::unordered_map<ChangeId, std::int64_t, IdHash> shown;  ///< of changes the index does not have
  /// Parent and child, of all changes behind the index; once children were asked for.
  std::optional<std::vector<std::pair<ChangeId, ChangeId>>> children_behind;

  Result<std::optional<Ordinal>> find(const ChangeId& id) {
    if (const auto known = ordinals.find(id); known != ordinals.end()) return std::optional(known->second);
    return index.find(id);
  }
  void remember(const ChangeId& id, Ordinal ordinal) {
    if (ordinals.size() >= kMaxKnownOrdinals) ordinals.clear();
    ordinals.emplace(id, ordinal);
  }

  Result<object::ChangeSummary> summary_at(const GraphRecord& record) {
    if (record.second == GraphRecord::kMore) return snapshot.change_summary(record.id);
    object::ChangeSummary summary;
    summary.lamport = record.lamport;
    summary.tree = record.tree;
    for (const Ordinal parent : {record.first, record.second}) {
      if (parent == GraphRecord::kNone) continue;
      WEFT_TRY(const auto above, index.record(parent));
      summary.parents.push_back(above.id);
      remember(above.id, parent);
    }
    return summary;
  }

  Result<object::ChangeSummary> summary(const ChangeId& id) {
    WEFT_TRY(const auto ordinal, find(id));
    if (!ordinal) return snapshot.change_summary(id);
    WEFT_TRY(const auto record, index.record(*ordinal));
    return summary_at(record);
  }

  /// From the index, or computed before; false: neither.
  Result<bool> known_shown(const ChangeId& id, std::int64_t& ns) {
    if (const auto known = shown.find(id); known != shown.end()) {
      ns = known->second;
      return true;
    }
    WEFT_TRY(const auto ordinal, find(id));
    if (!ordinal) return false;
    WEFT_TRY(const auto record, index.record(*ordinal));
    ns = record.shown_ns;
    return true;
  }

  /// Parents are done first, without recursion.
  Result<std::int64_t> shown_ns(const ChangeId& id) {
    std::int64_t ns = 0;
    WEFT_TRY(const bool there, known_shown(id, ns));
    if (there) return ns;
    struct Open {
      ChangeId id;
      std::vector<ChangeId> parents;
      std::int64_t ns = 0;
      std::size_t next = 0;  ///< parent to look at
    };
    std::vector<Open> path;
    const auto enter = [&](const ChangeId& change_id) -> Result<void> {
      WEFT_TRY(auto change, snapshot.change(change_id));
      path.push_back({change_id, std::move(change.parents), change.committer.time.unix_ns});
      return {};
    };
    WEFT_DO(enter(id));
    for (;;) {
      Open& top = path.back();
      if (top.next == top.parents.size()) {
        ns = top.ns;
        shown.emplace(top.id, ns);
        path.pop_back();
        if (path.empty()) return ns;
        continue;  // its child looks it up again
      }
      const ChangeId parent = top.parents[top.next];
      WEFT_TRY(const bool known, known_shown(parent, ns));
      if (!known) {
        WEFT_DO(enter(parent));  // no cycle: an id is the hash of what names its parents
        continue;
      }
      top.ns = std::max(top.ns, later_than(ns));
      ++top.next;
    }
  }

  Result<void> read_children_behind() {
    children_behind.emplace();
    std::vector<ChangeId> ids;
    (void)store->segments.scan_durable(
        index.manifest().point, snapshot.position(), [&](const log::Frame& frame) -> Result<void> {
          WEFT_DO(for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t) {
            if (kind == EntryKind::change) ids.push_back(key);
          }));
          WEFT_TRY(const Payload payload, frame.header.kind == log::FrameKind::transaction
                                              ? decode_payload(frame.payload)
                                              : Result<Payload>(Payload()));
          for (const auto& pack : payload.packs) {
            if (pack.changes == 0) continue;
            WEFT_TRY(const auto reader, store->packs.open(pack.id));
            WEFT_DO(reader->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t) -> Result<void> {
              if (kind == ObjectKind::change) ids.push_back(id);
              return {};
            }));
          }
          return {};
        });
    for (const auto& id : ids) {
      WEFT_TRY(const auto summary, snapshot.change_summary(id));
      for (const auto& parent : summary.parents) children_behind->emplace_back(parent, id);
    }
    std::sort(children_behind->begin(), children_behind->end());
    return {};
  }

  /// Of a change the index does not have; nullopt: not known.
  Result<std::optional<bool>> touches(const object::Change& change, std::span<const TouchKey> keys) const {
    if (!store->touches || change.parents.size() > 1 || change.form != object::OpsForm::recorded) {
      return std::optional<bool>();
    }
    WEFT_TRY(const auto touches, store->touches(snapshot, change));
    return std::optional(std::any_of(touches.begin(), touches.end(), [&](const TouchKey& touched) {
      return std::find(keys.begin(), keys.end(), touched) != keys.end();
    }));
  }
};

History::History(std::unique_ptr<State> state) : state_(std::move(state)) {}
History::~History() = default;
History::History(History&&) noexcept = default;

Result<History> History::open(const Snapshot& snapshot) {
  const auto& store = snapshot.state_->store;
  const auto open_index = [&] {
    return HistoryIndex::open(store->env.fs, store->index.directory(), [&] { return store->log.durable().position; });
  };
  WEFT_TRY(auto index, open_index());
  const std::uint64_t changes = snapshot.state_->durable.client[kChanges];
  if (store->touches && changes > index.manifest().changes + kMostBehind) {
    // A store that comes from a weft without this index, or a copy without its derived files. Where it cannot be made
    // (a disk that is full or read-only), answers only take longer.
    if (extend_history(store, {.wait = true})) {
      WEFT_TRY(index, open_index());
    }
  }
  return History(std::make_unique<State>(snapshot, store, std::move(index)));
}

Result<object::ChangeSummary> History::summary(const ChangeId& id) const { return state_->summary(id); }
Result<std::int64_t> History::shown_ns(const ChangeId& id) const { return state_->shown_ns(id); }

Result<std::vector<ChangeId>> History::children(const ChangeId& id) const {
  std::set<ChangeId> children;
  WEFT_TRY(const auto ordinals, state_->index.all(HistoryKind::child, half_key(id)));
  for (const Ordinal ordinal : ordinals) {
    WEFT_TRY(const auto record, state_->index.record(ordinal));
    WEFT_TRY(const auto summary, state_->summary_at(record));
    const auto& parents = summary.parents;
    if (std::find(parents.begin(), parents.end(), id) == parents.end()) continue;
    // Records of what a gc has dropped stay.
    WEFT_TRY(const bool there, state_->snapshot.contains(ObjectKind::change, record.id));
    if (there) children.insert(record.id);
  }
  if (!state_->children_behind) WEFT_DO(state_->read_children_behind());
  const auto& behind = *state_->children_behind;
  for (auto at = std::lower_bound(behind.begin(), behind.end(), std::pair(id, ChangeId()));
       at != behind.end() && at->first == id; ++at) {
    children.insert(at->second);
  }
  return std::vector<ChangeId>(children.begin(), children.end());
}

Result<std::optional<ChangeId>> History::nearest_touch(const ChangeId& from, std::span<const TouchKey> keys) const {
  ChangeId at = from;
  for (;;) {
    WEFT_TRY(const auto ordinal, state_->find(at));
    if (ordinal) {
      WEFT_TRY(const auto touching, state_->index.nearest_touch(*ordinal, keys));
      if (!touching) return std::optional<ChangeId>();  // HI5: its line is in the index to its end
      WEFT_TRY(const auto record, state_->index.record(*touching));
      state_->remember(record.id, *touching);
      return std::optional(record.id);
    }
    WEFT_TRY(const auto change, state_->snapshot.change(at));
    WEFT_TRY(const auto touches, state_->touches(change, keys));
    if (touches != false) return std::optional(at);
    if (change.parents.empty()) return std::optional<ChangeId>();
    at = change.parents[0];
  }
}

Result<std::optional<bool>> History::touches(const ChangeId& id, std::span<const TouchKey> keys) const {
  WEFT_TRY(const auto ordinal, state_->find(id));
  if (!ordinal) {
    WEFT_TRY(const auto change, state_->snapshot.change(id));
    return state_->touches(change, keys);
  }
  WEFT_TRY(const auto record, state_->index.record(*ordinal));
  if (record.second != GraphRecord::kNone) return std::optional<bool>();
  for (const auto& key : keys) {
    WEFT_TRY(const auto last, state_->index.last(HistoryKind::touch, key, *ordinal));
    if (last == *ordinal) return std::optional(true);
  }
  return std::optional(false);
}

Result<bool> History::is_on_first_parent_line(const ChangeId& ancestor, const ChangeId& descendant) const {
  if (ancestor == descendant) return true;
  WEFT_TRY(const auto above, state_->find(ancestor));
  if (!above) return false;
  WEFT_TRY(const auto target, state_->index.record(*above));
  ChangeId at = descendant;
  for (;;) {  // down to where the index begins, or until the ancestor would have been met
    WEFT_TRY(const auto ordinal, state_->find(at));
    if (ordinal) {
      WEFT_TRY(const auto from, state_->index.record(*ordinal));
      if (from.depth < target.depth) return false;
      WEFT_TRY(const Ordinal there, state_->index.level_ancestor(*ordinal, target.depth));
      return there == *above;
    }
    WEFT_TRY(const auto summary, state_->summary(at));
    if (summary.lamport <= target.lamport || summary.parents.empty()) return false;
    at = summary.parents[0];
  }
}

}  // namespace weft::store
