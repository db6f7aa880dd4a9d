#include "cli/log_source.h"

#include <algorithm>
#include <unordered_map>

#include "object/change_head.h"

namespace weft::cli {
namespace {

/// With --since the log ends after this many changes in a row that are too old: clocks differ, but not for so long.
constexpr std::size_t kTooOldInARow = 1000;

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool LogFilter::passes(const object::Change& change) const {
  const std::int64_t time = change.committer.time.unix_ns;
  if (since_ns && time < *since_ns) return false;
  if (until_ns && time > *until_ns) return false;
  if (!author.empty() &&
      lower_case(change.author.name + " <" + change.author.email + ">").find(author) == std::string::npos) {
    return false;
  }
  return grep.empty() || lower_case(change.message).find(grep) != std::string::npos;
}

LogSource::LogSource(const store::Snapshot& snapshot, repo::WalkOrder order, LogFilter filter,
                     std::vector<std::string> paths)
    : snapshot_(snapshot),
      history_(snapshot),
      order_(order),
      walk_(history_, order),
      filter_(std::move(filter)),
      paths_(std::move(paths)) {}

Result<void> LogSource::from(const object::Version& version) {
  starts_.push_back(version);
  return {};
}

Result<void> LogSource::without(const object::Version& version) {
  if (!version.empty()) something_left_out_ = true;
  return walk_.without(version);
}

const std::string* LogSource::missing_path() const {
  for (std::size_t at = 0; at < followers_.size(); ++at) {
    if (!followers_[at].found()) return &paths_[at];
  }
  return nullptr;
}

Result<void> LogSource::queue(const ChangeId& id) {
  WEFT_TRY(const auto summary, history_.summary(id));
  WEFT_TRY(const auto shown_ns, history_.shown_ns(id));
  queue_.insert({shown_ns, summary.lamport, id});
  return {};
}

Result<void> LogSource::begin() {
  begun_ = true;
  leaping_ = !paths_.empty() && !something_left_out_;
  if (!leaping_) {
    for (const auto& version : starts_) WEFT_DO(walk_.from(version));
  }
  const store::History* leaps = nullptr;
  if (leaping_) {
    WEFT_TRY(leaps, history_.history());
  }
  for (const auto& path : paths_) followers_.emplace_back(snapshot_, path, leaps);
  for (const auto& version : starts_) {
    for (const auto& id : version.changes) {
      if (followers_.empty()) continue;
      WEFT_TRY(const auto summary, history_.summary(id));
      for (auto& follower : followers_) {
        WEFT_TRY(const auto first, follower.start(id, summary.tree));
        if (!leaping_ || !first) continue;
        WEFT_DO(queue(*first));
        first_.push_back(*first);
      }
    }
  }
  if (leaping_ && order_ == repo::WalkOrder::topological) WEFT_DO(arrange());
  return {};
}

Result<std::optional<LogSource::Step>> LogSource::step() {
  if (!leaping_) {
    WEFT_TRY(auto met, walk_.next());
    if (!met) return std::optional<Step>();
    return std::optional(Step{met->id, std::move(met->parents), met->lamport, met->tree});
  }
  if (queue_.empty()) return std::optional<Step>();
  const Queued newest = *queue_.rbegin();
  queue_.erase(std::prev(queue_.end()));
  WEFT_TRY(auto summary, history_.summary(newest.id));
  return std::optional(Step{newest.id, std::move(summary.parents), summary.lamport, summary.tree});
}

Result<std::optional<LogEntry>> LogSource::next() {
  if (!begun_) WEFT_DO(begin());
  if (!leaping_ || order_ != repo::WalkOrder::topological) return next_entry();
  if (arranged_.empty()) return std::optional<LogEntry>();
  LogEntry entry = std::move(arranged_.front());
  arranged_.pop_front();
  return std::optional(std::move(entry));
}

Result<std::optional<LogEntry>> LogSource::next_entry() {
  for (;;) {
    if (!followers_.empty() && std::all_of(followers_.begin(), followers_.end(),
                                           [](const PathFollower& follower) { return follower.done(); })) {
      return std::optional<LogEntry>();
    }
    WEFT_TRY(auto at, step());
    if (!at) return std::optional<LogEntry>();
    LogEntry entry{at->id, {}, {}, followers_.empty()};
    if (followers_.empty()) entry.follow = at->parents;
    std::vector<PathFollower::Parent> parents;
    bool wanted = followers_.empty();
    for (auto& follower : followers_) {
      if (!follower.wants(at->id)) continue;
      if (parents.empty()) {
        for (const auto& parent : at->parents) {
          WEFT_TRY(const auto summary, history_.summary(parent));
          parents.push_back({parent, summary.tree});
        }
      }
      WEFT_TRY(auto verdict, follower.visit(at->id, at->tree, parents));
      if (!verdict) continue;
      wanted = true;
      if (verdict->shown) entry.shown = true;
      if (verdict->shown && !verdict->path.empty()) entry.paths.push_back(std::move(verdict->path));
      for (const auto& id : verdict->follow) {
        if (std::find(entry.follow.begin(), entry.follow.end(), id) == entry.follow.end()) entry.follow.push_back(id);
        if (leaping_) WEFT_DO(queue(id));
      }
    }
    if (!wanted) continue;
    if (leaping_ && order_ == repo::WalkOrder::topological) lamports_.emplace(at->id, at->lamport);
    if (entry.shown && !filter_.empty()) {
      WEFT_TRY(const auto change, object::read_change_head(snapshot_, entry.id));
      entry.shown = filter_.passes(change);
      const bool too_old = filter_.since_ns && change.committer.time.unix_ns < *filter_.since_ns;
      too_old_ = too_old ? too_old_ + 1 : 0;
      if (too_old_ > kTooOldInARow) return std::optional<LogEntry>();
    }
    return std::optional(std::move(entry));
  }
}

namespace {

/// The history that is left when only the entries count.
class EntryHistory final : public repo::HistorySource {
 public:
  void add(const ChangeId& id, std::vector<ChangeId> follow, std::uint64_t lamport) {
    summaries_.emplace(id, object::ChangeSummary{std::move(follow), lamport, {}});
  }
  bool has(const ChangeId& id) const { return summaries_.contains(id); }
  Result<object::ChangeSummary> summary(const ChangeId& id) const override { return summaries_.at(id); }
  Result<std::int64_t> shown_ns(const ChangeId&) const override { return 0; }

 private:
  std::unordered_map<ChangeId, object::ChangeSummary, IdHash> summaries_;
};

}  // namespace

Result<void> LogSource::arrange() {
  std::unordered_map<ChangeId, LogEntry, IdHash> entries;
  for (;;) {
    WEFT_TRY(auto entry, next_entry());
    if (!entry) break;
    const ChangeId id = entry->id;
    entries.emplace(id, *std::move(entry));
  }
  // The walk may have ended early (--since): what it did not come to is not followed either.
  EntryHistory history;
  for (auto& [id, entry] : entries) {
    std::erase_if(entry.follow, [&](const ChangeId& behind) { return !entries.contains(behind); });
    history.add(id, entry.follow, lamports_.at(id));
  }
  repo::HistoryWalk walk(history, order_);
  for (const auto& id : first_) {
    if (history.has(id)) WEFT_DO(walk.from(object::Version(id)));
  }
  for (;;) {
    WEFT_TRY(const auto met, walk.next());
    if (!met) return {};
    arranged_.push_back(std::move(entries.at(met->id)));
  }
}

std::vector<LogEntry> only_shown(std::vector<LogEntry> entries) {
  std::unordered_map<ChangeId, std::vector<ChangeId>, IdHash> nearest;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    std::vector<ChangeId> ancestors;
    for (const auto& parent : entry->follow) {
      const auto found = nearest.find(parent);
      if (found == nearest.end()) continue;
      for (const auto& id : found->second) {
        if (std::find(ancestors.begin(), ancestors.end(), id) == ancestors.end()) ancestors.push_back(id);
      }
    }
    nearest[entry->id] = entry->shown ? std::vector<ChangeId>{entry->id} : ancestors;
    entry->follow = std::move(ancestors);
  }
  std::erase_if(entries, [](const LogEntry& entry) { return !entry.shown; });
  return entries;
}

}  // namespace weft::cli
