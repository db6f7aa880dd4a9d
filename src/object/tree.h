// Trees: one directory each, as a sorted list of entries, split into chunks when large.
//
// Invariants:
//   T1  Entries are sorted by name bytes (memcmp, shorter first), names unique and valid (name_problem() empty). A
//   decoder
//       refuses anything else as damaged (CASES C16, C17).
//   T2  The encoding is a pure function of the set of entries: equal directories have equal ids whatever their history.
//   T3  A directory whose encoding exceeds 64 KiB is a chunk table over chunks cut after entries whose name hash says
//   so;
//       changing one entry rewrites one chunk (or two, where a boundary appears or goes) and the table.
//   T4  No entry has the root's node id (zero), and within one encoded object (directory or chunk) node ids are unique.
//   A
//       node in two chunks or two directories is for verify and the fold to find: looking for it here would make one
//       edit read the whole directory.
// Format: docs/FORMATS.md, "Tree".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "object/object.h"

namespace weft::object {

inline constexpr std::size_t kMaxNameBytes = 255;
/// A directory's encoding up to which it is one object (T3).
inline constexpr std::size_t kMaxPlainDirectoryBytes = 64u << 10;
/// Entries of one directory; of one chunk (a chunk that no name's hash ends is cut there).
inline constexpr std::uint64_t kMaxDirectoryEntries = 1u << 24;
inline constexpr std::uint64_t kMaxChunkEntries = 4096;
/// Chunks of one directory: 16 times what the greatest directory is expected to have.
inline constexpr std::uint64_t kMaxChunks = 1u << 20;
inline constexpr std::uint32_t kModeMask = 07777;

enum class EntryKind : std::uint8_t {
  file = 1,
  directory = 2,
  symlink = 3,
  submodule = 4,  ///< a git commit elsewhere; content blob = its id in hex; written out as an empty directory
};
std::string_view name(EntryKind kind);

struct TreeEntry {
  std::string name;
  EntryKind kind = EntryKind::file;
  std::uint32_t mode = 0644;  ///< permission bits; 0755 for directories, 0777 for symlinks, 0 for submodules
  NodeId node;
  ObjectId id;             ///< blob of content or link target; a directory's tree
  std::uint64_t size = 0;  ///< bytes of content or target; 0 for directories

  bool operator==(const TreeEntry&) const = default;
};

using Entries = std::vector<TreeEntry>;

/// Why `name` can be no file name anywhere ("contains '/'", "is '..'", ...: empty, `.`, `..`, '/', NUL, above 255
/// bytes); empty view when it is fine. Checked at every door (CASES C17).
std::string_view name_problem(ByteView name);
/// Whether `name` must never be written out to a working tree: `.git` or `.weft` in any case, with ignorable code
/// points, with trailing dots and spaces, or as their NTFS/HFS short names (`git~1`, `weft~1`) (CASES C18).
bool name_is_reserved(ByteView name);

/// Why the entry can stand in no directory: its name, a mode its kind cannot have, ...; empty view when it is fine.
std::string_view entry_problem(const TreeEntry& entry);

/// Sorts, checks (T1, T4: Code::invalid), encodes, and puts what is new. The empty directory has an encoding and id
/// like any other.
Result<ObjectId> write_directory(ObjectWriter& writer, Entries entries);
/// The id write_directory would give, storing nothing.
ObjectId empty_tree_id();

/// All entries of a directory. damaged on any violation of T1 or a limit.
Result<Entries> read_directory(const ObjectReader& reader, const ObjectId& tree);
/// One entry, reading one chunk of a large directory.
Result<std::optional<TreeEntry>> find_entry(const ObjectReader& reader, const ObjectId& tree, ByteView name);

/// name -> new entry, or nullopt to remove. Sorted by name, unique.
struct EntryEdit {
  std::string name;
  std::optional<TreeEntry> entry;
};
/// A directory with edits applied: equal to reading, editing and writing all of it, but touches only the chunks
/// concerned. Untouched chunks are referred to, not put: `writer` writes to where `reader` reads. Removing what is
/// absent is no error.
Result<ObjectId> edit_directory(const ObjectReader& reader, ObjectWriter& writer, const ObjectId& tree,
                                std::vector<EntryEdit> edits);

/// The entries in which two directories differ, in name order, skipping chunks they share.
/// visit(before, after): null where absent; never both null. An error from visit ends the walk.
using EntryDifference = std::function<Result<void>(const TreeEntry* before, const TreeEntry* after)>;
Result<void> diff_directories(const ObjectReader& reader, const ObjectId& before, const ObjectId& after,
                              const EntryDifference& visit);

/// For verify, gc and sync: checks one encoded tree object (directory, chunk table or chunk) and names what it refers
/// to.
struct TreeReferences {
  std::vector<ObjectId> trees;  ///< subdirectories and chunks
  std::vector<ObjectId> blobs;
};
Result<TreeReferences> tree_references(ByteView encoded);

}  // namespace weft::object
