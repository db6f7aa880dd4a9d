#include <map>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "object/change.h"
#include "object/testing/sample_changes.h"

namespace weft::object {
namespace {

/// One recording of a patch: a new directory with a file in it, an edit, a move, a mode, all with the given ids.
struct Recording {
  Change change;
  std::map<NodeId, std::string> paths;

  explicit Recording(const std::string& salt) {
    const auto id = [&](const std::string& what) { return sha256(salt + what); };
    const auto node = [&](const std::string& path) {
      const NodeId made = NodeId::from_bytes(id("node " + path).view().substr(0, NodeId::kSize));
      paths[made] = path;
      return made;
    };
    const NodeId src = node("src");
    const NodeId dir = node("src/new");
    const NodeId file = node("src/new/file.txt");
    const NodeId edited = node("a.txt");
    const NodeId moved = node("src/to");
    const NodeId gone = node("gone");
    change = testing::one_file_edit();
    change.parents = {id("parent")};
    change.author.name = salt;
    change.author.time.unix_ns = static_cast<std::int64_t>(salt.size());
    change.tree = id("tree");
    change.ops = {
        op::Create{dir, {src, "new"}, EntryKind::directory, 0755, {}, 0, {}},
        op::Create{file, {dir, "file.txt"}, EntryKind::file, 0644, sha256("content"), 7, {}},
        op::EditText{edited, id("base"), id("result"), 10, {{salt.size(), "old\n", "new\n", "before\n", "after\n"}}},
        op::Move{moved, {{}, "from"}, {src, "to"}},
        op::SetMode{moved, 0644, 0755},
        op::Delete{gone, {{}, "gone"}},
        op::SetContent{file, id("binary base"), sha256("binary"), 6},
    };
  }
  DeltaId delta() const {
    return delta_id(change, [this](const NodeId& node) { return paths.at(node); });
  }
};

TEST(DeltaId, IsEqualForThePatchRecordedTwiceOrOnAnotherBase) {
  const Recording first("one");
  Recording second("another");
  EXPECT_NE(change_id(encode_change(first.change)), change_id(encode_change(second.change)));
  EXPECT_EQ(first.delta(), second.delta());
  std::reverse(second.change.ops.begin(), second.change.ops.end());
  EXPECT_EQ(first.delta(), second.delta());
}

TEST(DeltaId, DiffersWithWhatIsDone) {
  const DeltaId original = Recording("one").delta();
  const auto differs = [&](const std::function<void(std::vector<Op>&)>& alter) {
    Recording other("one");
    alter(other.change.ops);
    return other.delta() != original;
  };
  using Ops = std::vector<Op>;
  EXPECT_TRUE(differs([](Ops& ops) { ops.pop_back(); }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::Create>(ops[0]).place.name = "other"; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::Create>(ops[1]).blob = sha256("other"); }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::Create>(ops[1]).mode = 0755; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::EditText>(ops[2]).hunks[0].added = "newer\n"; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::EditText>(ops[2]).hunks[0].removed = "older\n"; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::EditText>(ops[2]).hunks[0].context_before = "other\n"; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::EditText>(ops[2]).hunks[0].context_after = "other\n"; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::Move>(ops[3]).from.name = "elsewhere"; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::SetMode>(ops[4]).to = 0600; }));
  EXPECT_TRUE(differs([](Ops& ops) { std::get<op::SetContent>(ops[6]).result = sha256("other"); }));
  EXPECT_FALSE(differs([](Ops& ops) { std::get<op::SetContent>(ops[6]).base = sha256("other"); }));
}

// Names that collide show a part of the random node id; it must not reach the delta id.
TEST(DeltaId, DoesNotSeeTheIdInTheNameOfANewNode) {
  const auto with_suffix = [](const std::string& suffix) {
    Recording recording(suffix);
    for (auto& [node, path] : recording.paths) {
      if (path == "src/new/file.txt") path += "~" + suffix;
    }
    return recording.delta();
  };
  EXPECT_EQ(with_suffix("00aabbcc"), with_suffix("ffaabbcc"));
}

TEST(DeltaId, OfNothingIsZero) {
  Change change = testing::one_file_edit();
  change.ops.clear();
  EXPECT_TRUE(delta_id(change, [](const NodeId&) { return std::string(); }).is_zero());
}

TEST(DeltaId, Stays) {
  EXPECT_EQ(Recording("one").delta().hex(), "f70315c026ca1fb677d95106597f632a38698b20c0ca6285cb8bef0d394fce90");
}

}  // namespace
}  // namespace weft::object
