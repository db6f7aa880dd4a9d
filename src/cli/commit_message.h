// The message of a change: from -m, -F, or the editor.
//
// Invariants:
//   CM-1  It is settled before a transaction begins or a lock is taken (CASES C1).
//   CM-2  What was written in an editor is not lost: it stays in a file until the change is recorded, and when that
//   fails
//         the error says where.
// Threading: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "repo/repository.h"

namespace weft::cli {

struct CommitMessage {
  Bytes text;
  std::string file;  ///< what the editor wrote is here; empty: no editor was needed
};

struct MessageSource {
  std::vector<std::string> parts;   ///< -m
  std::optional<std::string> file;  ///< -F
  std::vector<std::string> paths;   ///< what would be recorded, for what the editor shows; none: everything
};

/// invalid where it is empty: then nothing is to be recorded.
Result<CommitMessage> commit_message(Invocation& invocation, const repo::Repository& repository,
                                     const MessageSource& source);
/// The change is recorded: the file goes.
void forget_message(Invocation& invocation, const CommitMessage& message);
/// It is not: the message stays, and the error says where.
Error keep_message(Invocation& invocation, const CommitMessage& message, Error error);

}  // namespace weft::cli
