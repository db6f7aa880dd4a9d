// What a checkout that was killed leaves behind: files, links and directories under a temporary's name.
//
// Invariants:
//   LO1  A temporary is recognised by its name alone, `.weft-` and 8 hex digits (it fits file systems with short
//   names),
//        and is never recorded (is_temporary_name).
//   LO2  Whose it is does not show. So leftovers are swept only by who holds the lock of the working tree's top
//        directory (HostDir::try_lock), without which nobody writes files out: then every temporary is a dead one's.
// Threading: functions.
#pragma once

#include <atomic>
#include <string>

#include "base/env.h"
#include "base/host_dir.h"

namespace weft::work {

/// Names nobody in this process uses: a random start, then counting.
class TemporaryNames {
 public:
  explicit TemporaryNames(Random& random);
  std::string next();

 private:
  std::atomic<std::uint32_t> number_;
};

/// One of them, with what is in it (a directory of them holds files and links only). Gone already: fine.
Result<void> remove_leftover(const HostDir& directory, std::string_view name, FileKind kind);

/// Removes every leftover below `root`, not looking into nested repositories and following no link. What cannot be read
/// or removed stays. LO2 is the caller's. Returns how many went.
std::uint64_t sweep_leftovers(const HostDir& root);

}  // namespace weft::work
