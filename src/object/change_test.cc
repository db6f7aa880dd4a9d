#include "object/change.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "object/change_head.h"
#include "object/testing/sample_changes.h"

namespace weft::object {
namespace {

using testing::one_file_edit;
using testing::sample_change;

// X1, forwards.
RC_GTEST_PROP(Change, RoundTrips, ()) {
  const Change change = sample_change(*rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(check_change(change).has_value());
  const Bytes encoded = encode_change(change);
  RC_ASSERT(decode_change(encoded).value() == change);
  const auto summary = decode_change_summary(encoded).value();
  RC_ASSERT(summary.parents == change.parents);
  RC_ASSERT(summary.lamport == change.lamport);
  RC_ASSERT(summary.tree == change.tree);
}

TEST(Change, SamplesHoldEveryOp) {
  std::map<std::size_t, int> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const Op& op : sample_change(seed).ops) ++seen[op.index()];
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<Op>);
}

TEST(Change, OneFileEditIsSmall) { EXPECT_LT(encode_change(one_file_edit()).size(), 320u); }

// The bytes of docs/FORMATS.md: whoever changes them changes every id.
TEST(Change, IdsStay) {
  EXPECT_EQ(change_id(encode_change(one_file_edit())).hex(),
            "da2fe1badde63263ce938c8f37af2cc35c78272dbe44d686218cf946adb4891d");
  EXPECT_EQ(change_id(encode_change(sample_change(7))).hex(),
            "d246e8babf0c4f415f34c8e9585c447425a1e482fc5d61b53e6a510b3142aa7d");
}

TEST(Change, EncodesAsDocumented) {
  Change change;
  change.tree.bytes.fill(0x22);
  change.author = {"A", "a@b", {258, -1}};
  change.committer = change.author;
  change.message = "m";
  change.extra = {{"k", "v"}};
  op::SetMode mode;
  mode.node.bytes.fill(0x33);
  mode.from = 0644;
  mode.to = 0755;
  change.ops = {mode};
  EXPECT_EQ(to_hex(encode_change(change)), to_hex("weftchg1") + "00" + "01" + std::string(64, '2') + "01" +
                                               "01"  // parents, Lamport, tree, rules, form
                                               + "0141" + "03614062" + "0201000000000000" + "01"  // author
                                               + "00" + "00" + "00" + "016d"  // committer, agent, job, message
                                               + "01" + "016b" + "0176"       // extra
                                               + "01" + "06" + std::string(32, '3') + "a401" + "ed01");  // ops
}

TEST(Change, FindsExtraHeaders) {
  Change change = one_file_edit();
  change.extra = {{"git-sha1", "x"}, {"other", "y"}, {"git-sha1", "z"}};
  EXPECT_EQ(*change.find_extra("git-sha1"), "x");
  EXPECT_EQ(change.find_extra("git"), nullptr);
}

TEST(Change, EveryTruncationIsDamage) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Bytes good = encode_change(sample_change(seed));
    for (std::size_t length = 0; length < good.size(); ++length) {
      const auto result = decode_change(ByteView(good).substr(0, length));
      ASSERT_FALSE(result.has_value()) << seed << " " << length;
      EXPECT_EQ(result.error().code, Code::damaged);
    }
    EXPECT_EQ(decode_change(good + '\0').error().code, Code::damaged);
    EXPECT_EQ(decode_change_summary(ByteView(good).substr(0, 30)).error().code, Code::damaged);
  }
}

// X1, backwards: flipped bits are damage or another change that has exactly these bytes.
TEST(Change, EveryBitFlipIsDamageOrAnotherChange) {
  int damaged = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Bytes good = encode_change(sample_change(seed));
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      const auto result = decode_change(bad);
      if (result) {
        ASSERT_EQ(encode_change(*result), bad) << seed << " " << bit;
      } else {
        ASSERT_EQ(result.error().code, Code::damaged);
        ++damaged;
      }
    }
  }
  EXPECT_GT(damaged, 500);
}

TEST(Change, RefusesASpelledOutCommitterThatIsTheAuthor) {
  Change change = one_file_edit();
  change.committer.name = "X";
  Bytes encoded = encode_change(change);
  const auto place = encoded.find("\x01X");
  ASSERT_NE(place, Bytes::npos);
  encoded.replace(place, 2,
                  "\x0c"
                  "Ada Lovelace");
  const auto result = decode_change(encoded);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("committer"), std::string::npos);
}

/// What check_change and, if it can be encoded at all, decode_change say.
void expect_refused(const char* what, const std::function<void(Change&)>& spoil) {
  Change change = one_file_edit();
  spoil(change);
  const auto checked = check_change(change);
  ASSERT_FALSE(checked.has_value()) << what;
  EXPECT_EQ(checked.error().code, Code::invalid) << what;
  const auto decoded = decode_change(encode_change(change));
  ASSERT_FALSE(decoded.has_value()) << what;
  EXPECT_EQ(decoded.error().code, Code::damaged) << what;
}

TEST(Change, RefusesWhatNoChangeHolds) {
  expect_refused("parent twice", [](Change& c) { c.parents.push_back(c.parents[0]); });
  expect_refused("lamport of a root", [](Change& c) { c.parents.clear(); });
  expect_refused("lamport of a child", [](Change& c) { c.lamport = 1; });
  expect_refused("no tree", [](Change& c) { c.tree = {}; });
  expect_refused("rules", [](Change& c) { c.rules = 0; });
  expect_refused("long name", [](Change& c) { c.author.name.assign(kMaxSignatureBytes + 1, 'x'); });
  expect_refused("long email", [](Change& c) { c.committer.email.assign(kMaxSignatureBytes + 1, 'x'); });
  expect_refused("long agent", [](Change& c) { c.agent.assign(kMaxLabelBytes + 1, 'x'); });
  expect_refused("empty key", [](Change& c) { c.extra = {{"", "v"}}; });
  expect_refused("many extras", [](Change& c) { c.extra.assign(kMaxExtraHeaders + 1, {"k", "v"}); });
  expect_refused("no hunks", [](Change& c) { std::get<op::EditText>(c.ops[0]).hunks.clear(); });
  expect_refused("idle hunk", [](Change& c) { std::get<op::EditText>(c.ops[0]).hunks = {{1, "", "", "a", "b"}}; });
  expect_refused("far hunk", [](Change& c) { std::get<op::EditText>(c.ops[0]).hunks[0].offset = kMaxTextOffset + 1; });
  expect_refused("zero node", [](Change& c) { std::get<op::EditText>(c.ops[0]).node = {}; });
  expect_refused("zero base", [](Change& c) { std::get<op::EditText>(c.ops[0]).base = {}; });
  expect_refused("settle nothing", [](Change& c) { c.ops = {op::Settle{}}; });
  expect_refused("mode", [](Change& c) { c.ops = {op::SetMode{NodeId{{1}}, 0, 010000}}; });
}

TEST(Change, C17_NamesOfOpsAreChecked) {
  const NodeId node{{1}};
  for (const std::string name : {"", ".", "..", "a/b", "/"}) {
    expect_refused(name.c_str(), [&](Change& c) { c.ops = {op::Delete{node, {{}, name}}}; });
    expect_refused(name.c_str(), [&](Change& c) { c.ops = {op::Move{node, {{}, "a"}, {{}, name}}}; });
    expect_refused(name.c_str(), [&](Change& c) { c.ops = {op::Move{node, {{}, name}, {{}, "a"}}}; });
    expect_refused(name.c_str(), [&](Change& c) {
      c.ops = {op::Create{node, {{}, name}, EntryKind::file, 0644, sha256(""), 0, {}}};
    });
  }
  expect_refused("NUL", [&](Change& c) { c.ops = {op::Delete{node, {{}, std::string("a\0b", 3)}}}; });
}

TEST(Change, CreatesAreWhatADirectoryCanHold) {
  const NodeId node{{1}};
  const auto with = [&](EntryKind kind, std::uint32_t mode, ObjectId blob, std::uint64_t size,
                        std::optional<NodeId> replaces) {
    return [=](Change& c) { c.ops = {op::Create{node, {{}, "n"}, kind, mode, blob, size, replaces}}; };
  };
  const ObjectId blob = sha256("x");
  expect_refused("file without content", with(EntryKind::file, 0644, {}, 0, {}));
  expect_refused("kind", with(static_cast<EntryKind>(9), 0644, blob, 0, {}));
  expect_refused("link mode", with(EntryKind::symlink, 0644, blob, 0, {}));
  expect_refused("replaces itself", with(EntryKind::file, 0644, blob, 0, node));
  Change change = one_file_edit();
  with(EntryKind::directory, 0755, blob, 0, {})(change);
  EXPECT_FALSE(check_change(change).has_value());  // (the encoding has no place for a directory's content)
  with(EntryKind::directory, 0755, {}, 0, {})(change);
  EXPECT_TRUE(check_change(change).has_value());
}

TEST(Change, DerivedChangesCarryNoOps) {
  Change change = one_file_edit();
  change.form = OpsForm::derived;
  EXPECT_FALSE(check_change(change).has_value());
  change.ops.clear();
  Bytes encoded = encode_change(change);
  EXPECT_TRUE(decode_change(encoded).has_value());
  encoded.back() = 1;  // one op
  encoded += '\x07' + Bytes(32, 'c');
  EXPECT_EQ(decode_change(encoded).error().code, Code::damaged);
}

// A log of a few lines must not decode thousands of ops: the head is all but them, and ops are not even looked at.
TEST(Change, TheHeadIsAllButTheOps) {
  Change change = one_file_edit();
  change.extra.emplace_back("key", "value");
  const Bytes small = encode_change(change);
  const std::vector<Op> ops = change.ops;
  for (int i = 0; i < 5000; ++i) change.ops.insert(change.ops.end(), ops.begin(), ops.end());
  const Bytes large = encode_change(change);
  Change expected = change;
  expected.ops.clear();
  EXPECT_EQ(decode_change_head(large).value(), expected);
  EXPECT_EQ(decode_change_head(small).value(), expected);
  // Wherever the head is cut it is damage; behind it nothing is asked for.
  const std::size_t ops_begin = small.size() - [&] {
    Change without = change;
    without.ops = ops;
    const std::size_t whole = encode_change(without).size();
    without.ops.clear();
    return whole - encode_change(without).size();
  }() - 1;  // their number
  EXPECT_EQ(decode_change_head(ByteView(large).substr(0, ops_begin)).value(), expected);
  for (std::size_t length = 0; length < ops_begin; ++length) {
    EXPECT_EQ(decode_change_head(ByteView(small).substr(0, length)).error().code, Code::damaged) << length;
  }
}

// Counts that the bytes at hand cannot hold are refused before memory is taken for them.
TEST(Change, GiantCountsAreDamage) {
  Change change = one_file_edit();
  change.ops.clear();
  Bytes encoded = encode_change(change);
  encoded.pop_back();
  ByteWriter(encoded).varint(kMaxOps);
  EXPECT_EQ(decode_change(encoded).error().code, Code::damaged);
  Bytes many("weftchg1");
  ByteWriter(many).varint(std::uint64_t{1} << 60);
  EXPECT_EQ(decode_change_summary(many).error().code, Code::damaged);
}

}  // namespace
}  // namespace weft::object
