// Extends the history index over what was recorded since. The order that keeps it whole: history_index.h, HI2.
// Threading: holds the history lock in the control block; never called inside the append lock.
#pragma once

#include <functional>

#include "store/store_state.h"

namespace weft::store {

/// Changes taken in one go: what an extension holds in memory.
inline constexpr std::size_t kHistoryBatch = 32'768;

struct HistoryExtent {
  bool all = true;    ///< else one batch: what somebody who has just committed may be made to wait for
  bool wait = false;  ///< for another process that is at it; else leaves it to that one
  std::function<void(std::uint64_t changes)> progress = {};
};
/// Returns how many changes were added.
Result<std::uint64_t> extend_history(const std::shared_ptr<Store::State>& store, const HistoryExtent& extent);

}  // namespace weft::store
