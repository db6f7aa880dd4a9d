// The committed inputs of the fuzz targets for object/: valid samples, cut and flipped ones, all made here.
//
// The test holds fuzz/corpus/ against what this file makes, so that the inputs follow the formats. With
// WEFT_WRITE_CORPUS=1 it writes them instead.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "object/chunk_list.h"
#include "object/memory_objects.h"
#include "object/pack_format.h"
#include "object/testing/sample_changes.h"
#include "object/testing/sample_trees.h"
#include "object/tree_codec.h"

namespace weft::object {
namespace {

namespace fs = std::filesystem;

using Inputs = std::map<std::string, Bytes>;

/// `name`, cut at a third, two thirds and before its last byte, and with one bit flipped near each of these places.
void add_with_damage(Inputs& inputs, const std::string& name, const Bytes& bytes) {
  inputs[name] = bytes;
  for (const std::size_t place : {bytes.size() / 3, bytes.size() * 2 / 3, bytes.size() - 1}) {
    inputs[name + "-cut-" + std::to_string(place)] = bytes.substr(0, place);
    Bytes flipped = bytes;
    flipped[place] = static_cast<char>(flipped[place] ^ (1 << (place % 8)));
    inputs[name + "-flip-" + std::to_string(place)] = flipped;
  }
}

Inputs tree_inputs() {
  Inputs inputs;
  TreeEntry directory = testing::sample_entry("dir", 1);
  directory.kind = EntryKind::directory;
  directory.size = 0;
  TreeEntry link = testing::sample_entry("link", 1);
  link.kind = EntryKind::symlink;
  link.mode = 0777;
  const Entries entries{directory, testing::sample_entry("file", 2), link};
  add_with_damage(inputs, "directory", encode_entries(TreeForm::directory, entries));
  inputs["empty"] = encode_entries(TreeForm::directory, {});
  const testing::NamePool pool(3, 2);
  const Entries chunk{testing::sample_entry(pool.inner[0], 1), testing::sample_entry(pool.inner[1], 1)};
  add_with_damage(inputs, "chunk", encode_entries(TreeForm::chunk, chunk));
  ChunkTable table;
  for (const std::string& name : pool.ends) table.add({name, sha256(name), 500, 40'000});
  add_with_damage(inputs, "table", encode_table(table));
  return inputs;
}

Inputs change_inputs() {
  Inputs inputs;
  add_with_damage(inputs, "edit", encode_change(testing::one_file_edit()));
  for (const std::uint64_t seed : {1, 2, 3, 7}) {
    add_with_damage(inputs, "sample-" + std::to_string(seed), encode_change(testing::sample_change(seed)));
  }
  return inputs;
}

Inputs change_summary_inputs() {
  Inputs inputs;
  add_with_damage(inputs, "edit", encode_change(testing::one_file_edit()));
  add_with_damage(inputs, "sample-5", encode_change(testing::sample_change(5)));
  return inputs;
}

Inputs record_inputs() {
  Inputs inputs;
  RecordCodec codec;
  for (const auto& [name, content] :
       Inputs{{"small", "content"}, {"empty", ""}, {"compressed", Bytes(2 * kMinCompressedBytes, 'c')}}) {
    Bytes record;
    EXPECT_TRUE(codec.encode(ObjectKind::blob, sha256(content), content, record).has_value());
    add_with_damage(inputs, name, record);
  }
  Bytes chunks;
  const Bytes list = encode_chunk_list({{ChunkEntry::Kind::zeros, 5u << 20, {}}});
  EXPECT_TRUE(encode_chunks_record(sha256("large"), 5u << 20, list, chunks).has_value());
  add_with_damage(inputs, "chunks", chunks);
  return inputs;
}

Inputs chunk_list_inputs() {
  using Kind = ChunkEntry::Kind;
  Inputs inputs;
  const ObjectId id = sha256("chunk");
  const auto sized = [](std::uint64_t size, const Bytes& bytes) {
    Bytes out;
    ByteWriter(out).u64(size);
    return out + bytes;
  };
  const std::vector<ChunkEntry> page{{Kind::chunk, 70'000, id}, {Kind::zeros, 1u << 20, {}}};
  std::vector<ChunkEntry> list = page;
  list.push_back({Kind::page, 9u << 20, sha256("page")});
  add_with_damage(inputs, "list", sized(70'000 + (10u << 20), encode_chunk_list(list)));
  add_with_damage(inputs, "page", sized(70'000 + (1u << 20), encode_page(page)));
  return inputs;
}

Inputs pack_inputs() {
  Inputs inputs;
  FakeEnv world;
  const auto pack = [&](const std::string& name, const std::function<void(PackWriter&)>& fill) {
    PackWriter writer(world, "/");
    fill(writer);
    add_with_damage(inputs, name, world.fs.content("/" + pack_file_name(writer.finish().value().id)));
  };
  pack("small", [](PackWriter& writer) {
    for (int i = 0; i < 6; ++i) {
      // Plain ones, and one that is compressed.
      const std::size_t length = i == 5 ? 2 * kMinCompressedBytes : static_cast<std::size_t>(i) * 100;
      const Bytes content = std::to_string(i) + Bytes(length, 'p');
      EXPECT_TRUE(writer.add(i % 2 == 0 ? ObjectKind::blob : ObjectKind::tree, sha256(content), content).has_value());
    }
  });
  pack("blocks", [](PackWriter& writer) {
    const Bytes content(kLargeBlobBytes + 2 * kMinCompressedBytes, 'b');
    EXPECT_TRUE(writer.add(ObjectKind::blob, sha256(content), content).has_value());
  });
  pack("groups", [](PackWriter& writer) {
    GroupEncoder encoder;
    const Bytes newest = Bytes(300, 'n') + "1", older = Bytes(300, 'n') + "0", oldest = "x" + Bytes(200, 'n');
    const std::vector<ObjectId> ids{sha256(newest), sha256("small"), sha256(older), sha256(oldest)};
    const std::vector<std::uint64_t> sizes{newest.size(), 5, older.size(), oldest.size()};
    const std::span<const ObjectId> all_ids(ids);
    const std::span<const std::uint64_t> all_sizes(sizes);
    const Bytes first = encoder.compress(newest + "small", {}, 3).value();
    const Bytes second = encoder.compress(older + oldest, newest, 3).value();
    const auto base = writer.add_group({ObjectKind::blob, all_ids.first(2), all_sizes.first(2), first});
    EXPECT_TRUE(base.has_value());
    EXPECT_TRUE(writer.add_group({ObjectKind::blob, all_ids.last(2), all_sizes.last(2), second, *base, 0}).has_value());
  });
  return inputs;
}

Bytes read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void hold(const std::string& target, const Inputs& inputs) {
  const fs::path corpus = fs::path(__FILE__).parent_path().parent_path().parent_path() / "fuzz" / "corpus" / target;
  if (std::getenv("WEFT_WRITE_CORPUS") != nullptr) {
    fs::create_directories(corpus);
    for (const auto& [name, bytes] : inputs) {
      std::ofstream(corpus / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    return;
  }
  if (!fs::exists(corpus)) GTEST_SKIP() << "the sources are not at " << corpus;
  std::size_t total = 0;
  for (const auto& [name, bytes] : inputs) {
    // Compressed bytes may differ with the version of zstd; what they stand for is tested by the target itself.
    const bool compressed = target == "pack" || name.starts_with("compressed");
    EXPECT_TRUE(fs::exists(corpus / name)) << corpus / name;
    if (!compressed) {
      EXPECT_EQ(to_hex(read_whole(corpus / name)), to_hex(bytes)) << corpus / name;
    }
    total += bytes.size();
  }
  EXPECT_LT(total, 20'000u);
}

TEST(FuzzCorpus, Tree) { hold("tree", tree_inputs()); }
TEST(FuzzCorpus, Change) { hold("change", change_inputs()); }
TEST(FuzzCorpus, ChangeSummary) { hold("change_summary", change_summary_inputs()); }
TEST(FuzzCorpus, Record) { hold("record", record_inputs()); }
TEST(FuzzCorpus, ChunkList) { hold("chunk_list", chunk_list_inputs()); }
TEST(FuzzCorpus, Pack) { hold("pack", pack_inputs()); }

}  // namespace
}  // namespace weft::object
