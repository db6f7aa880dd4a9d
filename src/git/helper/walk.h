// The order in which commits are sent: every commit after its parents (GW1).
//
// Memory: about 100 bytes a commit (ids and a visited set), nothing of their content. Threading: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "git/git_object.h"

namespace weft::git::helper {

inline constexpr std::size_t kMaxCommits = 100'000'000;

/// Parents of a commit.
using ReadParents = std::function<Result<std::vector<Sha1>>(const Sha1& commit)>;

/// All ancestors of `tips` and they themselves, without `hidden` ones and whatever lies only below those; parents
/// first, depth first along first parents, which keeps neighbours of one branch together.
Result<std::vector<Sha1>> order_commits(const std::vector<Sha1>& tips, const std::vector<Sha1>& hidden,
                                        const ReadParents& parents);

}  // namespace weft::git::helper
