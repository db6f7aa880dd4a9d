// What differs between two trees, as text (unified diffs as git prints them, stats, names) and as JSON.
//
// Pairs are made by node identity, so renames are facts and not guesses; "similarity index" is measured for the reader.
// Content above text::kMaxTextBytes, and what has a NUL in its first 8,000 bytes, is told apart but not shown.
//
// Invariant PT-1: `git apply` takes what the patch form prints without colour and word diff (content that is not shown
// aside), and gets the tree after. So files in a directory that moved are each shown as renamed; only JSON has the
// directory's move as one fact. Empty directories, which git cannot hold, are lines git skips.
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
#include "text/unified.h"
#include "tree/tree.h"

namespace weft::cli {

struct PatchOptions {
  enum class Form : std::uint8_t { patch, stat, numstat, shortstat, names, name_status };
  enum class Words : std::uint8_t { none, plain, color };
  Form form = Form::patch;
  bool also_patch = false;  ///< `--stat -p`: the stat, then the patch
  Words words = Words::none;
  int context = 3;
  bool highlight = true;  ///< mark the words that differ, in colour
  bool reverse = false;   ///< -R
  text::CompareOptions compare;
  std::vector<std::string> paths;  ///< only at or below these (before or after); empty: everything
};

/// How differences are shown: what `diff`, `show` and `log` have in common.
struct PatchFlags {
  bool patch = false, stat = false, numstat = false, shortstat = false, names_only = false, name_status = false;
  bool ignore_all_space = false, ignore_space_change = false, ignore_space_at_eol = false, ignore_blank_lines = false;
  std::optional<std::int64_t> context;
  std::optional<std::string> word_diff;
  void declare(Options& options);
  /// Whether any of them asks for differences to be shown.
  bool any() const;
  Result<PatchOptions> options(const Invocation& invocation) const;
};

/// The differences the options select, for JSON: a moved directory is one.
Result<std::vector<tree::Difference>> selected_differences(const object::ObjectReader& reader, const ObjectId& before,
                                                           const ObjectId& after, const PatchOptions& options);
/// The same for text (PT-1), without files that differ only in what is ignored.
Result<std::vector<tree::Difference>> shown_differences(const object::ObjectReader& reader, const ObjectId& before,
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

/// What a change did to the tree of its first parent (or the one of that number, from 1), to `out`.
Result<void> write_change_patch(const Invocation& invocation, const store::Snapshot& snapshot,
                                const object::Change& change, const PatchOptions& options, std::size_t parent,
                                const std::function<void(std::string_view)>& out);
/// The tree of that parent; the empty tree for a change without parents. not_found where it has fewer.
Result<ObjectId> parent_tree(const store::Snapshot& snapshot, const object::Change& change, std::size_t parent);

}  // namespace weft::cli
