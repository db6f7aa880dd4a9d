#include "cli/log_related.h"

#include <algorithm>

#include "tree/tree.h"

namespace weft::cli {
namespace {

constexpr std::string_view kDeltaPrefix = "delta:";

Result<ChangeId> one_change(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                            const std::string& text) {
  WEFT_TRY(const auto named, resolve(invocation, repository, snapshot, text));
  if (named.version.changes.size() == 1) return named.version.changes.front();
  return make_error(Code::invalid,
                    quoted(text) + " is not one change but " + std::to_string(named.version.changes.size()),
                    "name one of them");
}

/// The changes indexed under what this one does, itself among them in any case.
Result<std::vector<ChangeId>> same_as(Invocation& invocation, const repo::Repository& repository,
                                      const store::Snapshot& snapshot, const std::string& text) {
  if (text.starts_with(kDeltaPrefix)) {
    const auto delta = DeltaId::parse(std::string_view(text).substr(kDeltaPrefix.size()));
    if (delta) return snapshot.find_by_delta(*delta);
    return make_error(Code::invalid, quoted(text) + " is no delta id", "it is `delta:` and 64 hex digits");
  }
  WEFT_TRY(const ChangeId id, one_change(invocation, repository, snapshot, text));
  WEFT_TRY(const auto change, snapshot.change(id));
  WEFT_TRY(const auto parent_tree, repo::tree_of(snapshot, object::Version::of(change.parents)));
  WEFT_TRY(const DeltaId delta, tree::change_delta_id(snapshot, parent_tree, change));
  WEFT_TRY(auto ids, snapshot.find_by_delta(delta));
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  return ids;
}

}  // namespace

Result<std::vector<LogEntry>> related_changes(Invocation& invocation, const repo::Repository& repository,
                                              const store::Snapshot& snapshot, const LogRelation& relation,
                                              const LogFilter& filter, bool other_words) {
  if (other_words || (relation.same_as && relation.children_of)) {
    return make_error(Code::usage, "--same-as and --children-of each stand alone, without versions and paths",
                      "run `weft help log`");
  }
  repo::SnapshotHistory history(snapshot);
  std::vector<ChangeId> ids;
  if (relation.same_as) {
    WEFT_TRY(ids, same_as(invocation, repository, snapshot, *relation.same_as));
  } else {
    WEFT_TRY(const ChangeId parent, one_change(invocation, repository, snapshot, *relation.children_of));
    WEFT_TRY(const store::History* const known, history.history());
    WEFT_TRY(ids, known->children(parent));
  }
  struct Dated {
    std::int64_t shown_ns;
    LogEntry entry;
  };
  std::vector<Dated> dated;
  for (const ChangeId& id : ids) {
    WEFT_TRY(const auto change, snapshot.change(id));
    WEFT_TRY(const std::int64_t shown_ns, history.shown_ns(id));
    dated.push_back({shown_ns, {.id = id, .follow = change.parents, .paths = {}, .shown = filter.passes(change)}});
  }
  std::sort(dated.begin(), dated.end(), [](const Dated& a, const Dated& b) {
    return a.shown_ns != b.shown_ns ? a.shown_ns > b.shown_ns : a.entry.id > b.entry.id;
  });
  std::vector<LogEntry> entries;
  for (auto& each : dated) entries.push_back(std::move(each.entry));
  return entries;
}

}  // namespace weft::cli
