#include "git/rename.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/hash.h"

namespace weft::git {
namespace {

using object::EntryKind;

/// Contents by blob, and lists of leaves made from (path, content).
class Renames : public ::testing::Test {
 protected:
  Leaf leaf(const std::string& path, const std::string& content, EntryKind kind = EntryKind::file) {
    const ObjectId id = sha256(content);
    contents_[id] = content;
    return {path, kind, id, content.size()};
  }
  std::vector<std::pair<std::string, std::string>> found(std::vector<Leaf> departures, std::vector<Leaf> arrivals) {
    const auto by_path = [](const Leaf& a, const Leaf& b) { return a.path < b.path; };
    std::sort(departures.begin(), departures.end(), by_path);
    std::sort(arrivals.begin(), arrivals.end(), by_path);
    const ReadContent read = [this](const ObjectId& id) -> Result<std::shared_ptr<const Bytes>> {
      ++reads_;
      return std::make_shared<const Bytes>(contents_.at(id));
    };
    const auto renames = find_renames(departures, arrivals, read);
    EXPECT_TRUE(renames.has_value());
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& each : *renames) pairs.emplace_back(departures[each.departure].path, arrivals[each.arrival].path);
    return pairs;
  }
  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += "line number " + std::to_string(i) + "\n";
    return text;
  }
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::map<ObjectId, std::string> contents_;
  int reads_ = 0;
};

TEST_F(Renames, EqualContentIsARenameWithoutReadingIt) {  // GR2
  EXPECT_EQ(found({leaf("a", "x")}, {leaf("b", "x")}), (Pairs{{"a", "b"}}));
  EXPECT_EQ(reads_, 0);
}

TEST_F(Renames, KindsNeverMix) {  // GR1
  EXPECT_EQ(found({leaf("a", "x", EntryKind::symlink)}, {leaf("b", "x")}), Pairs{});
  EXPECT_EQ(found({leaf("a", "x", EntryKind::symlink)}, {leaf("b", "x", EntryKind::symlink)}), (Pairs{{"a", "b"}}));
}

TEST_F(Renames, EqualContentGoesToTheNearestPath) {  // GR2
  EXPECT_EQ(
      found({leaf("a/x/LICENSE", "l"), leaf("a/y/LICENSE", "l")}, {leaf("b/y/LICENSE", "l"), leaf("b/x/LICENSE", "l")}),
      (Pairs{{"a/x/LICENSE", "b/x/LICENSE"}, {"a/y/LICENSE", "b/y/LICENSE"}}));
  // The same base name before the same directory; then the same directory.
  EXPECT_EQ(found({leaf("d/n", "c")}, {leaf("d/m", "c"), leaf("e/n", "c")}), (Pairs{{"d/n", "e/n"}}));
  EXPECT_EQ(found({leaf("d/n", "c")}, {leaf("d/m", "c"), leaf("a/o", "c")}), (Pairs{{"d/n", "d/m"}}));
  // Otherwise path order.
  EXPECT_EQ(found({leaf("p", "c"), leaf("q", "c")}, {leaf("r", "c")}), (Pairs{{"p", "r"}}));
}

TEST_F(Renames, EmptyFilesOnlyUnderTheSameName) {  // GR2
  EXPECT_EQ(found({leaf("a/__init__.py", "")}, {leaf("b/empty", ""), leaf("b/__init__.py", "")}),
            (Pairs{{"a/__init__.py", "b/__init__.py"}}));
  EXPECT_EQ(found({leaf("a", "")}, {leaf("b", "")}), Pairs{});
}

TEST_F(Renames, ManyEqualFilesArePairedInPathOrder) {  // GR2, kMaxEqualPairs
  std::vector<Leaf> departures, arrivals;
  for (int i = 0; i < 101; ++i) {
    const std::string name = std::to_string(1000 + i);
    departures.push_back(leaf("a/" + name, "c"));
    arrivals.push_back(leaf("b/" + name, "c"));
  }
  const auto pairs = found(departures, arrivals);
  ASSERT_EQ(pairs.size(), 101u);
  for (const auto& [from, to] : pairs) EXPECT_EQ(from.substr(2), to.substr(2));
}

TEST_F(Renames, SimilarTextUnderOneName) {  // GR3
  EXPECT_EQ(found({leaf("a/n", lines(0, 20))}, {leaf("b/n", lines(0, 15)), leaf("b/o", lines(0, 20) + "more\n")}),
            (Pairs{{"a/n", "b/n"}}));
}

TEST_F(Renames, TheMostSimilarTextWins) {  // GR4
  EXPECT_EQ(found({leaf("p", lines(0, 20)), leaf("q", lines(100, 120))},
                  {leaf("r", lines(100, 118)), leaf("s", lines(0, 17)), leaf("t", lines(0, 19))}),
            (Pairs{{"q", "r"}, {"p", "t"}}));
}

TEST_F(Renames, HalfIsEnoughAndLessIsNot) {  // GR3, GR4
  EXPECT_EQ(found({leaf("a", lines(10, 30))}, {leaf("b", lines(10, 20) + lines(50, 60))}), (Pairs{{"a", "b"}}));
  EXPECT_EQ(found({leaf("a", lines(10, 30))}, {leaf("b", lines(10, 19) + lines(50, 61))}), Pairs{});
  EXPECT_EQ(found({leaf("a", lines(10, 30))}, {leaf("c", lines(10, 51))}), Pairs{});  // more than twice as large
}

TEST_F(Renames, BinaryAndLargeContentIsNotCompared) {  // GR3, GR4
  const std::string binary = lines(0, 20) + std::string(1, '\0');
  EXPECT_EQ(found({leaf("a/n", binary)}, {leaf("b/n", binary + "x")}), Pairs{});
  std::string large;
  while (large.size() <= kMaxComparedBytes) large += lines(0, 1000);
  reads_ = 0;
  EXPECT_EQ(found({leaf("a/n", large)}, {leaf("b/n", large + "x")}), Pairs{});
  EXPECT_EQ(reads_, 0);
}

TEST_F(Renames, TooManyAreNotComparedWithEachOther) {  // GR4, kMaxComparedPairs
  const auto make = [this](int count) {
    std::pair<std::vector<Leaf>, std::vector<Leaf>> lists;
    for (int i = 0; i < count; ++i) {
      const std::string name = std::to_string(1000 + i);
      lists.first.push_back(leaf("a/x" + name, "left " + lines(i * 100, i * 100 + 4)));
      lists.second.push_back(leaf("b/y" + name, "right " + lines(i * 100, i * 100 + 4)));
    }
    return lists;
  };
  const auto [few_departures, few_arrivals] = make(100);
  EXPECT_EQ(found(few_departures, few_arrivals).size(), 100u);
  const auto [many_departures, many_arrivals] = make(101);
  EXPECT_EQ(found(many_departures, many_arrivals).size(), 0u);
}

TEST_F(Renames, ReadErrorsArePassedOn) {
  const ReadContent read = [](const ObjectId&) -> Result<std::shared_ptr<const Bytes>> {
    return make_error(Code::damaged, "gone");
  };
  const auto renames = find_renames({leaf("a", lines(0, 9))}, {leaf("b", lines(0, 10))}, read);
  ASSERT_FALSE(renames.has_value());
  EXPECT_EQ(renames.error().code, Code::damaged);
}

TEST_F(Renames, DirectoriesMoveWithAllTheirFiles) {  // GR5
  const std::vector<Leaf> departures{leaf("d/a", "1"), leaf("d/s/b", "2"), leaf("e/c", "3")};
  const std::vector<Leaf> arrivals{leaf("n/a", "1"), leaf("n/s/b", "2"), leaf("o/d", "3")};
  const std::vector<Rename> renames{{0, 0}, {1, 1}, {2, 2}};
  const auto moves = find_directory_moves(departures, arrivals, renames, {"d", "d/s", "e"}, {"n", "n/s", "o"});
  // e's file changed its name, so nothing says that o is e.
  EXPECT_EQ(moves, (std::vector<DirectoryMove>{{"d", "n"}, {"d/s", "n/s"}}));
}

TEST_F(Renames, DirectoriesThatSplitOrMergeAreNew) {  // GR5
  const std::vector<Leaf> departures{leaf("d/a", "1"), leaf("d/b", "2"), leaf("e/c", "3"), leaf("f/x", "4"),
                                     leaf("g/y", "5")};
  const std::vector<Leaf> arrivals{leaf("h/x", "4"), leaf("h/y", "5"), leaf("n/a", "1"), leaf("o/b", "2")};
  const std::vector<Rename> renames{{3, 0}, {4, 1}, {0, 2}, {1, 3}};
  // d split; e lost a file; f and g both went into h, which is f's: the first.
  EXPECT_EQ(find_directory_moves(departures, arrivals, renames, {"d", "e", "f", "g"}, {"h", "n", "o"}),
            (std::vector<DirectoryMove>{{"f", "h"}}));
  // Into a directory that was there before: no move.
  EXPECT_EQ(find_directory_moves(departures, arrivals, renames, {"d", "e", "f", "g"}, {"n", "o"}),
            std::vector<DirectoryMove>{});
}

}  // namespace
}  // namespace weft::git
