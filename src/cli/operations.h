// How operations and ref moves are shown (op log, ref log, undo).
// Threading: one thread.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "store/store.h"

namespace weft::cli {

/// Operation ids are random: their first digits do.
inline constexpr std::size_t kOperationDigits = 12;

/// Local time of this machine; operations have none of their own.
std::string local_date_text(Invocation& invocation, std::int64_t unix_ns);

/// One line of `ref log`, or its JSON item.
Result<void> print_move(Invocation& invocation, const store::Snapshot& snapshot, const store::RefMoveRecord& record,
                        std::uint64_t index, JsonList& list);

/// {"id", "time", "label", "author", "workspace", "agent"?, "undoes"?, "moves": [{"ref", "before", "after"}]}
Json json_operation(Invocation& invocation, const store::Operation& operation);
/// {"ref", "before", "after"}
Json json_move(const store::Operation::Move& move);
/// "3f09... 2026-11-30 09:37 default  commit: Fix it", with -v one line a moved ref under it.
Result<std::string> operation_text(Invocation& invocation, const store::Snapshot& snapshot,
                                   const store::Operation& operation);

}  // namespace weft::cli
