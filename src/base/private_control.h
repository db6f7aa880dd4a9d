// A control block of this process's own: for looking at a store that may not be written to, or whose disk is full.
//
// It is filled from the files like any new block. Nobody else sees it, and it sees nothing of what others do from then
// on; as the block is a cache of the log's state and never truth, that is all it misses.
// Threading: any thread.
#pragma once

#include "base/shared_control.h"

namespace weft {

/// `options.path` is for messages alone.
Result<std::unique_ptr<SharedControl>> make_private_control(const SharedControlOptions& options);

}  // namespace weft
