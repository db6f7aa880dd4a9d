// Runs writers against one contender: real processes, or threads of one process where the contender allows only one.
//
// Invariants:
//   R1  All writers have their store open and wait at a gate before the first one starts; counters are read while all
//   of
//       them stand still, before the start and after the last one has ended.
//   R2  After a round every acknowledged change is counted in the store: a fast store that loses is no result.
// Threading: called from a process with one thread (it forks).
#pragma once

#include <functional>
#include <string>

#include "contender.h"
#include "measure.h"

namespace weft::bench {

enum class Work : std::uint8_t {
  own_ref,      ///< a ref each, compare-and-swap (BW1, BW2 a)
  shared_ref,   ///< one ref, moved from whatever it holds inside the transaction (BW2 b)
  shared_land,  ///< one ref, compare-and-swap; a change that loses is made again on the new value (BW2b)
};

struct WriteRun {
  const Contender* contender = nullptr;
  std::string directory;  ///< of the store, created already
  int writers = 1;
  Work work = Work::own_ref;
  double seconds = 0;       ///< of each writer ...
  std::uint64_t count = 0;  ///< ... or so many commits each
  std::uint64_t seed = 1;
  bool check_count = true;  ///< R2
};

Metrics run_writers(const WriteRun& run);

/// Runs `body` in a forked process and waits; throws with its message if it threw or died.
void in_child(const std::function<void()>& body);

}  // namespace weft::bench
