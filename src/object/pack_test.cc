#include "object/pack.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace weft::object {
namespace {

using Key = std::pair<ObjectKind, ObjectId>;

/// Compressible in parts, different for every seed.
Bytes content(std::uint64_t seed, std::size_t size) {
  Bytes out;
  out.reserve(size + 64);
  for (std::uint64_t i = 0; out.size() < size; ++i) {
    out += sha256(std::to_string(seed) + ":" + std::to_string(i / (1 + seed % 3))).view();
  }
  out.resize(size);
  return out;
}

/// Gives `total` bytes in odd pieces without holding them, and may fail at the end.
class LongSource final : public ByteSource {
 public:
  LongSource(std::uint64_t seed, std::uint64_t total, bool fails = false) : seed_(seed), total_(total), fails_(fails) {}
  Result<std::size_t> read(std::span<char> out) override {
    if (given_ == total_) {
      if (fails_) return make_error(Code::io, "the file went away");
      return std::size_t{0};
    }
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>({out.size(), 77'777, total_ - given_}));
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<char>(((given_ + i) * seed_) >> 13);
    given_ += count;
    return count;
  }

 private:
  std::uint64_t seed_, total_, given_ = 0;
  bool fails_;
};

struct Fixture {
  FakeEnv world;
  std::map<Key, Bytes> model;

  Fixture() { EXPECT_TRUE(world.fs.make_directory("packs").has_value()); }

  void add(PackWriter& writer, ObjectKind kind, const Bytes& bytes) {
    const ObjectId id = sha256(bytes);
    ASSERT_TRUE(writer.add(kind, id, bytes).has_value());
    model[{kind, id}] = bytes;
  }
  std::string path(const ObjectId& id) { return join_path("packs", pack_file_name(id)); }
  PackReader open(const ObjectId& id) { return PackReader::open(world.fs, path(id), id).value(); }
  std::vector<Error> problems(const PackReader& reader, bool deep) {
    std::vector<Error> found;
    reader.verify(deep, [&](const Error& error) { found.push_back(error); });
    return found;
  }
  void expect_holds_model(const PackReader& reader) {
    for (const auto& [key, bytes] : model) {
      const auto offset = reader.find(key.first, key.second).value();
      ASSERT_TRUE(offset.has_value());
      EXPECT_EQ(reader.read_at(*offset, key.first, key.second).value(), bytes);
      EXPECT_EQ(reader.size_at(*offset, key.first, key.second).value(), bytes.size());
      if (key.first == ObjectKind::blob) {
        const auto source = reader.open_blob_at(*offset, key.second).value();
        EXPECT_EQ(read_all(*source, bytes.size()).value(), bytes);
      }
    }
    std::map<Key, std::uint64_t> seen;
    Key last{};
    ASSERT_TRUE(reader
                    .for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t offset) -> Result<void> {
                      EXPECT_TRUE(seen.empty() || last.second <= id);
                      last = {kind, id};
                      seen[last] = offset;
                      return {};
                    })
                    .has_value());
    EXPECT_EQ(seen.size(), model.size());
    for (const auto& [key, offset] : seen) EXPECT_EQ(reader.find(key.first, key.second).value(), offset);
    EXPECT_TRUE(problems(reader, true).empty());
  }
};

TEST(Pack, KeepsObjectsOfEveryKindAndSize) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  std::uint64_t seed = 0;
  for (const std::size_t size :
       {0u, 1u, 255u, 256u, 4000u, 5000u, 300'000u, (1u << 20) - 1, 1u << 20, (1u << 20) + 1, 3'000'000u}) {
    for (const ObjectKind kind : {ObjectKind::blob, ObjectKind::tree, ObjectKind::change}) {
      with.add(writer, kind, content(seed++, size));
    }
  }
  with.add(writer, ObjectKind::tree, content(0, 256));
  with.add(writer, ObjectKind::blob, content(0, 256));  // one id, two kinds
  // Reading back while writing.
  for (const auto& [key, bytes] : with.model) {
    EXPECT_TRUE(writer.contains(key.first, key.second));
    EXPECT_EQ(writer.read(key.first, key.second).value(), bytes);
    EXPECT_EQ(writer.size(key.first, key.second).value(), bytes.size());
    if (key.first == ObjectKind::blob) {
      EXPECT_EQ(read_all(*writer.open_blob(key.second).value(), bytes.size()).value(), bytes);
    }
  }
  EXPECT_EQ(writer.read(ObjectKind::blob, sha256("absent")).error().code, Code::not_found);
  const PackSummary summary = writer.finish().value();
  EXPECT_EQ(summary.objects, with.model.size());
  EXPECT_EQ(with.world.fs.list("packs").value().size(), 1u);
  const PackReader reader = with.open(summary.id);
  EXPECT_EQ(reader.summary().bytes, with.world.fs.status(with.path(summary.id)).value().size);
  with.expect_holds_model(reader);
}

RC_GTEST_PROP(Pack, FindsExactlyWhatWasAdded, ()) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  const auto count = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, 600));
  const auto seed = *rc::gen::arbitrary<std::uint16_t>();
  for (int i = 0; i < count; ++i) {
    const Bytes bytes = std::to_string(seed) + "/" + std::to_string(i % 500);  // some twice
    with.add(writer, i % 7 == 0 ? ObjectKind::tree : ObjectKind::blob, bytes);
  }
  RC_ASSERT(writer.objects() == with.model.size());
  const PackSummary summary = writer.finish().value();
  RC_ASSERT(summary.objects == with.model.size());
  const PackReader reader = with.open(summary.id);
  with.expect_holds_model(reader);
  for (int i = 0; i < 100; ++i) {
    RC_ASSERT(!reader.find(ObjectKind::blob, sha256("absent" + std::to_string(i))).value().has_value());
    RC_ASSERT(!reader.find(ObjectKind::change, with.model.begin()->first.second).value().has_value());
  }
}

// P2: 24 MiB through a writer and a reader, in pieces.
TEST(Pack, StreamsLargeBlobs) {
  Fixture with;
  constexpr std::uint64_t kSize = (24u << 20) + 12'345;
  PackWriter writer(with.world, "packs");
  LongSource source(7, kSize);
  const auto stored = writer.add_blob(source).value();
  EXPECT_EQ(stored.size, kSize);
  LongSource again(7, kSize);
  Sha256 hash;
  Bytes piece(100'000, '\0');
  for (;;) {
    const auto got = again.read(piece).value();
    if (got == 0) break;
    hash.update(ByteView(piece).substr(0, got));
  }
  EXPECT_EQ(stored.id, hash.finish());
  LongSource small(7, 1000);
  EXPECT_EQ(writer.add_blob(small).value().size, 1000u);
  const auto summary = writer.finish().value();
  const PackReader reader = with.open(summary.id);
  EXPECT_EQ(reader.content_bytes(), kSize + 1000);
  const auto offset = reader.find(ObjectKind::blob, stored.id).value();
  with.world.fs.reset_counts();
  const auto opened = reader.open_blob_at(*offset, stored.id).value();
  EXPECT_EQ(opened->read(piece).value(), piece.size());
  EXPECT_LT(with.world.fs.counts().bytes_read, kBlockBytes + 1000);  // one block for the first bytes
  EXPECT_TRUE(with.problems(reader, true).empty());
}

// P4, and what a repeated large blob leaves behind.
TEST(Pack, StoresAnObjectOnce) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  LongSource first(9, 5u << 20);
  const auto stored = writer.add_blob(first).value();
  const auto before = writer.bytes();
  LongSource second(9, 5u << 20);
  EXPECT_EQ(writer.add_blob(second).value().id, stored.id);
  EXPECT_EQ(writer.bytes(), before);
  with.add(writer, ObjectKind::blob, "after it");
  const auto summary = writer.finish().value();
  EXPECT_EQ(summary.objects, 2u);
  EXPECT_LT(summary.bytes, before + 500);
  EXPECT_TRUE(with.problems(with.open(summary.id), true).empty());
}

TEST(Pack, GoesOnAfterASourceFailed) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  with.add(writer, ObjectKind::blob, "before");
  for (const std::uint64_t size : {1000u, 6u << 20}) {
    const auto bytes = writer.bytes();
    LongSource source(5, size, true);
    EXPECT_EQ(writer.add_blob(source).error().code, Code::io);
    EXPECT_EQ(writer.bytes(), bytes);
    EXPECT_EQ(writer.objects(), 1u);
  }
  with.add(writer, ObjectKind::tree, "after");
  const auto summary = writer.finish().value();
  with.expect_holds_model(with.open(summary.id));
}

TEST(Pack, AnEmptyOrAbandonedOneLeavesNothing) {
  Fixture with;
  {
    PackWriter empty(with.world, "packs");
    EXPECT_EQ(empty.finish().error().code, Code::invalid);
    PackWriter abandoned(with.world, "packs");
    with.add(abandoned, ObjectKind::blob, "x");
    EXPECT_EQ(with.world.fs.list("packs").value().size(), 1u);
    EXPECT_TRUE(with.world.fs.list("packs").value()[0].name.starts_with(kPackTemporaryPrefix));
    PackWriter moved(std::move(abandoned));
    EXPECT_EQ(with.world.fs.list("packs").value().size(), 1u);
  }
  EXPECT_TRUE(with.world.fs.list("packs").value().empty());
}

// P1: wherever the power fails, a file with a pack's name is a whole pack, and after finish() it is there.
TEST(Pack, P1_CrashesLeaveWholePacksOrNone) {
  Fixture with;
  ASSERT_TRUE(with.world.fs.sync_directory("/").has_value());
  with.world.fs.settle();
  PackWriter writer(with.world, "packs");
  for (std::uint64_t i = 0; i < 30; ++i) with.add(writer, ObjectKind::blob, content(i, 100'000));
  LongSource source(3, 2u << 20);
  ASSERT_TRUE(writer.add_blob(source).has_value());
  const auto summary = writer.finish().value();
  const std::size_t finished = with.world.fs.operation_count();
  int whole = 0;
  with.world.fs.for_each_crash(0, 3, [&](SimFileSystem& disk, std::size_t cut, const std::string& text) {
    const auto status = disk.status(with.path(summary.id));
    EXPECT_TRUE(status.has_value() || cut < finished) << text;
    const auto entries = disk.list("packs").value();
    for (const DirectoryEntry& entry : entries) {
      if (!entry.name.ends_with(".pack")) continue;
      const auto reader = PackReader::open(disk, with.path(summary.id), summary.id);
      ASSERT_TRUE(reader.has_value()) << text;
      reader->verify(true, [&](const Error& error) { ADD_FAILURE() << text << ": " << error.message; });
      ++whole;
    }
  });
  EXPECT_GT(whole, 0);
}

TEST(Pack, WhatKilledWritersLeftGoesAfterAnHour) {
  TempDir temp;
  FakeClock clock;
  Env env{posix_file_system(), clock, system_random()};
  const std::string left = temp / (std::string(kPackTemporaryPrefix) + "0123456789abcdef");
  ASSERT_TRUE(posix_file_system().open(left, OpenMode::create_new).has_value());
  const std::int64_t made = posix_file_system().status(left)->mtime_ns;
  const auto write_one = [&] {
    PackWriter writer(env, temp.path());
    const Bytes bytes = content(1, 100);
    ASSERT_TRUE(writer.add(ObjectKind::blob, sha256(bytes), bytes).has_value());
  };
  clock.set(made + std::int64_t{50} * 60 * 1'000'000'000);
  write_one();
  EXPECT_TRUE(posix_file_system().status(left).has_value());
  clock.set(made + std::int64_t{70} * 60 * 1'000'000'000);
  write_one();
  EXPECT_FALSE(posix_file_system().status(left).has_value());
}

TEST(Pack, EveryFailingCallIsReportedAndLeavesNoPackBehind) {
  for (std::uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 200u);
    Fixture with;
    with.world.fs.add_fault({kAllSimCalls, nth, false, 28});
    bool failed = false;
    {
      PackWriter writer(with.world, "packs");
      for (std::uint64_t i = 0; i < 40; ++i) {
        const Bytes bytes = content(i, 60'000);
        failed |= !writer.add(ObjectKind::blob, sha256(bytes), bytes).has_value();
      }
      LongSource source(3, 2u << 20);
      failed |= !writer.add_blob(source).has_value();
      const auto summary = writer.finish();
      failed |= !summary.has_value();
      // A failure on the way, also one the caller ignored, is not forgotten.
      if (failed) {
        EXPECT_FALSE(summary.has_value()) << nth;
      }
    }
    const bool hit = with.world.fs.fault_hits() > 0;
    with.world.fs.clear_faults();
    EXPECT_EQ(failed, hit) << nth;
    if (!hit) break;
    const auto left = with.world.fs.list("packs").value();
    for (const DirectoryEntry& entry : left) {
      // Only the last flush, of the directory, comes after the name.
      EXPECT_TRUE(entry.name.ends_with(".pack")) << entry.name;
      const ObjectId id = *ObjectId::parse(std::string_view(entry.name).substr(0, 64));
      EXPECT_TRUE(with.problems(with.open(id), true).empty());
    }
  }
}

TEST(Pack, OpenRefusesAnotherPackAndMissingBytes) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  for (int i = 0; i < 50; ++i) with.add(writer, ObjectKind::blob, std::to_string(i));
  const auto summary = writer.finish().value();
  const Bytes whole = with.world.fs.content(with.path(summary.id));
  EXPECT_EQ(PackReader::open(with.world.fs, with.path(summary.id), sha256("x")).error().code, Code::damaged);
  EXPECT_EQ(PackReader::open(with.world.fs, "packs/none", summary.id).error().code, Code::not_found);
  for (std::size_t length = 0; length < whole.size(); length += length < 100 || length + 200 > whole.size() ? 1 : 37) {
    auto file = with.world.fs.open("cut", OpenMode::create).value();
    ASSERT_TRUE(file->set_size(0).has_value());
    ASSERT_TRUE(file->write_at(0, ByteView(whole).substr(0, length)).has_value());
    const auto opened = PackReader::open(with.world.fs, "cut", summary.id);
    ASSERT_FALSE(opened.has_value()) << length;
    EXPECT_EQ(opened.error().code, Code::damaged);
    EXPECT_NE(opened.error().message.find("cut: "), std::string::npos);
  }
}

// P3: whatever single bit flips, verify(deep) names it, and reading gives what was written or an error.
TEST(Pack, EveryFlippedBitIsFound) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  for (int i = 0; i < 5; ++i) with.add(writer, ObjectKind::blob, content(static_cast<std::uint64_t>(i), 70));
  with.add(writer, ObjectKind::tree, Bytes(400, 't'));
  const auto summary = writer.finish().value();
  const Bytes whole = with.world.fs.content(with.path(summary.id));
  std::size_t unopened = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 3) {
    Bytes bad = whole;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    auto file = with.world.fs.open("bad", OpenMode::create).value();
    ASSERT_TRUE(file->write_at(0, bad).has_value());
    const auto reader = PackReader::open(with.world.fs, "bad", summary.id);
    if (!reader) {
      EXPECT_EQ(reader.error().code, Code::damaged);
      ++unopened;
      continue;
    }
    const auto padding = TableLayout(summary.objects).end + kPackFooterBytes + 8;
    if (bit / 8 < whole.size() - padding) {
      EXPECT_FALSE(with.problems(*reader, true).empty()) << "byte " << bit / 8;
    }
    for (const auto& [key, bytes] : with.model) {
      const auto offset = reader->find(key.first, key.second);
      if (!offset || !*offset) continue;
      const auto read = reader->read_at(**offset, key.first, key.second);
      if (read) {
        EXPECT_EQ(*read, bytes);
      } else {
        EXPECT_EQ(read.error().code, Code::damaged);
      }
    }
  }
  EXPECT_GT(unopened, (kPackFooterBytes + kPackHeaderBytes) * 2);
}

TEST(Pack, ADamagedBlockIsNamedAndTheOthersCanBeRead) {
  Fixture with;
  PackWriter writer(with.world, "packs");
  LongSource source(11, 2u << 20);
  const auto large = writer.add_blob(source).value();
  with.add(writer, ObjectKind::blob, "other");
  const auto summary = writer.finish().value();
  const auto offset = *with.open(summary.id).find(ObjectKind::blob, large.id).value();
  with.world.fs.damage(with.path(summary.id), offset + kBlocksHeadBytes + kBlockHeadBytes + 10, "damage");
  const PackReader reader = with.open(summary.id);
  const auto read = reader.read_at(offset, ObjectKind::blob, large.id);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::damaged);
  EXPECT_NE(read.error().message.find(large.id.hex()), std::string::npos);
  const auto other = *reader.find(ObjectKind::blob, sha256("other")).value();
  EXPECT_EQ(reader.read_at(other, ObjectKind::blob, sha256("other")).value(), "other");
  EXPECT_EQ(with.problems(reader, false).size(), 0u);
  EXPECT_EQ(with.problems(reader, true).size(), 1u);
}

TEST(Pack, WorksOnTheRealFileSystem) {
  const TempDir directory;
  PackWriter writer(system_env(), directory.path(), 3);
  LongSource source(13, 3u << 20);
  const auto large = writer.add_blob(source).value();
  ASSERT_TRUE(writer.add(ObjectKind::tree, sha256("t"), "t").has_value());
  const auto summary = writer.finish().value();
  const auto reader = PackReader::open(posix_file_system(), directory / pack_file_name(summary.id), summary.id).value();
  EXPECT_EQ(reader.size_at(*reader.find(ObjectKind::blob, large.id).value(), ObjectKind::blob, large.id).value(),
            large.size);
  reader.verify(true, [](const Error& error) { ADD_FAILURE() << error.message; });
}

}  // namespace
}  // namespace weft::object
