#include "repo/operations.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "repo/history.h"
#include "repo/recording.h"

namespace weft::repo {

namespace {

constexpr std::size_t kMinDigits = 4;
constexpr std::string_view kPeerPrefix = "peer/";
constexpr std::string_view kWorkspacePrefix = "workspaces/";
/// Others' operations named for one ref.
constexpr std::size_t kMaxOthers = 100;

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

Error no_operation(const std::string& text) {
  return make_error(Code::not_found, "there is no operation " + quoted(text),
                    "`weft op log` lists them; those older than what `weft gc` keeps for undo are gone")
      .with("operation", text);
}

/// Newest first: of a ref, what it held before the oldest of the moves seen so far.
struct Walked {
  std::optional<store::RefValue> then;
  bool own = false;  ///< an operation of the workspace moved it
  std::vector<store::Operation> others;
};

bool is_private(std::string_view ref) { return ref.starts_with(kKeptPrefix) || ref.starts_with(kRescuePrefix); }

/// Whether a workspace is and was there, in the same directory.
bool same_place(const std::optional<store::RefValue>& then, const std::optional<store::RefValue>& now) {
  if (!then || !now) return false;
  const auto was = decode_workspace(then->extra);
  const auto is = decode_workspace(now->extra);
  return was && is && was->path == is->path;
}

Result<std::vector<ChangeId>> only_in(const store::Snapshot& snapshot, const Version& in, const Version& out,
                                      std::size_t limit, bool& more) {
  std::vector<ChangeId> ids;
  if (in.empty()) return ids;
  const SnapshotHistory source(snapshot);
  HistoryWalk walk(source, WalkOrder::time);
  WEFT_DO(walk.from(in));
  WEFT_DO(walk.without(out));
  while (true) {
    WEFT_TRY(const auto step, walk.next());
    if (!step) return ids;
    if (ids.size() == limit) {
      more = true;
      return ids;
    }
    ids.push_back(step->id);
  }
}

}  // namespace

Result<store::Operation> find_operation(const store::Snapshot& snapshot, const std::string& text) {
  if (text.size() < kMinDigits || text.size() > 2 * TransactionId::kSize || !is_hex(text)) {
    return make_error(Code::invalid, quoted(text) + " is no operation",
                      "give its id or at least the first 4 digits of it (weft op log)");
  }
  WEFT_TRY(const auto found, snapshot.find_operation_prefix(text, 2));
  if (found.empty()) return no_operation(text);
  if (found.size() > 1) {
    return make_error(Code::ambiguous, quoted(text) + " is the beginning of several operations", "give more digits")
        .with("candidate", found[0].hex())
        .with("candidate", found[1].hex());
  }
  WEFT_TRY(auto operation, snapshot.operation(found.front()));
  if (!operation) return no_operation(text);
  return *std::move(operation);
}

bool selects(const OperationFilter& filter, const store::Operation& operation) {
  if (filter.workspace && operation.workspace != *filter.workspace) return false;
  if (filter.agent && operation.agent != *filter.agent) return false;
  if (filter.since_ns && operation.time_ns < *filter.since_ns) return false;
  if (filter.until_ns && operation.time_ns > *filter.until_ns) return false;
  if (filter.author && lower(operation.author).find(*filter.author) == std::string::npos) return false;
  return !filter.ref || std::any_of(operation.moves.begin(), operation.moves.end(),
                                    [&](const auto& move) { return move.ref == *filter.ref; });
}

Result<std::optional<TransactionId>> undone_by(const store::Snapshot& snapshot, const TransactionId& operation) {
  std::optional<TransactionId> by;
  WEFT_DO(snapshot.operations([&](const store::Operation& each) {
    if (each.id == operation) return false;
    if (each.undoes == operation) by = each.id;
    return !by;
  }));
  return by;
}

Result<MovedChanges> moved_changes(const store::Snapshot& snapshot, const store::Operation::Move& move,
                                   std::size_t limit) {
  const Version before = move.before ? move.before->version : Version();
  const Version after = move.after ? move.after->version : Version();
  MovedChanges out;
  if (before == after) return out;
  if (!move.before || !move.after) {
    out.gained = after.changes;
    out.lost = before.changes;
    return out;
  }
  WEFT_TRY(out.gained, only_in(snapshot, after, before, limit, out.more_gained));
  WEFT_TRY(out.lost, only_in(snapshot, before, after, limit, out.more_lost));
  return out;
}

Result<bool> was_sent(const store::Snapshot& snapshot, const store::Operation& operation, const Version& version) {
  if (version.empty()) return false;
  WEFT_TRY(const auto peers, snapshot.refs(kPeerPrefix));
  for (const auto& peer : peers) {
    const bool own = std::any_of(operation.moves.begin(), operation.moves.end(),
                                 [&](const auto& move) { return move.ref == peer.name; });
    if (own) continue;
    WEFT_TRY(const bool there, is_ancestor(snapshot, version, peer.value.version));
    if (there) return true;
  }
  return false;
}

Result<PastRefs> past_refs(const store::Snapshot& snapshot, const PastRequest& request) {
  PastRefs out;
  std::map<std::string, Walked> walked;
  bool reached = false;
  WEFT_DO(snapshot.operations([&](const store::Operation& operation) {
    reached = operation.id == request.operation.id;
    if (reached && !request.before) return false;
    ++out.operations;
    for (const auto& move : operation.moves) {
      Walked& ref = walked[move.ref];
      ref.then = move.before;
      if (operation.workspace == request.workspace) {
        ref.own = true;
      } else if (ref.others.size() < kMaxOthers) {
        ref.others.push_back(operation);
      }
    }
    return !reached;
  }));
  if (!reached) return no_operation(request.operation.id.hex());
  for (auto& [name, ref] : walked) {
    if (!ref.own && !request.everything) continue;
    WEFT_TRY(auto now, snapshot.ref(name));
    if (now == ref.then) continue;
    if (is_private(name) || (name.starts_with(kWorkspacePrefix) && !same_place(ref.then, now))) {
      out.left_alone.push_back(name);
      continue;
    }
    out.refs.push_back({name, std::move(ref.then), std::move(now), std::move(ref.others)});
  }
  return out;
}

}  // namespace weft::repo
