#include "repo/change_list.h"

#include <gtest/gtest.h>

#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"
#include "object/memory_objects.h"
#include "tree/tree.h"

namespace weft::repo {
namespace {

class ChangeListTest : public ::testing::Test {
 protected:
  ChangeListTest() : env_{posix_file_system(), clock_, random_}, context_{env_, dir_.path(), {}, 0} {
    root_ = object::write_directory(objects_, {}).value();
  }
  Result<ObjectId> apply(const std::string& ops) {
    WEFT_TRY(const auto list, parse_change_list("{\"weft\": 1, \"ops\": [" + ops + "]}"));
    return apply_change_list(context_, list, objects_, objects_, root_);
  }
  ObjectId applied(const std::string& ops) {
    auto tree = apply(ops);
    EXPECT_TRUE(tree.has_value()) << tree.error().message;
    return tree.value_or(ObjectId{});
  }
  Error refused(const std::string& ops) {
    const auto tree = apply(ops);
    EXPECT_FALSE(tree.has_value()) << ops;
    return tree ? Error{} : tree.error();
  }
  std::optional<object::TreeEntry> entry(const ObjectId& tree, const std::string& path) {
    return tree::find_path(objects_, tree, path).value();
  }
  Bytes content(const ObjectId& tree, const std::string& path) {
    const auto found = entry(tree, path);
    return found ? objects_.read(object::ObjectKind::blob, found->id).value() : Bytes("(none)");
  }

  TempDir dir_;
  FakeClock clock_;
  FakeRandom random_{1};
  Env env_;
  Context context_;
  object::MemoryObjects objects_;
  ObjectId root_;
};

TEST_F(ChangeListTest, AppliesInOrder) {  // CL-1
  root_ = applied(R"({"op": "write", "path": "a/f", "content": "one\n"}, {"op": "write", "path": "b", "content": ""})");
  const auto before = entry(root_, "a/f");
  ASSERT_TRUE(before);
  EXPECT_EQ(before->mode, 0644U);
  const ObjectId after = applied(R"({"op": "move", "from": "a/f", "to": "c/d/g"},
      {"op": "write", "path": "c/d/g", "content": "two\n", "mode": "0755"}, {"op": "delete", "path": "a"},
      {"op": "write", "path": "a", "content": "a file now"}, {"op": "mode", "path": "b", "mode": "0600"})");
  EXPECT_EQ(content(after, "c/d/g"), "two\n");
  EXPECT_EQ(entry(after, "c/d/g")->node, before->node);  // moved and edited: the same file
  EXPECT_EQ(entry(after, "c/d/g")->mode, 0755U);
  EXPECT_EQ(content(after, "a"), "a file now");
  EXPECT_EQ(entry(after, "b")->mode, 0600U);
}

TEST_F(ChangeListTest, EveryKindOfContent) {
  ASSERT_TRUE(write_file_durably(env_.fs, dir_ / "host", Bytes("\0\xff", 2)).has_value());
  const ObjectId tree = applied(R"({"op": "write", "path": "bytes", "content": {"bytes": "AP8="}},
      {"op": "write", "path": "file", "content": {"file": "host"}})");
  EXPECT_EQ(content(tree, "bytes"), Bytes("\0\xff", 2));
  EXPECT_EQ(entry(tree, "file")->id, entry(tree, "bytes")->id);
  root_ = tree;
  const std::string id = entry(tree, "file")->id.hex();
  const ObjectId again = applied(R"({"op": "write", "path": "blob", "content": {"blob": ")" + id + R"("}})");
  EXPECT_EQ(entry(again, "blob")->id.hex(), id);
  EXPECT_EQ(entry(again, "blob")->size, 2U);
  EXPECT_EQ(refused(R"({"op": "write", "path": "x", "content": {"blob": ")" + std::string(64, '1') + R"("}})").code,
            Code::not_found);
  EXPECT_EQ(refused(R"({"op": "write", "path": "x", "content": {"file": "missing"}})").code, Code::not_found);
  EXPECT_EQ(refused(R"({"op": "write", "path": "x", "content": {"file": "."}})").code, Code::invalid);
}

TEST_F(ChangeListTest, WritesLinksAndReplacesThem) {
  root_ = applied(R"({"op": "write", "path": "l", "content": "../t", "kind": "symlink"})");
  ASSERT_EQ(entry(root_, "l")->kind, object::EntryKind::symlink);
  const ObjectId after = applied(R"({"op": "write", "path": "l", "content": "file"})");
  EXPECT_EQ(entry(after, "l")->kind, object::EntryKind::file);
  EXPECT_NE(entry(after, "l")->node, entry(root_, "l")->node);
  EXPECT_EQ(refused(R"({"op": "write", "path": "e", "content": "", "kind": "symlink"})").code, Code::invalid);
}

TEST_F(ChangeListTest, C17NamesNoTreeMayHold) {  // CL-2
  for (const std::string path : {"", ".", "..", "a/../b", "/a", "a/", "a//b", "a\\u0000b"}) {
    const Error error = refused(R"({"op": "write", "path": ")" + path + R"(", "content": "x"})");
    EXPECT_EQ(error.code, Code::invalid) << path;
    EXPECT_FALSE(error.message.empty());
  }
  const std::string long_name(256, 'n');
  EXPECT_EQ(refused(R"({"op": "write", "path": ")" + long_name + R"(", "content": "x"})").code, Code::invalid);
  EXPECT_EQ(refused(R"({"op": "move", "from": "a", "to": "../b"})").code, Code::invalid);
}

TEST_F(ChangeListTest, C18NamesThatAreNeverWrittenOut) {  // CL-2
  for (const std::string path : {".git/config", ".WEFT/x", "t/.Git", "a/git~1/x"}) {
    EXPECT_EQ(refused(R"({"op": "write", "path": ")" + path + R"(", "content": "x"})").code, Code::invalid) << path;
  }
}

TEST_F(ChangeListTest, RefusesWholeListsByNumber) {  // CL-1
  const Error error = refused(R"({"op": "write", "path": "a", "content": "x"}, {"op": "delete", "path": "missing"})");
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_NE(error.message.find("op 1"), std::string::npos) << error.message;
  root_ = applied(R"({"op": "write", "path": "d/x", "content": "x"}, {"op": "write", "path": "f", "content": "x"})");
  EXPECT_EQ(refused(R"({"op": "write", "path": "d", "content": "x"})").code, Code::invalid);
  EXPECT_FALSE(apply(R"({"op": "write", "path": "f/x", "content": "x"})").has_value());
  EXPECT_EQ(refused(R"({"op": "move", "from": "d", "to": "f"})").code, Code::exists);
  EXPECT_EQ(refused(R"({"op": "move", "from": "d", "to": "d/e"})").code, Code::invalid);
  EXPECT_EQ(refused(R"({"op": "mode", "path": "d", "mode": "0755"})").code, Code::invalid);
}

TEST(ChangeListParse, RefusesWhatTheFormatDoesNotSay) {  // CL-3
  for (const std::string text :
       {"", "[]", "{}", "nul", R"({"weft": 2, "ops": []})", R"({"weft": 1})", R"({"weft": 1, "ops": {}})",
        R"({"weft": 1, "ops": [], "more": 1})", R"({"weft": 1, "ops": [3]})", R"({"weft": 1, "ops": [{}]})",
        R"({"weft": 1, "ops": [{"op": "chmod", "path": "a"}]})",
        R"({"weft": 1, "ops": [{"op": "write", "path": "a"}]})",
        R"({"weft": 1, "ops": [{"op": "write", "path": "a", "content": 3}]})",
        R"({"weft": 1, "ops": [{"op": "write", "path": "a", "content": {"bytes": "?"}}]})",
        R"({"weft": 1, "ops": [{"op": "write", "path": "a", "content": "", "mode": "644"}]})",
        R"({"weft": 1, "ops": [{"op": "write", "path": "a", "content": "", "mode": "0999"}]})",
        R"({"weft": 1, "ops": [{"op": "delete", "path": "a", "force": true}]})",
        R"({"weft": 1, "ops": [{"op": "move", "from": "a"}]})"}) {
    const auto list = parse_change_list(text);
    ASSERT_FALSE(list.has_value()) << text;
    EXPECT_EQ(list.error().code, Code::invalid) << text;
  }
  EXPECT_FALSE(parse_change_list(std::string(1'000'000, '[')).has_value());
  EXPECT_FALSE(parse_change_list(Bytes("{\"weft\": 1, \"ops\": [\xff]}")).has_value());
  EXPECT_FALSE(parse_change_list(std::string(kMaxChangeListBytes + 1, ' ')).has_value());
}

}  // namespace
}  // namespace weft::repo
