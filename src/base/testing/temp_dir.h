// A fresh directory for one test, removed with everything in it when the object goes.
//
// Invariants:
//   T1  Removal touches only the directory mkdtemp made: same device, same inode, a name with our prefix; links in it
//   are
//       unlinked, never followed; other file systems mounted below are left alone.
// Threading: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

class TempDir {
 public:
  /// Below $TMPDIR or /tmp. Aborts the test program when that fails.
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  /// path()/name
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace weft
