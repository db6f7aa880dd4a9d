// merge_by_node: the scenarios one by one, and against a merge of plain maps.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tree/testing/tree_model.h"

namespace weft::tree {
namespace {

using namespace weft::tree::testing;
using object::MemoryObjects;

/// What both sides want of every node, taken together; nullopt where they want different things of one.
std::optional<TreeModel> merged_model(const TreeModel& base, const TreeModel& ours, const TreeModel& theirs) {
  TreeModel merged;
  std::set<NodeId> all;
  for (const TreeModel* tree : {&base, &ours, &theirs}) {
    for (const auto& [node, is] : tree->nodes) all.insert(node);
  }
  const auto find = [](const TreeModel& tree, const NodeId& node) {
    const auto found = tree.nodes.find(node);
    return found == tree.nodes.end() ? nullptr : &found->second;
  };
  for (const NodeId& node : all) {
    const ModelNode *b = find(base, node), *o = find(ours, node), *t = find(theirs, node);
    if (b == nullptr) {
      if (o != nullptr && t != nullptr && !(*o == *t)) return std::nullopt;
      merged.nodes[node] = o != nullptr ? *o : *t;
      continue;
    }
    if (o == nullptr || t == nullptr) {
      const ModelNode* left = o != nullptr ? o : t;
      if (left != nullptr && !(*left == *b)) return std::nullopt;
      continue;
    }
    ModelNode result = *b;
    const auto take = [&](auto member) {
      if (o->*member != b->*member && t->*member != b->*member && o->*member != t->*member) return false;
      result.*member = o->*member != b->*member ? o->*member : t->*member;
      return true;
    };
    const bool ours_moved = o->parent != b->parent || o->name != b->name;
    const bool theirs_moved = t->parent != b->parent || t->name != b->name;
    if (ours_moved && theirs_moved && (o->parent != t->parent || o->name != t->name)) return std::nullopt;
    const ModelNode* mover = ours_moved ? o : t;
    result.parent = mover->parent;
    result.name = mover->name;
    if (b->kind != o->kind || b->kind != t->kind) return std::nullopt;
    if (!take(&ModelNode::mode) || !take(&ModelNode::content)) return std::nullopt;
    merged.nodes[node] = std::move(result);
  }
  // A tree? Parents there, names once, no cycles.
  std::set<std::pair<NodeId, std::string>> names;
  for (const auto& [node, is] : merged.nodes) {
    if (!names.insert({is.parent, is.name}).second) return std::nullopt;
    std::set<NodeId> chain;
    for (NodeId at = node; !at.is_zero();) {
      const ModelNode* here = find(merged, at);
      if (here == nullptr || !chain.insert(at).second) return std::nullopt;
      at = here->parent;
    }
  }
  return merged;
}

std::set<NodeId> blocked_nodes(const NodeMerge& merge) {
  std::set<NodeId> nodes;
  for (const auto& blocked : merge.blocked) nodes.insert(blocked.node);
  return nodes;
}

// The heart of it: clean exactly when the maps merge, and then with every edit of both sides; symmetric.
RC_GTEST_PROP(Merge, EqualsTheMergeOfMaps, ()) {
  MemoryObjects objects;
  const TreeModel base = random_tree(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 60));
  TreeModel ours = base, theirs = base;
  Editing(*rc::gen::arbitrary<std::uint32_t>(), 100000).edit(ours, *rc::gen::inRange(0, 6));
  Editing(*rc::gen::arbitrary<std::uint32_t>(), 200000).edit(theirs, *rc::gen::inRange(0, 6));
  if (*rc::gen::inRange(0, 4) == 0) {  // an edit both made
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    TreeModel common = base;
    Editing(seed, 300000).edit(common, 2);
    ours = theirs = common;
    Editing(*rc::gen::arbitrary<std::uint32_t>(), 100000).edit(ours, *rc::gen::inRange(0, 3));
    Editing(*rc::gen::arbitrary<std::uint32_t>(), 200000).edit(theirs, *rc::gen::inRange(0, 3));
  }
  const ObjectId b = base.write(objects), o = ours.write(objects), t = theirs.write(objects);
  const NodeMerge merge = must(merge_by_node(objects, objects, b, o, t));
  const NodeMerge mirrored = must(merge_by_node(objects, objects, b, t, o));
  RC_ASSERT(merge.tree == mirrored.tree);
  RC_ASSERT(blocked_nodes(merge) == blocked_nodes(mirrored));
  RC_ASSERT(merge.tree.has_value() == merge.blocked.empty());

  const auto expected = merged_model(base, ours, theirs);
  RC_CLASSIFY(merge.tree.has_value(), "clean");
  RC_CLASSIFY(merge.tree && o != b && t != b && o != t, "clean, both edited");
  RC_ASSERT(merge.tree.has_value() == expected.has_value());
  if (expected) {
    RC_ASSERT(TreeModel::read(objects, *merge.tree) == *expected);
    RC_ASSERT(expected->write(objects) == *merge.tree);
  }
  for (const auto& blocked : merge.blocked) {
    RC_ASSERT(!blocked.path.empty() && !blocked.reason.empty());
    const TreeModel& shown = ours.nodes.contains(blocked.node)     ? ours
                             : theirs.nodes.contains(blocked.node) ? theirs
                                                                   : base;
    RC_ASSERT(shown.path(blocked.node) == blocked.path);
    const auto differs = [&](const TreeModel& side) {
      const auto was = base.nodes.find(blocked.node), is = side.nodes.find(blocked.node);
      if (was == base.nodes.end() || is == side.nodes.end())
        return (was == base.nodes.end()) != (is == side.nodes.end());
      return !(was->second == is->second);
    };
    RC_ASSERT(differs(ours) || differs(theirs));
  }
  RC_ASSERT(must(merge_by_node(objects, objects, b, b, t)).tree == t);
  RC_ASSERT(must(merge_by_node(objects, objects, b, o, b)).tree == o);
  RC_ASSERT(must(merge_by_node(objects, objects, b, o, o)).tree == o);
}

// Three trees that share node numbers and nothing else, kinds included: still a verdict, the same from both sides, and
// never a merge that the maps do not have.
RC_GTEST_PROP(Merge, UnrelatedTrees, ()) {
  MemoryObjects objects;
  TreeModel trees[3];
  for (TreeModel& tree : trees) tree = random_tree(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 12));
  const auto& [base, ours, theirs] = trees;
  const ObjectId b = base.write(objects), o = ours.write(objects), t = theirs.write(objects);
  const NodeMerge merge = must(merge_by_node(objects, objects, b, o, t));
  const NodeMerge mirrored = must(merge_by_node(objects, objects, b, t, o));
  RC_ASSERT(merge.tree == mirrored.tree);
  RC_ASSERT(blocked_nodes(merge) == blocked_nodes(mirrored));
  RC_ASSERT(merge.tree.has_value() == merge.blocked.empty());
  if (merge.tree && b != o && b != t && o != t) {
    RC_ASSERT(TreeModel::read(objects, *merge.tree) == merged_model(base, ours, theirs));
  }
}

/// /a/{f, c/g}, /b, as in DESIGN 6.
class MergeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    a = add(base, 1, {}, "a", nullptr);
    f = add(base, 2, a, "f", "1\n2\n3\n");
    c = add(base, 3, a, "c", nullptr);
    g = add(base, 4, c, "g", "g\n");
    b = add(base, 5, {}, "b", nullptr);
    ours = theirs = base;
  }
  NodeId add(TreeModel& tree, std::uint64_t number, NodeId parent, const char* name, const char* content) {
    const NodeId node = node_number(number);
    const bool is_directory = content == nullptr;
    tree.nodes[node] = {parent, name, is_directory ? EntryKind::directory : EntryKind::file,
                        is_directory ? 0755u : 0644u, is_directory ? "" : content};
    return node;
  }
  void move(TreeModel& tree, NodeId node, NodeId parent, const char* name) {
    tree.nodes[node].parent = parent;
    tree.nodes[node].name = name;
  }
  NodeMerge merge() {
    return must(merge_by_node(objects, objects, base.write(objects), ours.write(objects), theirs.write(objects)));
  }
  /// "path: reason" lines.
  std::string blocked() {
    const NodeMerge result = merge();
    EXPECT_FALSE(result.tree);
    std::string lines;
    for (const auto& each : result.blocked) lines += each.path + ": " + each.reason + "\n";
    return lines;
  }
  TreeModel clean() {
    const NodeMerge result = merge();
    for (const auto& each : result.blocked) ADD_FAILURE() << each.path << ": " << each.reason;
    return result.tree ? TreeModel::read(objects, *result.tree) : TreeModel();
  }
  MemoryObjects objects;
  TreeModel base, ours, theirs;
  NodeId a, f, c, g, b;
};

TEST_F(MergeTest, DifferentNodesAndAspects) {
  ours.nodes[f].content = "ours\n";
  theirs.nodes[f].mode = 0755;
  move(theirs, f, b, "f2");
  theirs.nodes[g].content = "theirs\n";
  add(ours, 10, a, "new1", "1\n");
  add(theirs, 11, a, "new2", "2\n");
  const TreeModel result = clean();
  EXPECT_EQ(result.nodes.at(f), (ModelNode{b, "f2", EntryKind::file, 0755, "ours\n"}));
  EXPECT_EQ(result.nodes.at(g).content, "theirs\n");
  EXPECT_EQ(result.path(node_number(10)), "a/new1");
  EXPECT_EQ(result.path(node_number(11)), "a/new2");
}

// CR6
TEST_F(MergeTest, EditFollowsTheFileThroughASwap) {
  const NodeId h = add(base, 6, a, "h", "h\n");
  ours = theirs = base;
  move(ours, f, a, "h");
  move(ours, h, a, "f");
  theirs.nodes[f].content = "edited\n";
  const TreeModel result = clean();
  EXPECT_EQ(result.nodes.at(f), (ModelNode{a, "h", EntryKind::file, 0644, "edited\n"}));
}

TEST_F(MergeTest, RenamedDirectoryTakesNewFilesAlong) {
  move(ours, a, b, "renamed");
  add(theirs, 10, c, "new", "n\n");
  EXPECT_EQ(clean().path(node_number(10)), "b/renamed/c/new");
}

TEST_F(MergeTest, MovedOutOfADirectoryThatTheSameSideDeletes) {
  move(ours, c, b, "c");
  ours.remove(a);
  theirs.nodes[g].content = "edited\n";
  const TreeModel result = clean();
  EXPECT_EQ(result.path(g), "b/c/g");
  EXPECT_EQ(result.nodes.at(g).content, "edited\n");
  EXPECT_FALSE(result.nodes.contains(a));
}

TEST_F(MergeTest, EqualEditsCountOnce) {
  for (TreeModel* side : {&ours, &theirs}) {
    side->nodes[f].content = "same\n";
    move(*side, f, b, "f");
    side->remove(c);
  }
  ours.nodes[f].mode = 0755;
  const TreeModel result = clean();
  EXPECT_EQ(result.nodes.at(f), (ModelNode{b, "f", EntryKind::file, 0755, "same\n"}));
  EXPECT_FALSE(result.nodes.contains(g));
}

TEST_F(MergeTest, BothDeleteToDifferentExtents) {
  ours.remove(g);
  theirs.remove(a);
  EXPECT_EQ(clean().nodes.size(), 1u);
}

TEST_F(MergeTest, EditedTwice) {
  ours.nodes[f].content = "ours\n";
  theirs.nodes[f].content = "theirs\n";
  EXPECT_EQ(blocked(), "a/f: both sides edited it\n");
}

TEST_F(MergeTest, ModeTwice) {
  ours.nodes[f].mode = 0755;
  theirs.nodes[f].mode = 0600;
  EXPECT_EQ(blocked(), "a/f: both sides changed its mode\n");
}

TEST_F(MergeTest, EditedAndDeleted) {
  ours.nodes[f].content = "ours\n";
  theirs.remove(f);
  EXPECT_EQ(blocked(), "a/f: edited here, deleted there\n");
  std::swap(ours, theirs);
  EXPECT_EQ(blocked(), "a/f: edited there, deleted here\n");
}

TEST_F(MergeTest, MovedAndDeleted) {
  move(ours, f, b, "f");
  theirs.remove(a);
  EXPECT_EQ(blocked(), "b/f: moved here, deleted there\n");
}

TEST_F(MergeTest, EditedAndReplacedByADirectory) {
  ours.nodes[f].content = "ours\n";
  theirs.remove(f);
  add(theirs, 10, a, "f", nullptr);
  EXPECT_EQ(blocked(), "a/f: edited here, replaced by a directory there\n");
}

// CR4
TEST_F(MergeTest, OneNameCreatedTwice) {
  add(ours, 10, a, "n", "1\n");
  add(theirs, 11, a, "n", "1\n");
  EXPECT_EQ(blocked(), "a/n: both sides created this name\n");
}

TEST_F(MergeTest, RenamedOntoANameCreatedThere) {
  move(ours, f, a, "z");
  add(theirs, 10, a, "z", "z\n");
  EXPECT_EQ(blocked(), "a/z: both sides gave this name to different things\n");
}

// CR5
TEST_F(MergeTest, MovedApart) {
  move(ours, f, b, "f");
  move(theirs, f, c, "f");
  EXPECT_EQ(blocked(), "b/f: both sides moved it, to different places\n");
}

// CR1
TEST_F(MergeTest, Cycle) {
  move(ours, a, b, "a");
  move(theirs, b, a, "b");
  EXPECT_EQ(blocked(),
            "b: the moves of both sides together put it into itself\n"
            "b/a: the moves of both sides together put it into itself\n");
}

// CR2
TEST_F(MergeTest, CreatedOrMovedIntoADeletedDirectory) {
  add(ours, 10, c, "new", "n\n");
  move(ours, f, c, "f");
  theirs.remove(c);
  EXPECT_EQ(blocked(),
            "a/c/f: moved here, in a directory deleted there\n"
            "a/c/new: created here, in a directory deleted there\n");
}

}  // namespace
}  // namespace weft::tree
