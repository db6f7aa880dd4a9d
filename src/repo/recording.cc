#include "repo/recording.h"

#include <algorithm>

#include "tree/tree.h"

namespace weft::repo {

namespace {

constexpr std::size_t kMaxSubjectBytes = 100;
constexpr std::size_t kShown = 12;

std::string shown(const std::optional<store::RefValue>& value) {
  return value ? value->version.text().substr(0, kShown) : std::string("gone");
}

}  // namespace

Result<void> check_movable_ref(std::string_view ref) {
  if (const auto problem = store::ref_name_problem(ref); !problem.empty()) {
    return make_error(Code::invalid, quoted(ref) + " is no ref name: it " + std::string(problem),
                      "choose a name like `main` or `topic/parser`")
        .with("ref", std::string(ref));
  }
  for (const std::string_view prefix : {std::string_view("workspaces/"), kKeptPrefix, kRescuePrefix}) {
    if (ref.starts_with(prefix)) {
      return make_error(Code::invalid, quoted(ref) + " is kept by weft itself",
                        "name a ref outside " + std::string(prefix))
          .with("ref", std::string(ref));
    }
  }
  return {};
}

object::Timestamp timestamp_now(Env& env) {
  const std::int64_t now = env.clock.now_ns();
  return {now, env.clock.zone_offset_min(now)};
}

Result<std::uint64_t> next_lamport(const store::Snapshot& snapshot, const Version& parents) {
  std::uint64_t greatest = 0;
  for (const ChangeId& parent : parents.changes) {
    WEFT_TRY(const auto summary, snapshot.change_summary(parent));
    greatest = std::max(greatest, summary.lamport);
  }
  return greatest + 1;
}

Result<object::Change> draft_change(const Context& context, const store::Snapshot& snapshot,
                                    std::vector<ChangeId> parents, const Identity& author, Bytes message) {
  object::Change change;
  WEFT_TRY(change.lamport, next_lamport(snapshot, Version::of(parents)));
  change.parents = std::move(parents);
  change.author = {author.name, author.email, timestamp_now(context.env)};
  change.committer = change.author;
  if (const auto agent = context.environment.find("WEFT_AGENT"); agent != context.environment.end()) {
    change.agent = agent->second;
  }
  change.message = std::move(message);
  return change;
}

Result<ChangeId> put_recorded(store::Transaction& transaction, const ObjectId& parent_tree,
                              const object::Change& change) {
  const auto folded = tree::apply_ops(transaction.reader(), transaction, parent_tree, change.ops, &change.tree);
  if (!folded || *folded != change.tree) {
    return make_error(Code::internal,
                      "the ops of this change do not give its tree" +
                          (folded ? std::string() : " (" + folded.error().message + ")") + "; nothing was recorded",
                      "this is a bug of weft; your files are as they were")
        .with("tree", change.tree.hex())
        .with("fold", folded ? folded->hex() : std::string());
  }
  WEFT_TRY(const DeltaId delta, tree::change_delta_id(transaction.reader(), parent_tree, change));
  return transaction.put_change(change, delta);
}

std::string subject_of(std::string_view message) {
  std::string_view line = message.substr(0, message.find('\n'));
  if (line.size() <= kMaxSubjectBytes) return std::string(line);
  std::size_t cut = kMaxSubjectBytes;
  while (cut > 0 && (static_cast<unsigned char>(line[cut]) & 0xC0) == 0x80) --cut;  // not inside a UTF-8 sequence
  return std::string(line.substr(0, cut)) + "...";
}

Bytes clean_message(std::string_view message, bool strip_comments) {
  Bytes out;
  std::size_t blank_lines = 0;
  while (!message.empty()) {
    const std::size_t newline = message.find('\n');
    std::string_view line = message.substr(0, newline);
    message.remove_prefix(newline == std::string_view::npos ? message.size() : newline + 1);
    if (strip_comments && line.starts_with('#')) continue;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty()) {
      ++blank_lines;
      continue;
    }
    if (!out.empty()) out.append(blank_lines, '\n');
    blank_lines = 0;
    out += line;
    out += '\n';
  }
  return out;
}

store::OperationInfo operation_info(const Context& context, std::string label, std::string workspace,
                                    std::string author) {
  store::OperationInfo info;
  info.label = std::move(label);
  info.workspace = std::move(workspace);
  info.author = std::move(author);
  if (const auto agent = context.environment.find("WEFT_AGENT"); agent != context.environment.end()) {
    info.agent = agent->second;
  }
  return info;
}

store::RefEdit move_ref(std::string name, const std::optional<Version>& before, Version after) {
  store::RefEdit edit;
  edit.name = std::move(name);
  if (before) {
    edit.expect = store::RefEdit::Expect::exactly;
    edit.expected = *before;
  } else {
    edit.expect = store::RefEdit::Expect::absent;
  }
  edit.after = store::RefValue{std::move(after), {}};
  return edit;
}

std::string detail(const Error& error, std::string_view key) {
  for (const auto& [name, value] : error.details) {
    if (name == key) return value;
  }
  return {};
}

Error name_winner(const Repository& repository, Error lost) {
  const std::string ref = detail(lost, "ref");
  if (lost.code != Code::lost_race || ref.empty()) return lost;
  const auto snapshot = repository.store().snapshot();
  if (!snapshot) return lost;
  std::optional<store::RefMoveRecord> winner;
  const auto read = snapshot->reflog(ref, [&](const store::RefMoveRecord& move) {
    winner = move;
    return false;
  });
  if (!read || !winner) return lost;
  lost.message = quoted(ref) + " moved: \"" + winner->label + "\"" +
                 (winner->author.empty() ? std::string() : " of " + winner->author) + " put it at " +
                 shown(winner->after);
  lost.details.emplace_back("winner_operation", winner->operation.hex());
  lost.details.emplace_back("winner_label", winner->label);
  lost.details.emplace_back("winner_author", winner->author);
  return lost;
}

}  // namespace weft::repo
