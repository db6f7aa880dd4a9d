#include "places.h"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "world.h"

namespace weft::worktree {

int in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  WEFT_CHECK(child >= 0);
  if (child == 0) {
    const int code = body();
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  WEFT_CHECK(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool own_mounts() {
  return ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool mount_tmpfs(const std::string& place, const std::string& options) {
  return ::mount("tmpfs", place.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

bool remount(const std::string& place, unsigned long flags, const std::string& options) {
  return ::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | flags, options.c_str()) == 0;
}

bool mount_ext4(const std::string& image, const std::string& place, int mebibytes) {
  // The mount program sets the loop device up, and takes it away with the last mount of it.
  const std::string command = "truncate -s " + std::to_string(mebibytes) + "M '" + image + "' && mkfs.ext4 -q -F '" +
                              image + "' && mount -o loop '" + image + "' '" + place + "'";
  return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
}

bool become_nobody(const std::string& place) {
  constexpr unsigned kNobody = 65534;
  if (::geteuid() != 0) return true;
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return false;
  return ::access(place.c_str(), W_OK | X_OK) == 0 && ::access(WEFT_PROGRAM, X_OK) == 0;
}

ProcessOutput weft(const std::string& directory, std::vector<std::string> arguments,
                   std::vector<std::pair<std::string, std::string>> environment) {
  ProcessOptions options;
  options.argv = {WEFT_PROGRAM};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.directory = directory;
  options.environment = std::vector<std::string>{"WEFT_AUTHOR=Ann <ann@example.org>", "PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : environment) options.environment->push_back(name + "=" + value);
  return must(run_process(std::move(options), "", 64u << 20));
}

}  // namespace weft::worktree
