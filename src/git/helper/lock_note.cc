#include "git/helper/lock_note.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

namespace weft::git::helper {
namespace {

constexpr std::size_t kMaxNoteBytes = 8192;

std::optional<std::uint64_t> inode_of(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_ino;
}

}  // namespace

LockNote::LockNote(std::string directory) : directory_(std::move(directory)) {
  Fd fd(open((directory_ + kName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  fd_ = std::move(fd);
  recover();
  given_back();
}

LockNote::~LockNote() {
  if (fd_) unlink((directory_ + kName).c_str());
}

void LockNote::recover() const {
  Bytes note(kMaxNoteBytes, '\0');
  const ssize_t length = pread(fd_.get(), note.data(), note.size(), 0);
  if (length <= 0) return;
  note.resize(static_cast<std::size_t>(length));
  // "INODE REF\n"; what is cut off is none.
  const auto space = note.find(' ');
  if (space == Bytes::npos || !note.ends_with('\n')) return;
  const std::string ref = note.substr(space + 1, note.size() - space - 2);
  if (!ref.starts_with("refs/") || ref.find("..") != std::string::npos) return;
  const auto inode = inode_of(lock_path(ref));
  if (inode && std::to_string(*inode) == note.substr(0, space)) unlink(lock_path(ref).c_str());
}

void LockNote::taken(const std::string& ref) const {
  if (!fd_) return;
  const auto inode = inode_of(lock_path(ref));
  if (!inode) return;
  const std::string note = std::to_string(*inode) + " " + ref + "\n";
  // Where it cannot be written nothing is lost but the help.
  (void)(pwrite(fd_.get(), note.data(), note.size(), 0) < 0);
}

void LockNote::given_back() const {
  if (fd_) (void)(ftruncate(fd_.get(), 0) != 0);
}

}  // namespace weft::git::helper
