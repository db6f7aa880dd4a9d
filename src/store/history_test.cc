#include "store/history.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "base/testing/temp_dir.h"
#include "store/history_index.h"

namespace weft::store {
namespace {

constexpr std::uint64_t kStep = 16;
constexpr std::size_t kNodes = 8;

NodeId node(std::size_t number) {
  return NodeId::from_bytes(sha256("node " + std::to_string(number)).view().substr(0, NodeId::kSize));
}

/// Here a change touches the nodes whose content it sets.
StoreHooks hooks() {
  StoreHooks hooks;
  hooks.history_step = kStep;
  hooks.touches = [](const object::ObjectReader&, const object::Change& change) -> Result<std::vector<TouchKey>> {
    std::vector<TouchKey> keys;
    for (const auto& any : change.ops) keys.push_back(node_key(std::get<object::op::SetContent>(any).node));
    return keys;
  };
  return hooks;
}

/// A store with a history, and what everybody can see of it without an index.
struct World {
  struct Known {
    ChangeId id;
    std::vector<std::size_t> parents;
    std::set<std::size_t> touched;
    std::uint64_t lamport = 1;
    std::int64_t time = 0, shown = 0;
  };

  TempDir temp;
  std::string directory = temp.path() + "/.weft";
  std::optional<Store> store = Store::create(system_env(), directory, {}, hooks()).value();
  std::vector<Known> changes;

  void reopen() {
    store.reset();
    store.emplace(Store::open(system_env(), directory, hooks()).value());
  }

  object::Change make(std::vector<std::size_t> parents, std::set<std::size_t> touched, std::int64_t time) {
    Known known;
    object::Change change;
    known.time = known.shown = time;
    for (const std::size_t parent : parents) {
      change.parents.push_back(changes[parent].id);
      known.lamport = std::max(known.lamport, changes[parent].lamport + 1);
      known.shown = std::max(known.shown, later_than(changes[parent].shown));
    }
    change.lamport = known.lamport;
    change.author = change.committer = {"A", "a@example.org", {time, 0}};
    change.message = std::to_string(changes.size());
    change.tree = object::empty_tree_id();
    for (const std::size_t number : touched) {
      change.ops.push_back(object::op::SetContent{node(number), sha256("before"), sha256("after"), 5});
    }
    known.parents = std::move(parents);
    known.touched = std::move(touched);
    known.id = object::change_id(object::encode_change(change));
    changes.push_back(known);
    return change;
  }

  void commit(const std::vector<object::Change>& batch) {
    auto transaction = store->begin().value();
    for (const auto& change : batch) ASSERT_TRUE(transaction.put_change(change));
    const auto done = transaction.commit();
    ASSERT_TRUE(done) << done.error().message;
  }

  std::size_t number_of(const ChangeId& id) const {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].id == id) return i;
    }
    return SIZE_MAX;
  }

  /// Compares everything History says. `exact`: nothing is behind the index.
  void check(bool exact, const std::vector<std::set<std::size_t>>& key_sets) {
    const auto snapshot = store->snapshot().value();
    const auto history = History::open(snapshot).value();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Known& known = changes[i];
      const auto summary = history.summary(known.id).value();
      std::vector<ChangeId> parents, children;
      for (const std::size_t parent : known.parents) parents.push_back(changes[parent].id);
      RC_ASSERT(summary.parents == parents);
      RC_ASSERT(summary.lamport == known.lamport);
      RC_ASSERT(summary.tree == object::empty_tree_id());
      RC_ASSERT(history.shown_ns(known.id).value() == known.shown);
      for (const auto& other : changes) {
        if (std::find(other.parents.begin(), other.parents.end(), i) != other.parents.end())
          children.push_back(other.id);
      }
      std::sort(children.begin(), children.end());
      RC_ASSERT(history.children(known.id).value() == children);
      std::set<std::size_t> line;
      for (std::size_t at = i;; at = changes[at].parents[0]) {
        line.insert(at);
        if (changes[at].parents.empty()) break;
      }
      for (std::size_t other = 0; other < changes.size(); other += 7) {
        const bool said = history.is_on_first_parent_line(changes[other].id, known.id).value();
        RC_ASSERT(!said || line.contains(other));
        if (exact) RC_ASSERT(said == line.contains(other));
      }
      for (const auto& wanted : key_sets) {
        std::vector<TouchKey> keys;
        for (const std::size_t number : wanted) keys.push_back(node_key(node(number)));
        const auto nearest = history.nearest_touch(known.id, keys).value();
        std::optional<std::size_t> expected;
        for (auto at = line.rbegin(); at != line.rend() && !expected; ++at) {
          for (const std::size_t number : changes[*at].touched) {
            if (wanted.contains(number)) expected = *at;
          }
        }
        if (nearest && expected != number_of(*nearest)) {
          // Behind the index a merge is looked at to be sure.
          RC_ASSERT(!exact);
          const std::size_t at = number_of(*nearest);
          RC_ASSERT(line.contains(at) && changes[at].parents.size() > 1 && (!expected || *expected < at));
        } else {
          RC_ASSERT(nearest.has_value() == expected.has_value());
        }
      }
    }
  }
};

template <typename T>
T pick(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

/// Changes with parents among the last few, clocks that go wrong, committed one or several at a time.
void grow(World& world, std::size_t count) {
  std::vector<object::Change> batch;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = world.changes.size();
    std::vector<std::size_t> parents;
    if (size > 0 && pick(0, 20) != 0) parents.push_back(pick<std::size_t>(size > 4 ? size - 4 : 0, size));
    for (int more = pick(0, 12) == 0 ? pick(1, 4) : 0; more > 0 && size > 1; --more) {
      const auto other = pick<std::size_t>(size > 12 ? size - 12 : 0, size);
      if (std::find(parents.begin(), parents.end(), other) == parents.end()) parents.push_back(other);
    }
    std::set<std::size_t> touched;
    for (int nodes = pick(0, 3); nodes > 0; --nodes) touched.insert(pick<std::size_t>(0, kNodes));
    batch.push_back(world.make(parents, touched, static_cast<std::int64_t>(size) * 1000 + pick(-8000, 8000)));
    if (pick(0, 5) != 0) continue;
    world.commit(batch);
    batch.clear();
  }
  if (!batch.empty()) world.commit(batch);
}

std::vector<std::set<std::size_t>> some_keys() { return {{}, {pick<std::size_t>(0, kNodes)}, {0, 1, 2}, {kNodes + 1}}; }

RC_GTEST_PROP(History, answers_as_the_changes_themselves_do, ()) {  // HY1, HY2, HI1
  World world;
  grow(world, pick<std::size_t>(1, 80));
  const auto keys = some_keys();
  world.check(false, keys);
  if (world.changes.size() >= 2 * kStep)
    RC_ASSERT(world.store->changes_behind_history().value() < world.changes.size());
  RC_ASSERT(world.store->extend_history().has_value());
  RC_ASSERT(world.store->changes_behind_history().value() == 0u);
  world.check(true, keys);
  grow(world, pick<std::size_t>(1, 30));
  world.reopen();
  world.check(false, keys);
  const auto report = world.store->verify(true, {}).value();
  RC_ASSERT(report.clean());
}

/// Files of the index directory that end so.
std::vector<std::string> files(const World& world, std::string_view ending) {
  std::vector<std::string> paths;
  const auto entries = posix_file_system().list(world.directory + "/index").value();
  for (const auto& entry : entries) {
    if (entry.name.ends_with(ending)) paths.push_back(world.directory + "/index/" + entry.name);
  }
  return paths;
}

struct LineOfChanges : testing::Test {
  World world;
  void SetUp() override {
    for (std::size_t i = 0; i < 100; ++i) {
      world.commit({world.make(i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{i - 1}, {i % kNodes},
                               static_cast<std::int64_t>(i))});
    }
  }
  void flip(const std::string& path, std::uint64_t offset) {
    auto file = posix_file_system().open(path, OpenMode::write).value();
    char byte = 0;
    ASSERT_TRUE(file->read_at(offset, std::span(&byte, 1)));
    byte = static_cast<char>(byte ^ 0x40);
    ASSERT_TRUE(file->write_at(offset, ByteView(&byte, 1)));
  }
  std::size_t findings(bool deep) { return world.store->verify(deep, {}).value().findings.size(); }
  /// What History says of the last change when nothing may be wrong.
  void expect_right() {
    const auto history = History::open(world.store->snapshot().value()).value();
    EXPECT_EQ(history.shown_ns(world.changes[99].id).value(), 99);
    const std::vector<TouchKey> keys{node_key(node(5))};
    EXPECT_EQ(history.nearest_touch(world.changes[99].id, keys).value(), world.changes[93].id);
  }
};

TEST_F(LineOfChanges, CommitsExtendTheIndexInSteps) {
  EXPECT_EQ(files(world, ".graph").size(), 1u);
  EXPECT_LE(files(world, ".touches").size(), 2u);  // HR2
  EXPECT_EQ(world.store->changes_behind_history().value(), 100 % kStep);
  EXPECT_EQ(findings(true), 0u);
}

TEST_F(LineOfChanges, WithoutItsFilesTheIndexIsMadeAnew) {  // HI3
  for (const auto& path : files(world, ".touches")) ASSERT_TRUE(posix_file_system().unlink(path));
  EXPECT_EQ(findings(false), 1u);
  expect_right();
  EXPECT_EQ(world.store->extend_history().value(), 100u);
  EXPECT_EQ(findings(true), 0u);
  EXPECT_EQ(files(world, ".graph").size(), 1u);  // the old one is gone
  expect_right();
}

TEST_F(LineOfChanges, AGarbledManifestIsNoIndex) {  // HI3
  flip(world.directory + "/index/history", 12);
  EXPECT_EQ(findings(false), 1u);
  expect_right();
}

TEST_F(LineOfChanges, AGarbledRecordIsFoundAndNamed) {  // HI4
  flip(files(world, ".graph")[0], 7 * GraphRecord::kBytes + 70);
  EXPECT_EQ(findings(false), 1u);
  const auto history = History::open(world.store->snapshot().value()).value();
  const auto summary = history.summary(world.changes[8].id);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, Code::damaged);
  EXPECT_NE(summary.error().hint.find("weft repair"), std::string::npos);
}

TEST_F(LineOfChanges, AWrongEntryIsFound) {
  const auto path = files(world, ".touches")[0];
  flip(path, posix_file_system().status(path)->size - 4);
  EXPECT_GE(findings(false), 1u);
}

TEST_F(LineOfChanges, RepairMakesItAnewAndSaysSo) {
  flip(files(world, ".graph")[0], 100);
  world.store.reset();
  const auto report = Store::repair(system_env(), world.directory, {}, hooks()).value();
  EXPECT_EQ(report.done.back(), "rebuilt the history index from 100 changes");
  world.reopen();
  EXPECT_EQ(findings(true), 0u);
  EXPECT_EQ(world.store->changes_behind_history().value(), 0u);
  expect_right();
}

TEST_F(LineOfChanges, AnIndexAheadOfTheLogCountsForNothing) {  // HI3
  const auto durable = world.store->snapshot().value().position();
  auto& fs = posix_file_system();
  EXPECT_GT(HistoryIndex::open(fs, world.directory + "/index", [&] { return durable; }).value().manifest().records, 0u);
  EXPECT_EQ(HistoryIndex::open(fs, world.directory + "/index", [] { return 4096; }).value().manifest().records, 0u);
}

}  // namespace
}  // namespace weft::store
