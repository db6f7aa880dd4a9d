// Frames in a block of a kept file (kept.h).
#include <fmt/format.h>

#include "store/kept.h"

namespace weft::store {
namespace {

constexpr std::uint8_t kListed = 1;
constexpr std::uint8_t kHasOperation = 2;
constexpr std::uint8_t kHasUndone = 4;
/// Positions of the log have 56 bits wherever they are kept.
constexpr std::uint64_t kPositionEnd = std::uint64_t{1} << 56;

void encode_operation(ByteWriter& out, const OperationInfo& info) {
  out.sized(info.label);
  out.sized(info.author);
  out.sized(info.workspace);
  out.sized(info.agent);
  if (info.undoes) out.raw(info.undoes->view());
}

OperationInfo decode_operation(ByteReader& in, bool undone) {
  OperationInfo info;
  info.label = std::string(in.sized(kMaxLabelBytes));
  info.author = std::string(in.sized(kMaxLabelBytes));
  info.workspace = std::string(in.sized(kMaxLabelBytes));
  info.agent = std::string(in.sized(kMaxLabelBytes));
  if (undone) info.undoes = read_id<TransactionId>(in);
  return info;
}

void encode_move(ByteWriter& out, const Move& move) {
  out.varint(move.position - move.frame);
  out.varint(move.previous == 0 ? 0 : move.position - move.previous);
  out.sized(move.name);
  out.u8(move.after ? 1 : 0);
  if (!move.after) return;
  out.varint(move.after->version.changes.size());
  for (const auto& id : move.after->version.changes) out.raw(id.view());
  out.sized(move.after->extra);
}

Move decode_kept_move(ByteReader& in, std::uint64_t frame) {
  Move move;
  move.frame = frame;
  const std::uint64_t offset = in.varint_max(log::kMaxFrameBytes);
  move.position = frame + offset;
  const std::uint64_t back = in.varint_max(move.position);
  if (offset == 0) in.fail();
  move.previous = back == 0 ? 0 : move.position - back;
  move.name = std::string(in.sized(kMaxRefNameBytes));
  if (back != 0 && move.previous == 0) in.fail();
  const std::uint8_t has = in.u8();
  if (has > 1) in.fail();
  if (has == 1) {
    RefValue value;
    const std::uint64_t count = in.varint_max(object::kMaxVersionChanges);
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
      value.version.changes.push_back(read_id<ChangeId>(in));
      const auto& ids = value.version.changes;
      if (ids.size() > 1 && !(ids[ids.size() - 2] < ids.back())) in.fail();
    }
    value.extra = Bytes(in.sized(kMaxRefExtraBytes));
    move.after = std::move(value);
  }
  if (in.ok()) {
    const Key key = ref_key(move.name);
    std::memcpy(move.key.bytes.data(), key.bytes.data(), 16);
  }
  return move;
}

}  // namespace

Bytes encode_kept_frames(const std::vector<KeptFrame>& frames) {
  Bytes bytes;
  ByteWriter out(bytes);
  std::uint64_t position = 0;
  std::int64_t time_ns = 0;
  for (const auto& frame : frames) {
    out.varint(frame.position - position);
    position = frame.position;
    out.raw(frame.transaction.view());
    // Times may be anything; their difference wraps as unsigned numbers do.
    out.svarint(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(frame.time_ns) - static_cast<std::uint64_t>(time_ns)));
    time_ns = frame.time_ns;
    const bool undone = frame.operation && frame.operation->undoes;
    out.u8(static_cast<std::uint8_t>((frame.listed ? kListed : 0) | (frame.operation ? kHasOperation : 0) |
                                     (undone ? kHasUndone : 0)));
    if (frame.operation) encode_operation(out, *frame.operation);
    out.varint(frame.previous_operation == 0 ? 0 : frame.position + 1 - frame.previous_operation);
    out.varint(frame.moves.size());
    for (const auto& move : frame.moves) encode_move(out, move);
    out.varint(frame.young.size());
    for (const auto& [kind, id] : frame.young) {
      out.u8(static_cast<std::uint8_t>(kind));
      out.raw(id.view());
    }
  }
  return bytes;
}

Result<std::vector<KeptFrame>> decode_kept_frames(ByteView bytes) {
  std::vector<KeptFrame> frames;
  ByteReader in(bytes);
  std::uint64_t position = 0;
  std::int64_t time_ns = 0;
  while (in.ok() && !in.at_end()) {
    KeptFrame frame;
    const std::uint64_t step = in.varint_max(kPositionEnd - position);
    if (step == 0 && position == 0) in.fail();  // the store's first frame is never kept: it is a fact of its own
    frame.position = position += step;
    frame.transaction = read_id<TransactionId>(in);
    frame.time_ns = time_ns =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) + static_cast<std::uint64_t>(in.svarint()));
    const std::uint8_t flags = in.u8();
    if (flags > (kListed | kHasOperation | kHasUndone)) in.fail();
    frame.listed = (flags & kListed) != 0;
    const bool undone = (flags & kHasUndone) != 0;
    if ((flags & kHasOperation) != 0) {
      frame.operation = decode_operation(in, undone);
    } else if (undone) {
      in.fail();
    }
    const std::uint64_t back = in.varint_max(frame.position);
    if (back != 0) frame.previous_operation = frame.position + 1 - back;
    const std::uint64_t moves = in.varint_max(kMaxRefMoves);
    for (std::uint64_t i = 0; i < moves && in.ok(); ++i) {
      frame.moves.push_back(decode_kept_move(in, frame.position));
      if (i > 0 && frame.moves[i - 1].position >= frame.moves[i].position) in.fail();
    }
    const std::uint64_t young = in.varint_max(kMaxYoungObjects);
    for (std::uint64_t i = 0; i < young && in.ok(); ++i) {
      const std::uint8_t kind = in.u8();
      if (kind < 1 || kind > 3) in.fail();
      frame.young.emplace_back(static_cast<ObjectKind>(kind), read_id<ObjectId>(in));
    }
    if (in.ok()) frames.push_back(std::move(frame));
  }
  if (!in.ok()) return damaged(fmt::format("a block of frames is malformed at byte {}", in.position()));
  return frames;
}

}  // namespace weft::store
