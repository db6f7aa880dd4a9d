#include "git/wire.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft::git::wire {
namespace {

Sha1 sha(char fill) { return Sha1::from_bytes(std::string(Sha1::kSize, fill)); }

std::vector<Message> one_of_each() {
  Ref ref;
  ref.name = "refs/tags/v1";
  ref.target = sha('t');
  ref.kind = TargetKind::commit;
  ref.peeled = sha('p');
  ref.tags = {"outer tag", "inner tag"};
  Facts facts;
  facts.object_format = "sha1";
  facts.head = "refs/heads/main";
  facts.work_tree = "/w";
  facts.directory = "/w/.git";
  facts.head_commit = sha('d');
  facts.presence = Presence::created;
  facts.shallow = true;
  facts.sparse = true;
  facts.conversions = "filter=lfs";
  Write whole{GitKind::commit, sha('w'), "", true, 9, "tree 1..."};
  Write pieces{GitKind::blob, sha('w'), "a/b", false, std::uint64_t{5} << 30, {}};
  Put inline_put;
  inline_put.path = ByteView("a\0b", 3);
  inline_put.mode = 0100644;
  inline_put.id = sha('b');
  inline_put.content = Content::inline_bytes;
  inline_put.bytes = "content";
  inline_put.size = 7;
  Put data_put = inline_put;
  data_put.content = Content::data;
  data_put.bytes = {};
  data_put.size = std::uint64_t{5} << 30;
  Put parent_put = inline_put;
  parent_put.content = Content::parent;
  parent_put.parent = 7;
  parent_put.size = 0;
  parent_put.bytes = {};
  Put table_put = parent_put;
  table_put.content = Content::table;
  table_put.parent = 0;
  Put none_put = table_put;
  none_put.content = Content::none;
  none_put.mode = 0160000;
  return {Hello{kVersion, "weft-git"},
          facts,
          ref,
          RefsEnd{{"refs/notes", "refs/stash"}},
          Total{12},
          Offer{{sha('1'), sha('2')}},
          Commit{sha('c'), TargetKind::commit, "tree ..."},
          Commit{sha('t'), TargetKind::blob, {}},
          GoneDirectory{"d"},
          Remove{"f"},
          inline_put,
          data_put,
          parent_put,
          table_put,
          none_put,
          Data{"piece"},
          OddTree{"", "raw"},
          CommitEnd{},
          End{12},
          Failure{FailureKind::damaged, "what", "hint"},
          Request{kVersion, true, {sha('h')}},
          Known{"\x05"},
          whole,
          pieces,
          Read{GitKind::tree, sha('r')},
          Found{true, "bytes"},
          Keep{},
          Kept{7, 1234},
          Move{"refs/heads/main", sha('e'), sha('n'), true},
          Attach{"refs/heads/main"},
          Moved{MoveStatus::changed, sha('a'), "words"}};
}

Bytes frame_of(const Message& message) {
  Bytes frame;
  append_frame(frame, message);
  return frame;
}

FrameReader reader_of(const Bytes& stream, std::size_t piece, std::size_t& at) {
  return FrameReader([&stream, piece, &at](std::span<char> out) -> Result<std::size_t> {
    const std::size_t count = std::min({piece, out.size(), stream.size() - at});
    std::copy_n(stream.data() + at, count, out.data());
    at += count;
    return count;
  });
}

TEST(Wire, EveryMessageComesBackAsItWas) {  // GW4
  for (const Message& message : one_of_each()) {
    const Bytes frame = frame_of(message);
    const auto decoded = decode(ByteView(frame).substr(4));
    ASSERT_TRUE(decoded.has_value()) << "type " << int(frame[4]);
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(frame_of(*decoded), frame);
  }
}

TEST(Wire, CutOrLongerMessagesAreRefused) {  // GW4
  for (const Message& message : one_of_each()) {
    const Bytes frame = frame_of(message);
    const ByteView body = ByteView(frame).substr(4);
    for (std::size_t length = 0; length < body.size(); ++length) {
      const auto decoded = decode(body.substr(0, length));
      ASSERT_FALSE(decoded.has_value()) << "type " << int(body[0]) << " cut to " << length;
      EXPECT_EQ(decoded.error().code, Code::peer);
    }
    EXPECT_FALSE(decode(Bytes(body) + "x").has_value()) << "type " << int(body[0]);
  }
}

TEST(Wire, AnyFlippedByteIsRefusedOrAnotherSoundMessage) {  // GW4
  for (const Message& message : one_of_each()) {
    const Bytes frame = frame_of(message).substr(4);
    for (std::size_t at = 0; at < frame.size(); ++at) {
      for (const int bit : {0, 1, 7}) {
        Bytes flipped = frame;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        const auto decoded = decode(flipped);
        if (decoded) {
          EXPECT_EQ(frame_of(*decoded).substr(4), flipped);
        }
      }
    }
  }
}

TEST(Wire, LimitsAreKept) {  // GW4
  const auto refused = [](const std::function<void(ByteWriter&)>& write) {
    Bytes body;
    ByteWriter writer(body);
    write(writer);
    return !decode(body).has_value();
  };
  EXPECT_TRUE(refused([](ByteWriter& w) {  // an offer of more commits than fit
    w.u8(6);
    w.varint(kMaxOffer + 1);
    w.raw(Bytes((kMaxOffer + 1) * Sha1::kSize, 'x'));
  }));
  EXPECT_TRUE(refused([](ByteWriter& w) {  // a count that nothing follows
    w.u8(16);
    w.u32(kVersion);
    w.u8(0);
    w.varint(kMaxHidden);
  }));
  EXPECT_TRUE(refused([](ByteWriter& w) {  // a piece of data that is too large
    w.u8(11);
    w.sized(Bytes(kMaxDataBytes + 1, 'x'));
  }));
  EXPECT_TRUE(refused([](ByteWriter& w) {  // a commit in pieces
    w.u8(18);
    w.u8(1);
    w.raw(Bytes(Sha1::kSize, 'x'));
    w.sized("");
    w.u8(0);
    w.varint(5);
  }));
  EXPECT_TRUE(refused([](ByteWriter& w) { w.u8(0); }));
  EXPECT_TRUE(refused([](ByteWriter& w) { w.u8(27); }));
}

TEST(Wire, FramesAreReadWhateverThePiecesTheyComeIn) {
  Bytes stream;
  const auto messages = one_of_each();
  for (int i = 0; i < 50; ++i) {
    for (const Message& message : messages) append_frame(stream, message);
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, stream.size()}) {
    std::size_t at = 0;
    FrameReader reader = reader_of(stream, piece, at);
    for (int i = 0; i < 50; ++i) {
      for (const Message& message : messages) {
        const auto decoded = reader.next();
        ASSERT_TRUE(decoded.has_value());
        ASSERT_EQ(frame_of(*decoded), frame_of(message));
      }
    }
    const auto end = reader.next();
    ASSERT_FALSE(end.has_value());
    EXPECT_EQ(end.error().code, Code::peer);
  }
}

TEST(Wire, ImpossibleLengthsAreRefusedBeforeAnythingIsAllocated) {
  for (const std::uint32_t length : {std::uint32_t{0}, std::uint32_t{kMaxFrameBytes + 1}, std::uint32_t{0xffffffff}}) {
    Bytes stream;
    ByteWriter(stream).u32(length);
    stream += "rest";
    std::size_t at = 0;
    FrameReader reader = reader_of(stream, 4096, at);
    EXPECT_EQ(reader.next().error().code, Code::peer);
  }
}

TEST(Wire, BlobTableForgetsOnlyWhatLosesItsSlot) {  // GW2
  BlobTable<int> table;
  Sha1 a = sha('a');
  Sha1 b = a;
  b.bytes[19] = 1;  // the same slot: only the first bytes choose it
  Sha1 c = a;
  c.bytes[0] = 1;
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_EQ(table.find(Sha1{}), nullptr);
  table.insert(a, 1);
  table.insert(c, 3);
  ASSERT_NE(table.find(a), nullptr);
  EXPECT_EQ(*table.find(a), 1);
  EXPECT_EQ(table.find(b), nullptr);
  table.insert(b, 2);
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_EQ(*table.find(b), 2);
  EXPECT_EQ(*table.find(c), 3);
}

}  // namespace
}  // namespace weft::git::wire
