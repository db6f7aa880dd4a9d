// Checkpoint frames: from here on what came before a place of the log lies in a kept file and its packs.
//
// Invariants:
//   CP1  The kept file and every pack it names are durable under their names before the frame is appended.
//   CP2  Whoever gathers frames drops what lies before `start` when it meets the frame: from then on the kept file
//        speaks for it. So a gc is published by the merge that takes in its frame, whoever does that one.
//   CP3  Nothing is removed before the index manifest that follows the frame is durable: an index that is older than
//        the frame finds all that it names.
// Threading: functions of bytes.
// Format: docs/FORMATS.md, "Checkpoint".
#pragma once

#include "log/segments.h"
#include "log/shared_state.h"
#include "store/kept.h"

namespace weft::store {

struct Checkpoint {
  std::int64_t time_ns = 0;
  KeptName kept;
  log::LogPoint start;        ///< where the log begins from here on: a segment's beginning
  log::ClientWords client{};  ///< the client words once this frame is in
};
Bytes encode_checkpoint(const Checkpoint& checkpoint);
/// `position`: of the frame.
Result<Checkpoint> decode_checkpoint(ByteView payload, std::uint64_t position);

}  // namespace weft::store
