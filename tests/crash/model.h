// A store beside the simplest thing that does the same: maps and lists in memory. A list of commands is carried out on
// both; after each they must agree on everything that can be asked: refs, reflogs, operations, objects and their
// bytes, prefixes, deltas, git commits; also through snapshots taken long ago and the handles of other processes.
//
// Commands are plain numbers that mean something in every state, so that any part of a list is a list: RapidCheck can
// take away what a failure does not need.
//
// Invariants:
//   MO1  An acknowledged transaction is there, a refused one is not, and which it is, is what the map says.
//   MO2  A transaction cut short by death or loss of power is there as a whole or not at all, and stays so.
//   MO3  A failed one is not there; only a loss of power before the next success may bring it back, as a whole.
//   MO4  Not looked at: the control block lost while the machine runs on and a failed flush is not recovered from yet.
//        The kernel may then show bytes that no later flush brings to the disk, and nothing is left that says so.
//   MO5  An old snapshot shows its refs and operations for ever, and everything they need; of objects it may show more.
// Threading: one thread.
#pragma once

#include <string>
#include <vector>

#include "sabotage.h"

namespace weft::store {

struct ModelCommand {
  std::uint32_t kind = 0;  ///< taken modulo what there is; the smallest are the simplest
  std::uint32_t who = 0;   ///< which process
  std::uint32_t what = 0;  ///< seeds the details
};

/// What was done, for the printed budget.
struct ModelCounts {
  std::uint64_t commands = 0, acknowledged = 0, refused = 0, failed = 0, killed = 0, power_lost = 0,
                power_lost_recovering = 0, merges = 0, old_snapshots = 0;
  ModelCounts& operator+=(const ModelCounts& other);
};

/// Bugs of a store's user or of its judging, which the model must notice.
enum class ModelSabotage : std::uint8_t {
  none,
  no_judging,   ///< expectations are not checked: the last writer wins
  half_of_it,   ///< the second ref move of a transaction is left out
  wrong_bytes,  ///< a blob is stored as other bytes than it was given
};

struct ModelOptions {
  Sabotage disk = Sabotage::none;
  ModelSabotage store = ModelSabotage::none;
};

/// The first disagreement as a sentence; empty when there is none.
std::string run_model(const std::vector<ModelCommand>& commands, ModelCounts& counts, const ModelOptions& options = {});

/// "commit by 2 (seed 7)", for messages.
std::string describe(const ModelCommand& command);

}  // namespace weft::store
