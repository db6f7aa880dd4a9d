// One step of a checkout, on one path: put a file or link in its place, set a mode, take a file away.
//
// Invariants:
//   ST1  A path shows its old content or its new one, whole, at every moment (W4): content goes to a temporary of the
//   same
//        directory, or into a directory nobody else sees yet.
//   ST2  What is replaced or removed is what the plan saw (CP2). It is compared before, and once more when it is out of
//   the
//        way: the two names are exchanged, or the file is renamed aside, looked at, and only then deleted; what turns
//        out to be another is put back. What remains is a writer that holds the old file open and writes later than
//        that. On file systems without RENAME_EXCHANGE only the look before is left for replacing.
//   ST3  A failure leaves no temporary behind.
// Threading: one thread each; several may work in one directory.
#pragma once

#include "object/object.h"
#include "work/checkout_plan.h"
#include "work/leftovers.h"

namespace weft::work {

class StepWriter {
 public:
  StepWriter(Clock& clock, const object::ObjectReader& reader, TemporaryNames& names)
      : clock_(clock), reader_(reader), names_(names) {}

  /// A file or link, in place of what was seen. Code::refused: it is another by now, and was left alone. Code::exists:
  /// something has the name that was not there, or that this file system takes for the same name.
  Result<FileStatus> write(const HostDir& directory, const Step& step);
  /// The same under its final name, in a directory of our own that is not in its place yet.
  Result<FileStatus> write_hidden(const HostDir& directory, const Step& step);
  Result<FileStatus> set_mode(const HostDir& directory, const Step& step);
  Result<void> remove(const HostDir& directory, const Step& step);

 private:
  Result<void> check_unchanged(const HostDir& directory, const Step& step) const;
  bool is_what_was_seen(const HostDir& directory, std::string_view name, const Step& step) const;
  Result<void> fill(const Fd& fd, const object::TreeEntry& entry, const std::string& path);
  Result<Bytes> link_target(const Step& step) const;
  /// What the temporary is: asked only when it may have been replaced itself.
  struct Own {
    const Fd* file = nullptr;
    std::uint64_t link_inode = 0;
  };
  Result<void> move_in(const HostDir& directory, const std::string& temporary, const Step& step, const Own& own);
  Result<void> replace(const HostDir& directory, const std::string& temporary, const Step& step, const Own& own);

  Clock& clock_;
  const object::ObjectReader& reader_;
  TemporaryNames& names_;
  Bytes buffer_;  ///< for content that is streamed
};

/// Code::refused: what is at `path` is not what was seen there.
Error changed_meanwhile(const std::string& path);

}  // namespace weft::work
