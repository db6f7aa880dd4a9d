#include "object/chunker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/testing/noise.h"

namespace weft::object {
namespace {

/// Gives bytes in pieces of a given size at most, and knows the zeros in it when it is asked.
class PieceSource final : public ByteSource {
 public:
  PieceSource(ByteView bytes, std::size_t piece, bool knows_zeros)
      : bytes_(bytes), piece_(piece), knows_zeros_(knows_zeros) {}
  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t got = std::min({out.size(), piece_, bytes_.size()});
    std::copy_n(bytes_.data(), got, out.data());
    bytes_.remove_prefix(got);
    read_ += got;
    return got;
  }
  Result<std::uint64_t> zeros() override {
    if (!knows_zeros_) return std::uint64_t{0};
    return std::min(bytes_.size(), bytes_.find_first_not_of('\0'));
  }
  Result<std::uint64_t> skip(std::uint64_t count) override {
    const std::size_t passed = std::min<std::size_t>(count, bytes_.size());
    bytes_.remove_prefix(passed);
    return passed;
  }
  std::uint64_t bytes_read() const { return read_; }

 private:
  ByteView bytes_;
  std::size_t piece_;
  bool knows_zeros_;
  std::uint64_t read_ = 0;
};

struct Cut {
  bool zeros = false;
  std::uint64_t size = 0;
  bool operator==(const Cut&) const = default;
};

std::vector<Cut> cuts(ByteSource& source, Bytes* content = nullptr) {
  Chunker chunker(source);
  std::vector<Cut> out;
  for (;;) {
    const auto piece = chunker.next();
    EXPECT_TRUE(piece.has_value());
    if (!piece || !*piece) return out;
    EXPECT_GT((*piece)->size, 0u);
    const bool zeros = (*piece)->bytes.empty();
    EXPECT_TRUE(zeros || (*piece)->bytes.size() == (*piece)->size);
    out.push_back({zeros, (*piece)->size});
    if (content != nullptr) *content += zeros ? Bytes((*piece)->size, '\0') : Bytes((*piece)->bytes);
  }
}
std::vector<Cut> cuts(ByteView bytes) {
  ViewSource source(bytes);
  return cuts(source);
}

/// Noise, text that repeats, and zeros of every length that matters.
Bytes mixture(const std::vector<std::pair<int, std::size_t>>& parts) {
  Bytes out;
  std::uint64_t seed = 0;
  for (const auto& [kind, size] : parts) {
    ++seed;
    if (kind == 0) out += noise(seed, size);
    if (kind == 1) out.append(size, '\0');
    if (kind == 2) {
      while (out.size() % 1000 != 0) out += 'x';
      for (std::size_t i = 0; i < size; i += 16) out += "the same words. ";
    }
  }
  return out;
}

RC_GTEST_PROP(Chunker, CK1BoundariesDependOnTheContentAlone, ()) {
  const auto parts = *rc::gen::container<std::vector<std::pair<int, std::size_t>>>(
      *rc::gen::inRange<std::size_t>(1, 6),
      rc::gen::pair(rc::gen::inRange(0, 3),
                    rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 200),
                                   rc::gen::inRange<std::size_t>(kMinZeroRun - 2, kMinZeroRun + 2),
                                   rc::gen::inRange<std::size_t>(50'000, 400'000))));
  const Bytes content = mixture(parts);
  ViewSource whole(content);
  Bytes back;
  const auto expected = cuts(whole, &back);
  RC_ASSERT(back == content);
  for (const bool knows_zeros : {false, true}) {
    PieceSource pieces(content, *rc::gen::element<std::size_t>(777, 4096, 65'537, 1'500'000), knows_zeros);
    Bytes again;
    RC_ASSERT(cuts(pieces, &again) == expected);
    RC_ASSERT(again == content);
  }
  // Zeros are always apart, whole, and long enough; chunks between them keep to the sizes.
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool before_zeros = i + 1 == expected.size() || expected[i + 1].zeros;
    if (expected[i].zeros) {
      RC_ASSERT(expected[i].size >= kMinZeroRun);
      RC_ASSERT(i == 0 || !expected[i - 1].zeros);
    } else {
      RC_ASSERT(expected[i].size <= kChunkSizes.most);
      RC_ASSERT(expected[i].size >= kChunkSizes.least || before_zeros);
    }
  }
}

RC_GTEST_PROP(Chunker, AnEditMovesOnlyTheBoundariesBesideIt, ()) {
  const Bytes before = noise(*rc::gen::inRange<std::uint64_t>(1, 1'000'000), 2u << 20);
  const auto at = *rc::gen::inRange<std::size_t>(0, before.size());
  const auto removed = *rc::gen::inRange<std::size_t>(0, 3000);
  const Bytes added = noise(99, *rc::gen::inRange<std::size_t>(0, 3000));
  Bytes after = before;
  after.replace(at, std::min(removed, before.size() - at), added);

  std::map<ObjectId, std::uint64_t> known;
  const auto each = [](ByteView bytes, const std::function<void(const ObjectId&, std::uint64_t)>& use) {
    for (const Cut& cut : cuts(bytes)) {
      use(sha256(bytes.substr(0, cut.size)), cut.size);
      bytes.remove_prefix(cut.size);
    }
  };
  each(before, [&](const ObjectId& id, std::uint64_t size) { known[id] = size; });
  std::uint64_t fresh = 0;
  each(after, [&](const ObjectId& id, std::uint64_t size) { fresh += known.contains(id) ? 0 : size; });
  // The chunk that was edited, and those until both have a boundary at one place again.
  RC_ASSERT(fresh <= 6 * kChunkSizes.most);
}

TEST(Chunker, TheTableAndTheSizesAreFrozen) {
  // docs/FORMATS.md, "Chunk list". A change here makes every large file new content to every store.
  const Bytes content = noise(1, 3u << 20);
  const auto all = cuts(content);
  std::string sizes;
  for (const Cut& cut : all) sizes += std::to_string(cut.size) + " ";
  EXPECT_EQ(
      sizes,
      "53124 65959 28482 18407 90762 24308 17235 65854 74506 69003 70745 70007 33458 74042 94335 67682 73523 68849 "
      "81143 83504 71857 81257 66021 77276 65976 92015 82278 75285 86839 82887 70180 69787 68374 102563 74535 84650 "
      "66014 68775 20493 78063 35020 187156 64252 42854 83845 22548 ");
  EXPECT_EQ(cuts(Bytes(5u << 20, '\0')), (std::vector<Cut>{{true, 5u << 20}}));
  EXPECT_EQ(cuts(Bytes(kMinZeroRun - 1, '\0')), (std::vector<Cut>{{false, kMinZeroRun - 1}}));
  EXPECT_EQ(cuts(Bytes()), std::vector<Cut>{});
  EXPECT_EQ(cuts("a" + Bytes(kMinZeroRun, '\0') + "b"),
            (std::vector<Cut>{{false, 1}, {true, kMinZeroRun}, {false, 1}}));
}

TEST(Chunker, KnownZerosAreNotRead) {
  const Bytes content = noise(1, 100'000) + Bytes(20u << 20, '\0') + noise(2, 100'000);
  PieceSource source(content, 65'536, true);
  EXPECT_EQ(cuts(source), cuts(content));
  EXPECT_LT(source.bytes_read(), 300'000u);
}

TEST(Chunker, WhatTheSourceFailsWithIsTold) {
  class Failing final : public ByteSource {
   public:
    Result<std::size_t> read(std::span<char> out) override {
      if (given_ > 3u << 20) return make_error(Code::io, "the file went away");
      std::fill(out.begin(), out.end(), static_cast<char>(++given_ % 251));
      given_ += out.size();
      return out.size();
    }

   private:
    std::uint64_t given_ = 0;
  };
  Failing source;
  Chunker chunker(source);
  for (int i = 0; i < 1000; ++i) {
    const auto piece = chunker.next();
    if (!piece) {
      EXPECT_EQ(piece.error().code, Code::io);
      return;
    }
  }
  FAIL() << "it never came";
}

}  // namespace
}  // namespace weft::object
