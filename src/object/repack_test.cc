#include "object/repack.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "object/group_builder.h"
#include "object/memory_objects.h"
#include "object/pack_format.h"

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

/// A directory of `entries`, of which one changes from version to version: its newest version first.
std::vector<Bytes> versions_of(std::uint64_t node, std::size_t entries, std::size_t count) {
  std::vector<Bytes> versions;
  for (std::size_t n = count; n-- > 0;) {
    Bytes bytes;
    for (std::size_t i = 0; i < entries; ++i) {
      bytes += "an entry's name ";
      bytes += sha256(fmt::format("{} {} {}", node, i, (n + entries - 1 - i) / entries)).view();
    }
    versions.push_back(std::move(bytes));
  }
  return versions;
}

// Versions of one thing cost what is new in them, and the newest needs nothing else.
TEST_F(RepackTest, VersionsAreStoredByWhatIsNew) {
  constexpr std::size_t kVersions = 300;
  std::uint64_t raw = 0;
  for (std::uint64_t node = 1; node <= 3; ++node) {
    for (const Bytes& version : versions_of(node, 100, kVersions)) {
      raw += version.size();
      add(ObjectKind::tree, version, node);
    }
  }
  const auto packs = repack(env(), "/packs", source(), objects, {}).value();
  ASSERT_EQ(packs.size(), 1u);
  const std::uint64_t table = 40 * items.size() + 1000;
  // An id each, what a frame says of where it goes, and the few versions that begin anew.
  EXPECT_LT(packs[0].summary.bytes, table + items.size() * 60 + 12 * 3200 + 20'000);
  EXPECT_GT(raw / packs[0].summary.bytes, 25u);
  expect_all(packs);
}

// RP4, and that a base is never behind: every group of a pack of large and small things.
TEST_F(RepackTest, RP4_ReadingNeedsBoundedContent) {
  for (const auto& [node, entries, count] : std::vector<std::tuple<std::uint64_t, std::size_t, std::size_t>>{
           {1, 20, 900}, {2, 600, 120}, {3, 4000, 40}, {4, 20'000, 14}, {5, 1, 3}}) {
    for (const Bytes& version : versions_of(node, entries, count)) add(ObjectKind::blob, version, node);
  }
  for (int i = 0; i < 3000; ++i) add(ObjectKind::change, "change " + std::to_string(i), 0);
  const auto packs = repack(env(), "/packs", source(), objects, {}).value();
  ASSERT_EQ(packs.size(), 1u);
  const PackSummary& summary = packs[0].summary;
  const Bytes whole = fs.content("/packs/" + pack_file_name(summary.id));
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> chains;  // content and groups to decode, by offset
  std::uint32_t deepest = 0;
  for (std::uint64_t at = kPackHeaderBytes; at < whole.size() && whole[at + 1] == static_cast<char>(Stored::group);) {
    const GroupHead head = decode_group_head(ByteView(whole).substr(at)).value();
    auto& [content, groups] = chains[at];
    content = head.raw_size;
    groups = 1;
    if (head.base_distance != 0) {
      const auto base = chains.find(at - head.base_distance);
      ASSERT_NE(base, chains.end());
      content += base->second.first;
      groups += base->second.second;
    }
    EXPECT_LE(content, std::max(kReadBytes, kReadFactor * head.raw_size) + kMaxGroupBytes);
    deepest = std::max(deepest, groups);
    at += head.head_bytes + head.stored_size;
  }
  EXPECT_GE(deepest, 4u);
  EXPECT_LT(deepest, kMaxChainGroups);
  // The newest version of each thing lies in a group that refers to nothing.
  const auto reader = PackReader::open(fs, "/packs/" + pack_file_name(summary.id), summary.id).value();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && items[i].group == items[i - 1].group) continue;
    EXPECT_EQ(chains.at(*reader.find(items[i].kind, items[i].id).value()).second, 1u);
  }
  expect_all(packs);
}

// What waits for the newest versions is written before it takes much memory; one thing may be listed twice.
TEST_F(RepackTest, ManyVersionsThatDoNotCompress) {
  FakeRandom noise(7);
  for (int i = 0; i < 120; ++i) {
    Bytes bytes(100'000, '\0');
    noise.fill(bytes);
    add(ObjectKind::blob, bytes, 5);
  }
  for (int i = 0; i < 40; i += 3) items.push_back(items[static_cast<std::size_t>(i)]);
  const auto packs = repack(env(), "/packs", source(), objects, {}).value();
  ASSERT_EQ(packs.size(), 1u);
  EXPECT_EQ(packs[0].summary.objects, 120u);
  EXPECT_EQ(packs[0].content_bytes, 120u * 100'000);
  items.resize(120);
  expect_all(packs);
}

// RP2 for any objects, groups, orders and pack sizes.
RC_GTEST_FIXTURE_PROP(RepackTest, RP2_EverythingComesBack, ()) {
  std::set<std::pair<ObjectKind, ObjectId>> seen;
  const auto count = *rc::gen::inRange(1, 200);
  for (int i = 0; i < count; ++i) {
    const auto kind = *rc::gen::element(ObjectKind::blob, ObjectKind::tree, ObjectKind::change);
    const auto group = *rc::gen::inRange<std::uint64_t>(0, 4);
    const auto length = *rc::gen::weightedElement<std::size_t>({{6, 50}, {3, 3000}, {1, 70'000}});
    Bytes bytes = std::to_string(*rc::gen::inRange(0, 1000)) + Bytes(length, static_cast<char>('a' + group));
    if (seen.insert({kind, sha256(bytes)}).second) add(kind, bytes, group);
  }
  RepackOptions options;
  options.pack_objects = *rc::gen::element<std::uint64_t>(7, 50, 1000);
  options.level = *rc::gen::element(1, 3, 9);
  expect_all(repack(env(), "/packs", source(), objects, options).value());
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
