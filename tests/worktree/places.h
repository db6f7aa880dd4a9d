// File systems and users of a test's own: everything here happens in a child process, in a mount namespace of its own,
// so that nothing of it is left on the machine, however the test ends.
// Threading: none.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/testing/temp_dir.h"

namespace weft::worktree {

/// What a child ends with when this machine, or this user, does not allow what a test needs.
inline constexpr int kNotHere = 77;

/// Runs `body` in a forked child and gives its exit code; 1000 + signal when one ended it.
int in_child(const std::function<int()>& body);
/// In a child: other mounts are none of the machine's. False where that is not allowed.
bool own_mounts();
/// `options` as in "size=20m".
bool mount_tmpfs(const std::string& place, const std::string& options);
/// `flags`: MS_RDONLY, or 0 to be writable again; `options` as in "size=40m".
bool remount(const std::string& place, unsigned long flags, const std::string& options = "");
/// A fresh ext4 in the file `image`, on `place`.
bool mount_ext4(const std::string& image, const std::string& place, int mebibytes);
/// In a child: nobody from here on. False, too, if nobody cannot work in `place` or run the program: both may lie in
/// directories where nobody else may look.
bool become_nobody(const std::string& place);

/// The weft program in `directory`, as a user without configuration.
ProcessOutput weft(const std::string& directory, std::vector<std::string> arguments,
                   std::vector<std::pair<std::string, std::string>> environment = {});

}  // namespace weft::worktree
