// verify's part about the history index (history_index.h): nothing in it is truth, but a wrong entry would hide
// history.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/history.h"
#include "store/history_index.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

constexpr std::string_view kAffected = "log, children and ancestors; nothing recorded";
constexpr std::string_view kAdvice = "run `weft repair`: it is rebuilt from the log";

class HistoryVerifier {
 public:
  HistoryVerifier(Store::State& store, const Snapshot& snapshot, const std::function<void(Finding)>& report)
      : store_(store), snapshot_(snapshot), report_(report) {}

  Result<void> run(bool deep) {
    const std::string directory = store_.index.directory();
    const auto bytes = read_file(store_.env.fs, join_path(directory, kHistoryManifestName), 64u << 10);
    if (!bytes) {
      if (bytes.error().code == Code::not_found) return {};  // none yet
      return bytes.error();
    }
    const auto manifest = decode_history_manifest(*bytes);
    if (!manifest) {
      add(manifest.error().message);
      return {};
    }
    WEFT_TRY(const auto index,
             HistoryIndex::open(store_.env.fs, directory, [&] { return store_.log.durable().position; }));
    if (index.manifest().records != manifest->records) {
      // Only where the log lost bytes is it in order to ignore the index.
      if (!store_.damage && index.manifest().records < manifest->records)
        add("the history index names files that are not there, or damaged");
      return {};
    }
    for (const auto& name : manifest->runs) {
      const std::string path = join_path(directory, history_file_name(name.number, "touches"));
      const auto run = HistoryRun::open(store_.env.fs, path, true);
      // Gone: an extension has swallowed it since.
      if (!run && run.error().code != Code::not_found) add(run.error().message);
    }
    for (Ordinal ordinal = 0; ordinal < manifest->records; ++ordinal) {
      const auto record = index.record(ordinal);
      if (!record) {
        add(record.error().message);
        return {};
      }
      if (deep) WEFT_DO(compare(index, ordinal, *record));
    }
    if (deep) WEFT_DO(count(index));
    return {};
  }

 private:
  void add(std::string what) { report_({std::move(what), std::string(kAffected), std::string(kAdvice)}); }

  Result<void> compare(const HistoryIndex& index, Ordinal ordinal, const GraphRecord& record) {
    const auto wrong = [&](std::string_view what) {
      add(fmt::format("the history index has a wrong {} of change {}", what, record.id.hex()));
      return Result<void>();
    };
    const auto change = snapshot_.change(record.id);
    if (!change) {
      // What is damaged is reported elsewhere. Of what a gc has dropped the record stays: nothing that is there has it
      // as an ancestor.
      whole_ = false;
      const bool unknown = change.error().code == Code::not_found && store_.log.durable().client[kCheckpoint] == 0;
      return unknown ? wrong("record: the store has no such change,") : Result<void>();
    }
    if (change->tree != record.tree || change->lamport != record.lamport) return wrong("record");
    std::int64_t shown_ns = change->committer.time.unix_ns;
    for (std::size_t i = 0; i < change->parents.size(); ++i) {
      WEFT_TRY(const auto parent, index.find(change->parents[i]));
      if (!parent || *parent >= ordinal) return wrong("parent");
      WEFT_TRY(const auto above, index.record(*parent));
      shown_ns = std::max(shown_ns, later_than(above.shown_ns));
      if (i == 0) {
        if (record.first != *parent || record.depth != above.depth + 1) return wrong("first parent");
        WEFT_TRY(const auto far, index.record(record.jump));
        WEFT_TRY(const Ordinal there, index.level_ancestor(record.first, std::min(far.depth, above.depth)));
        if (there != record.jump) return wrong("jump");
      }
      if (i == 1 && record.second != (change->parents.size() == 2 ? *parent : GraphRecord::kMore))
        return wrong("parent");
      WEFT_TRY(const auto child, index.last(HistoryKind::child, half_key(change->parents[i]), ordinal));
      if (child != ordinal) return wrong("parent's list of children, as it lacks that");
    }
    if (change->parents.empty() && record.first != GraphRecord::kNone) return wrong("parent");
    if (change->parents.size() == 1 && record.second != GraphRecord::kNone) return wrong("parent");
    if (shown_ns != record.shown_ns) return wrong("time");
    std::set<TouchKey> parents;
    for (const auto& parent : change->parents) parents.insert(half_key(parent));
    expected_[static_cast<std::size_t>(HistoryKind::child)] += parents.size();
    WEFT_TRY(const auto found, index.find(record.id));
    if (found != ordinal) return wrong("place");
    ++expected_[static_cast<std::size_t>(HistoryKind::id)];
    if (!store_.touches) {
      whole_ = false;
      return {};
    }
    const auto touches = store_.touches(snapshot_, *change);
    if (!touches) {
      whole_ = false;  // a tree is missing or damaged, which is reported where it is
      return {};
    }
    const std::set<TouchKey> unique(touches->begin(), touches->end());
    for (const auto& key : unique) {
      WEFT_TRY(const auto touching, index.last(HistoryKind::touch, key, ordinal));
      if (touching != ordinal) return wrong("list of what it touched, of which something is missing,");
    }
    expected_[static_cast<std::size_t>(HistoryKind::touch)] += unique.size();
    return {};
  }

  /// Everything that must be there was found: with equal numbers nothing else is there.
  Result<void> count(const HistoryIndex& index) {
    if (!whole_) return {};
    for (std::size_t kind = 0; kind < kHistoryKinds; ++kind) {
      WEFT_TRY(const std::uint64_t entries, index.count(static_cast<HistoryKind>(kind)));
      if (entries != expected_[kind]) {
        add(fmt::format("the history index has {} entries of kind {}, not {}", entries, kind, expected_[kind]));
      }
    }
    // What the index passed over without need would be read from itself for ever.
    const auto& durable = store_.log.durable();
    if (index.manifest().point.position < durable.client[kCheckpoint]) return {};  // counted as before the gc
    const std::uint64_t behind =
        durable.client[kChanges] - std::min(durable.client[kChanges], index.manifest().changes);
    std::uint64_t without = 0;
    WEFT_DO(snapshot_.for_each_object([&](ObjectKind kind, const ObjectId& id) -> Result<void> {
      if (kind != ObjectKind::change) return {};
      WEFT_TRY(const auto found, index.find(id));
      if (found) return {};
      // Of what has an ancestor that is lost there is no record.
      const auto summary = snapshot_.change_summary(id);
      for (std::size_t i = 0; summary && i < summary->parents.size(); ++i) {
        WEFT_TRY(const auto parent, index.find(summary->parents[i]));
        if (!parent) return {};
      }
      if (summary) ++without;
      return {};
    }));
    if (without > behind && !store_.damage) add(fmt::format("the history index lacks {} changes", without - behind));
    return {};
  }

  Store::State& store_;
  const Snapshot& snapshot_;
  const std::function<void(Finding)>& report_;
  std::array<std::uint64_t, kHistoryKinds> expected_{};
  bool whole_ = true;
};

}  // namespace

Result<void> verify_history(Store::State& store, const Snapshot& snapshot, bool deep,
                            const std::function<void(Finding)>& report) {
  return HistoryVerifier(store, snapshot, report).run(deep);
}

}  // namespace weft::store
