// Paths, walking, differences, editing; depth; the cost of one edit in a large tree.
#include "tree/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

#include "tree/testing/tree_model.h"

namespace weft::tree {
namespace {

using namespace weft::tree::testing;
using object::MemoryObjects;
using object::ObjectKind;

// The same cases in every run unless RC_PARAMS says otherwise; RapidCheck prints what it uses.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20240611 max_success=300", 0);

TreeEntry file(MemoryObjects& objects, std::uint64_t node, ByteView content) {
  TreeEntry entry;
  entry.node = node_number(node);
  entry.id = must(objects.put(ObjectKind::blob, content));
  entry.size = content.size();
  return entry;
}

TreeEntry directory(std::uint64_t node) {
  TreeEntry entry;
  entry.kind = EntryKind::directory;
  entry.mode = 0755;
  entry.node = node_number(node);
  return entry;
}

std::function<NodeId(ByteView)> fresh_nodes(std::uint64_t from) {
  return [next = from](ByteView) mutable { return node_number(next++); };
}

TEST(Paths, C17_BadNamesAreRefusedAtTheDoor) {
  for (const char* good : {"", "a", "a/b", "...", "a b", ".git", "a\nb"}) EXPECT_TRUE(check_path(good)) << good;
  for (const std::string& bad :
       {std::string("/"), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string("a/../b"), std::string("a\0b", 3), "a/" + std::string(256, 'x')}) {
    const auto checked = check_path(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, Code::invalid);
  }
  std::string deep = "d";
  for (std::size_t i = 1; i < kMaxDepth; ++i) deep += "/d";
  EXPECT_TRUE(check_path(deep));
  EXPECT_FALSE(check_path(deep + "/d"));

  MemoryObjects objects;
  TreeEditor editor(objects, object::empty_tree_id());
  EXPECT_EQ(editor.set("a/../b", file(objects, 1, "x")).error().code, Code::invalid);
  EXPECT_EQ(editor.set_with_parents("../b", file(objects, 1, "x"), fresh_nodes(5)).error().code, Code::invalid);
  EXPECT_EQ(find_path(objects, object::empty_tree_id(), "a/./b").error().code, Code::invalid);
}

TEST(Paths, OrderIsThatOfWalking) {
  EXPECT_TRUE(path_less("a", "a/b"));
  EXPECT_TRUE(path_less("a/b", "a-b"));
  EXPECT_TRUE(path_less("a/z", "a!"));
  EXPECT_TRUE(path_less("a", "\xff"));
  EXPECT_FALSE(path_less("a", "a"));
  EXPECT_FALSE(path_less("a-b", "a/b"));
}

TEST(Editor, SetsMovesRemovesAndRefuses) {
  MemoryObjects objects;
  TreeEditor editor(objects, object::empty_tree_id());
  ASSERT_TRUE(editor.set_with_parents("src/a/x.cc", file(objects, 1, "x"), fresh_nodes(100)));
  ASSERT_TRUE(editor.set("top", file(objects, 2, "t")));
  ASSERT_TRUE(editor.set("empty", directory(3)));
  const ObjectId first = must(editor.finish(objects));
  EXPECT_EQ(must(find_path(objects, first, "src/a/x.cc"))->node, node_number(1));
  EXPECT_EQ(must(find_path(objects, first, "empty"))->id, object::empty_tree_id());  // C31
  EXPECT_EQ(must(find_path(objects, first, ""))->id, first);
  EXPECT_FALSE(must(find_path(objects, first, "top/below")));
  EXPECT_FALSE(must(find_path(objects, first, "src/b/x")));

  EXPECT_EQ(editor.set("none/x", file(objects, 9, "x")).error().code, Code::not_found);
  EXPECT_EQ(editor.set("top/x", file(objects, 9, "x")).error().code, Code::invalid);
  EXPECT_EQ(editor.set_with_parents("top/x", file(objects, 9, "x"), fresh_nodes(200)).error().code, Code::invalid);
  EXPECT_EQ(editor.set("", file(objects, 9, "x")).error().code, Code::invalid);
  EXPECT_EQ(editor.remove("none").error().code, Code::not_found);
  EXPECT_EQ(editor.move("none", "b").error().code, Code::not_found);
  EXPECT_EQ(editor.move("src", "src/a/b").error().code, Code::invalid);
  EXPECT_EQ(editor.move("src", "top").error().code, Code::exists);
  EXPECT_EQ(editor.move("src", "src").error().code, Code::exists);
  EXPECT_EQ(must(editor.finish(objects)), first);  // what was refused changed nothing

  ASSERT_TRUE(editor.move("src/a", "empty/b"));
  ASSERT_TRUE(editor.remove("top"));
  EXPECT_FALSE(must(editor.find("top")));
  EXPECT_EQ(must(editor.find("empty/b/x.cc"))->node, node_number(1));
  const ObjectId second = must(editor.finish(objects));
  EXPECT_EQ(must(find_path(objects, second, "empty/b/x.cc"))->node, node_number(1));
  EXPECT_EQ(must(find_path(objects, second, "src"))->id, object::empty_tree_id());
  EXPECT_FALSE(must(find_path(objects, second, "top")));
  ASSERT_TRUE(editor.remove("empty"));
  ASSERT_TRUE(editor.remove("src"));
  EXPECT_EQ(must(editor.finish(objects)), object::empty_tree_id());
  EXPECT_TRUE(must(objects.contains(ObjectKind::tree, object::empty_tree_id())));
}

// Walked like any other, edited like a map.
RC_GTEST_PROP(Editor, EqualsTheModel, ()) {
  MemoryObjects objects;
  TreeModel tree = random_tree(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 40));
  TreeEditor editor(objects, tree.write(objects));
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  for (int step = *rc::gen::inRange(0, 12); step > 0 && !tree.nodes.empty(); --step) {
    const auto any = [&] {
      auto at = tree.nodes.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % tree.nodes.size()));
      return at->first;
    };
    const NodeId node = any(), target = any();
    const std::string path = tree.path(node);
    switch (random() % 3) {
      case 0: {
        RC_ASSERT(bool(editor.remove(path)));
        tree.remove(node);
        break;
      }
      case 1: {
        const std::string content = "new " + std::to_string(random());
        const NodeId fresh = node_number(1000000 + random());
        TreeEntry entry = file(objects, 0, content);
        entry.node = fresh;
        const ModelNode old = tree.nodes.at(node);
        RC_ASSERT(bool(editor.set(path, entry)));
        tree.remove(node);
        tree.nodes[fresh] = {old.parent, old.name, EntryKind::file, 0644, content};
        break;
      }
      default: {
        const std::string name = "moved" + std::to_string(random() % 3);
        const std::string to = tree.path(target) + "/" + name;
        const auto moved = editor.move(path, to);
        const bool possible =
            tree.is_directory(target) && !tree.is_within(target, node) && tree.at(target, name) == nullptr;
        RC_ASSERT(bool(moved) == possible);
        if (possible) tree.nodes.at(node).parent = target, tree.nodes.at(node).name = name;
      }
    }
  }
  RC_ASSERT(must(editor.finish(objects)) == tree.write(objects));
}

RC_GTEST_PROP(Diff, EqualsTheModel, ()) {
  MemoryObjects objects;
  const TreeModel before = random_tree(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 60));
  TreeModel after = before;
  Editing(*rc::gen::arbitrary<std::uint32_t>(), 100000).edit(after, *rc::gen::inRange(0, 12));
  const auto differences = must(diff_trees(objects, before.write(objects), after.write(objects)));

  std::set<NodeId> expected;
  for (const auto& [node, is] : before.nodes) {
    const auto other = after.nodes.find(node);
    if (other == after.nodes.end() || !(other->second == is)) expected.insert(node);
  }
  for (const auto& [node, is] : after.nodes) {
    if (!before.nodes.contains(node)) expected.insert(node);
  }
  std::set<NodeId> found;
  std::string last;
  for (const Difference& difference : differences) {
    const NodeId node = (difference.after ? difference.after : difference.before)->entry.node;
    RC_ASSERT(found.insert(node).second);
    RC_ASSERT(difference.before.has_value() == before.nodes.contains(node));
    RC_ASSERT(difference.after.has_value() == after.nodes.contains(node));
    if (difference.before) RC_ASSERT(difference.before->path == before.path(node));
    if (difference.after) RC_ASSERT(difference.after->path == after.path(node));
    if (difference.before && difference.after) {
      const ModelNode &a = before.nodes.at(node), &b = after.nodes.at(node);
      RC_ASSERT(difference.relocated == (a.parent != b.parent || a.name != b.name));
      RC_ASSERT(difference.mode_changed() == (a.mode != b.mode));
      if (a.kind != EntryKind::directory) RC_ASSERT(difference.content_changed() == (a.content != b.content));
    }
    const std::string path = difference.after ? difference.after->path : difference.before->path;
    RC_ASSERT(!path_less(path, last));
    last = path;
  }
  RC_ASSERT(found == expected);
}

TEST(Diff, NodeAtTwoPlacesIsDamage) {
  MemoryObjects objects;
  TreeEditor editor(objects, object::empty_tree_id());
  ASSERT_TRUE(editor.set("a", directory(1)));
  ASSERT_TRUE(editor.set("b", directory(2)));
  ASSERT_TRUE(editor.set("a/x", file(objects, 3, "1")));
  ASSERT_TRUE(editor.set("b/x", file(objects, 3, "1")));
  const ObjectId tree = must(editor.finish(objects));
  EXPECT_EQ(diff_trees(objects, object::empty_tree_id(), tree).error().code, Code::damaged);
  EXPECT_EQ(diff_trees(objects, tree, object::empty_tree_id()).error().code, Code::damaged);
}

// A tree that holds one subtree over and over is small, and what it stands for is not.
TEST(Diff, TreesThatExplodeAreRefused) {
  MemoryObjects objects;
  const auto bomb = [&](const char* content) {
    object::Entries leaf{file(objects, 1, content)};
    leaf[0].name = "x";
    ObjectId tree = must(object::write_directory(objects, leaf));
    for (std::uint64_t level = 0; level < 60; ++level) {
      TreeEntry left = directory(10 + 2 * level), right = directory(11 + 2 * level);
      left.name = "l", right.name = "r", left.id = right.id = tree;
      tree = must(object::write_directory(objects, {left, right}));
    }
    return tree;
  };
  const ObjectId a = bomb("1"), b = bomb("2");
  EXPECT_EQ(diff_trees(objects, a, b).error().code, Code::damaged);
  EXPECT_EQ(diff_trees(objects, a, object::empty_tree_id()).error().code, Code::damaged);
  EXPECT_EQ(walk(objects, a, "", [](const PathEntry&) { return Result<bool>(true); }).error().code, Code::damaged);
}

// C27
TEST(Depth, TwoThousandLevels) {
  MemoryObjects objects;
  std::string path = "d";
  for (int i = 1; i < 2000; ++i) path += "/d";
  TreeEditor editor(objects, object::empty_tree_id());
  ASSERT_TRUE(editor.set_with_parents(path + "/f", file(objects, 1, "one\n"), fresh_nodes(100)));
  const ObjectId before = must(editor.finish(objects));
  ASSERT_TRUE(editor.set(path + "/f", file(objects, 1, "two\n")));
  const ObjectId after = must(editor.finish(objects));
  ASSERT_TRUE(editor.set(path + "/g", file(objects, 2, "g\n")));
  ASSERT_TRUE(editor.set(path + "/f", file(objects, 1, "one\n")));
  const ObjectId other = must(editor.finish(objects));

  EXPECT_EQ(must(find_path(objects, after, path + "/f"))->size, 4u);
  std::size_t seen = 0;
  ASSERT_TRUE(walk(objects, after, "", [&](const PathEntry&) { return ++seen, Result<bool>(true); }));
  EXPECT_EQ(seen, 2001u);
  const auto differences = must(diff_trees(objects, before, after));
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].after->path, path + "/f");
  const auto all = must(diff_trees(objects, object::empty_tree_id(), after));
  EXPECT_EQ(all.size(), 2001u);
  EXPECT_EQ(must(apply_ops(objects, objects, before, must(derive_ops(objects, before, after)))), after);
  EXPECT_EQ(must(apply_ops(objects, objects, object::empty_tree_id(),
                           must(derive_ops(objects, object::empty_tree_id(), after)))),
            after);
  EXPECT_TRUE(must(merge_by_node(objects, objects, before, after, other)).tree);
}

// C27
TEST(Depth, HundredThousandNestedDirectoriesAreRefused) {
  MemoryObjects objects;
  ObjectId tree = must(object::write_directory(objects, {}));
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    TreeEntry entry = directory(i + 1);
    entry.name = "d";
    entry.id = tree;
    tree = must(object::write_directory(objects, {entry}));
  }
  const ObjectId empty = object::empty_tree_id();
  EXPECT_EQ(walk(objects, tree, "", [](const PathEntry&) { return Result<bool>(true); }).error().code, Code::invalid);
  EXPECT_EQ(diff_trees(objects, empty, tree).error().code, Code::invalid);
  EXPECT_EQ(diff_trees(objects, tree, empty).error().code, Code::invalid);
  EXPECT_EQ(derive_ops(objects, empty, tree).error().code, Code::invalid);
  EXPECT_EQ(merge_by_node(objects, objects, empty, tree, must(object::write_directory(objects, {[&] {
                                                                                        TreeEntry entry =
                                                                                            file(objects, 7, "x");
                                                                                        entry.name = "x";
                                                                                        return entry;
                                                                                      }()})))
                .error()
                .code,
            Code::invalid);
  const std::vector<object::Op> ops{object::op::SetMode{node_number(200'000), 0644, 0755}};
  EXPECT_EQ(apply_ops(objects, objects, tree, ops).error().code, Code::invalid);
}

/// 80,000 files: 20 x 20 directories of 200.
class LargeTree : public ::testing::Test {
 protected:
  void SetUp() override {
    const TreeEntry blob = file(objects, 1, "content\n");
    std::uint64_t node = 1'000'000;
    object::Entries tops;
    for (int i = 0; i < 20; ++i) {
      object::Entries middles;
      for (int j = 0; j < 20; ++j) {
        object::Entries files;
        for (int k = 0; k < 200; ++k) {
          TreeEntry entry = blob;
          entry.name = "file" + std::to_string(k);
          entry.node = next(node);
          files.push_back(entry);
        }
        middles.push_back(
            as_directory("dir" + std::to_string(j), next(node), must(object::write_directory(objects, files))));
      }
      tops.push_back(
          as_directory("top" + std::to_string(i), next(node), must(object::write_directory(objects, middles))));
    }
    root = must(object::write_directory(objects, tops));
  }
  static NodeId next(std::uint64_t& node) {
    NodeId id;
    ++node;
    std::memcpy(id.bytes.data(), &node, sizeof(node));
    return id;
  }
  static TreeEntry as_directory(std::string name, NodeId node, ObjectId tree) {
    return {std::move(name), EntryKind::directory, 0755, node, tree, 0};
  }
  ObjectId edited(const char* path, const char* content) {
    TreeEditor editor(objects, root);
    TreeEntry entry = *must(editor.find(path));
    const TreeEntry blob = file(objects, 1, content);
    entry.id = blob.id;
    entry.size = blob.size;
    EXPECT_TRUE(editor.set(path, entry));
    return must(editor.finish(objects));
  }
  MemoryObjects objects;
  ObjectId root;
};

TEST_F(LargeTree, OneEditTouchesOnlyItsPath) {
  objects.reset_counts();
  const ObjectId after = edited("top3/dir7/file11", "content\nmore\n");
  EXPECT_LE(objects.counts().reads, 6u);   // three directories, looked up and edited
  EXPECT_EQ(objects.counts().stored, 4u);  // and a blob
  objects.reset_counts();
  EXPECT_EQ(must(diff_trees(objects, root, after)).size(), 1u);
  EXPECT_EQ(objects.counts().reads, 6u);
  objects.reset_counts();
  const auto ops = must(derive_ops(objects, root, after));
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(objects.counts().reads, 8u);
  objects.reset_counts();
  EXPECT_EQ(must(apply_ops(objects, objects, root, ops, &after)), after);
  EXPECT_LE(objects.counts().reads, 10u);
  EXPECT_EQ(objects.counts().stored, 0u);
  EXPECT_EQ(must(apply_ops(objects, objects, root, ops)), after);  // dearer, and equal
}

TEST_F(LargeTree, MergeCostsWhatDiffers) {
  const ObjectId ours = edited("top3/dir7/file11", "ours\n"), theirs = edited("top4/dir1/file5", "theirs\n");
  objects.reset_counts();
  const NodeMerge merge = must(merge_by_node(objects, objects, root, ours, theirs));
  ASSERT_TRUE(merge.tree);
  EXPECT_LE(objects.counts().reads, 16u);
  EXPECT_LE(objects.counts().stored, 3u);
  EXPECT_EQ(must(diff_trees(objects, ours, *merge.tree)).size(), 1u);
  EXPECT_EQ(must(diff_trees(objects, theirs, *merge.tree)).size(), 1u);
}

TEST_F(LargeTree, MovedDirectoryIsOneDifferenceAndUnread) {
  TreeEditor editor(objects, root);
  ASSERT_TRUE(editor.set("new", directory(5)));
  ASSERT_TRUE(editor.move("top3", "new/inside"));  // into a created one
  ASSERT_TRUE(editor.move("top4/dir1", "out"));    // out of a deleted one
  ASSERT_TRUE(editor.remove("top4"));
  const ObjectId after = must(editor.finish(objects));
  objects.reset_counts();
  const auto differences = must(diff_trees(objects, root, after));
  std::size_t moved = 0, created = 0;
  for (const Difference& difference : differences) {
    moved += difference.relocated ? 1 : 0;
    created += difference.before ? 0 : 1;
  }
  EXPECT_EQ(moved, 2u);
  EXPECT_EQ(created, 1u);
  EXPECT_EQ(differences.size(), 3 + 1 + 19 + 19 * 200u);  // top4 and what was left in it
  EXPECT_LE(objects.counts().reads, 2 + 1 + 20 + 20 + 3u);
  const auto ops = must(derive_ops(objects, root, after));
  EXPECT_EQ(ops.size(), 4u);
  EXPECT_EQ(must(apply_ops(objects, objects, root, ops)), after);
}

}  // namespace
}  // namespace weft::tree
