#include "cli/log_source.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "base/testing/temp_dir.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

template <typename T>
T pick(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

/// A store with a history of files that are edited, moved, deleted, merged.
class World {
 public:
  explicit World(std::uint64_t history_step) {
    auto hooks = repo::store_hooks();
    hooks.history_step = history_step;
    store_.emplace(store::Store::create(system_env(), temp_.path() + "/.weft", {}, hooks).value());
  }

  struct Made {
    ChangeId id;
    ObjectId tree;
    std::uint64_t lamport = 1;
  };
  std::vector<Made> changes;
  std::set<std::string> paths;  ///< that ever were
  store::Store& store() { return *store_; }

  /// Recorded with ops on one parent or none; merged without.
  void record(store::Transaction& transaction, const std::vector<std::size_t>& parents, const ObjectId& tree) {
    object::Change change;
    for (const auto parent : parents) {
      change.parents.push_back(changes[parent].id);
      change.lamport = std::max(change.lamport, changes[parent].lamport + 1);
    }
    const auto time = static_cast<std::int64_t>(changes.size()) * 1000 + clock_error_;
    change.author = change.committer = {"A", "a@example.org", {time, 0}};
    change.message = std::to_string(changes.size());
    change.tree = tree;
    if (parents.size() > 1) {
      change.form = object::OpsForm::derived;
    } else {
      const ObjectId before = parents.empty() ? object::empty_tree_id() : changes[parents[0]].tree;
      change.ops = tree::derive_ops(transaction.reader(), before, tree).value();
    }
    changes.push_back({transaction.put_change(change).value(), tree, change.lamport});
  }

  /// Some edits of the version `from` (npos: of nothing).
  ObjectId edited(store::Transaction& transaction, std::size_t from) {
    const ObjectId base = from == std::string::npos ? object::empty_tree_id() : changes[from].tree;
    std::vector<tree::PathEntry> entries;
    EXPECT_TRUE(tree::walk(transaction.reader(), base, "", [&](const tree::PathEntry& item) -> Result<bool> {
      entries.push_back(item);
      return true;
    }));
    tree::TreeEditor editor(transaction.reader(), base);
    for (int edits = pick(1, 4); edits > 0; --edits) {
      const int what = pick(0, 10);
      const auto* const entry = entries.empty() ? nullptr : &entries[pick<std::size_t>(0, entries.size())];
      if (entry == nullptr || what < 3) {
        const std::string path =
            fmt::format("{}{}", pick(0, 2) == 0 ? "" : fmt::format("d{}/", pick(0, 3)), fmt::format("f{}", pick(0, 4)));
        if (editor.find(path).value()) continue;
        object::TreeEntry file = content(transaction);
        file.node = fresh();
        (void)editor.set_with_parents(path, file, [&](ByteView) { return fresh(); });
      } else if (what < 6 && entry->entry.kind == object::EntryKind::file) {
        const auto here = editor.find(entry->path).value();
        if (!here || here->kind != object::EntryKind::file) continue;
        object::TreeEntry file = content(transaction);
        file.node = here->node;
        if (what == 5) file.mode = here->mode == 0644 ? 0755 : 0644;
        (void)editor.set(entry->path, file);
      } else if (what < 8) {
        (void)editor.move(entry->path,
                          fmt::format("{}m{}", pick(0, 2) == 0 ? "" : fmt::format("d{}/", pick(0, 3)), pick(0, 4)));
      } else {
        (void)editor.remove(entry->path);
      }
    }
    return editor.finish(transaction).value();
  }

  void grow(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto transaction = store_->begin().value();
      const std::size_t size = changes.size();
      clock_error_ = pick(0, 6) == 0 ? pick(-5000, 5000) : 0;
      const auto recent = [&] { return pick<std::size_t>(size > 4 ? size - 4 : 0, size); };
      if (size == 0) {
        record(transaction, {}, edited(transaction, std::string::npos));
      } else if (pick(0, 4) != 0) {
        const std::size_t parent = recent();
        record(transaction, {parent}, edited(transaction, parent));
      } else {
        const std::size_t ours = recent(), theirs = recent();
        if (ours == theirs) continue;
        // Any tree will do for a merge: one side's, or an edit of it.
        record(transaction, {ours, theirs}, pick(0, 2) == 0 ? changes[ours].tree : edited(transaction, theirs));
      }
      EXPECT_TRUE(
          tree::walk(transaction.reader(), changes.back().tree, "", [&](const tree::PathEntry& item) -> Result<bool> {
            paths.insert(item.path);
            return true;
          }));
      const auto done = transaction.commit();
      ASSERT_TRUE(done) << done.error().message;
    }
  }

 private:
  NodeId fresh() {
    return NodeId::from_bytes(sha256(fmt::format("node {}", ++nodes_)).view().substr(0, NodeId::kSize));
  }
  object::TreeEntry content(store::Transaction& transaction) {
    const std::string text = fmt::format("content {}\n", pick(0, 1000));
    object::TreeEntry entry;
    entry.kind = object::EntryKind::file;
    entry.mode = 0644;
    entry.id = transaction.put(object::ObjectKind::blob, text).value();
    entry.size = text.size();
    return entry;
  }

  TempDir temp_;
  std::optional<store::Store> store_;
  int nodes_ = 0;
  std::int64_t clock_error_ = 0;
};

/// The same with every change looked at: what a log along a path is defined to be.
std::vector<LogEntry> plainly(const store::Snapshot& snapshot, repo::WalkOrder order, const ChangeId& from,
                              const ObjectId& tree, const std::string& path) {
  const repo::SnapshotHistory history(snapshot);
  repo::HistoryWalk walk(history, order);
  EXPECT_TRUE(walk.from(object::Version(from)));
  PathFollower follower(snapshot, path);
  EXPECT_TRUE(follower.start(from, tree));
  std::vector<LogEntry> entries;
  while (!follower.done()) {
    const auto step = walk.next().value();
    if (!step) break;
    if (!follower.wants(step->id)) continue;
    std::vector<PathFollower::Parent> parents;
    for (const auto& parent : step->parents) parents.push_back({parent, history.summary(parent).value().tree});
    const auto verdict = follower.visit(step->id, step->tree, parents).value();
    LogEntry entry{step->id, verdict->follow, {}, verdict->shown};
    if (verdict->shown) entry.paths.push_back(verdict->path);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<LogEntry> leaping(const store::Snapshot& snapshot, repo::WalkOrder order, const ChangeId& from,
                              const std::string& path) {
  LogSource source(snapshot, order, {}, {path});
  EXPECT_TRUE(source.from(object::Version(from)));
  std::vector<LogEntry> entries;
  for (;;) {
    auto entry = source.next().value();
    if (!entry) return entries;
    entries.push_back(*std::move(entry));
  }
}

std::string shown(const std::vector<LogEntry>& entries) {
  std::string text;
  for (const auto& entry : entries) {
    if (entry.shown) text += fmt::format("{} {}\n", entry.id.hex().substr(0, 12), fmt::join(entry.paths, ","));
  }
  return text;
}

RC_GTEST_PROP(LogSource, leaps_lead_to_what_looking_at_every_change_finds, ()) {  // LS-3, PF-4
  World world(8);
  world.grow(pick<std::size_t>(2, 40));
  if (pick(0, 3) == 0) RC_ASSERT(world.store().extend_history().has_value());
  const auto snapshot = world.store().snapshot().value();
  const auto& tip = world.changes.back();
  auto paths = world.paths;
  paths.insert("never");
  for (const auto& path : paths) {
    RC_ASSERT(shown(leaping(snapshot, repo::WalkOrder::time, tip.id, path)) ==
              shown(plainly(snapshot, repo::WalkOrder::time, tip.id, tip.tree, path)));
    // As a graph: the same changes, each leading to the same ones, children first.
    const auto graph = only_shown(leaping(snapshot, repo::WalkOrder::topological, tip.id, path));
    std::map<ChangeId, std::set<ChangeId>> edges, expected;
    std::set<ChangeId> met;
    for (const auto& entry : graph) {
      edges[entry.id] = {entry.follow.begin(), entry.follow.end()};
      for (const auto& below : entry.follow) RC_ASSERT(!met.contains(below));
      met.insert(entry.id);
    }
    for (const auto& entry : only_shown(plainly(snapshot, repo::WalkOrder::topological, tip.id, tip.tree, path))) {
      expected[entry.id] = {entry.follow.begin(), entry.follow.end()};
    }
    RC_ASSERT(edges == expected);
  }
}

struct Cost {
  std::uint64_t newest, path, children, ancestor;
};

/// Objects read by a process that opens a store with so many changes in one line, over 50 files.
Cost cost_of(std::size_t changes) {
  World world(store::kHistoryStep);
  std::optional<store::Transaction> transaction(world.store().begin().value());
  const auto file = [&](std::size_t number, std::size_t edit) {
    object::TreeEntry entry;
    entry.kind = object::EntryKind::file;
    entry.mode = 0644;
    entry.node = NodeId::from_bytes(sha256(fmt::format("node {}", number)).view().substr(0, NodeId::kSize));
    const std::string text = fmt::format("{} {}\n", number, edit);
    entry.id = transaction->put(object::ObjectKind::blob, text).value();
    entry.size = text.size();
    return entry;
  };
  ObjectId tree = object::empty_tree_id();
  for (std::size_t i = 0; i < changes; ++i) {
    tree::TreeEditor editor(transaction->reader(), tree);
    if (i == 0) {
      for (std::size_t number = 0; number < 50; ++number)
        EXPECT_TRUE(editor.set(fmt::format("f{}", number), file(number, 0)));
    } else {
      EXPECT_TRUE(editor.set(fmt::format("f{}", i % 50), file(i % 50, i)));
    }
    tree = editor.finish(*transaction).value();
    world.record(*transaction, i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{i - 1}, tree);
    if (i % 64 == 63 || i + 1 == changes) {
      EXPECT_TRUE(transaction->commit());
      transaction.emplace(world.store().begin().value());
    }
  }
  const auto count = [&](const std::function<void(const store::Snapshot&)>& action) {
    const auto snapshot = world.store().snapshot().value();
    const std::uint64_t before = world.store().objects_read();
    action(snapshot);
    return world.store().objects_read() - before;
  };
  const ChangeId tip = world.changes.back().id;
  const auto take = [&](const store::Snapshot& snapshot, std::vector<std::string> paths, std::size_t wanted) {
    LogSource source(snapshot, repo::WalkOrder::time, {}, std::move(paths));
    EXPECT_TRUE(source.from(object::Version(tip)));
    for (std::size_t i = 0; i < wanted;) {
      const auto entry = source.next().value();
      ASSERT_TRUE(entry);
      if (entry->shown) ++i;
    }
  };
  Cost cost{};
  cost.newest = count([&](const auto& snapshot) { take(snapshot, {}, 20); });
  cost.path = count([&](const auto& snapshot) { take(snapshot, {"f7"}, 4); });
  cost.children = count([&](const auto& snapshot) {
    EXPECT_EQ(store::History::open(snapshot).value().children(world.changes[changes / 2].id).value(),
              (std::vector<ChangeId>{world.changes[changes / 2 + 1].id}));
  });
  cost.ancestor = count([&](const auto& snapshot) {
    EXPECT_TRUE(repo::is_ancestor(snapshot, object::Version(world.changes[1].id), object::Version(tip)).value());
  });
  return cost;
}

TEST(LogSource, WhatIsReadDoesNotGrowWithHistory) {
  // So many that as many are behind the index.
  const Cost small = cost_of(store::kHistoryStep + 40), large = cost_of(10 * store::kHistoryStep + 40);
  EXPECT_LE(large.newest, small.newest + 5) << small.newest;
  EXPECT_LE(large.path, small.path + 5) << small.path;
  EXPECT_LE(large.children, small.children + 5) << small.children;
  EXPECT_LE(large.ancestor, small.ancestor + 5) << small.ancestor;
}

}  // namespace
}  // namespace weft::cli
