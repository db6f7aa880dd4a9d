// The small records and rules beside the verbs: registrations, files records, messages, which operation undo takes.
#include <gtest/gtest.h>

#include "repo/files.h"
#include "repo/recording.h"
#include "repo/rescue.h"
#include "repo/undo.h"

namespace weft::repo {
namespace {

ChangeId change(std::uint8_t byte) {
  ChangeId id;
  id.bytes.fill(byte);
  return id;
}

TEST(WorkspaceRecordTest, RoundTripsAndRefusesTheRest) {
  for (const WorkspaceRecord& record :
       {WorkspaceRecord{}, WorkspaceRecord{"/a b/\n", "main"}, WorkspaceRecord{"/", ""}, WorkspaceRecord{"", "x/y"}}) {
    EXPECT_EQ(decode_workspace(encode_workspace(record)).value(), record);
  }
  const Bytes whole = encode_workspace({"/path", "main"});
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_EQ(decode_workspace(whole.substr(0, cut)).error().code, Code::damaged) << cut;
  }
  EXPECT_EQ(decode_workspace(whole + "x").error().code, Code::damaged);
  EXPECT_EQ(decode_workspace(encode_workspace({"relative", ""})).error().code, Code::damaged);
  EXPECT_EQ(decode_workspace(encode_workspace({"/a", "no ref"})).error().code, Code::damaged);
  EXPECT_EQ(decode_workspace(encode_workspace({"/" + std::string(5000, 'a'), ""})).error().code, Code::damaged);
  Bytes newer = whole;
  newer[0] = 2;
  EXPECT_EQ(decode_workspace(newer).error().code, Code::unsupported);
}

TEST(WorkspaceFileTest, RoundTripsAndRefusesTheRest) {
  const WorkspaceFile file{"/some where/.weft", "alice"};
  EXPECT_EQ(decode_workspace_file(encode_workspace_file(file)).value(), file);
  for (const std::string bad : {"", "gitdir: x\n", "weft workspace 1\n", "weft workspace 1\nstore: /a\nname: b",
                                "weft workspace 1\nstore: a\nname: b\n", "weft workspace 1\nstore: /a\nname: ../b\n",
                                "weft workspace 1\nstore: /a\nname: b\nmore: c\n"}) {
    EXPECT_EQ(decode_workspace_file(bad).error().code, Code::invalid) << bad;
  }
}

TEST(WorkspaceNameTest, Rules) {
  for (const std::string good : {"a", "alice", "agent-7", "x.y", "ü"})
    EXPECT_EQ(workspace_name_problem(good), "") << good;
  for (const std::string bad : {"", ".", "..", "a/b", "-a", ".a", "a b", ".git", "git~1", "a\n"}) {
    EXPECT_NE(workspace_name_problem(bad), "") << bad;
  }
  EXPECT_NE(workspace_name_problem(std::string(101, 'a')), "");
}

TEST(FilesRecordTest, RoundTripsAlsoOverALongerOne) {  // F-3
  const FilesRecord one{Version(change(1)), std::nullopt};
  const FilesRecord two{Version::of({change(1), change(2)}), Version()};
  const FilesRecord none{Version(), Version(change(3))};
  for (const auto& record : {one, two, none}) EXPECT_EQ(decode_files_record(encode_files_record(record)), record);
  Bytes over = encode_files_record(two);
  const Bytes shorter = encode_files_record(one);
  over.replace(0, shorter.size(), shorter);
  EXPECT_EQ(decode_files_record(over), one);
  for (std::size_t cut = 0; cut < shorter.size(); ++cut) {
    EXPECT_EQ(decode_files_record(shorter.substr(0, cut)), std::nullopt) << cut;
  }
  EXPECT_EQ(decode_files_record("weft files 1\nat: none+none\nend\n"), std::nullopt);
}

TEST(RescuedPathsTest, RoundTripsAndChecksNames) {
  const std::vector<std::string> paths{"a/b", "c"};
  EXPECT_EQ(decode_rescued_paths(encode_rescued_paths(paths)).value(), paths);
  EXPECT_TRUE(decode_rescued_paths(encode_rescued_paths({})).value().empty());
  EXPECT_FALSE(decode_rescued_paths(encode_rescued_paths({"../x"})).has_value());  // CASES C17
  EXPECT_FALSE(decode_rescued_paths(Bytes("\xff\xff\xff\x7f", 4)).has_value());
}

TEST(LabelTest, WhichOperationsKeepFiles) {
  EXPECT_TRUE(keeps_files("commit: x"));
  EXPECT_TRUE(keeps_files("undo: commit: x"));
  EXPECT_TRUE(keeps_files("redo: undo: commit: x"));
  EXPECT_FALSE(keeps_files("commit --changes: x"));
  EXPECT_FALSE(keeps_files("switch to main"));
  EXPECT_FALSE(keeps_files("ref set workspaces/default"));
}

TEST(MessageTest, Cleaned) {
  EXPECT_EQ(clean_message("\n\n a  \n\n\nb\t\r\n\n", false), " a\n\n\nb\n");
  EXPECT_EQ(clean_message("x\n# y\nz", true), "x\nz\n");
  EXPECT_EQ(clean_message("# y\n\n  \n", true), "");
  EXPECT_EQ(subject_of("one\ntwo"), "one");
  EXPECT_EQ(subject_of(std::string(99, 'a') + "\xc3\xbc more"), std::string(99, 'a') + "...");
}

TEST(PathTest, AbsoluteByTheLetter) {
  EXPECT_EQ(absolute_path("/a/b", "../c"), "/a/c");
  EXPECT_EQ(absolute_path("/a/b", "."), "/a/b");
  EXPECT_EQ(absolute_path("/a", "/x//y/./z/"), "/x/y/z");
  EXPECT_EQ(absolute_path("/a", "../../.."), "/");
  EXPECT_TRUE(is_below("/a/b", "/a"));
  EXPECT_TRUE(is_below("/a", "/a"));
  EXPECT_TRUE(is_below("/a", "/"));
  EXPECT_FALSE(is_below("/ab", "/a"));
}

store::Operation operation(std::uint8_t id, std::string workspace, std::optional<std::uint8_t> undoes = std::nullopt) {
  store::Operation out;
  out.id.bytes.fill(id);
  out.workspace = std::move(workspace);
  if (undoes) {
    out.undoes.emplace();
    out.undoes->bytes.fill(*undoes);
  }
  return out;
}

/// `oldest_first` for reading; the id's byte of what is picked, 0 for nothing.
int picked(std::vector<store::Operation> oldest_first, bool redo) {
  std::reverse(oldest_first.begin(), oldest_first.end());
  const auto id = pick_operation(oldest_first, "w", redo);
  return id ? id->bytes[0] : 0;
}

TEST(PickOperation, UndoTakesTheLastOfThisWorkspaceThatStands) {
  EXPECT_EQ(picked({}, false), 0);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "other")}, false), 1);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w")}, false), 2);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w"), operation(3, "w", 2)}, false), 1);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w", 1)}, false), 0);
  // Undone from another workspace counts, too.
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w"), operation(3, "other", 2)}, false), 1);
  // undo, redo, undo: the operation stands again after the redo.
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w", 1), operation(3, "w", 2)}, false), 1);
}

TEST(PickOperation, RedoTakesBackTheLastUndoUnlessSomethingFollowed) {
  EXPECT_EQ(picked({operation(1, "w")}, true), 0);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w", 1)}, true), 2);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w"), operation(3, "w", 2), operation(4, "w", 1)}, true), 4);
  // redone once: the earlier undo is next
  EXPECT_EQ(
      picked({operation(1, "w"), operation(2, "w"), operation(3, "w", 2), operation(4, "w", 1), operation(5, "w", 4)},
             true),
      3);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w", 1), operation(3, "w")}, true), 0);
  EXPECT_EQ(picked({operation(1, "w"), operation(2, "w", 1), operation(3, "other")}, true), 2);
}

}  // namespace
}  // namespace weft::repo
