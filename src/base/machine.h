// What can be asked of the machine and of other processes: mostly for explaining (`weft doctor`).
//
// Threading: functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

struct ProcessLook {
  std::uint32_t id = 0;
  std::string name;  ///< of its program, as the kernel shortens it
  char state = '?';  ///< R, S, D, T (stopped), t (traced), Z
  bool stopped() const { return state == 'T' || state == 't'; }
};
/// Nothing where there is no such process in our PID namespace.
std::optional<ProcessLook> look_at_process(std::uint32_t id);
/// The name and state in the text of /proc/PID/stat. Pure.
std::optional<ProcessLook> parse_process_stat(std::string_view text);
/// Processes that have this very file open, of those we may look into.
std::vector<ProcessLook> processes_with(std::uint64_t device, std::uint64_t inode);

/// A limit of this process; absent: none.
struct MachineLimits {
  std::optional<std::uint64_t> open_files, address_space, file_size;
};
MachineLimits machine_limits();

/// By the effective user, as the kernel judges (access lists and capabilities count).
bool may_read(const std::string& path);
bool may_write(const std::string& path);

/// Free inodes an ordinary user may still take on the file system of `path`; absent where it counts none.
std::optional<std::uint64_t> free_inodes(const std::string& path);

}  // namespace weft
