// derive_ops, apply_ops, change_delta_id.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "text/diff.h"
#include "tree/testing/tree_model.h"

namespace weft::tree {
namespace {

using namespace weft::tree::testing;
using object::MemoryObjects;
using object::ObjectKind;
using object::Op;
namespace op = object::op;

RC_GTEST_PROP(Ops, ApplyingWhatWasDerivedGivesTheTree, ()) {
  MemoryObjects objects;
  const TreeModel before = random_tree(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 60));
  TreeModel after = before;
  Editing(*rc::gen::arbitrary<std::uint32_t>(), 100000).edit(after, *rc::gen::inRange(0, 25));
  const ObjectId a = before.write(objects), b = after.write(objects);
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}, std::pair{object::empty_tree_id(), b}}) {
    const auto ops = must(derive_ops(objects, from, to));
    RC_ASSERT(must(apply_ops(objects, objects, from, ops)) == to);
    RC_ASSERT(must(apply_ops(objects, objects, from, ops, &to)) == to);
    RC_ASSERT(must(apply_ops(objects, objects, from, ops, &from)) == to);  // a wrong guess is only dearer
    RC_ASSERT(must(derive_ops(objects, from, to)) == ops);
    object::Change change;
    change.tree = to;
    change.ops = ops;
    RC_ASSERT(bool(object::check_change(change)));
    RC_ASSERT(must(object::decode_change(object::encode_change(change))).ops == ops);
  }
  RC_ASSERT(must(derive_ops(objects, a, a)).empty());
}

// From one tree to an unrelated one: everything is deleted, created or replaced, and names are in use throughout.
RC_GTEST_PROP(Ops, UnrelatedTrees, ()) {
  MemoryObjects objects;
  TreeModel before, after;
  Editing(*rc::gen::arbitrary<std::uint32_t>(), 1).edit(before, *rc::gen::inRange(0, 40));
  Editing(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::element<std::uint64_t>(10, 100000))
      .edit(after, *rc::gen::inRange(0, 40));
  // Numbers from 10 on: some nodes are on both sides, at unrelated places. Their kinds must agree.
  for (const auto& [node, is] : before.nodes) {
    const auto twin = after.nodes.find(node);
    if (twin != after.nodes.end() && twin->second.kind != is.kind) after.remove(node);
  }
  const ObjectId a = before.write(objects), b = after.write(objects);
  const auto ops = must(derive_ops(objects, a, b));
  RC_ASSERT(must(apply_ops(objects, objects, a, ops)) == b);
}

// Ops that fit no tree: refused, or the result is a tree like any other.
RC_GTEST_PROP(Ops, GarbledOpsNeverMakeABrokenTree, ()) {
  MemoryObjects objects;
  const TreeModel before = random_tree(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 30));
  TreeModel after = before;
  Editing(*rc::gen::arbitrary<std::uint32_t>(), 100000).edit(after, *rc::gen::inRange(1, 15));
  const ObjectId a = before.write(objects), b = after.write(objects);
  auto ops = must(derive_ops(objects, a, b));
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  for (int times = *rc::gen::inRange(1, 4); times > 0 && !ops.empty(); --times) {
    Op& one = ops[random() % ops.size()];
    Op& other = ops[random() % ops.size()];
    switch (random() % 5) {
      case 0:
        std::swap(one, other);
        break;
      case 1:
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(random() % ops.size()));
        break;
      case 2:
        ops.push_back(Op(one));
        break;
      case 3:
        if (auto *x = std::get_if<op::Move>(&one), *y = std::get_if<op::Move>(&other); x && y) std::swap(x->to, y->to);
        break;
      default:
        if (auto *x = std::get_if<op::Move>(&one), *y = std::get_if<op::Move>(&other); x && y) {
          x->to.directory = y->node;
        } else if (auto* made = std::get_if<op::Create>(&one)) {
          made->place.name = "a";
        }
    }
  }
  const auto applied = apply_ops(objects, objects, a, ops, &b);
  const auto searched = apply_ops(objects, objects, a, ops);
  RC_CLASSIFY(applied.has_value(), "applied");
  RC_ASSERT(bool(applied) == bool(searched));
  if (applied) {
    RC_ASSERT(*applied == *searched);
    RC_ASSERT(TreeModel::read(objects, *applied).write(objects) == *applied);
  } else {
    RC_ASSERT(applied.error().code == Code::invalid);
  }
}

class OpsTest : public ::testing::Test {
 protected:
  NodeId add(TreeModel& tree, std::uint64_t number, NodeId parent, const char* name, const char* content) {
    const NodeId node = node_number(number);
    const bool is_directory = content == nullptr;
    tree.nodes[node] = {parent, name, is_directory ? EntryKind::directory : EntryKind::file,
                        is_directory ? 0755u : 0644u, is_directory ? "" : content};
    return node;
  }
  std::vector<Op> ops(const TreeModel& before, const TreeModel& after) {
    const ObjectId a = before.write(objects), b = after.write(objects);
    auto list = must(derive_ops(objects, a, b));
    EXPECT_EQ(must(apply_ops(objects, objects, a, list)), b);
    return list;
  }
  Code refusal(const TreeModel& before, const std::vector<Op>& list) {
    const auto applied = apply_ops(objects, objects, before.write(objects), list);
    if (applied) {
      ADD_FAILURE() << "applied";
      return Code::internal;
    }
    messages += applied.error().message + "\n";
    return applied.error().code;
  }
  MemoryObjects objects;
  std::string messages;
};

TEST_F(OpsTest, SwapAndCycleOfRenames) {
  TreeModel before;
  const NodeId a = add(before, 1, {}, "a", "a\n"), b = add(before, 2, {}, "b", "b\n"),
               c = add(before, 3, {}, "c", "c\n");
  TreeModel after = before;
  after.nodes[a].name = "b", after.nodes[b].name = "c", after.nodes[c].name = "a";
  EXPECT_EQ(ops(before, after).size(), 3u);
  after = before;
  std::swap(after.nodes[a].name, after.nodes[b].name);
  EXPECT_EQ(ops(before, after).size(), 2u);
}

TEST_F(OpsTest, ParentAndChildChangePlaces) {
  TreeModel before;
  const NodeId a = add(before, 1, {}, "a", nullptr), b = add(before, 2, a, "b", nullptr),
               c = add(before, 3, b, "c", nullptr);
  TreeModel after = before;
  after.nodes[c].parent = {}, after.nodes[b].parent = c, after.nodes[a].parent = b;
  EXPECT_EQ(ops(before, after).size(), 3u);
}

TEST_F(OpsTest, OneDeleteForTheTopmost) {
  TreeModel before;
  const NodeId d = add(before, 1, {}, "d", nullptr), e = add(before, 2, d, "e", nullptr);
  const NodeId f = add(before, 3, e, "f", "f\n");
  add(before, 4, e, "g", "g\n");
  TreeModel after = before;
  after.remove(d);
  ASSERT_EQ(ops(before, after).size(), 1u);
  EXPECT_EQ(std::get<op::Delete>(ops(before, after)[0]), (op::Delete{d, {NodeId{}, "d"}}));
  // f survives: moved out, edited on the way.
  after.nodes[f] = before.nodes[f];
  after.nodes[f].parent = {};
  after.nodes[f].content = "f\nmore\n";
  const auto list = ops(before, after);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<op::Move>(list[0]));
  EXPECT_TRUE(std::holds_alternative<op::Delete>(list[1]));
  EXPECT_TRUE(std::holds_alternative<op::EditText>(list[2]));
}

// C20
TEST_F(OpsTest, FileReplacedByDirectoryAndBack) {
  TreeModel before;
  const NodeId x = add(before, 1, {}, "x", "x\n");
  TreeModel after;
  const NodeId d = add(after, 2, {}, "x", nullptr);
  add(after, 3, d, "y", "y\n");
  const auto there = ops(before, after);
  ASSERT_EQ(there.size(), 2u);
  EXPECT_EQ(std::get<op::Create>(there[0]).replaces, x);
  const auto back = ops(after, before);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(std::get<op::Create>(back[0]).replaces, d);
  // What was in the old directory moves into the new one.
  TreeModel moved;
  const NodeId e = add(moved, 4, {}, "x", "file\n");
  moved.nodes[node_number(3)] = after.nodes[node_number(3)];
  moved.nodes[node_number(3)].parent = {};
  EXPECT_EQ(std::get<op::Create>(ops(after, moved)[0]).node, e);
  // Same kind, another node: an ordinary delete and create.
  TreeModel again;
  add(again, 5, {}, "x", "other\n");
  const auto list = ops(before, again);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_FALSE(std::get<op::Create>(list[0]).replaces);
}

TEST_F(OpsTest, TextOrWhole) {
  TreeModel before, after;
  const NodeId f = add(before, 1, {}, "f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  after = before;
  after.nodes[f].content = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
  auto list = ops(before, after);
  ASSERT_EQ(list.size(), 1u);
  const auto edit = std::get<op::EditText>(list[0]);
  ASSERT_EQ(edit.hunks.size(), 1u);
  EXPECT_EQ(edit.hunks[0], (object::Hunk{8, "5\n", "five\n", "2\n3\n4\n", "6\n7\n8\n"}));
  after.nodes[f].content = std::string("1\0", 2);
  EXPECT_TRUE(std::holds_alternative<op::SetContent>(ops(before, after)[0]));
  EXPECT_TRUE(std::holds_alternative<op::SetContent>(ops(after, before)[0]));
  after.nodes[f].content = std::string(text::kMaxTextBytes, 'x');
  EXPECT_TRUE(std::holds_alternative<op::EditText>(ops(before, after)[0]));
  after.nodes[f].content += 'x';
  EXPECT_TRUE(std::holds_alternative<op::SetContent>(ops(before, after)[0]));
  after = before;
  after.nodes[f].content = "";
  EXPECT_TRUE(std::holds_alternative<op::EditText>(ops(before, after)[0]));
  EXPECT_TRUE(std::holds_alternative<op::EditText>(ops(after, before)[0]));
}

TEST_F(OpsTest, KindNeverChangesUnderOneNode) {
  TreeModel before, after;
  const NodeId x = add(before, 1, {}, "x", "x\n");
  after = before;
  after.nodes[x].kind = EntryKind::symlink;
  after.nodes[x].mode = 0777;
  const auto derived = derive_ops(objects, before.write(objects), after.write(objects));
  ASSERT_FALSE(derived);
  EXPECT_EQ(derived.error().code, Code::invalid);
  EXPECT_EQ(must(diff_trees(objects, before.write(objects), after.write(objects))).size(), 1u);
}

TEST_F(OpsTest, WhatDoesNotApplyIsRefused) {
  TreeModel tree;
  const NodeId d = add(tree, 1, {}, "d", nullptr), e = add(tree, 2, d, "e", nullptr), f = add(tree, 3, d, "f", "f\n");
  const ObjectId content = sha256("f\n"), other = sha256("other\n");
  const NodeId none = node_number(99);
  const NodeId root;
  const object::Place at_d{d, "x"};
  EXPECT_EQ(refusal(tree, {op::SetMode{none, 0644, 0755}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::SetMode{root, 0755, 0700}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::SetMode{f, 0755, 0644}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::SetContent{f, other, content, 2}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::SetContent{d, content, other, 2}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::EditText{f, content, other, 6, {{0, "g\n", "other\n", "", ""}}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::EditText{f, content, other, 6, {{3, "", "other\n", "", ""}}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::EditText{f, content, content, 6, {{0, "f\n", "other\n", "", ""}}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::EditText{f, content, other, 7, {{0, "f\n", "other\n", "", ""}}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Move{f, {root, "f"}, at_d}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Move{f, {d, "f"}, {none, "f"}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Move{f, {d, "f"}, {d, "e"}}}), Code::invalid);  // taken at the end
  EXPECT_EQ(refusal(tree, {op::Move{f, {d, "f"}, {f, "x"}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Move{f, {d, "f"}, {d, "a/b"}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Move{d, {root, "d"}, {e, "d"}}}), Code::invalid);  // into itself
  EXPECT_EQ(refusal(tree, {op::Delete{f, {root, "f"}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Delete{f, {d, "f"}}, op::Delete{f, {d, "f"}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Delete{d, {root, "d"}}, op::Move{f, {d, "f"}, {e, "f"}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Create{none, {d, "f"}, EntryKind::file, 0644, content, 2, {}}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Create{none, {d, "g"}, EntryKind::file, 0644, content, 2, f}}), Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Create{none, at_d, EntryKind::file, 0644, content, 2, {}},
                           op::Create{none, {d, "y"}, EntryKind::file, 0644, content, 2, {}}}),
            Code::invalid);
  EXPECT_EQ(refusal(tree, {op::Create{none, at_d, EntryKind::file, 0644, content, 2, {}},
                           op::Create{node_number(98), at_d, EntryKind::file, 0644, content, 2, {}}}),
            Code::invalid);
  EXPECT_NE(messages.find("op 1 "), std::string::npos);

  const auto settled = apply_ops(objects, objects, tree.write(objects), {op::Settle{content}});
  EXPECT_EQ(must(settled), tree.write(objects));
}

TEST_F(OpsTest, DeltaIdFollowsThePatchNotTheBase) {
  TreeModel base;
  const NodeId d = add(base, 1, {}, "d", nullptr);
  add(base, 2, d, "f", "1\n2\n3\n4\n5\n");
  TreeModel other_base = base;
  add(other_base, 3, {}, "unrelated", "x\n");
  const auto change = [&](const TreeModel& from, std::uint64_t fresh, object::OpsForm form, std::uint32_t mode) {
    TreeModel to = from;
    to.nodes[node_number(2)].content = "1\n2\nthree\n4\n5\n";
    to.nodes[node_number(2)].mode = mode;
    add(to, fresh, d, "new", "n\n");
    object::Change result;
    result.tree = to.write(objects);
    result.form = form;
    if (form == object::OpsForm::recorded) result.ops = must(derive_ops(objects, from.write(objects), result.tree));
    return result;
  };
  const ObjectId a = base.write(objects), b = other_base.write(objects);
  const auto first = must(change_delta_id(objects, a, change(base, 10, object::OpsForm::recorded, 0644)));
  EXPECT_EQ(first, must(change_delta_id(objects, b, change(other_base, 11, object::OpsForm::recorded, 0644))));
  EXPECT_EQ(first, must(change_delta_id(objects, b, change(other_base, 12, object::OpsForm::derived, 0644))));
  EXPECT_NE(first, must(change_delta_id(objects, b, change(other_base, 13, object::OpsForm::derived, 0755))));
  EXPECT_FALSE(first.is_zero());
  // Ops that undo each other are in no difference of trees; their nodes are found all the same.
  object::Change back;
  back.tree = a;
  back.ops = {op::SetMode{node_number(2), 0644, 0755}, op::SetMode{node_number(2), 0755, 0644}};
  EXPECT_FALSE(must(change_delta_id(objects, a, back)).is_zero());
}

}  // namespace
}  // namespace weft::tree
