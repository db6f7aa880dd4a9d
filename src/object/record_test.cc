#include "object/record.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"

namespace weft::object {
namespace {

Bytes encoded(ObjectKind kind, ByteView content) {
  Bytes out;
  RecordCodec codec;
  EXPECT_TRUE(codec.encode(kind, sha256(content), content, out).has_value());
  return out;
}

/// Bytes that do not compress.
Bytes noise(std::size_t size) {
  Bytes out;
  for (std::uint64_t i = 0; out.size() < size; ++i) out += sha256(std::to_string(i)).view();
  out.resize(size);
  return out;
}

TEST(Record, EncodesAsDocumented) {
  const Bytes record = encoded(ObjectKind::change, "hello");
  EXPECT_EQ(record.size(), 1u + 1 + 32 + 1 + 1 + 8 + 5);
  const std::uint64_t checksum = xxh3("hello");
  Bytes expected = std::string("\x03\x00", 2);
  expected += sha256("hello").view();
  expected += "\x05\x05";
  ByteWriter(expected).u64(checksum);
  expected += "hello";
  EXPECT_EQ(to_hex(record), to_hex(expected));
}

RC_GTEST_PROP(Record, RoundTripsAndIgnoresWhatFollows, ()) {
  const auto piece = *rc::gen::arbitrary<Bytes>();
  Bytes content;
  for (int i = *rc::gen::inRange(0, 200); i >= 0; --i) content += piece;
  const auto kind = *rc::gen::element(ObjectKind::blob, ObjectKind::tree, ObjectKind::change);
  const Bytes bytes = encoded(kind, content);
  const Record record = decode_record(bytes + "what follows").value();
  RC_ASSERT(record.kind == kind);
  RC_ASSERT(record.id == sha256(content));
  RC_ASSERT(record.raw_size == content.size());
  RC_ASSERT(record.length == bytes.size());
  const Record again = decode_record(bytes).value();
  RC_ASSERT(record_content(again).value() == content);
  RC_CLASSIFY(again.form == Stored::zstd, "compressed");
}

TEST(Record, CompressesOnlyWhereItPays) {
  const auto form = [](ByteView content) { return decode_record(encoded(ObjectKind::blob, content)).value().form; };
  EXPECT_EQ(form(Bytes(kMinCompressedBytes - 1, 'x')), Stored::plain);
  EXPECT_EQ(form(Bytes(kMinCompressedBytes, 'x')), Stored::zstd);
  EXPECT_EQ(form(noise(10'000)), Stored::plain);
  EXPECT_EQ(form(""), Stored::plain);
}

TEST(Record, ContextsAreReused) {
  RecordCodec codec(3);
  for (const std::size_t size : {300u, 100'000u, 0u, 1u << 20, 5u}) {
    const Bytes content = Bytes(size, 'a') + noise(size / 10);
    Bytes out = "prefix";
    ASSERT_TRUE(codec.encode(ObjectKind::blob, sha256(content), content, out).has_value());
    const Record record = decode_record(ByteView(out).substr(6)).value();
    EXPECT_EQ(codec.content(record).value(), content);
  }
}

TEST(Record, RefusesObjectsBeyondItsLimit) {
  RecordCodec codec;
  Bytes out = "before";
  EXPECT_EQ(codec.encode(ObjectKind::blob, ObjectId{}, Bytes(kMaxRecordBytes + 1, 'x'), out).error().code,
            Code::invalid);
  EXPECT_EQ(out, "before");
  EXPECT_TRUE(codec.encode(ObjectKind::blob, ObjectId{}, Bytes(kMaxRecordBytes, 'x'), out).has_value());
}

// O1: whatever bit flips, the content is the one that was written, or damage is reported.
TEST(Record, EveryTruncationAndBitFlipIsFound) {
  for (const Bytes& content : {Bytes("some content"), Bytes(400, 'z') + "tail"}) {
    const Bytes good = encoded(ObjectKind::tree, content);
    for (std::size_t length = 0; length < good.size(); ++length) {
      EXPECT_EQ(decode_record(ByteView(good).substr(0, length)).error().code, Code::damaged) << length;
    }
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      const auto record = decode_record(bad);
      if (!record) {
        EXPECT_EQ(record.error().code, Code::damaged);
        continue;
      }
      const auto read = record_content(*record);
      if (!read) {
        EXPECT_EQ(read.error().code, Code::damaged);
      } else {
        // Only kind and id may differ, which whoever asked for the object compares.
        EXPECT_EQ(*read, content) << bit;
        EXPECT_TRUE(record->kind != ObjectKind::tree || record->id != sha256(content)) << bit;
      }
    }
  }
}

// O2: a few bytes cannot make a reader take gigabytes.
TEST(Record, ClaimsBeyondTheLimitAreDamage) {
  Bytes bomb("\x01\x01", 2);
  bomb += Bytes(32, 'i');
  ByteWriter writer(bomb);
  writer.varint(std::uint64_t{1} << 40);
  writer.varint(5);
  writer.u64(xxh3("stuff"));
  writer.raw("stuff");
  EXPECT_EQ(decode_record(bomb).error().code, Code::damaged);
  // Within the limit, but not what the compressed bytes say.
  Record record;
  record.form = Stored::zstd;
  record.raw_size = kMaxRecordBytes;
  record.stored = "stuff";
  record.checksum = xxh3("stuff");
  EXPECT_EQ(record_content(record).error().code, Code::damaged);
}

}  // namespace
}  // namespace weft::object
