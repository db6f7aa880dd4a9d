// A frame of any form, and the same with its checksums made right: what is accepted lies within the bytes, and encodes
// to the header it came from.
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "log/frame.h"

namespace {

using namespace weft;

void try_frame(ByteView bytes, std::uint64_t position) {
  const auto header = log::parse_header(bytes, position);
  const auto frame = log::parse_frame(bytes, position);
  if (!frame) return;
  WEFT_CHECK(header && header->position == position && header->durable <= position);
  WEFT_CHECK(frame->late.size() + frame->payload.size() + log::kFrameHeaderBytes == frame->header.length);
  WEFT_CHECK(frame->header.length <= bytes.size() && frame->header.length <= log::kMaxFrameBytes);
  log::FrameHeader again = frame->header;
  char encoded[log::kFrameHeaderBytes];
  log::encode_header(again, frame->late, encoded);
  WEFT_CHECK(ByteView(encoded, sizeof(encoded)) == bytes.substr(0, log::kFrameHeaderBytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  std::uint64_t position = 0;
  if (size >= 24) std::memcpy(&position, data + 16, sizeof(position));
  try_frame(input, position);
  try_frame(input, 0);
  if (auto header = log::parse_header(input, position); header && header->length <= size) {
    const ByteView late = input.substr(log::kFrameHeaderBytes, header->late_length);
    const ByteView payload = input.substr(log::kFrameHeaderBytes + header->late_length,
                                          header->length - log::kFrameHeaderBytes - header->late_length);
    header->payload_checksum = log::payload_checksum(payload);
    char encoded[log::kFrameHeaderBytes];
    log::encode_header(*header, late, encoded);
    const Bytes whole = Bytes(encoded, sizeof(encoded)) + Bytes(late) + Bytes(payload);
    try_frame(whole, position);
    WEFT_CHECK(log::parse_frame(whole, position).has_value());
  }
  return 0;
}
