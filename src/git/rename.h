// Which file of a commit is which file of its first parent, under another name: git import rules, version 1.
//
// The rules decide node ids and through them change ids: they are frozen. Another version gets another number in the
// change (Change::rules), never other code behind this one. They are spelled out in docs/FORMATS.md, "Git import rules
// 1":
//   GR1  Only a file, link or submodule that left its path (a departure) and one that came to a path (an arrival) are
//        paired, each at most once, and only with one of its own kind. What keeps its path keeps its node.
//   GR2  First equal content: nearest path first. Empty content counts only under the same base name.
//   GR3  Then texts whose base name only one departure and one arrival (of those left) have, at least 50 percent
//   similar. GR4  Then all texts left against each other, most similar first, at least 50 percent, while there are few
//   enough. GR5  A directory that is gone became the new directory into which every file below it went, below unchanged
//   names.
// Nearer: more equal names from the end of the paths, then more from the start, then the smaller departure path, then
// the smaller arrival path (bytes). Pure functions; threading: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "object/tree.h"

namespace weft::git {

inline constexpr std::uint32_t kImportRules = 1;
inline constexpr int kMinSimilarityPercent = 50;
/// GR2: with more pairs than this of one content, they are paired in path order.
inline constexpr std::size_t kMaxEqualPairs = 10'000;
/// GR3 and GR4: larger files are not compared, nor any of which one is more than twice as large as the other.
inline constexpr std::uint64_t kMaxComparedBytes = 1u << 20;
/// GR3, and again GR4: comparing ends where the sizes of the pairs compared add up to more.
inline constexpr std::uint64_t kMaxComparedTotal = 64u << 20;
/// GR4 is left out where departures times arrivals are more than this.
inline constexpr std::size_t kMaxComparedPairs = 10'000;

/// A departure or an arrival.
struct Leaf {
  std::string path;
  object::EntryKind kind = object::EntryKind::file;
  ObjectId blob;
  std::uint64_t size = 0;
};

/// Content of a blob that is at most kMaxComparedBytes.
using ReadContent = std::function<Result<std::shared_ptr<const Bytes>>(const ObjectId& blob)>;

struct Rename {
  std::size_t departure = 0;  ///< index
  std::size_t arrival = 0;    ///< index
  bool operator==(const Rename&) const = default;
};
/// GR1 to GR4. Both lists sorted by path, paths unique in each. Sorted by arrival.
Result<std::vector<Rename>> find_renames(const std::vector<Leaf>& departures, const std::vector<Leaf>& arrivals,
                                         const ReadContent& read);

struct DirectoryMove {
  std::string from;
  std::string to;
  bool operator==(const DirectoryMove&) const = default;
};
/// GR5. `gone` and `made`: the directories that only the parent, only the commit has; sorted. `departures` must hold
/// everything that was below the gone ones. Each directory occurs at most once; outer ones are considered first.
std::vector<DirectoryMove> find_directory_moves(const std::vector<Leaf>& departures, const std::vector<Leaf>& arrivals,
                                                const std::vector<Rename>& renames,
                                                const std::vector<std::string>& gone,
                                                const std::vector<std::string>& made);

}  // namespace weft::git
