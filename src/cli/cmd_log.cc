// log: history, newest first; as a graph; of paths; filtered. What it walks: log_source.h; how it shows: log_view.h.

#include <algorithm>

#include "cli/dates.h"
#include "cli/log_related.h"
#include "cli/log_view.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/words.h"
#include "repo/history.h"

namespace weft::cli {
namespace {

struct LogOptions {
  TypedWords typed;
  std::optional<std::int64_t> count;
  bool all = false, no_graph = false, reverse = false, follow = false;
  LogView view;
  LogRelation relation;
  PatchFlags flags;
  std::optional<std::string> since, until, author, grep, format, date;
};

Result<std::optional<std::int64_t>> date_option(Invocation& invocation, const std::optional<std::string>& text) {
  if (!text) return std::optional<std::int64_t>();
  WEFT_TRY(const auto ns, parse_date(*text, invocation.context.env.clock));
  return std::optional(ns);
}

/// Where the log begins and what it leaves out.
Result<void> add_starts(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                        const LogOptions& options, const Words& words, LogSource& source) {
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

/// What the options say about showing; `log.view` filled in.
Result<void> settle_view(Invocation& invocation, LogOptions& log) {
  if (log.count && *log.count < 0) {
    return make_error(Code::usage, "option -n needs a number that is not negative", "run `weft help log`");
  }
  if (log.view.graph && log.reverse) {
    return make_error(Code::usage, "--graph and --reverse exclude each other", "leave out one of them");
  }
  const bool plain = log.no_graph || log.reverse || wants_json(invocation);
  if (!plain && !log.view.graph) log.view.graph = settings(invocation).boolean("ui.log-graph");
  if (log.no_graph) log.view.graph = false;
  if (log.format) {
    WEFT_TRY(log.view.format, ChangeFormat::parse(*log.format));
  }
  if (log.date) {
    WEFT_TRY(invocation.look->date_format, DateFormat::parse(*log.date));
  }
  if (log.flags.any()) {
    WEFT_TRY(log.view.patch, log.flags.options(invocation));
  }
  return {};
}

/// Entries that are known already; at most `limit` of those to be shown.
Result<int> print_all(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                      LogOptions log, std::vector<LogEntry> entries, std::uint64_t limit) {
  std::erase_if(entries, [](const LogEntry& entry) { return !entry.shown; });
  if (entries.size() > limit) entries.resize(static_cast<std::size_t>(limit));
  WEFT_TRY(auto names, ref_names(repository, snapshot));
  page(invocation);
  LogPrinter printer(invocation, snapshot, std::move(names), std::move(log.view));
  for (const auto& entry : entries) {
    if (output_is_unwanted(invocation)) break;
    WEFT_DO(printer.print_entry(entry));
  }
  printer.finish();
  if (entries.empty() && limit > 0) notice(invocation, "no changes to show");
  return 0;
}

}  // namespace

Result<int> cmd_log(Invocation& invocation) {
  LogOptions log;
  Options options("log", "Shows history, newest first: of the workspace's head, or of the versions given.");
  log.typed.declare(options, "VERSION|PATH",
                    "where to begin (`A..B`: what B has and A has not; `A...B`: what only one has); paths");
  options.integer("-n,--max-count", log.count, "N", "at most N changes");
  options.flag("-g,--graph", log.view.graph, "draw the lines of history; one line a change unless -v");
  options.flag("--no-graph", log.no_graph, "no graph, whatever `ui.log-graph` says");
  options.flag("--oneline", log.view.oneline, "one line a change");
  options.flag("-a,--all", log.all, "begin at every ref");
  options.flag("--reverse", log.reverse, "oldest first");
  options.value("--since", log.since, "DATE", "only changes recorded then or later (`2026-11-30`, `2 days ago`)");
  options.value("--until", log.until, "DATE", "only changes recorded then or earlier");
  options.value("--author", log.author, "TEXT", "only changes whose `Name <email>` has TEXT in it, in any case");
  options.value("--grep", log.grep, "TEXT", "only changes whose message has TEXT in it, in any case");
  options.value("--same-as", log.relation.same_as, "VERSION",
                "only changes that do what this one does: the same patch recorded twice; also `delta:ID`");
  options.value("--children-of", log.relation.children_of, "VERSION", "only changes made directly on top of this one");
  options.value("-T,--format", log.format, "FORMAT", "how a change is shown, see below");
  options.value("--date", log.date, "FORMAT", "iso, local, relative, short, unix, or a pattern as in `%Y-%m-%d`");
  log.flags.declare(options);
  options.flag("-m", log.view.each_parent, "with -p and the like: merges, too, compared with each parent");
  options.flag("--follow", log.follow, "no effect: paths are always followed");
  options.footer(
      "A path is followed through renames and moves. Merges that took it unchanged from one side are left out, and\n"
      "only that side is followed.\n\n"
      "--same-as knows what was recorded by weft, on any base and in any workspace; merges and what was imported from\n"
      "git are not found by what they do.\n\n"
      "FORMAT is oneline, short, medium, full, reference, or text with placeholders:\n"
      "  %H %h  id, short id                 %an %ae %ad  author: name, e-mail, date\n"
      "  %P %p  parents                      %cn %ce %cd  committer\n"
      "  %T %t  tree                         %ar %at %as %aI  date as `2 days ago`, seconds, day, ISO 8601\n"
      "  %s %b %B  subject, body, message    %D %d  refs, refs in \" (...)\"\n"
      "  %G  the git commit it came from     %A %J %l  agent, job, Lamport time\n"
      "  %n %% %xHH  newline, %, a byte      %C(NAME) %Creset  colours: id, ref, bold, \"bold red\", ...");
  WEFT_DO(options.parse(invocation));
  WEFT_DO(settle_view(invocation, log));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto words, sort_words(invocation, repository, snapshot, log.typed));
  LogFilter filter;
  WEFT_TRY(filter.since_ns, date_option(invocation, log.since));
  WEFT_TRY(filter.until_ns, date_option(invocation, log.until));
  if (log.author) filter.author = lower_case(*log.author);
  if (log.grep) filter.grep = lower_case(*log.grep);
  std::vector<std::string> paths = words.paths;
  // The top is everything.
  if (std::find(paths.begin(), paths.end(), std::string()) != paths.end()) paths.clear();

  const auto limit = log.count ? static_cast<std::uint64_t>(*log.count) : UINT64_MAX;
  if (log.relation.any()) {
    const bool other_words = !words.versions.empty() || !paths.empty() || log.all;
    WEFT_TRY(auto entries, related_changes(invocation, repository, snapshot, log.relation, filter, other_words));
    if (log.reverse) std::reverse(entries.begin(), entries.end());
    return print_all(invocation, repository, snapshot, std::move(log), std::move(entries), limit);
  }

  const bool rewrite = log.view.graph && (!paths.empty() || !filter.empty());
  LogSource source(snapshot, log.view.graph ? repo::WalkOrder::topological : repo::WalkOrder::time, std::move(filter),
                   std::move(paths));
  WEFT_DO(add_starts(invocation, repository, snapshot, log, words, source));
  WEFT_TRY(auto names, ref_names(repository, snapshot));
  page(invocation);
  LogPrinter printer(invocation, snapshot, std::move(names), std::move(log.view));

  std::uint64_t shown = 0;
  if (rewrite || log.reverse) {
    std::vector<LogEntry> entries;
    std::uint64_t found = 0;
    while (!log.reverse || found < limit) {
      WEFT_TRY(auto entry, source.next());
      if (!entry) break;
      if (entry->shown) ++found;
      if (entry->shown || rewrite) entries.push_back(std::move(*entry));
    }
    if (rewrite) entries = only_shown(std::move(entries));
    if (log.reverse) std::reverse(entries.begin(), entries.end());
    for (const auto& entry : entries) {
      if (shown == limit || output_is_unwanted(invocation)) break;
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
  if (const auto* missing = source.missing_path(); missing != nullptr && shown == 0 && limit > 0) {
    return make_error(Code::not_found, "no change in this history has a path " + quoted_always(*missing),
                      "`weft log --all -- PATH` looks at every ref");
  }
  printer.finish();
  if (shown == 0 && limit > 0) notice(invocation, "no changes to show");
  return 0;
}

}  // namespace weft::cli
