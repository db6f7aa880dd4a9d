#include "text/closest.h"

#include <algorithm>
#include <utility>

namespace weft::text {
namespace {

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = now;
  }
  return last[b.size()];
}

constexpr std::size_t kMaxWordLength = 40;  // longer ones are no slip of the finger, and the distance is quadratic

}  // namespace

std::vector<std::string> closest(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() > kMaxWordLength) return {};
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& name : names) {
    if (name.empty()) continue;
    const std::size_t far = distance(word, name);
    if (far <= limit && far < name.size()) found.emplace_back(far, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [far, name] : found) {
    if (out.size() < 3 && far <= found.front().first + 1) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace weft::text
