#include "cli/graph.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

ChangeId id(char letter) {
  ChangeId out;
  out.bytes[0] = static_cast<std::uint8_t>(letter);
  return out;
}

/// "A:BC B:D C:D D:" draws A with parents B and C, and so on, one line each.
std::string draw(std::string_view history, std::string_view lines = "") {
  Graph graph;
  std::string out = "\n";
  for (std::size_t at = 0; at < history.size(); ++at) {
    const char letter = history[at];
    at += 2;
    std::vector<ChangeId> parents;
    for (; at < history.size() && history[at] != ' '; ++at) parents.push_back(id(history[at]));
    out += graph.entry(id(letter), parents, std::string(1, letter) + "\n" + std::string(lines));
  }
  return out;
}

TEST(Graph, ALine) { EXPECT_EQ(draw("A:B B:C C:"), "\n* A\n* B\n* C\n"); }

TEST(Graph, AMergeAndItsFork) {
  EXPECT_EQ(draw("A:BC C:D B:D D:"), R"(
*   A
|\
| * C
* | B
|/
* D
)");
}

TEST(Graph, TwoHeads) {
  EXPECT_EQ(draw("A:C B:C C:"), R"(
* A
| * B
|/
* C
)");
}

TEST(Graph, UnrelatedHistories) {
  EXPECT_EQ(draw("A:B C:D B: D:"), R"(
* A
| * C
* | B
 /
* D
)");
}

TEST(Graph, AMergeLeftOfOtherLinesPushesThemRight) {
  EXPECT_EQ(draw("A:C B:D C:DE E:D D:"), R"(
* A
| * B
* |  C
|\ \
| |/
|/|
| * E
|/
* D
)");
}

TEST(Graph, ALineThatJoinsFarLeftRunsUnderTheOthers) {
  EXPECT_EQ(draw("A:E B:F C:G D:E E: F: G:"), R"(
* A
| * B
| | * C
| | | * D
| |_|/
|/| |
* | | E
 / /
* | F
 /
* G
)");
}

TEST(Graph, Octopus) {
  EXPECT_EQ(draw("A:BCD D:E C:E B:E E:"), R"(
*-.   A
|\ \
| | * D
| * | C
| |/
* | B
|/
* E
)");
}

TEST(Graph, AnOctopusBesideAnotherLineMakesRoomFirst) {
  EXPECT_EQ(draw("A:F B:F F:"), "\n* A\n| * B\n|/\n* F\n");
  EXPECT_EQ(draw("A:B X:Y B:CDE Y: C: D: E:"), R"(
* A
| * X
|  \
*-. |   B
|\ \ \
| | | * Y
* | | C
 / /
* | D
 /
* E
)");
}

TEST(Graph, LinesOfTextStandBesideTheEdges) {
  EXPECT_EQ(draw("A:BC C:D B:D D:", "more\n\nend\n"), R"(
*   A
|\  more
| |
| | end
| * C
| | more
| |
| | end
* | B
|/  more
|
|   end
* D
  more

  end
)");
}

std::string numbered(std::size_t line, std::string_view text) {
  return "<" + std::to_string(line) + std::string(text) + ">";
}

TEST(Graph, ColoursWrapOnlyWhatIsDrawnAndFollowALine) {
  Graph graph({numbered, false, 0});
  EXPECT_EQ(graph.entry(id('A'), {id('B'), id('C')}, "A\n"), "*   A\n<0|><1\\>\n");
  EXPECT_EQ(graph.entry(id('B'), {id('D'), id('E')}, "B\n"), "* <1|>   B\n<0|><2\\> <1\\>\n");
  // The line to C has moved a column to the right, and is still line 1.
  EXPECT_EQ(graph.entry(id('C'), {}, "C\n"), "<0|> <2|> * C\n");
  EXPECT_EQ(graph.entry(id('E'), {id('D')}, "E\n"), "<0|> * E\n<0|><2/>\n");
  EXPECT_EQ(graph.entry(id('D'), {}, "D\n"), "* D\n");
}

TEST(Graph, InBoxCharacters) {
  Graph graph({{}, true, 0});
  EXPECT_EQ(graph.entry(id('A'), {id('B'), id('C'), id('D')}, "A\n"), "\u25cf\u2500\u256e   A\n\u2502\u2572 \u2572\n");
}

TEST(Graph, TextIsCutToTheTerminal) {
  Graph graph({{}, false, 30});
  EXPECT_EQ(graph.entry(id('A'), {}, "A line that is too long for it\n"), "* A line that is too long for\u2026\n");
  EXPECT_EQ(graph.entry(id('A'), {}, "\x1b[33m\u00fc\x1b[m line that fits well enough\n"),
            "* \x1b[33m\u00fc\x1b[m line that fits well enough\n");
  EXPECT_EQ(graph.entry(id('A'), {}, "A line that ends in \x1b[33myellow words\x1b[m\n"),
            "* A line that ends in \x1b[33myellow \u2026\x1b[m\n");
}

}  // namespace
}  // namespace weft::cli
