#include "cli/log_source.h"

#include <algorithm>
#include <unordered_map>

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
      walk_(history_, order),
      filter_(std::move(filter)),
      paths_(std::move(paths)) {
  for (const auto& path : paths_) followers_.emplace_back(snapshot_, path);
}

Result<void> LogSource::from(const object::Version& version) {
  for (auto& follower : followers_) {
    for (const auto& id : version.changes) follower.start(id);
  }
  return walk_.from(version);
}

Result<void> LogSource::without(const object::Version& version) { return walk_.without(version); }

const std::string* LogSource::missing_path() const {
  for (std::size_t at = 0; at < followers_.size(); ++at) {
    if (!followers_[at].found()) return &paths_[at];
  }
  return nullptr;
}

Result<std::optional<LogEntry>> LogSource::next() {
  for (;;) {
    if (!followers_.empty() && std::all_of(followers_.begin(), followers_.end(),
                                           [](const PathFollower& follower) { return follower.done(); })) {
      return std::optional<LogEntry>();
    }
    WEFT_TRY(auto step, walk_.next());
    if (!step) return std::optional<LogEntry>();
    LogEntry entry{step->id, {}, {}, followers_.empty()};
    if (followers_.empty()) entry.follow = step->parents;
    std::vector<PathFollower::Parent> parents;
    bool wanted = followers_.empty();
    for (auto& follower : followers_) {
      if (!follower.wants(step->id)) continue;
      if (parents.empty()) {
        for (const auto& parent : step->parents) {
          WEFT_TRY(const auto summary, history_.summary(parent));
          parents.push_back({parent, summary.tree});
        }
      }
      WEFT_TRY(auto verdict, follower.visit(step->id, step->tree, parents));
      if (!verdict) continue;
      wanted = true;
      if (verdict->shown) entry.shown = true;
      if (verdict->shown && !verdict->path.empty()) entry.paths.push_back(std::move(verdict->path));
      for (const auto& id : verdict->follow) {
        if (std::find(entry.follow.begin(), entry.follow.end(), id) == entry.follow.end()) entry.follow.push_back(id);
      }
    }
    if (!wanted) continue;
    if (entry.shown && !filter_.empty()) {
      WEFT_TRY(const auto change, snapshot_.change(entry.id));
      entry.shown = filter_.passes(change);
      const bool too_old = filter_.since_ns && change.committer.time.unix_ns < *filter_.since_ns;
      too_old_ = too_old ? too_old_ + 1 : 0;
      if (too_old_ > kTooOldInARow) return std::optional<LogEntry>();
    }
    return std::optional(std::move(entry));
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
