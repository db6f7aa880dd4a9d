// What every verb that records a change shares: its header, the proof that its ops say what its tree says, the
// operation around it, and who won when it lost a race.
//
// Invariants:
//   R-1  A change with recorded ops is put into a transaction only if folding the ops on its parents' tree gives
//        exactly its result tree (DESIGN 5); anything else is a bug of ours, Code::internal, and nothing is
//        recorded.
//   R-2  A lost race is told with its winner, as the durable reflog has it (G7).
// Threading: functions.
#pragma once

#include <string>
#include <vector>

#include "repo/repository.h"

namespace weft::repo {

/// Bound of every retry after a lost race (DESIGN 11).
inline constexpr int kMaxAttempts = 1000;

/// Refs that keep changes for `undo` alone. They are private: never followed, never advanced by `commit` or `land`.
inline constexpr std::string_view kKeptPrefix = "kept/";  ///< kept/CHANGE: changes recorded without a ref
inline constexpr std::string_view kRescuePrefix =
    "rescue/";  ///< rescue/WORKSPACE/CHANGE: what a verb would have overwritten
/// Code::invalid unless commits and landings may move `ref`: a valid name outside workspaces/, kept/ and rescue/.
Result<void> check_movable_ref(std::string_view ref);

object::Timestamp timestamp_now(Env& env);
/// 1 + the greatest of the parents'.
Result<std::uint64_t> next_lamport(const store::Snapshot& snapshot, const Version& parents);

/// Parents, times, author, agent and message set; tree and ops are the caller's.
Result<object::Change> draft_change(const Context& context, const store::Snapshot& snapshot,
                                    std::vector<ChangeId> parents, const Identity& author, Bytes message);

/// R-1, then put and indexed under its delta id. `parent_tree`: tree_of the parents.
Result<ChangeId> put_recorded(store::Transaction& transaction, const ObjectId& parent_tree,
                              const object::Change& change);

/// First line of a message, cut to what an operation's label should hold.
std::string subject_of(std::string_view message);
/// Blank lines at both ends and trailing blanks taken off, one newline at the end; "" when nothing is left. With
/// `strip_comments` lines that begin with '#' go, too (a message that came from an editor).
Bytes clean_message(std::string_view message, bool strip_comments);

store::OperationInfo operation_info(const Context& context, std::string label, std::string workspace,
                                    std::string author);

/// Expects what `before` says: exactly that version, or absent where it is nullopt.
store::RefEdit move_ref(std::string name, const std::optional<Version>& before, Version after);

/// A detail of an error, "" when it has none such.
std::string detail(const Error& error, std::string_view key);
/// The lost race's error with the winner named: who moved the ref, by what, and where it is now.
Error name_winner(const Repository& repository, Error lost);

}  // namespace weft::repo
