// The manifest names what the index consists of: runs and packs, and up to which point of the log they speak. Replaced
// as a whole by rename; derived, so a bad one is ignored and the index rebuilt. Format: docs/FORMATS.md, "Index".
#pragma once

#include "log/segments.h"
#include "log/shared_state.h"
#include "store/kept.h"

namespace weft::store {

inline constexpr std::size_t kMaxRuns = 4;

struct Manifest {
  std::uint64_t number = 0;    ///< grows by one with each
  std::uint64_t next_run = 1;  ///< number for the next run's file name
  log::LogPoint point;         ///< the log before it is in the runs
  log::ClientWords client{};   ///< client words there
  struct RunName {
    std::uint64_t number = 0;
    std::uint64_t entries = 0;
  };
  std::vector<RunName> runs;    ///< oldest first, at most kMaxRuns
  std::vector<PackName> packs;  ///< in log order: a pack's place is its ordinal
  /// Where the log begins, and the kept file that speaks for what was before; zero: nothing was.
  log::LogPoint start;
  KeptName kept;
};

inline constexpr std::string_view kManifestName = "manifest";
inline constexpr std::uint64_t kMaxManifestBytes = 64u << 20;

std::string run_file_name(std::uint64_t number);
Bytes encode_manifest(const Manifest& manifest);
Result<Manifest> decode_manifest(ByteView bytes);

}  // namespace weft::store
