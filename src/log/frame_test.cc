#include "log/frame.h"

#include <gtest/gtest.h>

#include "base/testing/fake_random.h"

namespace weft::log {
namespace {

Bytes random_bytes(FakeRandom& random, std::size_t length) {
  Bytes bytes(length, '\0');
  random.fill({bytes.data(), bytes.size()});
  return bytes;
}

Bytes frame_of(std::uint64_t position, ByteView late, ByteView payload) {
  FrameHeader header;
  header.length = static_cast<std::uint32_t>(kFrameHeaderBytes + late.size() + payload.size());
  header.late_length = static_cast<std::uint32_t>(late.size());
  header.position = position;
  header.durable = position / 2;
  header.transaction = TransactionId::from_bytes("0123456789abcdef");
  header.previous = 77;
  header.payload_checksum = payload_checksum(payload);
  char bytes[kFrameHeaderBytes];
  encode_header(header, late, bytes);
  return Bytes(bytes, sizeof(bytes)) + Bytes(late) + Bytes(payload);
}

TEST(Frame, ComesBackAsItWasWritten) {
  FakeRandom random(1);
  for (const std::size_t late_size : {0, 1, 50}) {
    for (const std::size_t payload_size : {0, 1, 7, 5000}) {
      const Bytes late = random_bytes(random, late_size);
      const Bytes payload = random_bytes(random, payload_size);
      const Bytes bytes = frame_of(4096, late, payload) + random_bytes(random, 30);
      const auto frame = parse_frame(bytes, 4096);
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame->late, late);
      EXPECT_EQ(frame->payload, payload);
      EXPECT_EQ(frame->header.previous, 77u);
      EXPECT_EQ(frame->header.durable, 2048u);
      EXPECT_EQ(frame->header.transaction, TransactionId::from_bytes("0123456789abcdef"));
      EXPECT_EQ(frame->end() % kFrameAlignment, 0u);
      EXPECT_EQ(frame->payload_position(), 4096 + kFrameHeaderBytes + late_size);
    }
  }
}

TEST(Frame, AnyChangedBitIsNoticed) {  // F2
  FakeRandom random(2);
  const Bytes whole = frame_of(8, random_bytes(random, 20), random_bytes(random, 40));
  ASSERT_TRUE(parse_frame(whole, 8));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_frame(changed, 8)) << "bit " << bit;
  }
}

TEST(Frame, ShortOrMisplacedIsNone) {  // F1
  const Bytes whole = frame_of(4096, "late", "payload");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_frame(ByteView(whole).substr(0, length), 4096));
  EXPECT_FALSE(parse_frame(whole, 0));
  EXPECT_FALSE(parse_frame(whole, 4104));
  EXPECT_FALSE(parse_frame(Bytes(1000, '\0'), 0));
}

}  // namespace
}  // namespace weft::log
