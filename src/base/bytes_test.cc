#include "base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft {
namespace {

Bytes varint(std::uint64_t value) {
  Bytes out;
  ByteWriter(out).varint(value);
  return out;
}

TEST(Varint, Edges) {
  EXPECT_EQ(varint(0), Bytes(1, '\0'));
  EXPECT_EQ(varint(127), "\x7f");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(~std::uint64_t{0}), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{16383},
                                    std::uint64_t{16384}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const Bytes encoded = varint(value);
    ByteReader reader(encoded);
    EXPECT_EQ(reader.varint(), value);
    EXPECT_TRUE(reader.ok() && reader.at_end());
  }
}

TEST(Varint, RefusesWhatIsNotShortestOrTooLarge) {
  for (const ByteView bad :
       {ByteView("\x80\x00", 2), ByteView("\xff\x80\x00", 3), ByteView("\x80"), ByteView(""),
        ByteView("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), ByteView("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"),
        ByteView("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10)}) {
    ByteReader reader(bad);
    EXPECT_EQ(reader.varint(), 0u) << to_hex(bad);
    EXPECT_FALSE(reader.ok()) << to_hex(bad);
  }
}

RC_GTEST_PROP(Varint, RoundTrips, (std::uint64_t value, std::uint8_t shift, std::int64_t number)) {
  value >>= shift % 64;
  Bytes out;
  ByteWriter writer(out);
  writer.varint(value);
  writer.svarint(number);
  ByteReader reader(out);
  RC_ASSERT(reader.varint() == value);
  RC_ASSERT(reader.svarint() == number);
  RC_ASSERT(reader.ok() && reader.at_end());
}

RC_GTEST_PROP(Varint, DecodedBytesEncodeToThemselves, (const std::string& bytes)) {
  ByteReader reader(bytes);
  const std::uint64_t value = reader.varint();
  if (reader.ok()) RC_ASSERT(varint(value) == bytes.substr(0, reader.position()));
}

TEST(ByteReader, AfterAFailureEverythingIsZero) {
  Bytes data;
  ByteWriter writer(data);
  writer.u32(7);
  writer.u8(1);
  ByteReader reader(data);
  EXPECT_EQ(reader.u32(), 7u);
  EXPECT_EQ(reader.u16(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0u) << "though a byte is left";
  EXPECT_EQ(reader.raw(1), "");
  EXPECT_EQ(reader.rest(), "");
}

TEST(ByteReader, LimitsLengths) {
  Bytes data;
  ByteWriter(data).sized("abc");
  ByteReader good(data);
  EXPECT_EQ(good.sized(3), "abc");
  EXPECT_TRUE(good.ok());
  ByteReader long_one(data);
  EXPECT_EQ(long_one.sized(2), "");
  EXPECT_FALSE(long_one.ok());
  Bytes lie = varint(~std::uint64_t{0}) + "x";
  ByteReader liar(lie);
  EXPECT_EQ(liar.sized(SIZE_MAX), "");
  EXPECT_FALSE(liar.ok());
  ByteReader bounded(data);
  EXPECT_EQ(bounded.varint_max(2), 0u);
  EXPECT_FALSE(bounded.ok());
}

RC_GTEST_PROP(Hex, RoundTrips, (const std::string& bytes)) { RC_ASSERT(from_hex(to_hex(bytes)) == bytes); }

TEST(Hex, AcceptsBothCasesAndNothingElse) {
  EXPECT_EQ(to_hex("\x01\xaf"), "01af");
  EXPECT_EQ(from_hex("01AF"), "\x01\xaf");
  for (const char* bad : {"0", "0g", "g0", " 0", "0x", "00 "}) EXPECT_FALSE(from_hex(bad)) << bad;
}

TEST(Base64, KnownAnswers) {  // RFC 4648, section 10
  const std::pair<const char*, const char*> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : known) {
    EXPECT_EQ(to_base64(plain), encoded);
    EXPECT_EQ(from_base64(encoded), plain);
  }
}

TEST(Base64, RefusesWhatWouldNotComeBack) {
  for (const char* bad : {"Zg", "Zg=", "Zh==", "Zm9=", "=", "====", "Z===", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zg=a"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

RC_GTEST_PROP(Base64, RoundTrips, (const std::string& bytes)) { RC_ASSERT(from_base64(to_base64(bytes)) == bytes); }

TEST(Utf8, FollowsTable3_7) {
  for (const char* good : {"", "abc", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << to_hex(good);
  }
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xe1\x80", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xc3(", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(is_utf8(bad)) << to_hex(bad);
  }
}

TEST(Quoted, LeavesOrdinaryNamesAlone) {
  for (const char* plain : {"", "a", "src/main.cc", "with space", "caf\xc3\xa9", "'single'", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(quoted(plain), plain);
  }
}

TEST(Quoted, EscapesWhatCouldActOnATerminal) {
  EXPECT_EQ(quoted("a\nb"), R"("a\nb")");
  EXPECT_EQ(quoted("a\"b\\"), R"("a\"b\\")");
  EXPECT_EQ(quoted(std::string_view("\x1b[31m\0", 6)), R"("\033[31m\000")");
  EXPECT_EQ(quoted("caf\xe9"), R"("caf\351")");
  EXPECT_EQ(quoted("\xc2\x9b"
                   "31m"),
            R"("\302\23331m")")
      << "C1 control sequence introducer";
  EXPECT_EQ(quoted("a\xe2\x80\xae"
                   "b"),
            R"("a\342\200\256b")")
      << "right-to-left override";
  EXPECT_EQ(quoted("\a\b\t\v\f\r\x7f"), R"("\a\b\t\v\f\r\177")");
}

}  // namespace
}  // namespace weft
