// What differs between two trees, as text (unified diffs as git prints them, a stat, names) and as JSON.
//
// Pairs are made by node identity, so renames are facts and not guesses; "similarity index" is measured for the reader.
// A directory that moved is one line; files in it appear only if they changed. Content above text::kMaxTextBytes, and
// what has a NUL in its first 8,000 bytes, is told apart but not shown.
// Threading: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/json.h"
#include "object/change.h"
#include "store/store.h"
#include "tree/tree.h"

namespace weft::cli {

struct PatchOptions {
  enum class Form : std::uint8_t { patch, stat, names, name_status };
  Form form = Form::patch;
  int context = 3;
  std::vector<std::string> paths;  ///< only at or below these (before or after); empty: everything
};

/// From the options of a command.
Result<PatchOptions> patch_options(bool stat, bool names_only, bool name_status, std::optional<std::int64_t> context);

/// The differences the options select.
Result<std::vector<tree::Difference>> selected_differences(const object::ObjectReader& reader, const ObjectId& before,
                                                           const ObjectId& after, const PatchOptions& options);

/// One after the other to `out`, so that a long diff is never held whole.
Result<void> write_patch(const Invocation& invocation, const object::ObjectReader& reader,
                         const std::vector<tree::Difference>& differences, const PatchOptions& options,
                         const std::function<void(std::string_view)>& out);

/// {"change", "path", "old_path"?, "before"?, "after"?, "binary", "added", "removed", "patch"?}; the last with
/// Form::patch.
Result<Json> json_difference(const object::ObjectReader& reader, const tree::Difference& difference,
                             const PatchOptions& options);

/// {"kind", "mode", "node", "id", "size"}
Json json_entry(const object::TreeEntry& entry);

/// What a change did to its first parent's tree.
Result<std::string> change_patch(const Invocation& invocation, const store::Snapshot& snapshot,
                                 const object::Change& change, const PatchOptions& options);

}  // namespace weft::cli
