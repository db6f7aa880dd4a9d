// Reading what a file or link holds, as one consistent read.
//
// A read counts when the file's stat data is the same before and after it. File times move in ticks, so a file stamped
// within the last tick could be rewritten during the read without showing it: such a file is read twice and must be
// equal; of a large one (kLargeBlobBytes) what was read before the tick was over. What is still moving after
// kMaxReadAttempts is reported as such (CASES C11).
#pragma once

#include <optional>

#include "base/env.h"
#include "base/host_dir.h"
#include "object/object.h"
#include "work/directory_state.h"

namespace weft::work {

inline constexpr int kMaxReadAttempts = 3;

struct ContentRead {
  enum class Outcome : std::uint8_t { ok, missing, failed } outcome = Outcome::failed;
  ObjectId id;
  std::uint64_t size = 0;
  FileStatus status;   ///< what the content belongs to
  std::string reason;  ///< failed: for a warning
};

struct KnownContent {
  ObjectId id;
  std::uint64_t size = 0;
};

/// Reads a regular file, a large one in bounded memory and without its holes. With a writer the content is put there; a
/// small one's only if it is not `known`. Trouble with the file is
/// an outcome; only the writer's failures are errors.
Result<ContentRead> read_content(Clock& clock, const HostDir& directory, std::string_view name,
                                 object::ObjectWriter* writer, const std::optional<KnownContent>& known);
/// The same for the target of a symlink.
Result<ContentRead> read_link_content(const HostDir& directory, std::string_view name, object::ObjectWriter* writer,
                                      const std::optional<KnownContent>& known);

/// All of a regular file of at most `max_bytes`; nullopt when larger, unreadable or moving.
std::optional<Bytes> read_small(const HostDir& directory, std::string_view name, std::uint64_t max_bytes);

}  // namespace weft::work
