#include "log/segments.h"

#include <gtest/gtest.h>

#include "base/testing/fake_env.h"

namespace weft::log {
namespace {

constexpr std::uint64_t kSegment = 64u << 10;

class SegmentsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.fs.make_directory("log"));
    ASSERT_TRUE(segments_.create(0, 16u << 10));
  }
  /// A frame of `payload` bytes at `position`; returns the point behind it.
  LogPoint put(Segments& segments, LogPoint at, std::size_t payload_size, std::uint64_t durable = 0) {
    const Bytes payload(payload_size, 'p');
    FrameHeader header;
    header.length = static_cast<std::uint32_t>(kFrameHeaderBytes + payload.size());
    header.position = at.position;
    header.durable = durable;
    header.previous = at.chain;
    header.payload_checksum = payload_checksum(payload);
    char bytes[kFrameHeaderBytes];
    encode_header(header, {}, bytes);
    const ByteView parts[] = {ByteView(bytes, sizeof(bytes)), payload};
    EXPECT_TRUE(segments.writer(at.position).value()->write_at(at.position % kSegment, parts));
    return {at.position + padded_length(header.length), header.checksum};
  }
  static LogPoint aligned(LogPoint point) { return {align_up(point.position, kBatchAlignment), point.chain}; }
  ScanResult scan(std::uint64_t known_durable = 0) {
    Segments fresh(env_, "log", kSegment);
    return fresh.scan({}, known_durable, {}).value();
  }

  FakeEnv world_;
  Env env_ = world_.env();
  Segments segments_{env_, "log", kSegment};
};

TEST_F(SegmentsTest, ScanningFollowsTheChainThroughBatchesAndSegments) {
  LogPoint at = put(segments_, {}, 100);
  at = put(segments_, at, 5000);          // the same batch
  at = put(segments_, aligned(at), 100);  // the next
  const LogPoint left_early = at;
  ASSERT_TRUE(segments_.create(kSegment, 4096));
  at = put(segments_, {kSegment, left_early.chain}, 300);
  const ScanResult result = scan();
  EXPECT_EQ(result.end, at);
  EXPECT_EQ(result.frames, 4u);
  EXPECT_EQ(result.torn_bytes, 0u);
  EXPECT_FALSE(result.damage);
  EXPECT_EQ(segments_.scan_durable({}, align_up(at.position, kBatchAlignment), {}).value(), at);
  EXPECT_FALSE(segments_.scan_durable({}, align_up(at.position, kBatchAlignment) + kBatchAlignment, {}));
}

/// L4: the log may begin behind its first segment; the chain's beginning is taken as given.
TEST_F(SegmentsTest, TheLowestSegmentsCanGo) {
  LogPoint at = put(segments_, {}, 100);
  std::vector<LogPoint> starts = {{}};
  for (std::uint64_t number = 1; number < 4; ++number) {
    ASSERT_TRUE(segments_.create(number * kSegment, 4096));
    starts.push_back({number * kSegment, at.chain});
    at = put(segments_, starts.back(), 300);
  }
  EXPECT_EQ(segments_.lowest().value(), std::optional(LogPoint{}));
  ASSERT_TRUE(segments_.check_files(0, at.position));
  EXPECT_GT(segments_.remove_before(2 * kSegment).value(), 0u);
  EXPECT_FALSE(world_.fs.status(segments_.path_of(kSegment)));
  EXPECT_EQ(segments_.lowest().value(), std::optional(starts[2]));
  EXPECT_FALSE(segments_.check_files(0, at.position));
  EXPECT_TRUE(segments_.check_files(2 * kSegment, at.position));
  Segments fresh(env_, "log", kSegment);
  const ScanResult result = fresh.scan(starts[2], 0, {}).value();
  EXPECT_EQ(result.end, at);
  EXPECT_EQ(result.frames, 2u);
  EXPECT_FALSE(result.damage);
  EXPECT_EQ(segments_.remove_before(2 * kSegment).value(), 0u);
}

TEST_F(SegmentsTest, AnotherChainEndsTheLog) {
  const LogPoint first = put(segments_, {}, 100);
  put(segments_, {first.position, first.chain + 1}, 100);
  const ScanResult result = scan();
  EXPECT_EQ(result.end, first);
  EXPECT_GT(result.torn_bytes, 0u);
  EXPECT_FALSE(result.damage);
}

TEST_F(SegmentsTest, AWholeFrameBehindAGapProvesDamage) {
  const LogPoint first = aligned(put(segments_, {}, 100));
  put(segments_, {first.position + 2 * kBatchAlignment, 99}, 100, first.position + 2 * kBatchAlignment);
  const ScanResult result = scan();
  ASSERT_TRUE(result.damage);
  EXPECT_NE(result.damage->find("was durable"), std::string::npos);
  EXPECT_TRUE(scan(first.position + 5 * kBatchAlignment).damage);
}

TEST_F(SegmentsTest, PaddingIsNoGap) {
  const LogPoint first = put(segments_, {}, 100);
  EXPECT_FALSE(scan(aligned(first).position).damage);
  EXPECT_TRUE(scan(aligned(first).position + 1).damage);
}

/// A crash between two unlinks leaves a gap in the files; what lies behind it must go all the same, or its frames would
/// later look like proof that something is lost.
TEST_F(SegmentsTest, ClearingRemovesSegmentsBehindAGap) {
  const LogPoint first = put(segments_, {}, 100);
  ASSERT_TRUE(segments_.create(2 * kSegment, 4096));
  put(segments_, {2 * kSegment, 5}, 100, 2 * kSegment);
  ASSERT_TRUE(segments_.clear_behind(first.position));
  EXPECT_EQ(segments_.file_size(2 * kSegment).value(), 0u);
  EXPECT_EQ(scan().end, first);
}

TEST_F(SegmentsTest, ClearingZeroesWhatIsTornAndKeepsWhatIsAccepted) {
  const LogPoint first = put(segments_, {}, 100);
  put(segments_, {first.position, first.chain + 1}, 9000);
  ASSERT_TRUE(segments_.clear_behind(first.position));
  const ScanResult result = scan();
  EXPECT_EQ(result.end, first);
  EXPECT_EQ(result.torn_bytes, 0u);
}

/// A segment prepared ahead is looked at by one process, removed by another's recovery and made anew: the first must
/// see the new one.
TEST_F(SegmentsTest, ASegmentMadeAnewIsNotSeenThroughTheOldMapping) {
  const LogPoint first = put(segments_, {}, 100);
  ASSERT_TRUE(segments_.create(kSegment, 16u << 10));
  Segments other(env_, "log", kSegment);
  EXPECT_EQ(other.scan({}, 0, {}).value().end, first);
  ASSERT_TRUE(segments_.clear_behind(first.position));
  ASSERT_TRUE(segments_.create(kSegment, 16u << 10));
  const LogPoint second = put(segments_, {kSegment, first.chain}, 100);
  std::shared_ptr<Mapping> keep;
  const auto seen = other.view_until(kSegment, second.position, keep);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(parse_frame(*seen, kSegment));
}

/// Left early, the file is shorter than a segment; the log stands exactly at its end.
TEST_F(SegmentsTest, ASegmentLeftEarlyIsReadableAtItsEnd) {
  put(segments_, {}, 100);
  std::shared_ptr<Mapping> keep;
  const auto seen = segments_.view_until(0, kSegment, keep);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(parse_frame(*seen, 0));
  EXPECT_FALSE(segments_.view_until(32u << 10, 40u << 10, keep)) << "nothing is there";
}

}  // namespace
}  // namespace weft::log
