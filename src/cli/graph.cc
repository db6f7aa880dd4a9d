// The drawing of one entry, top to bottom, for a change in column i with n parents:
//   1. n > 2: the columns right of i step right, one a row, until there is room for the merge's arms.
//   2. The change: `*` at i; arms of an octopus `*-.`; every other column `|`.
//   3. n > 1: the arms go down right (`|\`), the columns right of i step right once more.
//      n = 0: the column ends; those right of it step left (`/`).
//   4. While an id is in two columns, the leftmost such pair joins: the right one runs left under the columns between
//      (`_`), and those right of it step left.
// Column c is drawn at character 2c; 2c + 1 is the gap behind it.

#include "cli/graph.h"

#include <algorithm>

#include "cli/text.h"

namespace weft::cli {

class Graph::Row {
 public:
  void put(std::size_t at, std::string_view text, std::size_t color) {
    if (cells_.size() <= at) cells_.resize(at + 1, {" ", 0});
    cells_[at] = {std::string(text), color};
  }
  std::size_t width() const { return cells_.size(); }

  std::string draw(const Paint& paint) const {
    std::string out;
    for (const auto& [text, color] : cells_) out += paint && text != " " ? paint(color, text) : text;
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::size_t>> cells_;
};

std::vector<Graph::Row> Graph::rows_for(const ChangeId& id, const std::vector<ChangeId>& all_parents,
                                        std::size_t& node_row) {
  std::vector<ChangeId> parents;
  for (const auto& parent : all_parents) {
    if (std::find(parents.begin(), parents.end(), parent) == parents.end()) parents.push_back(parent);
  }
  auto found = std::find(columns_.begin(), columns_.end(), id);
  if (found == columns_.end()) found = columns_.insert(columns_.end(), id);
  const auto at = static_cast<std::size_t>(found - columns_.begin());
  const std::size_t count = columns_.size(), arms = parents.size();

  std::vector<Row> rows;
  // 1
  const std::size_t room = arms > 2 ? arms - 2 : 0;
  for (std::size_t step = 0; step < room && at + 1 < count; ++step) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c <= at; ++c) row.put(2 * c, "|", c);
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * (c + step) + 1, "\\", c);
  }
  // 2
  node_row = rows.size();
  {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < at; ++c) row.put(2 * c, "|", c);
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * (c + room), "|", c);
    row.put(2 * at, node_, at);
    for (std::size_t x = 2 * at + 1; x < 2 * (at + room); ++x) row.put(x, "-", at + room + 1);
    if (room > 0) row.put(2 * (at + room), ".", at + room + 1);
  }
  // 3
  if (arms > 1) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c <= at; ++c) row.put(2 * c, "|", c);
    for (std::size_t arm = 1; arm < arms; ++arm) row.put(2 * (at + arm) - 1, "\\", at + arm);
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * (c + room) + 1, "\\", c + arms - 1);
  } else if (arms == 0 && at + 1 < count) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < at; ++c) row.put(2 * c, "|", c);
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * c - 1, "/", c - 1);
  }
  const auto place = columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(at));
  columns_.insert(place, parents.begin(), parents.end());
  // 4
  for (std::size_t right = 0; right < columns_.size();) {
    const auto end = columns_.begin() + static_cast<std::ptrdiff_t>(right);
    const auto left_found = std::find(columns_.begin(), end, columns_[right]);
    if (left_found == end) {
      ++right;
      continue;
    }
    const auto left = static_cast<std::size_t>(left_found - columns_.begin());
    Row& first = rows.emplace_back();
    for (std::size_t c = 0; c < right; ++c) first.put(2 * c, "|", c);
    for (std::size_t x = 2 * left + 3; x + 2 < 2 * right; x += 2) first.put(x, "_", left);
    for (std::size_t c = right; c < columns_.size(); ++c) first.put(2 * c - 1, "/", c == right ? left : c - 1);
    if (right - left > 1) {
      Row& second = rows.emplace_back();
      for (std::size_t c = 0; c + 1 < columns_.size(); ++c) second.put(2 * c, "|", c);
      second.put(2 * left + 1, "/", left);
    }
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(right));
  }
  return rows;
}

std::string Graph::entry(const ChangeId& id, const std::vector<ChangeId>& parents, std::string_view text) {
  std::size_t node_row = 0;
  const std::vector<Row> rows = rows_for(id, parents, node_row);
  std::size_t width = 2 * columns_.size();
  for (const auto& row : rows) width = std::max(width, row.width() + 1);
  Row plain;
  for (std::size_t c = 0; c < columns_.size(); ++c) plain.put(2 * c, "|", c);

  std::string out;
  std::size_t next = 0;
  const auto line = [&](const Row& row, std::string_view words) {
    std::string drawn = row.draw(paint_);
    if (!words.empty()) {
      drawn.append(width - row.width(), ' ');
      drawn += words;
    }
    drawn.resize(drawn.find_last_not_of(' ') + 1);
    out += drawn + "\n";
  };
  for (; next < node_row; ++next) line(rows[next], {});
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line(next < rows.size() ? rows[next] : plain, text.substr(0, end));
    ++next;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  for (; next < rows.size(); ++next) line(rows[next], {});
  return out;
}

}  // namespace weft::cli
