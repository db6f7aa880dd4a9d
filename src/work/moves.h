// Which new paths are known nodes under another name. Fills Observation::from.
//
// In this order, each node and each path used once:
//   1. inode: directory state knows the vanished path's inode, and the new path has it. Inodes are used again by file
//      systems, so it must come with the same size and mtime, or with content at least kMinInodeSimilarity percent
//      alike. Paths that exist on both sides take part when they changed places (swaps, circles, one moved over
//      another);
//   2. equal content, not empty; of several candidates the one with the same name, then the first in walk order;
//   3. similar content (text::similarity_percent at least kMinSimilarity), best first, ties as before;
//   4. directories: the inode, or at least half of the vanished directory's files found again below the new one; then
//      what has the same place in both goes along, whatever its content;
//   5. repositories inside (Observation::repository): a submodule or a tracked directory that came along or has its
//      inode and something of it; of the directory what the head has there is looked for at its new place, and nothing
//      else (SC3).
// Beyond the limits below, similarity is not looked for; moves are then recorded as a delete and a create. Everything
// else costs in proportion to what appeared and vanished, and to how deep the first of it lies.
#pragma once

#include "object/object.h"
#include "work/scan.h"

namespace weft::work {

inline constexpr int kMinSimilarity = 50;
inline constexpr int kMinInodeSimilarity = 20;
inline constexpr std::uint64_t kMaxSimilarityFileBytes = 1u << 20;
inline constexpr std::uint64_t kMaxSimilarityTotalBytes = 64u << 20;
inline constexpr std::size_t kMaxSimilarityPairs = 250'000;
/// Of all pairs together; what comes behind, in walk order, is not compared.
inline constexpr std::uint64_t kMaxSimilarityComparedBytes = 256u << 20;

Result<void> match_moves(const WorkTree& tree, const object::ObjectReader& reader, const DirectoryState& state,
                         Scanner& scanner, Scan& scan);

}  // namespace weft::work
