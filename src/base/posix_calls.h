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

/// For what was just made at `path`, by its descriptor: in a directory that a group shares (setgid and writable for it)
/// the group gets the owner's rights, whatever the umask; what root made in the directory of somebody else becomes
/// theirs. Best effort: what was made works for whoever made it in any case.
void fit_into_directory(int fd, const std::string& path);

FileStatus status_from_stat(const struct stat& status);
FileKind kind_from_mode(mode_t mode);
/// Of a directory entry; DT_UNKNOWN is FileKind::other.
FileKind kind_from_d_type(unsigned char type);

/// Every entry of the open directory, from its start, in directory order, without . and ..; moves the fd's position.
Result<std::vector<DirectoryEntry>> list_directory(int fd, std::string_view path);

}  // namespace weft
