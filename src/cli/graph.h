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

class Graph {
 public:
  /// `paint(column, text)` may wrap one line's characters in colour; null: none.
  using Paint = std::function<std::string(std::size_t column, std::string_view text)>;
  explicit Graph(Paint paint = {}, std::string node = "*") : paint_(std::move(paint)), node_(std::move(node)) {}

  /// One entry: the lines of `text` beside the graph, each ending with a newline. `parents`: those still to come.
  std::string entry(const ChangeId& id, const std::vector<ChangeId>& parents, std::string_view text);

 private:
  /// One row of the drawing: cells of two characters a column.
  class Row;

  std::vector<Row> rows_for(const ChangeId& id, const std::vector<ChangeId>& parents, std::size_t& node_row);

  Paint paint_;
  std::string node_;
  std::vector<ChangeId> columns_;
};

}  // namespace weft::cli
