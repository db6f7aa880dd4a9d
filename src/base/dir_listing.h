// The names in a directory, many of them in one piece of memory: what a walk over a hundred thousand files reads.
//
// Threading: const calls from many threads; one thread reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace weft {

class HostDir;

struct ListedName {
  std::uint32_t offset = 0;
  std::uint16_t length = 0;
  FileKind kind = FileKind::other;
  std::uint64_t inode = 0;  ///< as the directory has it: under a mount point the covered directory's
};

class DirListing {
 public:
  enum class Descriptor : std::uint8_t {
    own,     ///< nobody else lists through this one, and nobody has
    shared,  ///< its position is others' business: one more is opened
  };
  /// Everything in `directory`, in directory order, without . and ..; kinds from d_type, by fstatat where it is
  /// unknown.
  Result<void> read(const HostDir& directory, Descriptor descriptor);

  std::size_t size() const { return entries_.size(); }
  const ListedName& operator[](std::size_t index) const { return entries_[index]; }
  /// Ends in a NUL, which the view does not include.
  std::string_view name(std::size_t index) const {
    return ByteView(names_).substr(entries_[index].offset, entries_[index].length);
  }
  /// Indices in the order of the names' bytes.
  void sorted(std::vector<std::uint32_t>& order) const;

 private:
  Bytes names_;
  std::vector<ListedName> entries_;
  std::vector<char> buffer_;
};

/// lstat of a name from a listing of `directory` (NUL-terminated). False: something is in the way of it;
/// HostDir::status says what.
bool status_of_listed(const HostDir& directory, const char* name, FileStatus& status);

}  // namespace weft
