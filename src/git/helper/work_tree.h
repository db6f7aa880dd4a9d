// What lies between a git work tree and its history: where the files here are not the bytes that git keeps.
//
// Threading: functions.
#pragma once

#include <git2.h>

#include <string>

namespace weft::git::helper {

/// Whether tracked files are left out of the work tree on purpose: a sparse checkout. Read from the index, because
/// libgit2 does not know the configuration file in which git keeps that setting (config.worktree).
bool leaves_files_out(git_repository* repository);

/// What makes git change files on their way between work tree and history, in words; empty: nothing. Of attributes
/// those in the attribute files of the index's directories and in info/attributes.
std::string conversions(git_repository* repository);

}  // namespace weft::git::helper
