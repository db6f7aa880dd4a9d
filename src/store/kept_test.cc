#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "store/checkpoint.h"
#include "store/kept_format.h"

namespace weft::store {
namespace {

KeptFrame frame_at(std::uint64_t position, int number) {
  KeptFrame frame;
  frame.position = position;
  frame.transaction = TransactionId::from_bytes(sha256(std::to_string(number)).view().substr(0, 16));
  frame.time_ns = 1'000'000 * number;
  frame.listed = true;
  frame.operation = OperationInfo{.label = "commit: " + std::to_string(number), .author = "A <a@example.org>"};
  frame.previous_operation = position > 4096 ? position - 4096 + 1 : 0;
  Move move;
  move.frame = position;
  move.position = position + 81;
  move.previous = position > 4096 ? position - 4096 + 81 : 0;
  move.name = "refs/" + std::to_string(number % 3);
  move.after = RefValue{Version(sha256(std::to_string(number))), "extra"};
  const Key key = ref_key(move.name);
  std::memcpy(move.key.bytes.data(), key.bytes.data(), 16);
  frame.moves.push_back(move);
  return frame;
}

void expect_equal(const KeptFrame& a, const KeptFrame& b) {
  EXPECT_EQ(a.position, b.position);
  EXPECT_EQ(a.transaction, b.transaction);
  EXPECT_EQ(a.time_ns, b.time_ns);
  EXPECT_EQ(a.listed, b.listed);
  ASSERT_EQ(a.operation.has_value(), b.operation.has_value());
  if (a.operation) {
    EXPECT_EQ(a.operation->label, b.operation->label);
    EXPECT_EQ(a.operation->undoes, b.operation->undoes);
  }
  EXPECT_EQ(a.previous_operation, b.previous_operation);
  ASSERT_EQ(a.moves.size(), b.moves.size());
  for (std::size_t i = 0; i < a.moves.size(); ++i) {
    EXPECT_EQ(a.moves[i].position, b.moves[i].position);
    EXPECT_EQ(a.moves[i].previous, b.moves[i].previous);
    EXPECT_EQ(a.moves[i].frame, b.moves[i].frame);
    EXPECT_EQ(a.moves[i].key, b.moves[i].key);
    EXPECT_EQ(a.moves[i].name, b.moves[i].name);
    EXPECT_EQ(a.moves[i].after, b.moves[i].after);
  }
  EXPECT_EQ(a.young, b.young);
}

struct KeptTest : ::testing::Test {
  static constexpr int kFrames = 2000;
  static std::uint64_t position_of(int number) { return 4096u * static_cast<std::uint64_t>(number); }

  void SetUp() override {
    ASSERT_TRUE(world.fs.make_directory("/log"));
    KeptWriter writer(world.env(), "/log");
    for (int number = 1; number <= kFrames; ++number) {
      KeptFrame frame = frame_at(position_of(number), number);
      if (number % 10 == 0) frame.young.emplace_back(ObjectKind::blob, sha256("young"));
      if (number % 50 == 0) frame.operation->undoes = frame.transaction;
      frames.push_back(frame);
      ASSERT_TRUE(writer.add(frame));
      const DeltaLink delta{half_of(sha256("delta" + std::to_string(number / 2))),
                            half_of(sha256(std::to_string(number)))};
      writer.add(delta);
      writer.add(GitLink{GitId::from_bytes(sha256("git" + std::to_string(number)).view().substr(0, 20)),
                         half_of(sha256(std::to_string(number)))});
    }
    KeptPack pack;
    pack.name = {sha256("pack"), 130, 7, 12345};
    pack.objects = 128;
    pack.changes = 7;
    pack.dead = {std::uint64_t{1} << 3, 0, 2};
    writer.add(pack);
    KeptFacts facts;
    facts.start = position_of(kFrames + 1);
    facts.window = position_of(1);
    facts.newest_operation = position_of(kFrames) + 1;
    name = writer.finish(facts).value();
  }
  std::string path() const { return "/log/" + kept_file_name(name.id); }
  std::shared_ptr<const KeptFile> open() { return KeptFile::open(world.fs, path(), name.id).value(); }

  FakeEnv world;
  std::vector<KeptFrame> frames;
  KeptName name;
};

TEST_F(KeptTest, EverythingIsFoundUnderItsPosition) {
  const auto kept = open();
  EXPECT_EQ(kept->bytes(), name.bytes);
  EXPECT_EQ(kept->operations(), frames.size());
  std::size_t seen = 0;
  ASSERT_TRUE(kept->for_each_frame([&](const KeptFrame& frame) -> Result<void> {
    expect_equal(frame, frames[seen++]);
    return {};
  }));
  EXPECT_EQ(seen, frames.size());
  for (std::size_t i = 0; i < frames.size(); i += 7) {
    const auto frame = kept->frame(frames[i].position).value();
    ASSERT_TRUE(frame);
    expect_equal(*frame, frames[i]);
    const auto move = kept->move(frames[i].moves[0].position).value();
    ASSERT_TRUE(move);
    EXPECT_EQ(move->name, frames[i].moves[0].name);
    EXPECT_FALSE(kept->move(frames[i].moves[0].position + 1).value());
    EXPECT_FALSE(kept->frame(frames[i].position + 8).value());
    const std::uint64_t word = key_word(padded_key(frames[i].transaction), 0);
    EXPECT_EQ(kept->operations_between(word, word).value(), std::vector<std::uint64_t>{frames[i].position});
  }
  EXPECT_FALSE(kept->move(1).value());
  EXPECT_FALSE(kept->frame(0).value());
  EXPECT_FALSE(kept->frame(UINT64_MAX).value());
  EXPECT_EQ(kept->operations_between(0, UINT64_MAX).value().size(), frames.size());
}

TEST_F(KeptTest, RefsAndLinks) {
  const auto kept = open();
  for (int i = 0; i < 3; ++i) {
    const auto positions = kept->refs(ref_key("refs/" + std::to_string(i))).value();
    ASSERT_EQ(positions.size(), 1u);
    const auto move = kept->move(positions[0]).value();
    EXPECT_EQ(move->name, "refs/" + std::to_string(i));
    EXPECT_GT(positions[0], position_of(kFrames - 3));
  }
  EXPECT_TRUE(kept->refs(ref_key("nowhere")).value().empty());
  EXPECT_EQ(kept->changes_of(half_of(sha256("delta5"))).size(), 2u);
  EXPECT_TRUE(kept->changes_of(half_of(sha256("nothing"))).empty());
  const GitId git = GitId::from_bytes(sha256("git17").view().substr(0, 20));
  const auto links = kept->gits_between(git, git);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].change, half_of(sha256("17")));
}

TEST_F(KeptTest, DeadPlacesOfPacks) {
  const auto kept = open();
  ASSERT_EQ(kept->packs().size(), 1u);
  const KeptPack& pack = kept->packs()[0];
  EXPECT_EQ(pack.objects, 128u);
  for (std::uint64_t place = 0; place < 130; ++place) EXPECT_EQ(pack.is_dead(place), place == 3 || place == 129);
}

TEST_F(KeptTest, ManyYoungObjectsOfOneFrameTakeSeveralEntries) {
  KeptWriter writer(world.env(), "/log");
  KeptFrame first = frame_at(8192, 1);
  ASSERT_TRUE(writer.add(first));
  for (int entry = 0; entry < 3; ++entry) {
    KeptFrame more;
    more.position = 8192;
    for (int i = 0; i < 3000; ++i) more.young.emplace_back(ObjectKind::tree, sha256(std::to_string(entry * 3000 + i)));
    ASSERT_TRUE(writer.add(more));
  }
  ASSERT_TRUE(writer.add(frame_at(12288, 2)));
  const KeptName many = writer.finish({}).value();
  const auto kept = KeptFile::open(world.fs, "/log/" + kept_file_name(many.id), many.id).value();
  EXPECT_TRUE(kept->frame(8192).value()->operation);
  EXPECT_TRUE(kept->move(first.moves[0].position).value());
  EXPECT_TRUE(kept->frame(12288).value());
  std::size_t young = 0;
  ASSERT_TRUE(kept->for_each_frame([&](const KeptFrame& frame) -> Result<void> {
    young += frame.young.size();
    return {};
  }));
  EXPECT_EQ(young, 9000u);
}

/// K2: no byte can change without being found out, by opening, reading or verifying.
TEST_F(KeptTest, EveryChangedByteIsFound) {
  const Bytes whole = world.fs.content(path());
  for (std::size_t at = 0; at < whole.size(); at += 1 + at % 1511) {
    Bytes changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    auto file = world.fs.open("/log/changed", OpenMode::create).value();
    ASSERT_TRUE(file->set_size(0));
    ASSERT_TRUE(file->write_at(0, changed));
    const auto kept = KeptFile::open(world.fs, "/log/changed", name.id);
    if (!kept) {
      EXPECT_EQ(kept.error().code, Code::damaged) << at;
      continue;
    }
    std::size_t found = 0;
    (*kept)->verify([&](const Error&) { ++found; });
    EXPECT_GT(found, 0u) << at;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    auto file = world.fs.open("/log/changed", OpenMode::create).value();
    ASSERT_TRUE(file->set_size(0));
    ASSERT_TRUE(file->write_at(0, ByteView(whole).substr(0, length)));
    const auto kept = KeptFile::open(world.fs, "/log/changed", name.id);
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, Code::damaged);
  }
}

TEST(CheckpointTest, IsReadAsItWasWritten) {
  Checkpoint checkpoint;
  checkpoint.time_ns = -5;
  checkpoint.kept = {sha256("kept"), 17};
  checkpoint.start = {1u << 20, 99};
  checkpoint.client = {1, 2, 3, 4};
  const Bytes bytes = encode_checkpoint(checkpoint);
  const auto read = decode_checkpoint(bytes, 2u << 20);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode_checkpoint(*read), bytes);
  EXPECT_EQ(read->start, checkpoint.start);
  EXPECT_FALSE(decode_checkpoint(bytes, 4096)) << "a start behind the frame";
  EXPECT_FALSE(decode_checkpoint(ByteView(bytes).substr(1), 2u << 20));
  EXPECT_FALSE(decode_checkpoint(bytes + "x", 2u << 20));
}

}  // namespace
}  // namespace weft::store
