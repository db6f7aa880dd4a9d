// An export as the helper sees it: facts and refs, then objects to write and refs to move (wire.h).
//
// Memory: object_storage.h. Threading: one thread.
#pragma once

#include <string>

#include "git/helper/channel.h"
#include "git/helper/object_storage.h"
#include "git/helper/ref_mover.h"

namespace weft::git::helper {

/// What to do where there is no repository.
enum class Create : std::uint8_t { no, bare, work_tree };

class ExportSession {
 public:
  explicit ExportSession(Channel& channel) : channel_(channel) {}
  /// `head`: the branch (full name) HEAD of a new repository names.
  Result<void> run(const std::string& path, Create create, const std::string& head);

 private:
  enum class Made : std::uint8_t { no, bare, work_tree };
  Result<void> serve(const Repository& repository, Made made);
  Result<void> write(ObjectStorage& storage, const wire::Write& message);
  Result<void> read(const Repository& repository, const wire::Read& message);
  Result<void> answer(const MoveResult& result);

  Channel& channel_;
};

}  // namespace weft::git::helper
