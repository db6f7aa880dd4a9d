// Shared by the files of base that make system calls; nobody else includes it.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace weft {

/// Calls `call` again as long as a signal interrupts it.
template <typename Call>
auto retry_eintr(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

FileStatus status_from_stat(const struct stat& status);
FileKind kind_from_mode(mode_t mode);
/// Of a directory entry; DT_UNKNOWN is FileKind::other.
FileKind kind_from_d_type(unsigned char type);

/// Every entry of the open directory, from its start, in directory order, without . and ..; moves the fd's position.
Result<std::vector<DirectoryEntry>> list_directory(int fd, std::string_view path);

}  // namespace weft
