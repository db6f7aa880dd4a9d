#include "object/repack.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "object/memory_objects.h"

namespace weft::object {
namespace {

struct RepackTest : ::testing::Test {
  RepackTest() : random(1) { EXPECT_TRUE(fs.make_directory("/packs")); }
  Env env() { return {fs, clock, random}; }
  RepackItem add(ObjectKind kind, ByteView bytes, std::uint64_t group) {
    const ObjectId id = objects.put(kind, bytes).value();
    items.push_back({kind, id, group});
    return items.back();
  }
  RepackSource source() {
    return [this, at = std::size_t{0}]() mutable -> Result<std::optional<RepackItem>> {
      if (at == items.size()) return std::optional<RepackItem>();
      return std::optional(items[at++]);
    };
  }
  /// RP2.
  void expect_all(const std::vector<RepackedPack>& packs) {
    std::size_t found = 0;
    for (const auto& pack : packs) {
      auto reader = PackReader::open(fs, "/packs/" + pack_file_name(pack.summary.id), pack.summary.id);
      ASSERT_TRUE(reader) << reader.error().message;
      reader->verify(true, [](const Error& error) { ADD_FAILURE() << error.message; });
      for (const auto& item : items) {
        const auto offset = reader->find(item.kind, item.id).value();
        if (!offset) continue;
        ++found;
        EXPECT_EQ(reader->read_at(*offset, item.kind, item.id).value(), objects.read(item.kind, item.id).value());
      }
    }
    EXPECT_EQ(found, items.size());
  }

  SimFileSystem fs{1};
  FakeClock clock;
  FakeRandom random;
  MemoryObjects objects;
  std::vector<RepackItem> items;
};

TEST_F(RepackTest, WritesEveryItemOnce) {
  for (int i = 0; i < 50; ++i) add(ObjectKind::blob, "version " + std::to_string(i), 7);
  add(ObjectKind::blob, Bytes(kLargeBlobBytes + 5, 'x'), 8);
  add(ObjectKind::change, "not looked at", 0);
  const auto packs = repack(env(), "/packs", source(), objects, {});
  ASSERT_TRUE(packs) << packs.error().message;
  ASSERT_EQ(packs->size(), 1u);
  EXPECT_EQ(packs->front().changes, 1u);
  EXPECT_EQ(packs->front().summary.objects, items.size());
  expect_all(*packs);
}

TEST_F(RepackTest, BeginsAnotherPackWhereOneIsFull) {
  for (int i = 0; i < 50; ++i) add(ObjectKind::blob, "version " + std::to_string(i), 7);
  RepackOptions options;
  options.pack_objects = 20;
  const auto packs = repack(env(), "/packs", source(), objects, options);
  ASSERT_TRUE(packs) << packs.error().message;
  EXPECT_EQ(packs->size(), 3u);
  expect_all(*packs);
}

TEST_F(RepackTest, NothingGivesNoPack) { EXPECT_TRUE(repack(env(), "/packs", source(), objects, {}).value().empty()); }

TEST_F(RepackTest, WhatCannotBeReadFailsAll) {
  add(ObjectKind::blob, "there", 0);
  items.push_back({ObjectKind::blob, sha256("nowhere"), 0});
  const auto packs = repack(env(), "/packs", source(), objects, {});
  ASSERT_FALSE(packs);
  EXPECT_EQ(packs.error().code, Code::not_found);
}

TEST_F(RepackTest, CanBeStopped) {
  for (int i = 0; i < 600; ++i) add(ObjectKind::blob, "version " + std::to_string(i), 7);
  RepackOptions options;
  options.progress = [](std::uint64_t) -> Result<void> { return make_error(Code::interrupted, "stopped"); };
  const auto packs = repack(env(), "/packs", source(), objects, options);
  ASSERT_FALSE(packs);
  EXPECT_EQ(packs.error().code, Code::interrupted);
  EXPECT_TRUE(fs.list("/packs").value().empty());
}

}  // namespace
}  // namespace weft::object
