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
#include <cstdint>

#include "cli/text.h"

namespace weft::cli {

namespace {

constexpr std::size_t kNode = SIZE_MAX;  ///< in place of a line's number: the change itself, never coloured
constexpr std::size_t kMinText = 20;     ///< columns of text that are shown however wide the graph is

std::string_view box_character(char c) {
  switch (c) {
    case '*':
      return "\u25cf";
    case '|':
      return "\u2502";
    case '\\':
      return "\u2572";
    case '/':
      return "\u2571";
    case '_':
    case '-':
      return "\u2500";
    case '.':
      return "\u256e";
    default:
      return " ";
  }
}

}  // namespace

class Graph::Row {
 public:
  void put(std::size_t at, char text, std::size_t color) {
    if (cells_.size() <= at) cells_.resize(at + 1, {' ', 0});
    cells_[at] = {text, color};
  }
  std::size_t width() const { return cells_.size(); }

  std::string draw(const GraphLook& look) const {
    std::string out;
    for (const auto& [text, color] : cells_) {
      const std::string_view shown = look.unicode ? box_character(text) : std::string_view(&text, 1);
      out += look.paint && text != ' ' && color != kNode ? look.paint(color, shown) : std::string(shown);
    }
    return out;
  }

 private:
  struct Cell {
    char text;
    std::size_t color;
  };
  std::vector<Cell> cells_;
};

std::vector<Graph::Row> Graph::rows_for(const ChangeId& id, const std::vector<ChangeId>& all_parents,
                                        std::size_t& node_row) {
  std::vector<ChangeId> parents;
  for (const auto& parent : all_parents) {
    if (std::find(parents.begin(), parents.end(), parent) == parents.end()) parents.push_back(parent);
  }
  const auto lane_of = [&](const ChangeId& wanted, std::size_t end) {
    std::size_t at = 0;
    while (at < end && lanes_[at].id != wanted) ++at;
    return at;
  };
  const std::size_t at = lane_of(id, lanes_.size());
  if (at == lanes_.size()) lanes_.push_back({id, next_color_++});
  const std::size_t count = lanes_.size(), arms = parents.size();
  std::vector<Lane> below;
  for (const auto& parent : parents) below.push_back({parent, below.empty() ? lanes_[at].color : next_color_++});
  const auto color = [&](std::size_t lane) { return lanes_[lane].color; };

  std::vector<Row> rows;
  // 1
  const std::size_t room = arms > 2 ? arms - 2 : 0;
  for (std::size_t step = 0; step < room && at + 1 < count; ++step) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c <= at; ++c) row.put(2 * c, '|', color(c));
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * (c + step) + 1, '\\', color(c));
  }
  // 2
  node_row = rows.size();
  {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < at; ++c) row.put(2 * c, '|', color(c));
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * (c + room), '|', color(c));
    row.put(2 * at, '*', kNode);
    for (std::size_t x = 2 * at + 1; x < 2 * (at + room); ++x) row.put(x, '-', below.back().color);
    if (room > 0) row.put(2 * (at + room), '.', below.back().color);
  }
  // 3
  if (arms > 1) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c <= at; ++c) row.put(2 * c, '|', color(c));
    for (std::size_t arm = 1; arm < arms; ++arm) row.put(2 * (at + arm) - 1, '\\', below[arm].color);
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * (c + room) + 1, '\\', color(c));
  } else if (arms == 0 && at + 1 < count) {
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < at; ++c) row.put(2 * c, '|', color(c));
    for (std::size_t c = at + 1; c < count; ++c) row.put(2 * c - 1, '/', color(c));
  }
  const auto place = lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(at));
  lanes_.insert(place, below.begin(), below.end());
  // 4
  for (std::size_t right = 0; right < lanes_.size();) {
    const std::size_t left = lane_of(lanes_[right].id, right);
    if (left == right) {
      ++right;
      continue;
    }
    Row& first = rows.emplace_back();
    for (std::size_t c = 0; c < right; ++c) first.put(2 * c, '|', color(c));
    for (std::size_t x = 2 * left + 3; x + 2 < 2 * right; x += 2) first.put(x, '_', color(right));
    for (std::size_t c = right; c < lanes_.size(); ++c) first.put(2 * c - 1, '/', color(c));
    if (right - left > 1) {
      Row& second = rows.emplace_back();
      for (std::size_t c = 0; c + 1 < lanes_.size(); ++c) second.put(2 * c, '|', color(c < right ? c : c + 1));
      second.put(2 * left + 1, '/', color(right));
    }
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(right));
  }
  return rows;
}

std::string Graph::entry(const ChangeId& id, const std::vector<ChangeId>& parents, std::string_view text) {
  std::size_t node_row = 0;
  const std::vector<Row> rows = rows_for(id, parents, node_row);
  std::size_t width = 2 * lanes_.size();
  for (const auto& row : rows) width = std::max(width, row.width() + 1);
  Row plain;
  for (std::size_t c = 0; c < lanes_.size(); ++c) plain.put(2 * c, '|', lanes_[c].color);
  const std::size_t room = look_.columns == 0 ? 0 : std::max(look_.columns, width + kMinText) - width;

  std::string out;
  std::size_t next = 0;
  const auto line = [&](const Row& row, std::string_view words) {
    std::string drawn = row.draw(look_);
    if (!words.empty()) {
      drawn.append(width - row.width(), ' ');
      drawn += room == 0 ? std::string(words) : fitted(words, room);
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
