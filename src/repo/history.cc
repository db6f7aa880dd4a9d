#include "repo/history.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <utility>

#include "object/memory_objects.h"
#include "tree/tree.h"

namespace weft::repo {
namespace {

/// A key that is greater than those of all ancestors (H-2).
struct Queued {
  std::int64_t rank;  ///< shown time where that is the order, else zero
  std::uint64_t lamport;
  ChangeId id;
  auto operator<=>(const Queued&) const = default;
};
enum class Rank : std::uint8_t { lamport, time };

/// Meets every change once, after all its descendants in the walk (H-2), with the marks its children passed down to it.
/// Nothing can reach a change again once it was met, so only the frontier is kept in memory.
class Descent {
 public:
  struct Met {
    ChangeId id;
    object::ChangeSummary summary;
    std::uint8_t marks;
  };

  /// `closing`: marks of changes that no longer matter to open().
  Descent(const HistorySource& source, std::uint8_t closing, Rank rank = Rank::lamport)
      : source_(source), closing_(closing), rank_(rank) {}

  Result<void> add(const ChangeId& id, std::uint8_t marks) { return add(id, marks, std::nullopt); }

  /// Passes `marks` on to the parents of a change that was met.
  Result<void> descend(const Met& met, std::uint8_t marks) {
    for (const auto& parent : met.summary.parents) {
      WEFT_DO(add(parent, marks, Queued{0, met.summary.lamport, met.id}));
    }
    return {};
  }

  /// Whether a change still to be met has `mark`, and none of the closing ones.
  bool open(std::uint8_t mark) const { return open_[mark - 1] > 0; }
  bool empty() const { return heap_.empty(); }
  std::uint64_t next_lamport() const { return heap_.top().lamport; }

  Met next() {
    const ChangeId id = heap_.top().id;
    heap_.pop();
    const auto found = nodes_.find(id);
    Met met{id, std::move(found->second.summary), found->second.marks};
    nodes_.erase(found);
    count(met.marks, -1);
    return met;
  }

 private:
  struct Node {
    object::ChangeSummary summary;
    std::uint8_t marks = 0;
  };

  Result<void> add(const ChangeId& id, std::uint8_t marks, const std::optional<Queued>& child) {
    auto found = nodes_.find(id);
    if (found == nodes_.end()) {
      WEFT_TRY(auto summary, source_.summary(id));
      std::int64_t rank = 0;
      if (rank_ == Rank::time) {
        WEFT_TRY(rank, source_.shown_ns(id));
      }
      heap_.push({rank, summary.lamport, id});
      found = nodes_.emplace(id, Node{std::move(summary), 0}).first;
    }
    Node& node = found->second;
    if (child && node.summary.lamport >= child->lamport) {
      return damaged("change " + child->id.hex() + " claims to be no later than its parent " + id.hex(),
                     "run `weft verify --deep`");
    }
    count(node.marks, -1);
    node.marks |= marks;
    count(node.marks, +1);
    return {};
  }

  void count(std::uint8_t marks, std::ptrdiff_t by) {
    if ((marks & closing_) != 0) return;
    for (std::uint8_t mark = 1; mark <= 2; ++mark) {
      if ((marks & mark) != 0) open_[mark - 1] += by;
    }
  }

  const HistorySource& source_;
  const std::uint8_t closing_;
  const Rank rank_;
  std::unordered_map<ChangeId, Node, IdHash> nodes_;
  std::priority_queue<Queued> heap_;
  std::array<std::ptrdiff_t, 2> open_{};  ///< for the marks 1 and 2
};

constexpr std::uint8_t kOfA = 1, kOfB = 2, kBelowCommon = 4;
constexpr std::uint8_t kWanted = 1, kHidden = 2;

}  // namespace

namespace {

/// What a recorded change claims (DESIGN 5): its tree is the fold of its ops on its parent's, its delta id that of
/// them. Of merges and changes without ops there is nothing to fold.
Result<std::optional<std::string>> check_claims(const object::ObjectReader& reader, const object::Change& change,
                                                const DeltaId& delta) {
  if (change.form != object::OpsForm::recorded || change.parents.size() > 1) return std::optional<std::string>{};
  ObjectId base = object::empty_tree_id();
  if (!change.parents.empty()) {
    WEFT_TRY(const Bytes bytes, reader.read(object::ObjectKind::change, change.parents.front()));
    WEFT_TRY(const auto parent, object::decode_change_summary(bytes));
    base = parent.tree;
  }
  object::MemoryObjects scratch;
  const auto folded = tree::apply_ops(reader, scratch, base, change.ops, &change.tree);
  if (!folded) {
    if (folded.error().code != Code::invalid) return folded.error();
    return std::optional("its ops do not apply to its parent: " + folded.error().message);
  }
  if (*folded != change.tree) {
    return std::optional("its tree is " + change.tree.hex() + ", its ops give " + folded->hex());
  }
  if (delta.is_zero()) return std::optional<std::string>{};
  WEFT_TRY(const DeltaId recomputed, tree::change_delta_id(reader, base, change));
  if (recomputed == delta) return std::optional<std::string>{};
  return std::optional("it is found by the delta id " + delta.hex() + ", which is not that of its ops");
}

}  // namespace

store::StoreHooks store_hooks() {
  store::StoreHooks hooks;
  hooks.touches = [](const object::ObjectReader& reader,
                     const object::Change& change) -> Result<std::vector<store::TouchKey>> {
    WEFT_TRY(const auto touched, tree::touched(reader, change));
    std::vector<store::TouchKey> keys;
    keys.reserve(touched.nodes.size() + touched.places.size());
    for (const auto& node : touched.nodes) keys.push_back(store::node_key(node));
    for (const auto& place : touched.places) keys.push_back(store::place_key(place.directory, place.name));
    return keys;
  };
  hooks.check_change = check_claims;
  return hooks;
}

Result<const store::History*> SnapshotHistory::history() const {
  if (!history_) {
    WEFT_TRY(auto opened, store::History::open(snapshot_));
    history_.emplace(std::move(opened));
  }
  return &*history_;
}

Result<object::ChangeSummary> SnapshotHistory::summary(const ChangeId& id) const {
  WEFT_TRY(const store::History* const history, this->history());
  return history->summary(id);
}

Result<std::int64_t> SnapshotHistory::shown_ns(const ChangeId& id) const {
  WEFT_TRY(const store::History* const history, this->history());
  return history->shown_ns(id);
}

Result<bool> SnapshotHistory::is_on_first_parent_line(const ChangeId& ancestor, const ChangeId& descendant) const {
  WEFT_TRY(const store::History* const history, this->history());
  return history->is_on_first_parent_line(ancestor, descendant);
}

Result<bool> is_ancestor(const HistorySource& source, const Version& ancestor, const Version& descendant) {
  std::vector<ChangeId> wanted;
  std::set_difference(ancestor.changes.begin(), ancestor.changes.end(), descendant.changes.begin(),
                      descendant.changes.end(), std::back_inserter(wanted));
  for (auto id = wanted.begin(); id != wanted.end();) {
    bool found = false;
    for (const auto& below : descendant.changes) {
      WEFT_TRY(const bool on_line, source.is_on_first_parent_line(*id, below));
      found = found || on_line;
    }
    id = found ? wanted.erase(id) : id + 1;
  }
  if (wanted.empty()) return true;
  std::uint64_t floor = UINT64_MAX;
  for (const auto& id : wanted) {
    WEFT_TRY(const auto summary, source.summary(id));
    floor = std::min(floor, summary.lamport);
  }
  Descent descent(source, 0);
  for (const auto& id : descendant.changes) WEFT_DO(descent.add(id, kOfA));
  while (!descent.empty() && descent.next_lamport() >= floor) {
    const auto met = descent.next();
    if (const auto found = std::find(wanted.begin(), wanted.end(), met.id); found != wanted.end()) {
      wanted.erase(found);
      if (wanted.empty()) return true;
    }
    if (met.summary.lamport > floor) WEFT_DO(descent.descend(met, kOfA));
  }
  return false;
}

Result<bool> is_ancestor(const store::Snapshot& snapshot, const Version& ancestor, const Version& descendant) {
  return is_ancestor(SnapshotHistory(snapshot), ancestor, descendant);
}

Result<Version> merge_bases(const HistorySource& source, const Version& a, const Version& b) {
  if (a == b) return a;
  Descent descent(source, kBelowCommon);
  for (const auto& id : a.changes) WEFT_DO(descent.add(id, kOfA));
  for (const auto& id : b.changes) WEFT_DO(descent.add(id, kOfB));
  std::vector<ChangeId> bases;
  // Once one side has nothing open, whatever becomes common is below a common ancestor.
  while (descent.open(kOfA) && descent.open(kOfB)) {
    const auto met = descent.next();
    const std::uint8_t marks = met.marks;
    const bool common = (marks & (kOfA | kOfB)) == (kOfA | kOfB);
    if (common && (marks & kBelowCommon) == 0 && bases.size() < object::kMaxVersionChanges) bases.push_back(met.id);
    WEFT_DO(descent.descend(met, common ? static_cast<std::uint8_t>(marks | kBelowCommon) : marks));
  }
  return Version::of(std::move(bases));
}

Result<Version> merge_bases(const store::Snapshot& snapshot, const Version& a, const Version& b) {
  return merge_bases(SnapshotHistory(snapshot), a, b);
}

Result<Version> maximal(const HistorySource& source, std::vector<ChangeId> changes) {
  Version all = Version::of(std::move(changes));
  if (all.changes.size() < 2) return all;
  std::uint64_t floor = UINT64_MAX;
  Descent descent(source, 0);
  for (const auto& id : all.changes) {
    WEFT_TRY(const auto summary, source.summary(id));
    floor = std::min(floor, summary.lamport);
    WEFT_DO(descent.add(id, kOfA));
  }
  // kOfB: reached as somebody's parent.
  std::vector<ChangeId> greatest;
  while (!descent.empty() && descent.next_lamport() >= floor) {
    const auto met = descent.next();
    if ((met.marks & kOfB) == 0) greatest.push_back(met.id);
    if (met.summary.lamport > floor) WEFT_DO(descent.descend(met, kOfB));
  }
  if (greatest.size() > object::kMaxVersionChanges) {
    return make_error(Code::invalid, "a version holds at most " + std::to_string(object::kMaxVersionChanges) +
                                         " changes, not " + std::to_string(greatest.size()));
  }
  return Version::of(std::move(greatest));
}

Result<Version> maximal(const store::Snapshot& snapshot, std::vector<ChangeId> changes) {
  return maximal(SnapshotHistory(snapshot), std::move(changes));
}

// The walk runs two heads over the history. The first explores: a Descent that counts, for each change, its children in
// the walk, and learns what is hidden. The second yields from the changes that have no child left to yield; before it
// trusts such a count it lets the first explore down to that change, after which no further child can turn up (H-2).
struct HistoryWalk::State {
  struct Node {
    WalkStep step;
    std::size_t children = 0;  ///< in the walk, found so far, not yet yielded
    bool explored = false;
  };
  struct Ready {
    std::int64_t turn;  ///< in which it was pushed: the last goes first
    Queued queued;
    auto operator<=>(const Ready&) const = default;
  };

  State(const HistorySource& source_in, WalkOrder order_in)
      : source(source_in),
        order(order_in),
        descent(source_in, kHidden, order_in == WalkOrder::time ? Rank::time : Rank::lamport) {}

  const HistorySource& source;
  const WalkOrder order;
  Descent descent;
  std::vector<ChangeId> starts;
  bool started = false;
  std::unordered_map<ChangeId, Node, IdHash> nodes;  ///< wanted, not yet yielded; only for topological
  std::priority_queue<Ready> ready;
  std::int64_t turn = 0;

  Result<void> make_ready(const ChangeId& id) {
    WEFT_TRY(const auto summary, source.summary(id));
    ready.push({++turn, {0, summary.lamport, id}});
    return {};
  }

  /// Meets one change.
  Result<void> explore() {
    auto met = descent.next();
    if ((met.marks & kHidden) != 0) {
      nodes.erase(met.id);
      return descent.descend(met, kHidden);
    }
    WEFT_DO(descent.descend(met, kWanted));
    for (const auto& parent : met.summary.parents) ++nodes[parent].children;
    Node& node = nodes[met.id];
    node.explored = true;
    node.step = {met.id, std::move(met.summary.parents), met.summary.lamport, met.summary.tree};
    return {};
  }

  /// Causal and time: the heap's own order.
  Result<std::optional<WalkStep>> next_met() {
    while (descent.open(kWanted)) {
      auto met = descent.next();
      const bool hidden = (met.marks & kHidden) != 0;
      WEFT_DO(descent.descend(met, hidden ? kHidden : kWanted));
      if (!hidden) {
        return std::optional(WalkStep{met.id, std::move(met.summary.parents), met.summary.lamport, met.summary.tree});
      }
    }
    return std::optional<WalkStep>();
  }

  Result<std::optional<WalkStep>> next_ready() {
    while (!ready.empty()) {
      const Queued candidate = ready.top().queued;
      ready.pop();
      while (!descent.empty() && descent.next_lamport() >= candidate.lamport) {
        WEFT_DO(explore());
      }
      const auto found = nodes.find(candidate.id);
      // Hidden, yielded, or a child has turned up that goes first (and will bring it back).
      if (found == nodes.end() || !found->second.explored || found->second.children > 0) continue;
      WalkStep step = std::move(found->second.step);
      nodes.erase(found);
      for (const auto& parent : step.parents) {
        const auto below = nodes.find(parent);
        if (below != nodes.end() && --below->second.children == 0) WEFT_DO(make_ready(parent));
      }
      return std::optional(std::move(step));
    }
    return std::optional<WalkStep>();
  }
};

HistoryWalk::HistoryWalk(const HistorySource& source, WalkOrder order)
    : state_(std::make_unique<State>(source, order)) {}
HistoryWalk::~HistoryWalk() = default;
HistoryWalk::HistoryWalk(HistoryWalk&&) noexcept = default;

Result<void> HistoryWalk::from(const Version& version) {
  WEFT_CHECK(!state_->started);
  for (const auto& id : version.changes) {
    WEFT_DO(state_->descent.add(id, kWanted));
    state_->starts.push_back(id);
  }
  return {};
}

Result<void> HistoryWalk::without(const Version& version) {
  WEFT_CHECK(!state_->started);
  for (const auto& id : version.changes) WEFT_DO(state_->descent.add(id, kHidden));
  return {};
}

Result<std::optional<WalkStep>> HistoryWalk::next() {
  if (!state_->started) {
    state_->started = true;
    if (state_->order == WalkOrder::topological) {
      // Backwards, so that the starting point named first is the last pushed and goes first.
      for (auto id = state_->starts.rbegin(); id != state_->starts.rend(); ++id) WEFT_DO(state_->make_ready(*id));
    }
  }
  return state_->order == WalkOrder::topological ? state_->next_ready() : state_->next_met();
}

}  // namespace weft::repo
