#include "object/chunk_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <random>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/chunker.h"
#include "object/memory_objects.h"
#include "object/testing/noise.h"

namespace weft::object {
namespace {

using Kind = ChunkEntry::Kind;

/// A run of so many noise and zero bytes, cut by both: content with as many entries as wanted.
Bytes many_entries(std::size_t pairs) {
  Bytes out;
  for (std::size_t i = 0; i < pairs; ++i) {
    out += std::to_string(i) + ":";
    out.append(kMinZeroRun, '\0');
  }
  return out;
}

struct Fixture {
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  ChunkedBlob put(ByteView content) {
    ViewSource source(content);
    auto blob = put_chunks(source, *objects);
    EXPECT_TRUE(blob.has_value());
    return *std::move(blob);
  }
  std::unique_ptr<ByteSource> open(const ChunkedBlob& blob) { return open_chunks(objects, blob.id, blob.list); }
};

TEST(ChunkList, GivesBackWhatWasPut) {
  for (const Bytes& content : {Bytes(), Bytes("x"), noise(1, 3u << 20), Bytes(40u << 20, '\0'),
                               noise(2, 700'000) + Bytes(9u << 20, '\0') + noise(3, 5), many_entries(1000)}) {
    Fixture f;
    const ChunkedBlob blob = f.put(content);
    EXPECT_EQ(blob.id, sha256(content));
    EXPECT_EQ(blob.list.size, content.size());
    EXPECT_EQ(decode_chunk_list(encode_chunk_list(blob.list.entries), content.size()).value(), blob.list);
    EXPECT_EQ(read_chunks(*f.objects, blob.id, blob.list).value(), content);
    const auto source = f.open(blob);
    EXPECT_EQ(read_all(*source, content.size()).value(), content);
  }
}

TEST(ChunkList, LongListsHavePagesAndAnEditWritesFewOfThem) {
  Fixture f;
  const ChunkedBlob blob = f.put(many_entries(4000));
  EXPECT_LT(blob.list.entries.size(), 100u);
  EXPECT_GT(blob.list.entries.size(), 10u);
  for (const ChunkEntry& entry : blob.list.entries) EXPECT_EQ(entry.kind, Kind::page);
  Bytes edited = many_entries(4000);
  edited.insert(30'000'000, "an insertion");
  f.objects->reset_counts();
  const ChunkedBlob other = f.put(edited);
  EXPECT_LE(f.objects->counts().stored, 6u);
  EXPECT_LE(f.objects->counts().stored_bytes, 200'000u);
  EXPECT_NE(other.id, blob.id);
  EXPECT_EQ(read_chunks(*f.objects, other.id, other.list).value(), edited);
}

TEST(ChunkList, ZerosCostNothing) {
  Fixture f;
  const ChunkedBlob blob = f.put(Bytes(100u << 20, '\0'));
  EXPECT_EQ(f.objects->counts().stored, 0u);
  EXPECT_EQ(blob.list.entries.size(), 1u);
}

RC_GTEST_PROP(ChunkList, AnyPlaceIsReadWithoutTheRest, ()) {
  static Fixture f;
  static const Bytes content = noise(5, 2u << 20) + Bytes(3u << 20, '\0') + many_entries(400) + noise(6, 1u << 20);
  static const ChunkedBlob blob = f.put(content);
  const auto source = f.open(blob);
  std::uint64_t at = 0;
  for (int step = 0; step < 4; ++step) {
    const auto over = *rc::gen::inRange<std::uint64_t>(0, 4u << 20);
    const std::uint64_t passed = source->skip(over).value();
    RC_ASSERT(passed == std::min<std::uint64_t>(over, content.size() - at));
    at += passed;
    const std::uint64_t zeros = source->zeros().value();
    RC_ASSERT(ByteView(content).substr(at, zeros).find_first_not_of('\0') == ByteView::npos);
    Bytes piece(*rc::gen::inRange<std::size_t>(1, 300'000), '?');
    f.objects->reset_counts();
    const std::size_t got = read_fully(*source, piece).value();
    RC_ASSERT(ByteView(piece).substr(0, got) == ByteView(content).substr(at, got));
    RC_ASSERT(got == std::min<std::uint64_t>(piece.size(), content.size() - at));
    RC_ASSERT(f.objects->counts().read_bytes <= got + 2 * kChunkSizes.most + 100'000);
    at += got;
  }
}

TEST(ChunkList, CL2WhatIsNotTheContentIsDamage) {
  Fixture f;
  const Bytes content = noise(7, 2u << 20);
  const ChunkedBlob blob = f.put(content);
  ASSERT_GT(blob.list.entries.size(), 4u);
  const auto read = [&](const ChunkList& list) { return read_chunks(*f.objects, blob.id, list); };
  ASSERT_TRUE(read(blob.list).has_value());

  ChunkList swapped = blob.list;  // each chunk is whole, their order is not
  std::swap(swapped.entries[1], swapped.entries[2]);
  EXPECT_EQ(read(swapped).error().code, Code::damaged);

  ChunkList sized = blob.list;  // a chunk of another size than the list says
  sized.entries[1].size += 1;
  sized.entries[2].size -= 1;
  EXPECT_EQ(read(sized).error().code, Code::damaged);

  f.objects->remove(ObjectKind::blob, blob.list.entries[3].id);
  const auto missing = read(blob.list);
  EXPECT_EQ(missing.error().code, Code::damaged);
  EXPECT_NE(missing.error().message.find(blob.list.entries[3].id.hex()), std::string::npos);
  // What lies elsewhere in it is read all the same.
  const auto source = f.open(blob);
  EXPECT_EQ(source->skip(content.size() - 10).value(), content.size() - 10);
  Bytes end(10, '\0');
  EXPECT_EQ(read_fully(*source, end).value(), 10u);
  EXPECT_EQ(end, content.substr(content.size() - 10));
}

TEST(ChunkList, DecodingRefusesWhatNobodyWrote) {
  const ObjectId id = sha256("x");
  const std::vector<ChunkEntry> good{{Kind::chunk, 10, id}, {Kind::zeros, 1u << 20, {}}, {Kind::page, 5u << 20, id}};
  const std::uint64_t size = 10 + (1u << 20) + (5u << 20);
  const Bytes bytes = encode_chunk_list(good);
  EXPECT_EQ(decode_chunk_list(bytes, size).value().entries, good);
  EXPECT_EQ(decode_chunk_list(bytes, size + 1).error().code, Code::damaged);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_EQ(decode_chunk_list(ByteView(bytes).substr(0, cut), size).error().code, Code::damaged) << cut;
  }
  EXPECT_EQ(decode_chunk_list(bytes + "x", size).error().code, Code::damaged);
  const auto refused = [](const std::vector<ChunkEntry>& entries, std::uint64_t total) {
    return decode_chunk_list(encode_chunk_list(entries), total).error().code == Code::damaged;
  };
  EXPECT_TRUE(refused({{Kind::chunk, 0, id}}, 0));
  EXPECT_TRUE(refused({{Kind::chunk, kLargeBlobBytes, id}}, kLargeBlobBytes));
  EXPECT_TRUE(refused({{Kind::zeros, kMaxBlobBytes, {}}, {Kind::zeros, 1, {}}}, kMaxBlobBytes + 1));
  // A page in a page, and a list that claims more entries than memory.
  EXPECT_EQ(decode_page(encode_page(good), size).error().code, Code::damaged);
  Bytes many;
  ByteWriter(many).varint(kMaxListEntries + 1);
  many.append(kMaxListEntries + 1, '\x04');  // zeros, one byte each
  EXPECT_EQ(decode_chunk_list(many, kMaxListEntries + 1).error().code, Code::damaged);
}

TEST(ChunkList, RecordsOfLists) {
  const ObjectId id = sha256("x");
  const std::vector<ChunkEntry> entries{{Kind::chunk, 10, id}, {Kind::zeros, 5'000'000'000, {}}};
  Bytes record;
  ASSERT_TRUE(encode_chunks_record(id, 5'000'000'010, encode_chunk_list(entries), record).has_value());
  EXPECT_EQ(to_hex(record.substr(0, 2)), "0104");
  for (std::size_t i = 0; i <= record.size(); ++i) {
    Bytes bad = record;
    if (i < bad.size()) bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto decoded = decode_record(bad);
    if (!decoded || decoded->form != Stored::chunks) continue;
    const auto list = chunk_list_of(*decoded);
    const bool only_the_id = i >= 2 && i < 2 + ObjectId::kSize;
    EXPECT_EQ(list.has_value(), i == record.size() || only_the_id) << i;
    EXPECT_EQ(RecordCodec().content(*decoded).error().code, Code::damaged);
  }
  Bytes none;
  EXPECT_EQ(encode_chunks_record(id, kMaxBlobBytes + 1, "", none).error().code, Code::invalid);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace weft::object
