#include "object/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "object/memory_objects.h"
#include "object/testing/sample_trees.h"
#include "object/tree_codec.h"

namespace weft::object {
namespace {

using testing::NamePool;
using testing::sample_entry;

TEST(Tree, EmptyDirectoryHasAnIdLikeAnyOther) {
  MemoryObjects objects;
  const ObjectId id = write_directory(objects, {}).value();
  EXPECT_EQ(id, empty_tree_id());
  EXPECT_EQ(id, sha256(Bytes("weftdir1\0", 9)));
  EXPECT_TRUE(read_directory(objects, id).value().empty());
  EXPECT_FALSE(find_entry(objects, id, "a").value().has_value());
}

// The bytes of docs/FORMATS.md: whoever changes them changes every id.
TEST(Tree, EncodesAsDocumented) {
  TreeEntry entry{"run.sh", EntryKind::file, 0755, {}, {}, 300};
  entry.node.bytes.fill(0x11);
  entry.id.bytes.fill(0x22);
  MemoryObjects objects;
  const ObjectId id = write_directory(objects, {entry}).value();
  EXPECT_EQ(to_hex(objects.read(ObjectKind::tree, id).value()), to_hex("weftdir1") + "01" + "06" + to_hex("run.sh") +
                                                                    "ed11" + std::string(32, '1') +
                                                                    std::string(64, '2') + "ac02");
}

TEST(Tree, IdsOfLargeDirectoriesStay) {
  MemoryObjects objects;
  Entries entries;
  for (int i = 0; i < 3000; ++i) entries.push_back(sample_entry("file" + std::to_string(i), 1));
  EXPECT_EQ(write_directory(objects, entries).value().hex(),
            "ea088f2f8dad01359c611277a0a4254871977cb4a859adf23930b8b9fe593a7d");
}

TEST(Tree, SortsAndReadsBack) {
  MemoryObjects objects;
  const Entries entries{sample_entry("b", 1), sample_entry("a", 2), sample_entry("a.b", 3), sample_entry("\xff", 4)};
  const ObjectId id = write_directory(objects, entries).value();
  const Entries read = read_directory(objects, id).value();
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0], entries[1]);
  EXPECT_EQ(read[1], entries[2]);
  EXPECT_EQ(read[2], entries[0]);
  EXPECT_EQ(read[3], entries[3]);
  EXPECT_EQ(find_entry(objects, id, "a.b").value(), entries[2]);
  EXPECT_FALSE(find_entry(objects, id, "a.").value().has_value());
}

TEST(Tree, C16_C17_WriteRefusesWhatNoDirectoryHolds) {
  MemoryObjects objects;
  const auto refused = [&](Entries entries) {
    const auto result = write_directory(objects, std::move(entries));
    return !result && result.error().code == Code::invalid;
  };
  for (const std::string name : {"", ".", "..", "a/b"}) EXPECT_TRUE(refused({sample_entry(name, 1)})) << name;
  EXPECT_TRUE(refused({sample_entry(std::string("a\0b", 3), 1)}));
  EXPECT_TRUE(refused({sample_entry("a", 1), sample_entry("a", 2)}));
  TreeEntry twin = sample_entry("b", 1);
  twin.node = sample_entry("a", 1).node;
  EXPECT_TRUE(refused({sample_entry("a", 1), twin}));
  TreeEntry root = sample_entry("a", 1);
  root.node = NodeId{};
  EXPECT_TRUE(refused({root}));
  TreeEntry wide = sample_entry("a", 1);
  wide.mode = 010000;
  EXPECT_TRUE(refused({wide}));
  TreeEntry link = sample_entry("a", 1);
  link.kind = EntryKind::symlink;
  EXPECT_TRUE(refused({link}));
  TreeEntry directory = sample_entry("a", 1);
  directory.kind = EntryKind::directory;
  directory.size = 1;
  EXPECT_TRUE(refused({directory}));
  EXPECT_TRUE(objects.objects().empty());
}

TEST(Tree, ReadRefusesTheFormsOfOtherTrees) {
  MemoryObjects objects;
  Entries entries;
  for (int i = 0; i < 3000; ++i) entries.push_back(sample_entry("file" + std::to_string(i), 1));
  const ObjectId id = write_directory(objects, entries).value();
  const Bytes table = objects.read(ObjectKind::tree, id).value();
  const ObjectId chunk = tree_references(table).value().trees.at(0);
  EXPECT_EQ(read_directory(objects, chunk).error().code, Code::damaged);  // a chunk is no directory
  EXPECT_EQ(find_entry(objects, chunk, "file1").error().code, Code::damaged);
  // Nor is a directory a chunk.
  objects.replace(ObjectKind::tree, chunk, Bytes("weftdir1\0", 9));
  const auto error = read_directory(objects, id).error();
  EXPECT_EQ(error.code, Code::damaged);
  EXPECT_NE(error.message.find(id.hex()), std::string::npos);
  EXPECT_NE(error.message.find(chunk.hex()), std::string::npos);
}

TEST(Tree, MissingChunkIsReported) {
  MemoryObjects objects;
  Entries entries;
  for (int i = 0; i < 3000; ++i) entries.push_back(sample_entry("file" + std::to_string(i), 1));
  const ObjectId id = write_directory(objects, entries).value();
  objects.remove(ObjectKind::tree, tree_references(objects.read(ObjectKind::tree, id).value()).value().trees.at(1));
  EXPECT_EQ(read_directory(objects, id).error().code, Code::not_found);
}

TEST(Tree, ReferencesOfEachForm) {
  MemoryObjects objects;
  TreeEntry directory = sample_entry("d", 1);
  directory.kind = EntryKind::directory;
  directory.mode = 0755;
  directory.size = 0;
  const TreeEntry file = sample_entry("f", 2);
  const ObjectId id = write_directory(objects, {directory, file}).value();
  const auto references = tree_references(objects.read(ObjectKind::tree, id).value()).value();
  EXPECT_EQ(references.trees, std::vector{directory.id});
  EXPECT_EQ(references.blobs, std::vector{file.id});

  Entries entries;
  for (int i = 0; i < 3000; ++i) entries.push_back(sample_entry("file" + std::to_string(i), 1));
  const ObjectId large = write_directory(objects, entries).value();
  std::size_t blobs = 0;
  const auto chunks = tree_references(objects.read(ObjectKind::tree, large).value()).value();
  EXPECT_TRUE(chunks.blobs.empty());
  for (const ObjectId& chunk : chunks.trees) {
    blobs += tree_references(objects.read(ObjectKind::tree, chunk).value()).value().blobs.size();
  }
  EXPECT_EQ(blobs, 3000u);
}

// T3: the 64 KiB line, from both sides.
TEST(Tree, SplitsExactlyAboveTheLimit) {
  MemoryObjects objects;
  Entries entries;
  std::uint64_t bytes = 0;
  for (int i = 0; plain_size(entries.size() + 1, bytes + 72) <= kMaxPlainDirectoryBytes; ++i) {
    entries.push_back(sample_entry("name" + std::to_string(10000 + i) + std::string(11, 'x'), 1));
    entries.back().size = 0;
    bytes += encoded_size(entries.back());
  }
  const auto left = kMaxPlainDirectoryBytes - plain_size(entries.size(), bytes);
  entries.back().name += std::string(left, 'y');
  ASSERT_LE(entries.back().name.size(), kMaxNameBytes);
  const Bytes plain = objects.read(ObjectKind::tree, write_directory(objects, entries).value()).value();
  EXPECT_EQ(plain.size(), kMaxPlainDirectoryBytes);
  EXPECT_EQ(tree_form(plain).value(), TreeForm::directory);
  entries.back().name += 'y';
  const ObjectId split = write_directory(objects, entries).value();
  EXPECT_EQ(tree_form(objects.read(ObjectKind::tree, split).value()).value(), TreeForm::table);
  EXPECT_EQ(read_directory(objects, split).value(), entries);
}

// T2: a chunk that no name ends is cut, and names that all end chunks work too.
TEST(Tree, NamesWithoutAnyBoundaryAndOfNothingElse) {
  const NamePool pool(10'000, 300);
  for (const auto& names : {pool.inner, pool.ends}) {
    MemoryObjects objects;
    Entries entries;
    for (const std::string& name : names) entries.push_back(sample_entry(name, 7));
    while (plain_size(entries.size(), entries.size() * 60) <= kMaxPlainDirectoryBytes) {
      entries.push_back(sample_entry("~" + std::to_string(entries.size()), 7));
    }
    const ObjectId id = write_directory(objects, entries).value();
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    EXPECT_EQ(read_directory(objects, id).value(), entries);
    const auto table = decode_table(objects.read(ObjectKind::tree, id).value()).value();
    for (const ChunkRef& chunk : table.chunks) EXPECT_LE(chunk.entries, kMaxChunkEntries);
    EXPECT_EQ(find_entry(objects, id, entries[5000 % entries.size()].name).value(), entries[5000 % entries.size()]);
  }
}

TEST(Tree, BytesBehindAndBitsFlippedAreDamage) {
  MemoryObjects objects;
  const ObjectId id = write_directory(objects, {sample_entry("a", 1), sample_entry("b", 2)}).value();
  const Bytes good = objects.read(ObjectKind::tree, id).value();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(tree_references(ByteView(good).substr(0, length)).error().code, Code::damaged) << length;
  }
  EXPECT_EQ(tree_references(good + "x").error().code, Code::damaged);
  // Every flip is either refused or another valid directory that encodes to exactly those bytes.
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    Bytes flipped = good;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    objects.replace(ObjectKind::tree, id, flipped);
    const auto entries = read_directory(objects, id);
    if (!entries) {
      EXPECT_EQ(entries.error().code, Code::damaged);
      EXPECT_NE(entries.error().message.find(id.hex()), std::string::npos);
    } else {
      EXPECT_EQ(write_directory(objects, *entries).value(), sha256(flipped));
    }
  }
}

TEST(Tree, TablesThatCouldNotHaveBeenWrittenAreDamage) {
  const NamePool pool(2000, 10);
  ChunkTable good;
  good.add({pool.ends[0], ObjectId{}, 500, 40'000});
  good.add({pool.ends[1], ObjectId{}, 500, 40'000});
  ASSERT_TRUE(decode_table(encode_table(good)).has_value());
  const auto refused = [](const ChunkTable& table) {
    const auto result = decode_table(encode_table(table));
    return !result && result.error().code == Code::damaged;
  };
  ChunkTable table = good;
  std::swap(table.chunks[0].last_name, table.chunks[1].last_name);
  EXPECT_TRUE(refused(table)) << "order";
  table = good;
  table.chunks[0].last_name = pool.inner.front() < pool.ends[1] ? pool.inner.front() : "!";
  EXPECT_TRUE(refused(table)) << "ends where no chunk ends";
  table = good;
  table.chunks[0].entries = 0;
  EXPECT_TRUE(refused(table)) << "empty chunk";
  table = good;
  table.chunks[0].entry_bytes = 500;
  EXPECT_TRUE(refused(table)) << "too few bytes";
  table = good;
  for (ChunkRef& chunk : table.chunks) chunk = {chunk.last_name, {}, 300, 20'000};
  EXPECT_TRUE(refused(table)) << "small enough for one object";
  table = good;
  table.chunks[0].entries = kMaxChunkEntries + 1;
  table.chunks[0].entry_bytes = 60 * table.chunks[0].entries;
  EXPECT_TRUE(refused(table)) << "too many entries in a chunk";
  EXPECT_TRUE(refused(ChunkTable{})) << "no chunks";
}

// A table that contradicts its chunks.
TEST(Tree, ChunksMustFitTheirTable) {
  MemoryObjects objects;
  Entries entries;
  for (int i = 0; i < 3000; ++i) entries.push_back(sample_entry("file" + std::to_string(i), 1));
  const ObjectId id = write_directory(objects, entries).value();
  const auto table = decode_table(objects.read(ObjectKind::tree, id).value()).value();
  ASSERT_GE(table.chunks.size(), 3u);
  const auto code_with = [&](const ChunkTable& changed) {
    objects.replace(ObjectKind::tree, id, encode_table(changed));
    const auto result = read_directory(objects, id);
    return result ? std::nullopt : std::optional(result.error().code);
  };
  ChunkTable changed = table;
  std::swap(changed.chunks[0].id, changed.chunks[1].id);
  EXPECT_EQ(code_with(changed), Code::damaged);
  changed = table;
  changed.chunks[1].entries -= 1;
  EXPECT_EQ(code_with(changed), Code::damaged);
  changed = table;
  changed.chunks[1].entry_bytes += 1;
  EXPECT_EQ(code_with(changed), Code::damaged);
  changed = table;
  changed.chunks.back().last_name += "x";
  EXPECT_EQ(code_with(changed), Code::damaged);
  EXPECT_EQ(code_with(table), std::nullopt);
}

}  // namespace
}  // namespace weft::object
