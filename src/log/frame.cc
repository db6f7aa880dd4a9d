#include "log/frame.h"

#include "base/hash.h"

namespace weft::log {
namespace {

constexpr std::uint64_t kSeed = 0x77656674;  // so that a run of zeros has no checksum of zero

template <typename T>
void put(char* out, std::size_t offset, T value) {
  std::memcpy(out + offset, &value, sizeof(value));
}
template <typename T>
T get(ByteView bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

constexpr std::size_t kChecksumOffset = 64;

std::uint64_t header_checksum(ByteView header, ByteView late) {
  return xxh3(late, xxh3(header.substr(0, kChecksumOffset), kSeed));
}

}  // namespace

std::uint64_t payload_checksum(ByteView payload) { return xxh3(payload, kSeed); }

void encode_header(FrameHeader& header, ByteView late, char (&out)[kFrameHeaderBytes]) {
  put(out, 0, kFrameMagic);
  put(out, 4, static_cast<std::uint16_t>(header.kind));
  put(out, 6, std::uint16_t{0});
  put(out, 8, header.length);
  put(out, 12, header.late_length);
  put(out, 16, header.position);
  put(out, 24, header.durable);
  std::memcpy(out + 32, header.transaction.bytes.data(), TransactionId::kSize);
  put(out, 48, header.previous);
  put(out, 56, header.payload_checksum);
  header.checksum = header_checksum(ByteView(out, kFrameHeaderBytes), late);
  put(out, kChecksumOffset, header.checksum);
}

std::optional<FrameHeader> parse_header(ByteView bytes, std::uint64_t position) {
  if (bytes.size() < kFrameHeaderBytes || get<std::uint32_t>(bytes, 0) != kFrameMagic) return std::nullopt;
  FrameHeader header;
  header.kind = static_cast<FrameKind>(get<std::uint16_t>(bytes, 4));
  header.length = get<std::uint32_t>(bytes, 8);
  header.late_length = get<std::uint32_t>(bytes, 12);
  header.position = get<std::uint64_t>(bytes, 16);
  header.durable = get<std::uint64_t>(bytes, 24);
  header.transaction = TransactionId::from_bytes(bytes.substr(32, TransactionId::kSize));
  header.previous = get<std::uint64_t>(bytes, 48);
  header.payload_checksum = get<std::uint64_t>(bytes, 56);
  header.checksum = get<std::uint64_t>(bytes, kChecksumOffset);
  const bool plausible = header.kind >= FrameKind::store && header.kind <= FrameKind::checkpoint &&
                         get<std::uint16_t>(bytes, 6) == 0 && header.position == position &&
                         header.length >= kFrameHeaderBytes && header.length <= kMaxFrameBytes &&
                         header.late_length <= header.length - kFrameHeaderBytes && header.durable <= position;
  if (!plausible) return std::nullopt;
  return header;
}

std::optional<Frame> parse_frame(ByteView bytes, std::uint64_t position) {
  const auto header = parse_header(bytes, position);
  if (!header || header->length > bytes.size()) return std::nullopt;
  Frame frame;
  frame.header = *header;
  frame.late = bytes.substr(kFrameHeaderBytes, header->late_length);
  frame.payload =
      bytes.substr(kFrameHeaderBytes + header->late_length, header->length - kFrameHeaderBytes - header->late_length);
  if (header_checksum(bytes.substr(0, kFrameHeaderBytes), frame.late) != header->checksum) return std::nullopt;
  if (payload_checksum(frame.payload) != header->payload_checksum) return std::nullopt;
  return frame;
}

}  // namespace weft::log
