// What the commands on working trees share: statuses, warnings and refs as text and JSON, and paths as the user types
// them. Threading: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/json.h"
#include "repo/repository.h"
#include "repo/rescue.h"
#include "repo/restore.h"
#include "work/work.h"

namespace weft::cli {

/// Paths inside the workspace ("" is its top); an error names the first that is outside.
Result<std::vector<std::string>> repo_paths(const repo::Repository& repository, const std::vector<std::string>& typed);

/// "modified", "added", ...
std::string_view change_word(work::Change change);
/// One letter: A M D R P (mode) T.
char change_letter(work::Change change);
/// {"change", "path", "old_path"?, "content_changed"?}
Json json_entry(const work::StatusEntry& entry);
Json json_entries(const std::vector<work::StatusEntry>& entries);
/// [{"path", "reason"}]
Json json_warnings(const std::vector<work::Warning>& warnings);
/// [{"path", "size"}]
Json json_left_out(const std::vector<work::LeftOut>& left_out);
/// "L path (60.0 MiB, new: left out)"; with -0 without what is in brackets.
std::string left_out_line(const Invocation& invocation, const work::LeftOut& each);
/// A notice for each file a commit left out for its size, and how to record it.
void show_left_out(Invocation& invocation, const std::vector<work::LeftOut>& left_out);
/// "M path", "R old -> new"; with -0 the paths raw and each ended by NUL.
std::string entry_line(const Invocation& invocation, const work::StatusEntry& entry);
/// A notice for each, at most `kMaxShownWarnings` and then how many more.
void show_warnings(Invocation& invocation, const std::vector<work::Warning>& warnings);

/// {"ref", "change"}, or null.
Json json_rescue(const std::optional<repo::Rescue>& rescue);
/// "written", "removed" and "warnings" of a checkout.
Json& set_report(Json& json, const work::CheckoutReport& report);
/// {"paths", "operation", "rescued"} and the report: what `restore` and `rm` did.
Json json_files_edited(const repo::FilesEdited& edited);
/// A version or null.
Json json_optional_version(const std::optional<object::Version>& version);
Json json_ref_moves(const std::vector<store::Operation::Move>& moves);

/// Passes on what the store has to say; for commands that open it without open_repository().
void show_notices(Invocation& invocation, const repo::Repository& repository);

/// The head went on without the ref it follows: "main moved; weft land", or that the ref is gone.
Result<std::string> left_behind_hint(const repo::Repository& repository, const std::string& ref);

/// "1f3a09c2", short and unambiguous.
Result<std::string> short_change(const repo::Repository& repository, const ChangeId& id);

}  // namespace weft::cli
