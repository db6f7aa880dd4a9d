#include "repo/history.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::repo {
namespace {

/// A history in memory; ids are chosen by number so that failures can be read.
class Graph final : public HistorySource {
 public:
  static ChangeId id(std::size_t number) {
    ChangeId out;
    out.bytes[0] = static_cast<std::uint8_t>(number * 37 % 251);  // so that id order is not the order of creation
    out.bytes[1] = static_cast<std::uint8_t>(number >> 8);
    out.bytes[2] = static_cast<std::uint8_t>(number);
    return out;
  }
  static std::size_t number(const ChangeId& id) { return static_cast<std::size_t>(id.bytes[1]) << 8 | id.bytes[2]; }

  void add(std::vector<std::size_t> parents, std::int64_t time = 0) {
    object::ChangeSummary summary;
    summary.lamport = 1;
    for (const auto parent : parents) {
      summary.parents.push_back(id(parent));
      summary.lamport = std::max(summary.lamport, changes_[parent].lamport + 1);
    }
    changes_.push_back(std::move(summary));
    for (const auto parent : parents) time = std::max(time, shown_[parent] + 1);
    shown_.push_back(time);
    parents_.push_back(std::move(parents));
  }
  std::size_t size() const { return changes_.size(); }
  const std::vector<std::size_t>& parents(std::size_t number) const { return parents_[number]; }
  object::ChangeSummary& edit(std::size_t number) { return changes_[number]; }
  std::size_t reads() const { return reads_; }

  Result<object::ChangeSummary> summary(const ChangeId& change) const override {
    ++reads_;
    if (number(change) >= changes_.size()) return make_error(Code::not_found, "no such change");
    return changes_[number(change)];
  }
  Result<std::int64_t> shown_ns(const ChangeId& change) const override { return shown_[number(change)]; }

  std::set<std::size_t> past(const std::vector<std::size_t>& tips) const {
    std::set<std::size_t> seen;
    std::vector<std::size_t> todo = tips;
    while (!todo.empty()) {
      const auto next = todo.back();
      todo.pop_back();
      if (!seen.insert(next).second) continue;
      todo.insert(todo.end(), parents_[next].begin(), parents_[next].end());
    }
    return seen;
  }

 private:
  std::vector<object::ChangeSummary> changes_;
  std::vector<std::int64_t> shown_;
  std::vector<std::vector<std::size_t>> parents_;
  mutable std::size_t reads_ = 0;
};

Version version(const std::vector<std::size_t>& numbers) {
  std::vector<ChangeId> ids;
  for (const auto number : numbers) ids.push_back(Graph::id(number));
  return Version::of(std::move(ids));
}

std::set<std::size_t> numbers(const Version& of) {
  std::set<std::size_t> out;
  for (const auto& id : of.changes) out.insert(Graph::number(id));
  return out;
}

std::vector<std::size_t> walk(const Graph& graph, WalkOrder order, const std::vector<std::vector<std::size_t>>& from,
                              const std::vector<std::size_t>& without = {}) {
  HistoryWalk steps(graph, order);
  for (const auto& tips : from) {
    for (const auto tip : tips) EXPECT_TRUE(steps.from(version({tip})));
  }
  EXPECT_TRUE(steps.without(version(without)));
  std::vector<std::size_t> out;
  for (;;) {
    auto step = steps.next();
    EXPECT_TRUE(step);
    if (!step || !*step) return out;
    out.push_back(Graph::number((*step)->id));
  }
}

/// Uniform from the first case on: RapidCheck's own ranges begin small.
template <typename T>
T pick(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

Graph random_graph() {
  Graph graph;
  const auto size = pick<std::size_t>(1, 30);
  for (std::size_t i = 0; i < size; ++i) {
    std::set<std::size_t> parents;
    const auto wanted = *rc::gen::weightedElement<std::size_t>({{1, 0}, {8, 1}, {5, 2}, {1, 3}});
    for (std::size_t p = 0; p < std::min(wanted, i); ++p) {
      parents.insert(pick<std::size_t>(i > 6 ? i - 6 : 0, i));
    }
    graph.add({parents.begin(), parents.end()}, pick<std::int64_t>(0, 20));
  }
  return graph;
}

std::vector<std::size_t> random_tips(const Graph& graph) {
  return *rc::gen::container<std::vector<std::size_t>>(
      pick<std::size_t>(1, 4), rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, graph.size())));
}

RC_GTEST_PROP(History, is_ancestor_agrees_with_the_closure, ()) {
  const Graph graph = random_graph();
  const auto a = random_tips(graph), b = random_tips(graph);
  const auto past = graph.past(b);
  const bool expected = std::all_of(a.begin(), a.end(), [&](std::size_t n) { return past.contains(n); });
  RC_ASSERT(is_ancestor(graph, version(a), version(b)).value() == expected);
}

RC_GTEST_PROP(History, merge_bases_are_the_greatest_common_ancestors, ()) {
  const Graph graph = random_graph();
  const auto a = random_tips(graph), b = random_tips(graph);
  const auto past_a = graph.past(a), past_b = graph.past(b);
  std::set<std::size_t> common, expected;
  std::set_intersection(past_a.begin(), past_a.end(), past_b.begin(), past_b.end(),
                        std::inserter(common, common.end()));
  for (const auto candidate : common) {
    const bool below = std::any_of(common.begin(), common.end(), [&](std::size_t other) {
      return other != candidate && graph.past({other}).contains(candidate);
    });
    if (!below) expected.insert(candidate);
  }
  auto va = numbers(maximal(graph, version(a).changes).value()),
       vb = numbers(maximal(graph, version(b).changes).value());
  const auto found = merge_bases(graph, version({va.begin(), va.end()}), version({vb.begin(), vb.end()})).value();
  RC_ASSERT(numbers(found) == expected);
}

RC_GTEST_PROP(History, maximal_drops_exactly_the_ancestors, ()) {
  const Graph graph = random_graph();
  const auto tips = random_tips(graph);
  std::set<std::size_t> expected;
  for (const auto tip : tips) {
    const bool below = std::any_of(
        tips.begin(), tips.end(), [&](std::size_t other) { return other != tip && graph.past({other}).contains(tip); });
    if (!below) expected.insert(tip);
  }
  RC_ASSERT(numbers(maximal(graph, version(tips).changes).value()) == expected);
}

RC_GTEST_PROP(History, walks_yield_each_wanted_change_once_and_children_first, ()) {  // H-3
  const Graph graph = random_graph();
  const auto from = random_tips(graph);
  const auto without = *rc::gen::arbitrary<bool>() ? random_tips(graph) : std::vector<std::size_t>{};
  auto wanted = graph.past(from);
  for (const auto hidden : graph.past(without)) wanted.erase(hidden);
  for (const auto order : {WalkOrder::causal, WalkOrder::time, WalkOrder::topological}) {
    const auto steps = walk(graph, order, {from}, without);
    RC_ASSERT(std::set<std::size_t>(steps.begin(), steps.end()) == wanted);
    RC_ASSERT(steps.size() == wanted.size());
    std::set<std::size_t> yielded;
    for (const auto step : steps) {
      for (const auto parent : graph.parents(step)) RC_ASSERT(!yielded.contains(parent));
      yielded.insert(step);
    }
  }
}

// 0 - 1 - 2 - 5 (merge of 2 and 4), 3 and 4 on a side line from 0.
Graph two_lines() {
  Graph graph;
  graph.add({}, 10);
  graph.add({0}, 11);
  graph.add({1}, 15);
  graph.add({0}, 12);
  graph.add({3}, 13);
  graph.add({2, 4}, 20);
  return graph;
}

TEST(History, TopologicalKeepsLinesTogetherAndTimeMixesThem) {
  const Graph graph = two_lines();
  EXPECT_EQ(walk(graph, WalkOrder::topological, {{5}}), (std::vector<std::size_t>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(walk(graph, WalkOrder::time, {{5}}), (std::vector<std::size_t>{5, 2, 4, 3, 1, 0}));
}

TEST(History, TheStartNamedFirstGoesFirst) {
  const Graph graph = two_lines();
  EXPECT_EQ(walk(graph, WalkOrder::topological, {{2}, {4}}), (std::vector<std::size_t>{2, 1, 4, 3, 0}));
  EXPECT_EQ(walk(graph, WalkOrder::topological, {{4}, {2}}), (std::vector<std::size_t>{4, 3, 2, 1, 0}));
}

TEST(History, AWrongClockNeverPutsAParentFirst) {
  Graph graph;
  graph.add({}, 100);  // a root from the future
  graph.add({0}, 1);
  graph.add({1}, 2);
  EXPECT_EQ(walk(graph, WalkOrder::time, {{2}, {0}}), (std::vector<std::size_t>{2, 1, 0}));
}

TEST(History, TheEmptyVersionIsAnAncestorOfAllAndHasNothingInCommon) {
  const Graph graph = two_lines();
  EXPECT_TRUE(is_ancestor(graph, {}, version({5})).value());
  EXPECT_TRUE(is_ancestor(graph, {}, {}).value());
  EXPECT_FALSE(is_ancestor(graph, version({5}), {}).value());
  EXPECT_TRUE(merge_bases(graph, {}, version({5})).value().empty());
  EXPECT_TRUE(walk(graph, WalkOrder::time, {}).empty());
}

TEST(History, OnlyTheConcurrentPartIsRead) {
  Graph graph;
  graph.add({});
  for (std::size_t i = 1; i < 10'000; ++i) graph.add({i - 1});
  graph.add({9'999});
  graph.add({9'999});
  EXPECT_EQ(numbers(merge_bases(graph, version({10'000}), version({10'001})).value()), (std::set<std::size_t>{9'999}));
  EXPECT_FALSE(is_ancestor(graph, version({10'000}), version({10'001})).value());
  EXPECT_LT(graph.reads(), 20u);
  HistoryWalk steps(graph, WalkOrder::time);
  ASSERT_TRUE(steps.from(version({10'001})));
  ASSERT_TRUE(steps.next().value().has_value());
  ASSERT_TRUE(steps.next().value().has_value());
  EXPECT_LT(graph.reads(), 30u);
}

TEST(History, AParentThatIsNotEarlierIsDamage) {  // H-2
  Graph graph = two_lines();
  graph.edit(3).lamport = 9;
  for (const auto order : {WalkOrder::causal, WalkOrder::time, WalkOrder::topological}) {
    HistoryWalk steps(graph, order);
    Result<void> last = steps.from(version({4}));
    while (last) {
      auto step = steps.next();
      if (!step) {
        last = std::move(step).error();
      } else if (!*step) {
        break;
      }
    }
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code, Code::damaged);
  }
}

TEST(History, AMissingParentIsAnErrorNotAnEnd) {
  Graph graph = two_lines();
  graph.edit(1).parents = {Graph::id(77)};
  HistoryWalk steps(graph, WalkOrder::causal);
  ASSERT_TRUE(steps.from(version({1})));
  const auto step = steps.next();
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, Code::not_found);
}

}  // namespace
}  // namespace weft::repo
