// What a store's control block says of the processes that use it, read without taking part: for `weft doctor`.
//
// Threading: functions. What is told may be over when it is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft::store {

enum class ControlState : std::uint8_t {
  absent,      ///< nobody has used the store since it was made, moved here or repaired
  current,     ///< in use, or ready to be
  other_boot,  ///< of before the machine was started: the next command makes a new one
  copied,      ///< came with a copy of the store: the same
  other_form,  ///< of another version of weft, or no control block at all: the same, once nobody uses it
};

struct ControlReport {
  ControlState state = ControlState::absent;
  struct User {
    std::uint32_t process = 0;  ///< by its own reckoning: in a container that number means another one here
    bool alive = false;
    std::vector<std::string> locks;  ///< "append", "leader", "zero", "merge", "history", "gc"
  };
  std::vector<User> users{};  ///< those that have recorded something and are alive, or died with a lock
  std::size_t slots = 0, free_slots = 0;
  int failed_errno = 0;  ///< a write or flush failed, and nobody has recovered from it yet
  bool damaged = false;
  std::int64_t flush_average_ns = 0;  ///< 0: nothing was flushed yet
};

/// `directory`: the `.weft`. permission and the like where the block cannot be read.
Result<ControlReport> look_at_control(const std::string& directory);

}  // namespace weft::store
