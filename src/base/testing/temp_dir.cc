#include "base/testing/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/posix_calls.h"
#include "base/result.h"

namespace weft {

namespace {

constexpr std::string_view kPrefix = "weft-test-";
/// Deeper than any test's tree; a loop in a damaged file system ends here.
constexpr int kMaxDepth = 5000;

void complain(const std::string& what) { std::fprintf(stderr, "TempDir: %s\n", what.c_str()); }

/// Removes what is in the open directory `fd` (owned by the caller), staying on `device`.
void remove_contents(int fd, std::uint64_t device, const std::string& path, int depth) {
  if (depth > kMaxDepth) return complain("too deep, left in place: " + path);
  auto entries = list_directory(fd, path);
  if (!entries) return complain(entries.error().message);
  for (const DirectoryEntry& entry : *entries) {
    const std::string entry_path = path + "/" + entry.name;
    if (entry.kind == FileKind::directory) {
      int child = ::openat(fd, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (child < 0 && errno == EACCES && ::fchmodat(fd, entry.name.c_str(), 0700, 0) == 0) {
        child = ::openat(fd, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      }
      if (child < 0) {
        complain("cannot open " + entry_path);
        continue;
      }
      struct stat status{};
      if (::fstat(child, &status) == 0 && status.st_dev == device) {
        ::fchmod(child, 0700);  // a test may have taken the right to remove from it
        remove_contents(child, device, entry_path, depth + 1);
      }
      ::close(child);
      if (::unlinkat(fd, entry.name.c_str(), AT_REMOVEDIR) != 0) complain("cannot remove " + entry_path);
    } else if (::unlinkat(fd, entry.name.c_str(), 0) != 0) {
      complain("cannot remove " + entry_path);
    }
  }
}

}  // namespace

TempDir::TempDir() {
  const char* const parent = std::getenv("TMPDIR");
  std::string pattern = parent != nullptr && parent[0] == '/' ? parent : "/tmp";
  pattern += "/" + std::string(kPrefix) + "XXXXXX";
  WEFT_CHECK(::mkdtemp(pattern.data()) != nullptr);
  struct stat status{};
  WEFT_CHECK(::lstat(pattern.c_str(), &status) == 0);
  path_ = pattern;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

TempDir::~TempDir() {
  // T1
  WEFT_CHECK(path_.starts_with('/') && path_.find("/" + std::string(kPrefix)) != std::string::npos);
  const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;  // the test moved or removed it
  struct stat status{};
  if (::fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    ::fchmod(fd, 0700);
    remove_contents(fd, device_, path_, 0);
    ::rmdir(path_.c_str());
  }
  ::close(fd);
}

}  // namespace weft
