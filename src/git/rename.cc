#include "git/rename.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "text/diff.h"

namespace weft::git {
namespace {

using object::EntryKind;

std::string_view base_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Equal names from the end of both paths.
std::size_t equal_tail(std::string_view a, std::string_view b) {
  std::size_t names = 0;
  while (true) {
    const auto a_base = base_of(a);
    if (a_base != base_of(b)) return names;
    ++names;
    if (a_base.size() == a.size() || a_base.size() == b.size()) return names;
    a.remove_suffix(a_base.size() + 1);
    b.remove_suffix(a_base.size() + 1);
  }
}

/// Equal names from the start of both paths.
std::size_t equal_start(std::string_view a, std::string_view b) {
  std::size_t names = 0;
  while (true) {
    const auto a_end = std::min(a.find('/'), a.size());
    const auto b_end = std::min(b.find('/'), b.size());
    if (a.substr(0, a_end) != b.substr(0, b_end)) return names;
    ++names;
    if (a_end == a.size() || b_end == b.size()) return names;
    a.remove_prefix(a_end + 1);
    b.remove_prefix(b_end + 1);
  }
}

struct Candidate {
  Rename rename;
  int percent = 100;
  std::size_t tail = 0;
  std::size_t start = 0;

  // Indices stand for paths: both lists are sorted.
  auto rank() const {
    return std::tuple(-percent, -static_cast<std::ptrdiff_t>(tail), -static_cast<std::ptrdiff_t>(start),
                      rename.departure, rename.arrival);
  }
};

class Finder {
 public:
  Finder(const std::vector<Leaf>& departures, const std::vector<Leaf>& arrivals, const ReadContent& read)
      : departures_(departures),
        arrivals_(arrivals),
        read_(read),
        departure_used_(departures.size()),
        arrival_used_(arrivals.size()) {}

  Result<std::vector<Rename>> run() {
    if (departures_.empty() || arrivals_.empty()) return std::vector<Rename>{};
    equal_content();
    WEFT_DO(unique_base_names());
    WEFT_DO(everything_left());
    std::sort(renames_.begin(), renames_.end(), [](const Rename& a, const Rename& b) { return a.arrival < b.arrival; });
    return std::move(renames_);
  }

 private:
  Candidate candidate(std::size_t departure, std::size_t arrival, int percent) const {
    const auto& from = departures_[departure].path;
    const auto& to = arrivals_[arrival].path;
    return {{departure, arrival}, percent, equal_tail(from, to), equal_start(from, to)};
  }

  void take(const Rename& rename) {
    if (departure_used_[rename.departure] || arrival_used_[rename.arrival]) return;
    departure_used_[rename.departure] = arrival_used_[rename.arrival] = true;
    renames_.push_back(rename);
  }

  void take_best(std::vector<Candidate> candidates) {
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.rank() < b.rank(); });
    for (const auto& each : candidates) take(each.rename);
  }

  // GR2
  void equal_content() {
    using Key = std::tuple<EntryKind, ObjectId, std::string_view>;
    const auto key = [](const Leaf& leaf) {
      return Key(leaf.kind, leaf.blob, leaf.size == 0 ? base_of(leaf.path) : std::string_view());
    };
    struct Group {
      std::vector<std::size_t> departures, arrivals;
    };
    std::map<Key, Group> groups;
    for (std::size_t i = 0; i < departures_.size(); ++i) groups[key(departures_[i])].departures.push_back(i);
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      const auto found = groups.find(key(arrivals_[i]));
      if (found != groups.end()) found->second.arrivals.push_back(i);
    }
    for (const auto& [unused, group] : groups) {
      if (group.departures.size() * group.arrivals.size() > kMaxEqualPairs) {
        const std::size_t count = std::min(group.departures.size(), group.arrivals.size());
        for (std::size_t i = 0; i < count; ++i) take({group.departures[i], group.arrivals[i]});
        continue;
      }
      std::vector<Candidate> candidates;
      for (const auto departure : group.departures) {
        for (const auto arrival : group.arrivals) candidates.push_back(candidate(departure, arrival, 100));
      }
      take_best(std::move(candidates));
    }
  }

  static bool comparable(const Leaf& a, const Leaf& b) {
    if (a.kind != EntryKind::file || b.kind != EntryKind::file) return false;
    const auto [small, large] = std::minmax(a.size, b.size);
    return small > 0 && large <= kMaxComparedBytes && small * 2 >= large;
  }

  /// nullopt for what is no text.
  Result<std::optional<int>> compare(std::size_t departure, std::size_t arrival) {
    WEFT_TRY(const auto before, text_of(departures_[departure]));
    WEFT_TRY(const auto after, text_of(arrivals_[arrival]));
    if (!before || !after) return std::optional<int>();
    return std::optional<int>(text::similarity_percent(*before, *after));
  }

  /// Kept while the finder lives: what is read is bounded by kMaxComparedTotal. Null for what is no text.
  Result<std::shared_ptr<const Bytes>> text_of(const Leaf& leaf) {
    if (const auto found = texts_.find(leaf.blob); found != texts_.end()) return found->second;
    WEFT_TRY(std::shared_ptr<const Bytes> content, read_(leaf.blob));
    if (!text::is_text(*content)) content = nullptr;
    texts_.emplace(leaf.blob, content);
    return content;
  }

  // GR3
  Result<void> unique_base_names() {
    struct Named {
      std::vector<std::size_t> departures, arrivals;
    };
    std::map<std::string_view, Named> names;
    for (std::size_t i = 0; i < departures_.size(); ++i) {
      if (!departure_used_[i] && departures_[i].kind == EntryKind::file)
        names[base_of(departures_[i].path)].departures.push_back(i);
    }
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      if (arrival_used_[i] || arrivals_[i].kind != EntryKind::file) continue;
      if (const auto found = names.find(base_of(arrivals_[i].path)); found != names.end())
        found->second.arrivals.push_back(i);
    }
    std::vector<Rename> pairs;
    for (const auto& [unused, named] : names) {
      if (named.departures.size() == 1 && named.arrivals.size() == 1)
        pairs.push_back({named.departures[0], named.arrivals[0]});
    }
    std::sort(pairs.begin(), pairs.end(), [](const Rename& a, const Rename& b) { return a.departure < b.departure; });
    std::uint64_t total = 0;
    for (const auto& pair : pairs) {
      const Leaf& from = departures_[pair.departure];
      const Leaf& to = arrivals_[pair.arrival];
      if (!comparable(from, to)) continue;
      total += from.size + to.size;
      if (total > kMaxComparedTotal) break;
      WEFT_TRY(const std::optional<int> percent, compare(pair.departure, pair.arrival));
      if (percent && *percent >= kMinSimilarityPercent) take(pair);
    }
    texts_.clear();
    return {};
  }

  // GR4
  Result<void> everything_left() {
    std::vector<std::size_t> from;
    std::vector<std::size_t> to;
    for (std::size_t i = 0; i < departures_.size(); ++i) {
      if (!departure_used_[i] && departures_[i].kind == EntryKind::file) from.push_back(i);
    }
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      if (!arrival_used_[i] && arrivals_[i].kind == EntryKind::file) to.push_back(i);
    }
    if (from.size() * to.size() > kMaxComparedPairs) return {};
    std::vector<Candidate> candidates;
    std::uint64_t total = 0;
    for (const auto departure : from) {
      for (const auto arrival : to) {
        if (!comparable(departures_[departure], arrivals_[arrival])) continue;
        total += departures_[departure].size + arrivals_[arrival].size;
        if (total > kMaxComparedTotal) {
          take_best(std::move(candidates));
          return {};
        }
        WEFT_TRY(const std::optional<int> percent, compare(departure, arrival));
        if (percent && *percent >= kMinSimilarityPercent) candidates.push_back(candidate(departure, arrival, *percent));
      }
    }
    take_best(std::move(candidates));
    return {};
  }

  const std::vector<Leaf>& departures_;
  const std::vector<Leaf>& arrivals_;
  const ReadContent& read_;
  std::vector<bool> departure_used_, arrival_used_;
  std::vector<Rename> renames_;
  std::map<ObjectId, std::shared_ptr<const Bytes>> texts_;
};

}  // namespace

Result<std::vector<Rename>> find_renames(const std::vector<Leaf>& departures, const std::vector<Leaf>& arrivals,
                                         const ReadContent& read) {
  return Finder(departures, arrivals, read).run();
}

std::vector<DirectoryMove> find_directory_moves(const std::vector<Leaf>& departures, const std::vector<Leaf>& arrivals,
                                                const std::vector<Rename>& renames,
                                                const std::vector<std::string>& gone,
                                                const std::vector<std::string>& made) {
  std::vector<DirectoryMove> moves;
  if (renames.empty() || gone.empty() || made.empty()) return moves;
  constexpr auto kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> arrival_of(departures.size(), kNone);
  for (const auto& rename : renames) arrival_of[rename.departure] = rename.arrival;
  std::set<std::string_view> taken;
  for (const auto& from : gone) {
    const std::string inside = from + '/';
    const auto begin = std::lower_bound(departures.begin(), departures.end(), inside,
                                        [](const Leaf& leaf, const std::string& path) { return leaf.path < path; });
    std::string_view to;
    bool all = true;
    std::size_t files = 0;
    for (auto leaf = begin; all && leaf != departures.end() && leaf->path.starts_with(inside); ++leaf, ++files) {
      const auto arrival = arrival_of[static_cast<std::size_t>(leaf - departures.begin())];
      if (arrival == kNone) {
        all = false;
        break;
      }
      const std::string_view tail = std::string_view(leaf->path).substr(from.size());  // "/..."
      const std::string_view path = arrivals[arrival].path;
      const std::string_view target =
          path.ends_with(tail) ? path.substr(0, path.size() - tail.size()) : std::string_view();
      all = !target.empty() && (files == 0 || target == to);
      to = target;
    }
    if (!all || files == 0 || taken.contains(to)) continue;
    if (!std::binary_search(made.begin(), made.end(), to)) continue;
    taken.insert(to);
    moves.push_back({from, std::string(to)});
  }
  return moves;
}

}  // namespace weft::git
