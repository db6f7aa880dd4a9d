// Which file system holds a store, and what may be expected of it: whether the memory, the locks and the flushes that
// several processes share there mean what they mean on a local disk.
//
// Threading: values and pure functions, but for file_system_type().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

enum class Sharing : std::uint8_t {
  local,    ///< this machine's kernel alone writes to it
  network,  ///< other machines may write to it, unseen by our locks and our shared memory
  unknown,  ///< not in our table
};

struct FileSystemType {
  std::uint64_t magic = 0;  ///< statfs(2)'s f_type; 0: not known
  std::string name{};       ///< "ext4", "nfs", "fuse.sshfs"; of one that is not in the table its number, "0x1badface"
  bool read_only = false;   ///< the mount
};

/// Of a magic number alone; empty where it is not known.
std::string_view file_system_name(std::uint64_t magic);
/// FUSE is judged by the name behind it: a few are known to be disks, the rest may be anything.
Sharing sharing_of(const FileSystemType& type);
/// In memory: gone with the next boot.
bool is_volatile(const FileSystemType& type);

/// The real one: statfs(2), and for FUSE the name in /proc/self/mountinfo.
Result<FileSystemType> file_system_type(const std::string& path);
/// The type of the mount of device `major:minor` in the text of a mountinfo; empty where there is none. Pure.
std::string mount_type(std::string_view mountinfo, std::uint32_t major, std::uint32_t minor);

}  // namespace weft
