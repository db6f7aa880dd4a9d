#include "object/group.h"

#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace weft::object {
namespace {

/// Version `n` of something: mostly what version n - 1 was, with ids as trees have them.
Bytes version(std::uint64_t seed, std::uint64_t n, std::size_t lines = 60) {
  Bytes out;
  for (std::uint64_t line = 0; line < lines; ++line) {
    const std::uint64_t changed = (n + lines - 1 - line) / lines;  // one line a version
    out += sha256(std::to_string(seed) + "/" + std::to_string(line) + "/" + std::to_string(changed)).view();
    out += "a line that stays";
  }
  return out;
}

struct Place {
  std::uint64_t offset = 0;
  std::uint32_t member = 0;
  Bytes content;
};

struct GroupTest : ::testing::Test {
  GroupTest() { EXPECT_TRUE(world.fs.make_directory("packs").has_value()); }

  /// One group over `contents`; places of its members.
  std::vector<Place> add(PackWriter& writer, const std::vector<Bytes>& contents, const Place* base = nullptr,
                         ObjectKind kind = ObjectKind::blob) {
    std::vector<ObjectId> ids;
    std::vector<std::uint64_t> sizes;
    Bytes all;
    for (const Bytes& content : contents) {
      ids.push_back(sha256(content));
      sizes.push_back(content.size());
      all += content;
      model[{kind, ids.back()}] = content;
    }
    const Bytes stored = encoder.compress(all, base ? ByteView(base->content) : ByteView(), 3).value();
    PackWriter::Group group{kind, ids, sizes, stored};
    if (base) {
      group.base_offset = base->offset;
      group.base_member = base->member;
    }
    const std::uint64_t offset = writer.add_group(group).value();
    std::vector<Place> places;
    for (std::uint32_t i = 0; i < contents.size(); ++i) places.push_back({offset, i, contents[i]});
    return places;
  }
  /// A group whose frame or base is not what its head says.
  void add_lying(PackWriter& writer, ByteView content, std::uint64_t size, ByteView stored,
                 std::uint64_t base_offset = 0, std::uint32_t base_member = 0) {
    const ObjectId id = sha256(content);
    lies.push_back(id);
    ASSERT_TRUE(writer.add_group({ObjectKind::blob, {&id, 1}, {&size, 1}, stored, base_offset, base_member}));
  }
  std::string path(const ObjectId& id) { return join_path("packs", pack_file_name(id)); }
  PackReader open(const PackSummary& summary) {
    return PackReader::open(world.fs, path(summary.id), summary.id).value();
  }
  Result<Bytes> read(const PackReader& reader, ObjectKind kind, const ObjectId& id) {
    WEFT_TRY(const auto offset, reader.find(kind, id));
    return reader.read_at(offset.value(), kind, id);
  }
  std::vector<Error> problems(const PackReader& reader) {
    std::vector<Error> found;
    reader.verify(true, [&](const Error& error) { found.push_back(error); });
    return found;
  }
  void expect_holds_model(const PackReader& reader) {
    for (const auto& [key, bytes] : model) {
      const auto offset = reader.find(key.first, key.second).value();
      ASSERT_TRUE(offset.has_value());
      EXPECT_EQ(reader.read_at(*offset, key.first, key.second).value(), bytes);
      EXPECT_EQ(reader.size_at(*offset, key.first, key.second).value(), bytes.size());
      if (key.first != ObjectKind::blob) continue;
      EXPECT_EQ(read_all(*reader.open_blob_at(*offset, key.second).value(), bytes.size()).value(), bytes);
    }
    for (const Error& error : problems(reader)) ADD_FAILURE() << error.message;
  }
  /// Every lie is refused in every way of reading, cold and warm, and named by verify; the model is still there.
  void expect_refused(PackWriter& writer) {
    const PackSummary summary = writer.finish().value();
    for (int warm = 0; warm < 2; ++warm) {
      const PackReader reader = open(summary);
      if (warm == 1) {
        for (const auto& [key, bytes] : model) EXPECT_EQ(read(reader, key.first, key.second).value(), bytes);
      }
      for (const ObjectId& id : lies) {
        const std::uint64_t offset = *reader.find(ObjectKind::blob, id).value();
        const auto got = reader.read_at(offset, ObjectKind::blob, id);
        ASSERT_FALSE(got.has_value());
        EXPECT_EQ(got.error().code, Code::damaged);
        const auto source = reader.open_blob_at(offset, id);
        if (source) {
          EXPECT_EQ(read_all(**source, kMaxGroupBytes).error().code, Code::damaged);
        }
        std::size_t named = 0;
        for (const Error& error : problems(reader)) {
          if (error.message.find(id.hex()) != std::string::npos ||
              error.message.find(fmt_offset(offset)) != std::string::npos)
            ++named;
        }
        EXPECT_GT(named, 0u);
      }
      for (const auto& [key, bytes] : model) EXPECT_EQ(read(reader, key.first, key.second).value(), bytes);
    }
  }
  static std::string fmt_offset(std::uint64_t offset) { return "at " + std::to_string(offset) + ":"; }

  FakeEnv world;
  GroupEncoder encoder;
  std::map<std::pair<ObjectKind, ObjectId>, Bytes> model;
  std::vector<ObjectId> lies;
};

TEST(GroupHead, ComesBackAndNothingShorterDoes) {
  GroupHead head;
  head.kind = ObjectKind::tree;
  head.base_distance = 77'777;
  head.base_member = 3;
  for (std::uint32_t i = 0; i < 40; ++i) head.members.push_back({i * 100, i * 7});
  const Bytes encoded = encode_group_head(head, Bytes(500, 's'));
  const GroupHead again = decode_group_head(encoded + "what follows").value();
  EXPECT_EQ(again.kind, head.kind);
  EXPECT_EQ(again.stored_size, 500u);
  EXPECT_EQ(again.base_distance, head.base_distance);
  EXPECT_EQ(again.base_member, head.base_member);
  EXPECT_EQ(again.members.size(), head.members.size());
  EXPECT_EQ(again.members[39].size, 3900u);
  EXPECT_EQ(again.members[39].tag, 39u * 7);
  EXPECT_EQ(again.raw_size, 39u * 40 / 2 * 100);
  EXPECT_EQ(again.head_bytes, encoded.size());
  EXPECT_EQ(xxh3(Bytes(500, 's'), again.head_hash), again.checksum);
  for (std::size_t length = 0; length < encoded.size(); ++length) {
    EXPECT_EQ(decode_group_head(ByteView(encoded).substr(0, length)).error().code, Code::damaged) << length;
  }
}

TEST(GroupHead, RefusesWhatExceedsALimit) {
  GroupHead head;
  head.members.push_back({1, 1});
  EXPECT_TRUE(decode_group_head(encode_group_head(head, "s")).has_value());
  head.members[0].size = kMaxGroupBytes;
  EXPECT_TRUE(decode_group_head(encode_group_head(head, "s")).has_value());
  head.members.push_back({1, 2});
  EXPECT_EQ(decode_group_head(encode_group_head(head, "s")).error().code, Code::damaged);
  head.members[0].size = ~std::uint64_t{0};  // the sum would wrap
  EXPECT_EQ(decode_group_head(encode_group_head(head, "s")).error().code, Code::damaged);
  head.members.assign(kMaxGroupMembers, {0, 0});
  const Bytes most = encode_group_head(head, "s");
  EXPECT_TRUE(decode_group_head(most).has_value());
  EXPECT_LE(most.size(), kMaxGroupHeadBytes);
  head.members.push_back({0, 0});
  EXPECT_EQ(decode_group_head(encode_group_head(head, "s")).error().code, Code::damaged);
  head.members.clear();
  EXPECT_EQ(decode_group_head(encode_group_head(head, "s")).error().code, Code::damaged);
  head.members.push_back({1, 1});
  EXPECT_EQ(decode_group_head(encode_group_head(head, Bytes(2 * kMaxGroupBytes, 's'))).error().code, Code::damaged);
  head.kind = static_cast<ObjectKind>(4);
  EXPECT_EQ(decode_group_head(encode_group_head(head, "s")).error().code, Code::damaged);
}

TEST_F(GroupTest, MembersAndWhatRefersToThemComeBack) {
  PackWriter writer(world, "packs");
  const auto first = add(writer, {version(1, 0), "", "small", version(2, 0)});
  const std::uint64_t before = writer.bytes();
  const auto second = add(writer, {version(1, 1), version(1, 2)}, &first[0]);
  EXPECT_LT(writer.bytes() - before, 300u);  // two ids and what a group takes
  add(writer, {version(1, 3)}, &second[1]);
  add(writer, {version(2, 1)}, &first[3]);
  add(writer, {version(3, 0), version(3, 1)}, nullptr, ObjectKind::tree);
  const Bytes plain = "an object by itself";
  model[{ObjectKind::change, sha256(plain)}] = plain;
  ASSERT_TRUE(writer.add(ObjectKind::change, sha256(plain), plain).has_value());
  for (const auto& [key, bytes] : model) {  // while writing
    EXPECT_EQ(writer.read(key.first, key.second).value(), bytes);
    EXPECT_EQ(writer.size(key.first, key.second).value(), bytes.size());
    if (key.first == ObjectKind::blob) {
      EXPECT_EQ(read_all(*writer.open_blob(key.second).value(), bytes.size()).value(), bytes);
    }
  }
  const PackSummary summary = writer.finish().value();
  EXPECT_EQ(summary.objects, model.size());
  const PackReader reader = open(summary);
  EXPECT_EQ(*reader.find(ObjectKind::blob, sha256("")).value(),
            *reader.find(ObjectKind::blob, sha256("small")).value());
  expect_holds_model(reader);
  expect_holds_model(reader);  // now cached
  const std::uint64_t offset = *reader.find(ObjectKind::blob, sha256("small")).value();
  EXPECT_EQ(reader.read_at(offset, ObjectKind::blob, sha256("absent")).error().code, Code::damaged);
  EXPECT_EQ(reader.read_at(offset, ObjectKind::tree, sha256("small")).error().code, Code::damaged);
  EXPECT_EQ(reader.size_at(offset, ObjectKind::blob, sha256("absent")).error().code, Code::damaged);
}

// GR1, GR2: what heads and frames may claim.
TEST_F(GroupTest, LiesAreRefusedAndCostTheOthersNothing) {
  PackWriter writer(world, "packs");
  const auto first = add(writer, {version(1, 0), version(2, 0)});
  const Bytes alone = "an object by itself";
  ASSERT_TRUE(writer.add(ObjectKind::blob, sha256(alone), alone).has_value());
  const std::uint64_t alone_at = writer.bytes() - alone.size() - 45;
  const Bytes content = version(1, 1);
  const Bytes frame = encoder.compress(content, first[0].content, 3).value();
  int salt = 0;
  const auto lie = [&](std::uint64_t size, ByteView stored, std::uint64_t base, std::uint32_t member) {
    add_lying(writer, content + std::to_string(salt++), size, stored, base, member);
  };
  lie(content.size() + 1, frame, first[0].offset, 0);  // a size that is not the frame's
  lie(kMaxGroupBytes, frame, first[0].offset, 0);
  lie(0, frame, first[0].offset, 0);
  lie(content.size(), ByteView(frame).substr(0, frame.size() - 1), first[0].offset, 0);
  lie(content.size(), ByteView(frame).substr(0, 5), first[0].offset, 0);
  lie(content.size(), "", first[0].offset, 0);
  lie(content.size(), "no frame at all", 0, 0);
  lie(content.size(), frame, 0, 0);                    // no base where it needs one
  lie(content.size(), frame, first[0].offset, 2);      // a member that is not there
  lie(content.size(), frame, first[0].offset + 1, 0);  // nothing begins there
  lie(content.size(), frame, alone_at, 0);             // no group
  lie(content.size(), frame, 1, 0);                    // before the first object
  add(writer, {version(1, 2)}, &first[0]);
  expect_refused(writer);
}

// GR2: the 64th group of a chain can be read, the next one not, whatever is cached; the same for its bytes.
TEST_F(GroupTest, ChainsEndAtTheirLimits) {
  PackWriter writer(world, "packs");
  Place last = add(writer, {version(1, 0)})[0];
  for (std::uint32_t i = 1; i < kMaxChainGroups; ++i) last = add(writer, {version(1, i)}, &last)[0];
  const Bytes deep = version(1, kMaxChainGroups);
  add_lying(writer, deep, deep.size(), encoder.compress(deep, last.content, 3).value(), last.offset, last.member);
  last = add(writer, {Bytes(kMaxGroupBytes, 'a')})[0];
  for (std::uint64_t i = 1; i < kMaxChainBytes / kMaxGroupBytes; ++i) {
    last = add(writer, {Bytes(kMaxGroupBytes, static_cast<char>('a' + i))}, &last)[0];
  }
  add_lying(writer, "z", 1, encoder.compress("z", last.content, 3).value(), last.offset, last.member);
  expect_refused(writer);
}

TEST_F(GroupTest, ADamagedBaseIsNamedWithAllThatNeedsIt) {
  PackWriter writer(world, "packs");
  const auto base = add(writer, {version(1, 0), version(2, 0)});
  const auto second = add(writer, {version(1, 1), version(1, 2)}, &base[0]);
  add(writer, {version(1, 3)}, &second[1]);
  const std::vector<Bytes> lost{version(1, 0), version(2, 0), version(1, 1), version(1, 2), version(1, 3)};
  const auto other = add(writer, {version(3, 0)});
  add(writer, {version(3, 1)}, &other[0]);
  const PackSummary summary = writer.finish().value();
  world.fs.damage(path(summary.id), base[0].offset + 200, "damage");
  const PackReader reader = open(summary);
  const std::vector<Error> found = problems(reader);
  EXPECT_EQ(found.size(), lost.size());
  for (const Bytes& content : lost) {
    const auto got = read(reader, ObjectKind::blob, sha256(content));
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code, Code::damaged);
    EXPECT_NE(got.error().message.find(sha256(content).hex()), std::string::npos);
    EXPECT_NE(got.error().message.find(fmt_offset(base[0].offset)), std::string::npos) << got.error().message;
    EXPECT_EQ(std::count_if(found.begin(), found.end(),
                            [&](const Error& e) { return e.message.find(sha256(content).hex()) != std::string::npos; }),
              1);
  }
  for (const std::uint64_t n : {0u, 1u}) {
    EXPECT_EQ(read(reader, ObjectKind::blob, sha256(version(3, n))).value(), version(3, n));
  }
}

// GR3: whatever single bit flips, reading gives what was written or an error, and verify(deep) finds it.
TEST_F(GroupTest, EveryFlippedBitIsFound) {
  PackWriter writer(world, "packs");
  const auto first = add(writer, {version(1, 0, 4), "", version(2, 0, 4)});
  const auto second = add(writer, {version(1, 1, 4), version(1, 2, 4)}, &first[0]);
  add(writer, {version(1, 3, 4)}, &second[1]);
  const PackSummary summary = writer.finish().value();
  const Bytes whole = world.fs.content(path(summary.id));
  const std::size_t end = whole.size() - TableLayout(summary.objects).end - kPackFooterBytes - 8;
  for (std::size_t bit = kPackHeaderBytes * 8; bit < end * 8; ++bit) {
    Bytes bad = whole;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    auto file = world.fs.open("bad", OpenMode::create).value();
    ASSERT_TRUE(file->write_at(0, bad).has_value());
    const PackReader reader = PackReader::open(world.fs, "bad", summary.id).value();
    EXPECT_FALSE(problems(reader).empty()) << "byte " << bit / 8;
    for (const auto& [key, bytes] : model) {
      const auto got = read(reader, key.first, key.second);
      if (got) {
        EXPECT_EQ(*got, bytes);
      } else {
        EXPECT_EQ(got.error().code, Code::damaged);
      }
    }
  }
}

// Groups of any size, in any order, referring to anything before them.
RC_GTEST_FIXTURE_PROP(GroupTest, EverythingComesBackInAnyOrder, ()) {
  PackWriter writer(world, "packs");
  std::vector<Place> places;
  std::map<std::uint64_t, std::uint32_t> depth;
  std::uint64_t n = 0;
  const auto groups = *rc::gen::inRange(1, 40);
  for (int g = 0; g < groups; ++g) {
    std::vector<Bytes> contents;
    const auto members = *rc::gen::inRange(1, 8);
    for (int m = 0; m < members; ++m) {
      contents.push_back(std::to_string(n) + version(static_cast<std::uint64_t>(*rc::gen::inRange(0, 3)), n, 10));
      ++n;
    }
    const Place* base = nullptr;
    if (!places.empty() && *rc::gen::arbitrary<bool>()) {
      base = &places[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(places.size())))];
    }
    const std::uint32_t groups_below = base ? depth[base->offset] : 0;
    const Place copy = base ? *base : Place{};
    const auto added = add(writer, contents, base ? &copy : nullptr,
                           *rc::gen::element(ObjectKind::blob, ObjectKind::tree, ObjectKind::change));
    depth[added[0].offset] = groups_below + 1;
    places.insert(places.end(), added.begin(), added.end());
  }
  const PackReader reader = open(writer.finish().value());
  std::vector<std::pair<ObjectKind, ObjectId>> keys;
  for (const auto& [key, bytes] : model) keys.push_back(key);
  for (int i = 0; i < 100; ++i) {
    const auto& key = *rc::gen::elementOf(keys);
    RC_ASSERT(read(reader, key.first, key.second).value() == model[key]);
  }
  expect_holds_model(reader);
}

TEST_F(GroupTest, AReaderKeepsNoMoreThanItsLimit) {
  PackWriter writer(world, "packs");
  for (std::uint64_t i = 0; i < 100; ++i) add(writer, {version(i, 0, 1500)});
  const PackReader reader = open(writer.finish().value());
  GroupCache cache;
  for (int i = 0; i < 100; ++i) {
    auto group = std::make_shared<DecodedGroup>();
    group->content.resize(100'000);
    cache.keep(static_cast<std::uint64_t>(i), std::move(group));
    EXPECT_LE(cache.bytes(), GroupCache::kCachedBytes);
  }
  EXPECT_EQ(cache.find(99)->content.size(), 100'000u);
  EXPECT_EQ(cache.find(1), nullptr);
  auto large = std::make_shared<DecodedGroup>();
  large->content.resize(GroupCache::kCachedBytes + 1);  // larger than any is: kept alone
  cache.keep(1000, std::move(large));
  EXPECT_EQ(cache.find(99), nullptr);
  EXPECT_NE(cache.find(1000), nullptr);
  for (std::uint64_t i = 0; i < 2 * GroupCache::kCachedGroups; ++i) cache.keep(i, std::make_shared<DecodedGroup>());
  EXPECT_EQ(cache.find(GroupCache::kCachedGroups - 1), nullptr);
  EXPECT_NE(cache.find(GroupCache::kCachedGroups), nullptr);
  expect_holds_model(reader);
}

TEST_F(GroupTest, ManyThreadsReadOnePack) {
  PackWriter writer(world, "packs");
  for (std::uint64_t node = 0; node < 6; ++node) {
    Place last = add(writer, {version(node, 0)})[0];
    for (std::uint64_t n = 1; n < 12; ++n) last = add(writer, {version(node, n), version(node, n + 100)}, &last)[0];
  }
  const PackReader reader = open(writer.finish().value());
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 300; ++i) {
        const std::uint64_t at = (i * 7 + t * 13) % 72;
        const Bytes wanted = version(at / 12, at % 12);
        EXPECT_EQ(read(reader, ObjectKind::blob, sha256(wanted)).value(), wanted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft::object
