// History index: the graph of changes and what each touched, derived, so that walking history, following a file and
// asking for children cost what the answer does. Beside the index (index.h) and independent of it: extended in steps of
// kHistoryStep changes by whoever recorded the last of them, after its own commit was answered; what lies behind it is
// read from the changes themselves (history.h).
//
// Files: `history` (the manifest), one graph file that grows at its end, up to kMaxHistoryRuns runs (history_run.h).
//
// Invariants:
//   HI1  The graph has one record a change, parents before children, so an ordinal says who cannot be whose ancestor.
//   HI2  Order of an extension: records, run and their names flushed, manifest flushed and renamed, old runs unlinked.
//        A process killed anywhere leaves the old or the new state; what is behind the manifest's count is written
//        over.
//   HI3  Everything is derived: files that are missing, damaged, or ahead of the log are no reason to fail; the index
//        is then as if it were empty, and the next extension makes it anew.
//   HI4  A record counts only with its checksum, its parents and jump being smaller ordinals: nothing loops.
//   HI5  A change that cannot be read, or has a parent without a record, has none: it and its descendants are read from
//        themselves then. So what a record says of a change's past is complete.
// Threading: one extension at a time (a lock in the control block); a HistoryIndex is used by one thread.
// Format: docs/FORMATS.md, "History index".
#pragma once

#include <memory>
#include <optional>

#include "log/segments.h"
#include "store/history_run.h"
#include "store/store.h"

namespace weft::store {

/// Each run is at least so many times as large as the one behind it: few files to open, each entry written anew about a
/// dozen times while a history grows to a million changes.
inline constexpr std::uint64_t kHistoryRunFactor = 8;
/// Never reached before ordinals run out.
inline constexpr std::size_t kMaxHistoryRuns = 16;
inline constexpr Ordinal kMaxOrdinal = 0xffff'ff00;

/// One change in the graph file.
struct GraphRecord {
  static constexpr std::size_t kBytes = 104;
  static constexpr Ordinal kNone = 0xffff'ffff;  ///< there is no such parent
  static constexpr Ordinal kMore = 0xffff'fffe;  ///< as second: there are more than two parents, the change names them

  ChangeId id;
  ObjectId tree;
  std::uint64_t lamport = 0;
  std::int64_t shown_ns = 0;  ///< history.h, HY2
  std::uint32_t depth = 0;    ///< first parents below it in the graph
  Ordinal jump = 0;           ///< a first-parent ancestor far below (itself at depth 0), see level_ancestor()
  Ordinal first = kNone, second = kNone;

  bool operator==(const GraphRecord&) const = default;
};
void append_record(Bytes& out, const GraphRecord& record);
/// HI4; damaged otherwise. `bytes` holds exactly one record.
Result<GraphRecord> decode_record(ByteView bytes, Ordinal ordinal);

struct HistoryManifest {
  log::LogPoint point;          ///< the log before it is in the index
  std::uint64_t changes = 0;    ///< changes put into the log before that, one put twice counted twice
  std::uint64_t records = 0;    ///< in the graph file
  std::uint64_t next_file = 1;  ///< number for the next file's name
  std::uint64_t graph = 0;      ///< number of the graph file; 0: there is none yet
  struct RunName {
    std::uint64_t number = 0;
    std::uint64_t entries = 0;
  };
  std::vector<RunName> runs;  ///< oldest first
};
Bytes encode_history_manifest(const HistoryManifest& manifest);
Result<HistoryManifest> decode_history_manifest(ByteView bytes);

class HistoryIndex {
 public:
  /// HI3: an index that speaks of more than the log holds before `durable` counts as none. That is asked for when the
  /// manifest was read: an extension may come between.
  static Result<HistoryIndex> open(FileSystem& fs, const std::string& directory,
                                   const std::function<std::uint64_t()>& durable);

  const HistoryManifest& manifest() const { return manifest_; }
  std::uint64_t bytes() const;

  Result<std::optional<Ordinal>> find(const ChangeId& id) const;
  Result<GraphRecord> record(Ordinal ordinal) const;
  /// The first-parent ancestor of `from` at this depth, which must not be greater than its own.
  Result<Ordinal> level_ancestor(Ordinal from, std::uint32_t depth) const;
  /// The nearest of `from` and its first-parent ancestors that touched one of the keys.
  Result<std::optional<Ordinal>> nearest_touch(Ordinal from, std::span<const TouchKey> keys) const;
  /// Ordinals of a key, ascending.
  Result<std::vector<Ordinal>> all(HistoryKind kind, const TouchKey& key) const;

  /// Entries of a kind.
  Result<std::uint64_t> count(HistoryKind kind) const;
  /// The greatest ordinal up to `most` under the key.
  Result<std::optional<Ordinal>> last(HistoryKind kind, const TouchKey& key, Ordinal most) const;

 private:
  friend class HistoryWriter;
  HistoryIndex(FileSystem& fs, std::string directory) : fs_(&fs), directory_(std::move(directory)) {}
  Result<const HistoryRun*> run(std::size_t index) const;
  Result<ByteView> graph() const;

  FileSystem* fs_;
  std::string directory_;
  HistoryManifest manifest_;
  mutable std::vector<std::shared_ptr<const HistoryRun>> runs_;  ///< as in the manifest
  mutable std::shared_ptr<Mapping> graph_;
};

std::string history_file_name(std::uint64_t number, std::string_view kind);
inline constexpr std::string_view kHistoryManifestName = "history";

}  // namespace weft::store
