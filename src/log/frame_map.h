// Where the whole frames of a log lie, also behind damage: what verify reports and repair saves.
//
// A frame carries its own position and checksums, so it is found again behind any hole. What a hole takes away is the
// chain: a stretch behind one begins with a frame whose predecessor is not there.
//
// Invariants:
//   M1  Stretches and gaps are in order, disjoint, and together reach from the first segment to `end`.
//   M2  A gap is bytes that were durable once and hold no whole frame now; the unused end of the log is none, nor is
//       padding.
//   M3  Nothing is cut, written or believed: whether a stretch belongs to this log is for the caller to find out.
// Memory: in proportion to the damage, not to the log. Threading: values.
// Format: docs/FORMATS.md, "Log".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "log/segments.h"

namespace weft::log {

/// A gap shorter than this cannot have held a frame: where one lies between two stretches, they never were one log.
inline constexpr std::uint64_t kLeastGap = kFrameHeaderBytes;

/// Frames that follow each other, each with the checksum of the one before.
struct Stretch {
  std::uint64_t from = 0;
  LogPoint end;                ///< behind its last frame
  std::uint64_t previous = 0;  ///< what its first frame carries of the one before it
  std::uint64_t frames = 0;
};

struct Gap {
  std::uint64_t from = 0, to = 0;
  std::string path;      ///< of the segment it begins in
  bool missing = false;  ///< the file is not there, or ends before
};

struct FrameMap {
  std::vector<Stretch> stretches;
  std::vector<Gap> gaps;
  /// Behind the last whole frame, or what is known to have been durable if that is more.
  std::uint64_t end = 0;
  std::uint64_t frames = 0;
  /// Positions of checkpoint frames.
  std::vector<std::uint64_t> checkpoints;
  /// Bytes behind `end` that are not zero: of an unfinished transaction.
  std::uint64_t torn_bytes = 0;
};

class FrameMapper {
 public:
  FrameMapper(Env& env, Segments& segments, std::string directory)
      : env_(env), segments_(segments), directory_(std::move(directory)) {}

  /// `known_durable`: a position that something else proves. `stop`: frames from there on are not looked at.
  Result<FrameMap> map(std::uint64_t known_durable, std::uint64_t stop,
                       const std::function<void(std::uint64_t position)>& progress);

 private:
  struct Piece {
    Stretch stretch;
    std::uint64_t claim = 0;  ///< the most any of its frames says was durable
    std::vector<std::uint64_t> checkpoints = {};
  };
  Result<std::vector<std::uint64_t>> segment_starts() const;
  void segment(ByteView bytes, std::uint64_t start, std::uint64_t stop, std::vector<Piece>& pieces);

  Env& env_;
  Segments& segments_;
  std::string directory_;
};

/// Leaves out what lies before `start`, which begins a segment: another file speaks for it. What is behind must be
/// there from `start` on.
Result<void> begin_at(Segments& segments, LogPoint start, FrameMap& map);

/// The frames of a stretch, in order; `visit` may be called with any number of them before an error ends it.
Result<void> for_each_frame(Segments& segments, const Stretch& stretch,
                            const std::function<Result<void>(const Frame&)>& visit);

}  // namespace weft::log
