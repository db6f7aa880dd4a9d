#include "log/frame_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::log {
namespace {

bool all_zero(ByteView bytes) {
  return bytes.empty() || (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

Result<std::vector<std::uint64_t>> FrameMapper::segment_starts() const {
  std::vector<std::uint64_t> starts;
  WEFT_TRY(const auto entries, env_.fs.list(directory_));
  for (const auto& entry : entries) {
    if (!entry.name.ends_with(".seg")) continue;
    const std::string digits = entry.name.substr(0, entry.name.size() - 4);
    if (digits.size() != 10 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::uint64_t number = std::stoull(digits);
    if (number > 0) starts.push_back((number - 1) * segments_.segment_bytes());
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

/// Appends what lies in one segment's bytes to the pieces.
void FrameMapper::segment(ByteView bytes, std::uint64_t start, std::uint64_t stop, std::vector<Piece>& pieces) {
  std::uint64_t at = 0;
  for (;;) {
    // The next whole frame: behind the last one, at the next boundary, or wherever one is found.
    std::uint64_t next = at;
    std::optional<Frame> frame;
    while (next + kFrameHeaderBytes <= bytes.size() && start + next < stop) {
      frame = parse_frame(bytes.substr(next), start + next);
      if (frame && frame->end() > start + segments_.segment_bytes()) frame.reset();
      if (frame) break;
      // Over zeros in one step.
      const ByteView rest = bytes.substr(next);
      if (rest[0] == 0 && rest.size() > kBatchAlignment && all_zero(rest.substr(0, kBatchAlignment))) {
        next += kBatchAlignment;
      } else {
        next += kFrameAlignment;
      }
    }
    if (!frame) return;
    const std::uint64_t position = start + next;
    Piece* const last = pieces.empty() ? nullptr : &pieces.back();
    const bool chained = last != nullptr && frame->header.previous == last->stretch.end.chain;
    if (chained) {  // whatever lies between is padding

      last->stretch.end = {frame->end(), frame->header.checksum};
      ++last->stretch.frames;
      last->claim = std::max(last->claim, frame->header.durable);
    } else {
      Piece piece;
      piece.stretch.from = position;
      piece.stretch.end = {frame->end(), frame->header.checksum};
      piece.stretch.previous = frame->header.previous;
      piece.stretch.frames = 1;
      piece.claim = frame->header.durable;
      pieces.push_back(piece);
    }
    if (frame->header.kind == FrameKind::checkpoint) pieces.back().checkpoints.push_back(position);
    at = next + padded_length(frame->header.length);
  }
}

Result<FrameMap> FrameMapper::map(std::uint64_t known_durable, std::uint64_t stop,
                                  const std::function<void(std::uint64_t)>& progress) {
  WEFT_TRY(const auto starts, segment_starts());
  std::vector<Piece> pieces;
  std::uint64_t files_end = 0;
  for (const std::uint64_t start : starts) {
    if (start >= stop) break;
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView bytes, segments_.view_rest(start, keep));
    files_end = start + bytes.size();
    if (progress) progress(start);
    segment(bytes, start, stop, pieces);
  }
  const std::uint64_t first = starts.empty() ? 0 : starts.front();

  FrameMap map;
  std::uint64_t durable = known_durable;
  for (const auto& piece : pieces) durable = std::max(durable, piece.claim);
  const auto add_gap = [&](std::uint64_t from, std::uint64_t to) -> Result<void> {
    // Where the next file is gone, nothing more need be said of the segment before it.
    const std::uint64_t next = segments_.segment_end(from);
    if (from % segments_.segment_bytes() != 0 && next < to) {
      WEFT_TRY(const std::uint64_t next_size, segments_.file_size(next));
      std::shared_ptr<Mapping> keep;
      WEFT_TRY(const ByteView rest, segments_.view_rest(from, keep));
      if (next_size == 0 && all_zero(rest)) from = next;
    }
    Gap gap{from, to, segments_.path_of(from), false};
    WEFT_TRY(const std::uint64_t size, segments_.file_size(from));
    gap.missing = size <= from % segments_.segment_bytes();
    map.gaps.push_back(std::move(gap));
    return {};
  };
  for (auto& piece : pieces) {
    const std::uint64_t gap_from = map.stretches.empty() ? first : map.end;
    // An unfinished batch of which a later part is whole: nothing says that it was ever durable.
    if (!map.stretches.empty() && durable <= align_up(gap_from, kBatchAlignment)) break;
    if (!map.stretches.empty() || piece.stretch.from > first) WEFT_DO(add_gap(gap_from, piece.stretch.from));
    map.end = piece.stretch.end.position;
    map.frames += piece.stretch.frames;
    map.checkpoints.insert(map.checkpoints.end(), piece.checkpoints.begin(), piece.checkpoints.end());
    map.stretches.push_back(std::move(piece.stretch));
  }
  // Claims are boundaries, frames end before them: only more than padding is loss.
  const std::uint64_t boundary = align_up(map.end, kBatchAlignment);
  const bool left_early = map.end != 0 && durable == segments_.segment_end(map.end - 1);
  if (durable > boundary && !left_early) {
    WEFT_DO(add_gap(map.end, durable));
    map.end = durable;
  }
  for (std::uint64_t position = map.end; stop == UINT64_MAX && position < files_end;
       position = segments_.segment_end(position)) {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView rest, segments_.view_rest(position, keep));
    std::size_t last = rest.size();
    while (last > 0 && rest[last - 1] == 0) --last;
    map.torn_bytes += last;
  }
  return map;
}

Result<void> begin_at(Segments& segments, LogPoint start, FrameMap& map) {
  std::vector<Stretch> stretches;
  for (const auto& stretch : map.stretches) {
    if (stretch.end.position <= start.position) continue;
    Stretch rest = stretch;
    if (stretch.from < start.position) {
      bool first = true;
      rest.frames = 0;
      WEFT_DO(for_each_frame(segments, stretch, [&](const Frame& frame) -> Result<void> {
        if (frame.header.position < start.position) return {};
        if (first) {
          rest.from = frame.header.position;
          rest.previous = frame.header.previous;
          first = false;
        }
        ++rest.frames;
        return {};
      }));
      if (rest.frames == 0) continue;
    }
    stretches.push_back(rest);
  }
  std::vector<Gap> gaps;
  for (const auto& gap : map.gaps) {
    if (gap.to <= start.position) continue;
    gaps.push_back(gap);
    gaps.back().from = std::max(gap.from, start.position);
  }
  const std::uint64_t from = stretches.empty() ? map.end : stretches.front().from;
  const bool covered = !gaps.empty() && gaps.front().from <= start.position;
  if (from > start.position && !covered) {
    gaps.insert(gaps.begin(), Gap{start.position, from, segments.path_of(start.position), true});
  }
  map.frames = 0;
  for (const auto& stretch : stretches) map.frames += stretch.frames;
  map.stretches = std::move(stretches);
  map.gaps = std::move(gaps);
  std::erase_if(map.checkpoints, [&](std::uint64_t position) { return position < start.position; });
  map.end = std::max(map.end, start.position);
  return {};
}

Result<void> for_each_frame(Segments& segments, const Stretch& stretch,
                            const std::function<Result<void>(const Frame&)>& visit) {
  std::uint64_t position = stretch.from;
  std::uint64_t frames = 0;
  std::uint64_t chain = stretch.previous;
  while (position < stretch.end.position) {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView bytes, segments.view_rest(position, keep));
    const std::uint64_t start = position;
    while (position < stretch.end.position && position - start < bytes.size()) {
      auto frame = parse_frame(bytes.substr(position - start), position);
      if (!frame || frame->header.previous != chain) {
        const std::uint64_t boundary = align_up(position + 1, kBatchAlignment);
        if (boundary - start >= bytes.size()) break;
        position = boundary;
        continue;
      }
      WEFT_DO(visit(*frame));
      ++frames;
      chain = frame->header.checksum;
      position = frame->end();
    }
    if (position < stretch.end.position) position = segments.segment_end(position);
  }
  if (frames != stretch.frames) {
    return damaged(fmt::format("the log changed between positions {} and {} while it was read", stretch.from,
                               stretch.end.position),
                   "try again; if that repeats, check the disk");
  }
  return {};
}

}  // namespace weft::log
