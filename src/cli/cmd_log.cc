// log: history, newest first; as a graph; of one path; filtered.

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "cli/dates.h"
#include "cli/graph.h"
#include "cli/output.h"
#include "cli/patch.h"
#include "cli/path_follower.h"
#include "cli/text.h"
#include "cli/words.h"
#include "repo/history.h"

namespace weft::cli {
namespace {

struct LogOptions {
  TypedWords typed;
  std::optional<std::int64_t> count;
  bool graph = false, oneline = false, all = false, patch = false, stat = false;
  std::optional<std::string> since, until, author;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct Filter {
  std::optional<std::int64_t> since_ns, until_ns;
  std::string author;  ///< in lower case

  bool empty() const { return !since_ns && !until_ns && author.empty(); }
  bool passes(const object::Change& change) const {
    const std::int64_t time = change.committer.time.unix_ns;
    if (since_ns && time < *since_ns) return false;
    if (until_ns && time > *until_ns) return false;
    return author.empty() ||
           lower(change.author.name + " <" + change.author.email + ">").find(author) != std::string::npos;
  }
};

/// With --since the log ends after this many changes in a row that are too old: clocks differ, but not for so long.
constexpr std::size_t kTooOldInARow = 1000;

/// One change of the log.
struct Entry {
  ChangeId id;
  std::vector<ChangeId> follow;  ///< parents whose past belongs to the log
  std::string path;              ///< with a PATH: where it was
  bool shown = false;
};

/// Yields what is followed, with what is shown marked.
class Source {
 public:
  Source(const store::Snapshot& snapshot, repo::WalkOrder order, Filter filter, std::optional<std::string> path)
      : snapshot_(snapshot), history_(snapshot), walk_(history_, order), filter_(std::move(filter)) {
    if (path) follower_.emplace(snapshot_, std::move(*path));
  }

  Result<void> from(const object::Version& version) {
    if (follower_) {
      for (const auto& id : version.changes) follower_->start(id);
    }
    return walk_.from(version);
  }
  Result<void> without(const object::Version& version) { return walk_.without(version); }
  bool path_was_found() const { return !follower_ || follower_->found(); }

  Result<std::optional<Entry>> next() {
    for (;;) {
      if (follower_ && follower_->done()) return std::optional<Entry>();
      WEFT_TRY(auto step, walk_.next());
      if (!step) return std::optional<Entry>();
      Entry entry{step->id, step->parents, {}, true};
      if (follower_) {
        if (!follower_->wants(step->id)) continue;
        std::vector<PathFollower::Parent> parents;
        for (const auto& parent : step->parents) {
          WEFT_TRY(const auto summary, history_.summary(parent));
          parents.push_back({parent, summary.tree});
        }
        WEFT_TRY(auto verdict, follower_->visit(step->id, step->tree, parents));
        if (!verdict) continue;
        entry.shown = verdict->shown;
        entry.follow = std::move(verdict->follow);
        entry.path = std::move(verdict->path);
      }
      if (entry.shown && !filter_.empty()) {
        WEFT_TRY(const auto change, snapshot_.change(entry.id));
        entry.shown = filter_.passes(change);
        const bool too_old = filter_.since_ns && change.committer.time.unix_ns < *filter_.since_ns;
        too_old_ = too_old ? too_old_ + 1 : 0;
        if (too_old_ > kTooOldInARow) return std::optional<Entry>();
      }
      return std::optional(std::move(entry));
    }
  }

 private:
  store::Snapshot snapshot_;
  repo::SnapshotHistory history_;
  repo::HistoryWalk walk_;
  Filter filter_;
  std::optional<PathFollower> follower_;
  std::size_t too_old_ = 0;
};

/// Leaves only what is shown and draws edges past the rest: each change's `follow` becomes its nearest shown ancestors.
std::vector<Entry> only_shown(std::vector<Entry> entries) {
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
  std::erase_if(entries, [](const Entry& entry) { return !entry.shown; });
  return entries;
}

class Printer {
 public:
  Printer(Invocation& invocation, const store::Snapshot& snapshot, RefNames names, const LogOptions& options)
      : invocation_(invocation),
        snapshot_(snapshot),
        names_(std::move(names)),
        options_(options),
        list_(invocation, "changes"),
        graph_([&invocation](std::size_t column, std::string_view text) {
          static constexpr Style kColors[] = {Style::red,  Style::green,   Style::yellow,
                                              Style::blue, Style::magenta, Style::cyan};
          return text == "*" ? std::string(text) : paint(invocation, kColors[column % std::size(kColors)], text);
        }) {}

  Result<void> print_entry(const Entry& entry) {
    WEFT_TRY(const auto change, snapshot_.change(entry.id));
    if (wants_json(invocation_)) {
      Json json = json_change(entry.id, change, names_);
      if (!entry.path.empty()) json.set("path", entry.path);
      list_.add(json);
      return {};
    }
    std::string text;
    if (options_.oneline || (options_.graph && !invocation_.common.verbose && !options_.patch && !options_.stat)) {
      WEFT_TRY(text, change_line(invocation_, snapshot_, entry.id, change, names_));
      if (options_.graph && !options_.oneline) {
        text +=
            paint(invocation_, Style::dim,
                  fmt::format("  {}, {}", printable(change.author.name), date_text(change.author.time).substr(0, 16)));
      }
      text += "\n";
    } else {
      text = change_text(invocation_, snapshot_, entry.id, change, names_);
      if (!options_.graph && any_) text.insert(0, "\n");
      if (options_.graph) text += "\n";
    }
    any_ = true;
    // As in git: what a merge brought in is shown by the changes it merged. `show` compares it with its first parent.
    if ((options_.patch || options_.stat) && change.parents.size() < 2) {
      PatchOptions patch;
      patch.form = options_.patch ? PatchOptions::Form::patch : PatchOptions::Form::stat;
      if (!entry.path.empty()) patch.paths = {entry.path};
      WEFT_TRY(const auto shown, change_patch(invocation_, snapshot_, change, patch));
      if (!shown.empty()) text += "\n" + shown;
    }
    print(invocation_, options_.graph ? graph_.entry(entry.id, entry.follow, text) : text);
    return {};
  }

  void finish() {
    if (wants_json(invocation_)) list_.finish();
  }

 private:
  Invocation& invocation_;
  const store::Snapshot& snapshot_;
  RefNames names_;
  const LogOptions& options_;
  JsonList list_;
  Graph graph_;
  bool any_ = false;
};

Result<std::optional<std::int64_t>> date_option(Invocation& invocation, const std::optional<std::string>& text) {
  if (!text) return std::optional<std::int64_t>();
  WEFT_TRY(const auto ns, parse_date(*text, invocation.context.env.clock));
  return std::optional(ns);
}

/// Where the log begins and what it leaves out.
Result<void> add_starts(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                        const LogOptions& options, const Words& words, Source& source) {
  bool any = false;
  for (std::size_t at = 0; at < words.versions.size(); ++at) {
    const auto& named = words.versions[at];
    if (named.since_fork) {  // what either side has alone
      WEFT_TRY(const auto bases,
               repo::merge_bases(snapshot, named.resolved.version, words.versions[at + 1].resolved.version));
      WEFT_DO(source.from(named.resolved.version));
      WEFT_DO(source.without(bases));
    } else if (named.range_start) {
      WEFT_DO(source.without(named.resolved.version));
    } else {
      WEFT_DO(source.from(named.resolved.version));
      any = true;
    }
  }
  if (options.all) {
    // The names that mean most go first: their lines are drawn leftmost.
    if (repository.workspace()) {
      WEFT_DO(source.from(repository.workspace()->head));
    }
    WEFT_TRY(const auto refs, snapshot.refs());
    for (const auto& ref : refs) {
      if (ref.name.starts_with("kept/") || ref.name.starts_with("rescue/")) continue;
      WEFT_DO(source.from(ref.value.version));
    }
    any = true;
  }
  if (!any) {
    WEFT_TRY(const auto head, resolve(invocation, repository, snapshot, "@"));
    WEFT_DO(source.from(head.version));
  }
  return {};
}

}  // namespace

Result<int> cmd_log(Invocation& invocation) {
  LogOptions log;
  Options options("log", "Shows history, newest first: of the workspace's head, or of the versions given.");
  log.typed.declare(options, "VERSION|PATH",
                    "where to begin (`A..B`: what B has and A has not; `A...B`: what only one has); a path");
  options.integer("-n,--max-count", log.count, "N", "at most N changes");
  options.flag("-g,--graph", log.graph, "draw the lines of history; one line a change unless -v");
  options.flag("--oneline", log.oneline, "one line a change");
  options.flag("-a,--all", log.all, "begin at every ref");
  options.value("--since", log.since, "DATE", "only changes recorded then or later (`2026-11-30`, `2 days ago`)");
  options.value("--until", log.until, "DATE", "only changes recorded then or earlier");
  options.value("--author", log.author, "TEXT", "only changes whose `Name <email>` has TEXT in it, in any case");
  options.flag("-p,--patch", log.patch, "with what each change did");
  options.flag("--stat", log.stat, "with how much each change did");
  options.footer(
      "A path is followed through renames and moves. Merges that took it unchanged from one side are left out, and\n"
      "only that side is followed.");
  WEFT_DO(options.parse(invocation));
  if (log.count && *log.count < 0) {
    return make_error(Code::usage, "option -n needs a number that is not negative", "run `weft help log`");
  }

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto words, sort_words(invocation, repository, snapshot, log.typed));
  if (words.paths.size() > 1) {
    return make_error(Code::usage, "`weft log` follows one path at a time", "run it once for each path");
  }
  Filter filter;
  WEFT_TRY(filter.since_ns, date_option(invocation, log.since));
  WEFT_TRY(filter.until_ns, date_option(invocation, log.until));
  if (log.author) filter.author = lower(*log.author);
  std::optional<std::string> path;
  if (!words.paths.empty() && !words.paths[0].empty()) path = words.paths[0];

  const bool rewrite = log.graph && (path || !filter.empty());
  Source source(snapshot, log.graph ? repo::WalkOrder::topological : repo::WalkOrder::time, std::move(filter), path);
  WEFT_DO(add_starts(invocation, repository, snapshot, log, words, source));
  WEFT_TRY(auto names, ref_names(repository, snapshot));
  page(invocation);
  Printer printer(invocation, snapshot, std::move(names), log);

  const auto limit = log.count ? static_cast<std::uint64_t>(*log.count) : UINT64_MAX;
  std::uint64_t shown = 0;
  if (rewrite) {
    std::vector<Entry> entries;
    for (;;) {
      WEFT_TRY(auto entry, source.next());
      if (!entry) break;
      entries.push_back(std::move(*entry));
    }
    for (const auto& entry : only_shown(std::move(entries))) {
      if (shown == limit) break;
      WEFT_DO(printer.print_entry(entry));
      ++shown;
    }
  } else {
    while (shown < limit && !output_is_unwanted(invocation)) {
      WEFT_TRY(const auto entry, source.next());
      if (!entry) break;
      if (!entry->shown) continue;
      WEFT_DO(printer.print_entry(*entry));
      ++shown;
    }
  }
  if (shown == 0 && limit > 0 && !source.path_was_found()) {
    return make_error(Code::not_found, "no change in this history has a path " + quoted_always(*path),
                      "`weft log --all -- PATH` looks at every ref");
  }
  printer.finish();
  if (shown == 0 && limit > 0) notice(invocation, "no changes to show");
  return 0;
}

}  // namespace weft::cli
