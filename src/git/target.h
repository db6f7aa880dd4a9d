// The git repository an export writes to, as weft sees it: objects it has, objects it gets. weft-git behind it
// (wire.h), or memory in tests.
#pragma once

#include <string_view>

#include "git/git_object.h"
#include "git/wire.h"
#include "object/object.h"

namespace weft::git {

class GitTarget {
 public:
  virtual ~GitTarget() = default;
  /// Of what it has and of what was written. Code::invalid when it is not there. Not for blobs.
  virtual Result<Bytes> read(wire::GitKind kind, const Sha1& id) = 0;
  /// `hint`: the path it is at. What the target has already is not written again.
  virtual Result<void> write(wire::GitKind kind, const Sha1& id, std::string_view hint, ByteView bytes) = 0;
  virtual Result<void> write_blob(const Sha1& id, std::string_view hint, std::uint64_t size,
                                  object::ByteSource& source) = 0;
};

}  // namespace weft::git
