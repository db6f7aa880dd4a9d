// What `workspace add` and `workspace rm` share about a workspace's directory.
// Threading: functions.
#pragma once

#include <optional>
#include <string>

#include "repo/repository.h"

namespace weft::repo {

inline constexpr std::string_view kWorkspaceFileName = ".weft";
inline constexpr std::string_view kDefaultWorkspace = "default";
inline constexpr std::string_view kAddLabel = "workspace add ";
inline constexpr std::string_view kRemoveLabel = "workspace rm ";

/// Directory state and files record of an earlier workspace of this name must not speak for the new one.
Result<void> forget_files(const Repository& repository, const std::string& name);

/// Whether the directory is the one that was registered (WS-3). An answer in words where it is not.
Result<std::optional<std::string>> not_ours(const Repository& repository, const std::string& name,
                                            const std::string& root);

/// The newest move of a workspace's ref, in the durable reflog; nullopt where there was none.
Result<std::optional<store::RefMoveRecord>> newest_move(const store::Snapshot& snapshot, const std::string& name);

}  // namespace weft::repo
