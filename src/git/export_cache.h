// Which git commit each exported change became: derived and deletable, so that exporting again costs what is new.
//
// A sorted file, searched in place, and a tail of what came since; where the tail has grown the two become one.
//
// Invariants:
//   XC1  It holds facts about changes, not about a git repository: a commit's id is a function of its change
//        (export_commit.h, GX1). Lost, torn or garbled entries cost time: every entry has a checksum.
// Memory: the tail (at most kTailEntries and an eighth of the sorted file). Threading: one thread; processes may lose
// each other's entries.
// Format: docs/FORMATS.md, "Export cache".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_system.h"
#include "git/git_object.h"

namespace weft::git {

class ExportCache {
 public:
  static constexpr std::size_t kTailEntries = 8192;
  using Entry = std::pair<ChangeId, Sha1>;

  /// Files in `directory`, which need not exist.
  static ExportCache open(FileSystem& fs, const std::string& directory);

  std::optional<Sha1> find(const ChangeId& change) const;
  /// Kept for the next time; not flushed.
  Result<void> add(const std::vector<Entry>& entries);

 private:
  ExportCache(FileSystem& fs, std::string directory) : fs_(fs), directory_(std::move(directory)) {}
  std::optional<Entry> sorted_entry(std::uint64_t index) const;
  Result<void> merge();

  FileSystem& fs_;
  std::string directory_;
  std::shared_ptr<Mapping> sorted_;
  std::uint64_t sorted_entries_ = 0;
  std::unordered_map<ChangeId, Sha1, IdHash> tail_;
  std::uint64_t tail_bytes_ = 0;  ///< where the next entry goes
};

}  // namespace weft::git
