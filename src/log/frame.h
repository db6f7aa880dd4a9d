// Frames: how transactions lie in the log. Pure functions of bytes.
//
//   header (72 bytes) | late section | payload | zeros up to a multiple of 8
//
// The log does not know what the two sections mean. `late` is the part that is only known inside the lock that orders
// transactions (ref moves with their links to the moves before); `payload` is prepared, and check-summed, outside it.
//
// Invariants:
//   F1  A frame is accepted only at the position its header names, behind the frame whose checksum it carries (the
//   chain). F2  One checksum covers header and late section; the payload's own checksum is in the header.
// Format: docs/FORMATS.md, "Log".
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::log {

inline constexpr std::uint32_t kFrameMagic = 0x314d5246;  // "FRM1"
inline constexpr std::size_t kFrameHeaderBytes = 72;
inline constexpr std::size_t kFrameAlignment = 8;
/// Batches start on this boundary, so that bytes once durable are never written again.
inline constexpr std::uint64_t kBatchAlignment = 4096;
/// Larger transactions put their objects into a pack first.
inline constexpr std::uint64_t kMaxFrameBytes = 8u << 20;

enum class FrameKind : std::uint16_t {
  store = 1,  ///< the first frame of a store: its ids
  transaction = 2,
  checkpoint = 3,  ///< what came before a place of the log lies in other files from here on
};

struct FrameHeader {
  FrameKind kind = FrameKind::transaction;
  std::uint32_t length = 0;  ///< of header, late section and payload, without the padding
  std::uint32_t late_length = 0;
  std::uint64_t position = 0;
  std::uint64_t durable = 0;  ///< everything before this was durable when the frame was written
  TransactionId transaction;
  std::uint64_t previous = 0;  ///< checksum of the frame before it; 0 for the first
  std::uint64_t payload_checksum = 0;
  std::uint64_t checksum = 0;  ///< over the 64 header bytes before it, and the late section
};

/// Bytes the frame takes in the log.
inline std::uint64_t padded_length(std::uint64_t length) {
  return (length + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}
inline std::uint64_t align_up(std::uint64_t position, std::uint64_t alignment) {
  return (position + alignment - 1) / alignment * alignment;
}

std::uint64_t payload_checksum(ByteView payload);

/// Fills `out` and sets header.checksum.
void encode_header(FrameHeader& header, ByteView late, char (&out)[kFrameHeaderBytes]);

struct Frame {
  FrameHeader header;
  ByteView late;
  ByteView payload;
  std::uint64_t end() const { return header.position + padded_length(header.length); }
  /// Position in the log of the payload's first byte.
  std::uint64_t payload_position() const { return header.position + kFrameHeaderBytes + header.late_length; }
};

/// Parses the frame that must begin at bytes[0] and lie at `position`. nullopt when it is not one (wrong magic,
/// position, checksum, length): whether that is the end of the log or damage is for the caller to find out.
std::optional<Frame> parse_frame(ByteView bytes, std::uint64_t position);
/// The header alone, checked as far as that goes without the sections (magic, position, plausible lengths).
std::optional<FrameHeader> parse_header(ByteView bytes, std::uint64_t position);

}  // namespace weft::log
