// Which lock of a ref this process holds, noted in the git repository, so that the next export can remove it should
// this one be killed while it holds it.
//
// The note names the ref and the inode of its lock file: a lock that git itself took since is another file. Only one
// process at a time notes (it holds a file lock on the note, which the kernel drops with the process); whoever comes
// meanwhile does without.
// Threading: one thread.
#pragma once

#include <string>

#include "base/host_dir.h"

namespace weft::git::helper {

class LockNote {
 public:
  static constexpr const char* kName = "weft-export-lock";
  /// `directory`: git's common directory. Removes what a killed process left.
  explicit LockNote(std::string directory);
  ~LockNote();
  LockNote(const LockNote&) = delete;
  LockNote& operator=(const LockNote&) = delete;

  /// The lock of `ref` was taken.
  void taken(const std::string& ref) const;
  /// And given back.
  void given_back() const;

 private:
  std::string lock_path(const std::string& ref) const { return directory_ + ref + ".lock"; }
  void recover() const;

  std::string directory_;  ///< ends with '/'
  Fd fd_;                  ///< empty: another process has the note
};

}  // namespace weft::git::helper
