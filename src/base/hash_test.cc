#include "base/hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Sha256, KnownAnswers) {  // FIPS 180-4 examples, NIST CSRC
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(Bytes(1'000'000, 'a')).hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, StreamingAgreesWhateverThePieces) {
  const Bytes data(1000, 'x');
  for (std::size_t piece = 1; piece < 200; piece += 13) {
    Sha256 hasher;
    for (std::size_t at = 0; at < data.size(); at += piece) hasher.update(ByteView(data).substr(at, piece));
    EXPECT_EQ(hasher.finish(), sha256(data)) << piece;
  }
}

TEST(Xxh3, KnownAnswers) {
  EXPECT_EQ(xxh3(""), 0x2d06800538d394c2u);  // xxHash's sanity table: XXH3_64bits of nothing, seed 0
  EXPECT_EQ(xxh3("", 0), xxh3({}));
  EXPECT_NE(xxh3("a"), xxh3("b"));
  EXPECT_NE(xxh3("a", 1), xxh3("a", 2));
}

TEST(Fmt, IsLinked) { EXPECT_EQ(fmt::format("{:>4}|{:.2f}|{}", 7, 1.5, "x"), "   7|1.50|x"); }

}  // namespace
}  // namespace weft
