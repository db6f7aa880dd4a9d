// Draws history as lines beside a log, the way `git log --graph` does: `*` a change, `|` a line of history, `\` a line
// that begins at a merge, `/` a line that ends where it forked.
//
// Invariants:
//   GR-1  Between two entries each column holds one line of history: the id its next change will have; no id twice.
//   GR-2  Every edge from a change to a parent that is still to come is drawn; it ends at that parent's `*`.
// Changes come children first (repo::HistoryWalk). Pure; one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace weft::cli {

struct GraphLook {
  /// May wrap the characters of a line of history in colour: every line keeps its number from the merge or head it
  /// begins at to where it ends, wherever it moves. Null: no colour.
  std::function<std::string(std::size_t line, std::string_view text)> paint;
  bool unicode = false;     ///< box characters instead of | \\ / _ -
  std::size_t columns = 0;  ///< lines of `text` are cut to fit into so many; 0: never
};

class Graph {
 public:
  explicit Graph(GraphLook look = {}) : look_(std::move(look)) {}

  /// One entry: the lines of `text` beside the graph, each ending with a newline. `parents`: those still to come.
  std::string entry(const ChangeId& id, const std::vector<ChangeId>& parents, std::string_view text);

 private:
  /// One row of the drawing: cells of two characters a column.
  class Row;

  std::vector<Row> rows_for(const ChangeId& id, const std::vector<ChangeId>& parents, std::size_t& node_row);

  struct Lane {
    ChangeId id;
    std::size_t color = 0;
  };

  GraphLook look_;
  std::vector<Lane> lanes_;
  std::size_t next_color_ = 0;
};

}  // namespace weft::cli
