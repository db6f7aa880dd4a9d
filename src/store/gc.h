// gc: lets go of what nothing needs, while others read and write (gc.cc).
//
// Dropped are objects that no ref, no operation inside the undo window, no workspace and nothing recorded inside the
// window needs, and operations and reflog entries from before it. What is live moves from the log into packs; the log
// begins behind it.
// Threading: one at a time in a store, from any process.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace weft::store {

/// How long operations can be undone, and how long what nothing refers to is kept. A month: longer than a holiday.
inline constexpr std::int64_t kDefaultUndoWindowNs = std::int64_t{30} * 24 * 3600 * 1'000'000'000;

struct GcOptions {
  std::int64_t keep_ns = kDefaultUndoWindowNs;  ///< the undo window
  bool dry_run = false;                         ///< find out, change nothing that counts
  bool repack_all = false;  ///< write all packs anew, not only small ones and those with much garbage
  /// Further changes that must stay: what workspaces' files stand at.
  std::vector<ChangeId> roots{};
  /// Called often, outside all locks; an error stops the gc there with it: nothing is lost, what was begun is garbage.
  std::function<Result<void>(std::string_view phase, std::uint64_t done, std::uint64_t total)> progress{};
  /// A change or tree that is needed and not there is damage, which stops the gc; unless a test knows better.
  bool tolerate_missing = false;
};

struct GcReport {
  bool nothing_to_do = false;
  std::uint64_t objects_dropped = 0, changes_dropped = 0, operations_dropped = 0;
  std::uint64_t objects_kept = 0;   ///< of those looked at: all that was recorded before the gc began
  std::uint64_t objects_moved = 0;  ///< into new packs
  std::uint64_t log_before = 0, packs_before = 0, index_before = 0;  ///< bytes of files
  std::uint64_t log_after = 0, packs_after = 0, index_after = 0;
  std::uint64_t packs_written = 0, packs_removed = 0, segments_removed = 0;
  std::int64_t longest_pause_ns = 0;  ///< for which writers were kept waiting in one go
};

/// Of the store that `now`, a fresh view of it, belongs to. Code::busy while another gc is at work.
Result<GcReport> gc(const Snapshot& now, const GcOptions& options);

}  // namespace weft::store
