#include "cli/path_follower.h"

#include <map>

#include <gtest/gtest.h>

#include "object/memory_objects.h"

namespace weft::cli {
namespace {

ChangeId id(int number) {
  ChangeId out;
  out.bytes[0] = static_cast<std::uint8_t>(number);
  return out;
}
NodeId node(const std::string& name) {
  NodeId out;
  for (std::size_t at = 0; at < std::min(name.size(), out.bytes.size()); ++at) {
    out.bytes[at] = static_cast<std::uint8_t>(name[at]);
  }
  return out;
}

/// A history of trees given as path -> (node, content); directories are made as needed, named by their first path.
struct History {
  struct File {
    std::string node, content;
  };
  object::MemoryObjects objects;
  std::map<int, ObjectId> trees;
  std::map<int, std::vector<int>> parents;

  void add(int number, std::vector<int> from, const std::map<std::string, File>& files,
           const std::map<std::string, std::string>& directories = {}) {
    tree::TreeEditor editor(objects, object::empty_tree_id());
    for (const auto& [path, file] : files) {
      object::TreeEntry entry;
      entry.node = node(file.node);
      entry.id = objects.put(object::ObjectKind::blob, file.content).value();
      entry.size = file.content.size();
      EXPECT_TRUE(editor.set_with_parents(path, entry, [&](ByteView directory) {
        const auto named = directories.find(std::string(directory));
        return node(named == directories.end() ? "dir " + std::string(directory) : named->second);
      }));
    }
    trees[number] = editor.finish(objects).value();
    parents[number] = std::move(from);
  }

  /// Numbers and paths of what is shown, newest first.
  std::string follow(const std::string& path, int tip, bool* found = nullptr) {
    PathFollower follower(objects, path);
    EXPECT_TRUE(follower.start(id(tip), trees[tip]));
    std::string out;
    for (int number = tip; number > 0; --number) {  // numbers grow with time, so this is children first
      if (!trees.contains(number) || !follower.wants(id(number))) continue;
      std::vector<PathFollower::Parent> from;
      for (const int parent : parents[number]) from.push_back({id(parent), trees[parent]});
      const auto verdict = follower.visit(id(number), trees[number], from).value();
      EXPECT_TRUE(verdict.has_value());
      if (verdict->shown) out += std::to_string(number) + ":" + verdict->path + " ";
    }
    EXPECT_TRUE(follower.done());
    if (found != nullptr) *found = follower.found();
    return out;
  }
};

TEST(PathFollower, FollowsEditsAndRenames) {  // PF-1
  History history;
  history.add(1, {}, {{"a", {"n", "1"}}});
  history.add(2, {1}, {{"a", {"n", "2"}}, {"other", {"o", "x"}}});
  history.add(3, {2}, {{"b", {"n", "2"}}, {"other", {"o", "x"}}});
  history.add(4, {3}, {{"b", {"n", "2"}}, {"other", {"o", "y"}}});
  history.add(5, {4}, {{"d/b", {"n", "3"}}, {"other", {"o", "y"}}});
  EXPECT_EQ(history.follow("d/b", 5), "5:d/b 3:b 2:a 1:a ");
  EXPECT_EQ(history.follow("other", 5), "4:other 2:other ");
}

TEST(PathFollower, FollowsThroughAMovedDirectory) {
  History history;
  history.add(1, {}, {{"src/in/f", {"n", "1"}}, {"src/g", {"g", "1"}}}, {{"src", "S"}, {"src/in", "I"}});
  history.add(2, {1}, {{"lib/in/f", {"n", "1"}}, {"lib/g", {"g", "1"}}}, {{"lib", "S"}, {"lib/in", "I"}});
  history.add(3, {2}, {{"lib/in/f", {"n", "2"}}, {"lib/g", {"g", "1"}}}, {{"lib", "S"}, {"lib/in", "I"}});
  EXPECT_EQ(history.follow("lib/in/f", 3), "3:lib/in/f 2:lib/in/f 1:src/in/f ");
  EXPECT_EQ(history.follow("lib", 3), "3:lib 2:lib 1:src ");
}

TEST(PathFollower, AnotherNodeOfTheSameNameIsAnotherFile) {
  History history;
  history.add(1, {}, {{"a", {"old", "1"}}});
  history.add(2, {1}, {{"a", {"new", "2"}}});
  history.add(3, {2}, {{"a", {"new", "3"}}});
  EXPECT_EQ(history.follow("a", 3), "3:a 2:a ");
}

TEST(PathFollower, ADeletedPathIsFoundAgain) {  // PF-3
  History history;
  history.add(1, {}, {{"a", {"n", "1"}}, {"x", {"x", "1"}}});
  history.add(2, {1}, {{"x", {"x", "1"}}});
  history.add(3, {2}, {{"x", {"x", "2"}}});
  bool found = false;
  EXPECT_EQ(history.follow("a", 3, &found), "2:a 1:a ");
  EXPECT_TRUE(found);
  EXPECT_EQ(history.follow("never", 3, &found), "");
  EXPECT_FALSE(found);
}

TEST(PathFollower, AMergeThatTookOneSideFollowsThatSideAlone) {  // PF-2
  History history;
  history.add(1, {}, {{"a", {"n", "1"}}});
  history.add(2, {1}, {{"a", {"n", "2"}}});
  history.add(3, {1}, {{"a", {"n", "1"}}, {"b", {"b", "1"}}});
  history.add(4, {2, 3}, {{"a", {"n", "2"}}, {"b", {"b", "1"}}});
  EXPECT_EQ(history.follow("a", 4), "2:a 1:a ");
  EXPECT_EQ(history.follow("b", 4), "3:b ");
}

TEST(PathFollower, AMergeThatDiffersFromBothSidesIsShown) {  // PF-2
  History history;
  history.add(1, {}, {{"a", {"n", "1"}}});
  history.add(2, {1}, {{"a", {"n", "2"}}});
  history.add(3, {1}, {{"b", {"n", "1"}}});
  history.add(4, {2, 3}, {{"b", {"n", "2"}}});
  EXPECT_EQ(history.follow("b", 4), "4:b 3:b 2:a 1:a ");
}

}  // namespace
}  // namespace weft::cli
