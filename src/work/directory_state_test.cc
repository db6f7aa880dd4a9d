#include "work/directory_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/hash.h"
#include "base/testing/temp_dir.h"

namespace weft::work {
namespace {

using object::EntryKind;

constexpr std::uint64_t kDevice = 7;
constexpr std::uint64_t kInode = 9;
constexpr std::int64_t kOld = 1'000'000'000'123;  // long before any test runs

class DirectoryStateTest : public testing::Test {
 protected:
  std::string state_path() const { return temp_ / "state"; }
  std::shared_ptr<const DirectoryState> load() {
    return std::make_shared<DirectoryState>(DirectoryState::load(env_.fs, state_path(), kDevice, kInode));
  }
  StateUpdate update() { return StateUpdate(load(), env_.clock.monotonic_ns(), env_.clock.now_ns()); }
  void write(StateUpdate& update, ObjectId head = {}) {
    const auto result = update.write(env_, {state_path(), kDevice, kInode, head});
    ASSERT_TRUE(result) << result.error().message;
  }
  static StateEntry file(std::string_view path, std::uint64_t number = 1, std::int64_t time = kOld) {
    return {.path = path,
            .kind = EntryKind::file,
            .node = NodeId::from_bytes(sha256(path).view().substr(0, 16)),
            .id = sha256(std::to_string(number)),
            .stamp = {.size = number, .mtime_ns = time, .ctime_ns = time, .inode = number, .mode = 0644}};
  }
  static StateEntry directory(std::string_view path) {
    StateEntry entry = file(path);
    entry.kind = EntryKind::directory;
    return entry;
  }
  static std::vector<std::string> paths(const DirectoryState& state) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < state.size(); ++i) out.emplace_back(state.path(i));
    return out;
  }

  TempDir temp_;
  Env env_ = system_env();
};

// DS4
TEST(PathOrder, IsThatOfAWalkWhateverTheLength) {
  const std::vector<std::string> ordered = {"a",  "a/b",   "a/b/c", "a/ba", "a\x01", "a b",
                                            "a.", "a.b/c", "aa",    "ab/c", "a\xff"};
  for (const std::string& front :
       {std::string(), std::string("d/"), std::string("seven77/"), std::string(200, 'x') + "/"}) {
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      for (std::size_t j = 0; j < ordered.size(); ++j) {
        EXPECT_EQ(path_less(front + ordered[i], front + ordered[j]), i < j) << front << ordered[i] << " " << ordered[j];
      }
    }
  }
}

TEST_F(DirectoryStateTest, KeepsEveryFieldInWalkOrder) {
  StateUpdate first = update();
  first.put(file("b/x", 3));
  first.put(file("b.c", 4));
  first.put(directory("b"));
  first.put(file("a", 5));
  const ObjectId head = sha256("head");
  write(first, head);
  const auto state = load();
  EXPECT_EQ(paths(*state), (std::vector<std::string>{"a", "b", "b/x", "b.c"}));
  EXPECT_EQ(state->head(), head);
  const std::size_t at = state->find("b/x");
  ASSERT_EQ(at, 2u);
  const StateEntry entry = state->entry(at);
  EXPECT_EQ(entry.id, sha256("3"));
  EXPECT_EQ(entry.node, file("b/x").node);
  EXPECT_EQ(entry.stamp, file("b/x", 3).stamp);
  EXPECT_FALSE(entry.racy);
  EXPECT_EQ(state->end(1), 3u);
  EXPECT_EQ(state->end(0), 1u);
  EXPECT_EQ(state->find("b/y"), DirectoryState::kNone);
  EXPECT_EQ(state->find(""), DirectoryState::kNone);
}

TEST_F(DirectoryStateTest, UpdatesReplaceDropAndKeep) {
  StateUpdate first = update();
  for (const char* path : {"d", "e"}) first.put(directory(path));
  for (const char* path : {"a", "d/1", "d/2", "e/1"}) first.put(file(path));
  write(first);
  StateUpdate second = update();
  second.drop(second.old().find("d"));
  second.put(file("d", 8));  // a file where the directory was
  second.put(file("a", 9));
  second.put(file("a", 10));
  second.put(file("q/orphan"));  // its directory is not known: left out
  write(second);
  const auto state = load();
  EXPECT_EQ(paths(*state), (std::vector<std::string>{"a", "d", "e", "e/1"}));
  EXPECT_EQ(state->entry(0).id, sha256("10"));
  EXPECT_EQ(state->entry(1).kind, EntryKind::file);
}

TEST_F(DirectoryStateTest, IsWrittenOnlyWhenItSaysSomethingNew) {
  StateUpdate first = update();
  first.put(file("a"));
  write(first);
  const auto before = env_.fs.status(state_path());
  ASSERT_TRUE(before);
  StateUpdate second = update();
  second.put(file("a"));
  write(second);
  EXPECT_EQ(env_.fs.status(state_path())->inode, before->inode);
  StateUpdate third = update();
  third.put(file("a", 2));
  write(third);
  EXPECT_NE(env_.fs.status(state_path())->inode, before->inode);
  EXPECT_EQ(env_.fs.list(temp_.path())->size(), 1u);  // no temporaries
}

TEST_F(DirectoryStateTest, MakesItsDirectory) {
  StateUpdate first = update();
  first.put(file("a"));
  ASSERT_TRUE(first.write(env_, {temp_ / "work/state", kDevice, kInode, {}}));
  EXPECT_EQ(DirectoryState::load(env_.fs, temp_ / "work/state", kDevice, kInode).size(), 1u);
}

// W5
TEST_F(DirectoryStateTest, FreshEntriesAreRacyUntilSeenAgainLater) {
  const std::int64_t now = env_.clock.now_ns();
  StateUpdate first = update();
  first.put(file("fresh", 1, now - kClockGrainNs / 2));
  first.put(file("settled", 2, now - 2 * kCoarseClockGrainNs - 1));
  StateEntry changed_only = file("ctime", 3, kOld);
  changed_only.stamp.ctime_ns = now;
  first.put(changed_only);
  first.put(file("future", 4, now + 3'600'000'000'000));
  first.put(file("coarse", 5, now / 1'000'000'000 * 1'000'000'000));
  write(first);
  auto state = load();
  EXPECT_TRUE(state->entry(state->find("fresh")).racy);
  EXPECT_FALSE(state->entry(state->find("settled")).racy);
  EXPECT_TRUE(state->entry(state->find("ctime")).racy);
  EXPECT_TRUE(state->entry(state->find("future")).racy);
  EXPECT_TRUE(state->entry(state->find("coarse")).racy);

  // Confirmed by somebody who looked (on every clock) a grain later.
  while (env_.clock.now_ns() < now + 2 * kClockGrainNs) {
  }
  StateUpdate second = update();
  second.confirm(second.old().find("fresh"));
  write(second);
  state = load();
  EXPECT_FALSE(state->entry(state->find("fresh")).racy);
  EXPECT_TRUE(state->entry(state->find("future")).racy);
}

TEST_F(DirectoryStateTest, DamagedOrForeignFilesCountAsNone) {
  StateUpdate first = update();
  first.put(directory("d"));
  first.put(file("d/a"));
  first.put(file("e"));
  write(first);
  const Bytes good = *read_file(env_.fs, state_path(), 1 << 20);
  const auto decode = [](const Bytes& bytes, std::uint64_t device = kDevice, std::uint64_t inode = kInode) {
    return DirectoryState::decode(std::make_shared<Bytes>(bytes), device, inode);
  };
  ASSERT_TRUE(decode(good));
  EXPECT_FALSE(decode(good, kDevice + 1));
  EXPECT_FALSE(decode(good, kDevice, kInode + 1));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(decode(good.substr(0, size))) << size;
  EXPECT_FALSE(decode(good + "x"));
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_FALSE(decode(flipped)) << at;
  }
  EXPECT_EQ(DirectoryState::load(env_.fs, temp_ / "missing", kDevice, kInode).size(), 0u);
  EXPECT_EQ(DirectoryState::load(env_.fs, temp_.path(), kDevice, kInode).size(), 0u);
}

TEST_F(DirectoryStateTest, LargeOnesAreMapped) {
  StateUpdate first = update();
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("f" + std::to_string(i));
  for (const auto& name : names) first.put(file(name, 1));
  write(first);
  const auto state = load();
  ASSERT_EQ(state->size(), 5000u);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(paths(*state), names);
}

class DeltaTest : public DirectoryStateTest {
 protected:
  static constexpr int kDirectories = 20;
  static constexpr int kFilesEach = 100;

  DeltaTest() {
    StateUpdate first = update();
    for (int d = 0; d < kDirectories; ++d) {
      first.put(directory(name(d)));
      for (int f = 0; f < kFilesEach; ++f) first.put(file(name(d, f)));
    }
    write(first);
    base_ = bytes(state_path());
    EXPECT_GT(base_.size(), kDeltaFromBytes);
  }
  static std::string name(int d) { return "d" + std::to_string(100 + d); }
  static std::string name(int d, int f) { return name(d) + "/f" + std::to_string(1000 + f); }
  Bytes bytes(const std::string& path) { return *read_file(env_.fs, path, 1u << 30); }
  bool has_delta() { return env_.fs.status(delta_path(state_path())).has_value(); }

  Bytes base_;
};

// DS6
TEST_F(DeltaTest, SmallChangesLeaveTheBaseAlone) {
  StateUpdate second = update();
  second.put(file(name(3, 7), 77));         // another content
  second.drop(second.old().find(name(4)));  // a directory goes
  second.put(directory("d1035"));           // one comes
  second.put(file("d1035/new", 5));
  second.put(file(name(19) + "/zzz", 6));  // at the very end
  second.put(file("a", 8));                // at the very beginning
  second.put(file(name(0) + "/a", 9));     // first in a directory
  write(second, sha256("head"));
  EXPECT_EQ(bytes(state_path()), base_);
  ASSERT_TRUE(has_delta());
  EXPECT_LT(bytes(delta_path(state_path())).size(), 32u << 10);

  const auto state = load();
  EXPECT_EQ(state->head(), sha256("head"));
  EXPECT_EQ(state->size(), std::size_t{kDirectories * (kFilesEach + 1) - (kFilesEach + 1) + 5});
  EXPECT_EQ(state->entry(state->find(name(3, 7))).stamp.size, 77u);
  EXPECT_EQ(state->find(name(4)), DirectoryState::kNone);
  EXPECT_EQ(state->find(name(4, 9)), DirectoryState::kNone);
  EXPECT_EQ(state->find("a"), 0u);
  const std::size_t added = state->find("d1035");
  ASSERT_NE(added, DirectoryState::kNone);
  EXPECT_EQ(state->end(added), added + 2);
  EXPECT_EQ(state->path(added + 1), "d1035/new");
  EXPECT_EQ(state->end(state->find(name(19))), state->size());
  for (std::size_t i = 0; i < state->size(); ++i) {
    if (i > 0) {
      ASSERT_TRUE(path_less(state->path(i - 1), state->path(i)));
    }
    // DS4
    std::size_t end = i + 1;
    while (end < state->size() && state->path(end).starts_with(std::string(state->path(i)) + "/")) ++end;
    ASSERT_EQ(state->end(i), end) << state->path(i);
  }

  // And changes of changes.
  StateUpdate third = update();
  third.drop(third.old().find("d1035"));
  third.put(directory(name(4)));
  third.put(file(name(4, 9), 99));
  third.put(file("a", 10));
  write(third);
  EXPECT_EQ(bytes(state_path()), base_);
  const auto again = load();
  EXPECT_EQ(again->find("d1035/new"), DirectoryState::kNone);
  EXPECT_EQ(again->entry(again->find(name(4, 9))).stamp.size, 99u);
  EXPECT_EQ(again->end(again->find(name(4))), again->find(name(4)) + 2);
  EXPECT_EQ(again->entry(0).stamp.size, 10u);
  EXPECT_EQ(again->entry(again->find(name(3, 7))).stamp.size, 77u);
}

// DS6
TEST_F(DeltaTest, MuchChangedMakesANewBase) {
  for (int round = 0; round < 6; ++round) {
    StateUpdate next = update();
    for (int f = 0; f < kFilesEach; ++f) next.put(file(name(round, f), 2));
    write(next);
  }
  EXPECT_NE(bytes(state_path()), base_);
  const auto state = load();
  for (int d = 0; d < kDirectories; ++d) EXPECT_EQ(state->entry(state->find(name(d, 5))).stamp.size, d < 6 ? 2u : 1u);
  EXPECT_LE(env_.fs.list(temp_.path())->size(), 2u);  // no temporaries
}

// DS3, DS6: beside another base, torn or flipped, it counts for nothing, and the base stands.
TEST_F(DeltaTest, ADeltaThatIsNotOfThisBaseIsIgnored) {
  StateUpdate second = update();
  second.put(file(name(3, 7), 77));
  second.put(file("new", 5));
  second.drop(second.old().find(name(5, 5)));
  write(second);
  const Bytes delta = bytes(delta_path(state_path()));
  const auto decode = [&](const Bytes& base, const Bytes& with) {
    return DirectoryState::decode(std::make_shared<Bytes>(base), kDevice, kInode, std::make_shared<Bytes>(with));
  };
  const auto is_base = [&](const std::optional<DirectoryState>& state) {
    return state && state->delta_entries() == 0 && state->size() == std::size_t{kDirectories * (kFilesEach + 1)} &&
           state->entry(state->find(name(3, 7))).stamp.size == 1;
  };
  ASSERT_EQ(decode(base_, delta)->delta_entries(), 3u);
  for (std::size_t size = 0; size < delta.size(); ++size) EXPECT_TRUE(is_base(decode(base_, delta.substr(0, size))));
  EXPECT_TRUE(is_base(decode(base_, delta + "x")));
  for (std::size_t at = 0; at < delta.size(); ++at) {
    Bytes flipped = delta;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_TRUE(is_base(decode(base_, flipped))) << at;
  }
  // Somebody else wrote a new base meanwhile.
  std::filesystem::remove(state_path());
  StateUpdate other = update();
  for (int d = 0; d < kDirectories; ++d) {
    other.put(directory(name(d)));
    for (int f = 0; f < kFilesEach; ++f) other.put(file(name(d, f), 3));
  }
  write(other);
  ASSERT_TRUE(has_delta());
  EXPECT_EQ(load()->entry(load()->find(name(3, 7))).stamp.size, 3u);
  EXPECT_EQ(load()->find("new"), DirectoryState::kNone);
}

// DS6
TEST_F(DeltaTest, RandomChangesMatchAMap) {
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  std::map<std::string, std::uint64_t> model;
  for (int d = 0; d < kDirectories; ++d) {
    for (int f = 0; f < kFilesEach; ++f) model[name(d, f)] = 1;
  }
  int with_delta = 0;
  int new_bases = 0;
  for (int round = 0; round < 200; ++round) {
    StateUpdate next = update();
    std::set<std::string> touched;
    for (int edit = 0; edit < 12; ++edit) {
      const int d = static_cast<int>(random() % kDirectories);
      const std::string path = name(d, static_cast<int>(random() % (kFilesEach * 2)));
      if (!touched.insert(path).second) continue;
      const std::size_t known = next.old().find(path);
      if (random() % 3 == 0) {
        if (known == DirectoryState::kNone) continue;
        next.drop(known);
        model.erase(path);
      } else {
        model[path] = 2u + static_cast<unsigned>(round);
        next.put(file(path, model[path]));
      }
    }
    const Bytes before = bytes(state_path());
    write(next);
    if (bytes(state_path()) != before) ++new_bases;
    const auto state = load();
    if (state->delta_entries() > 0) ++with_delta;
    std::map<std::string, std::uint64_t> found;
    std::size_t directories = 0;
    for (std::size_t i = 0; i < state->size(); ++i) {
      const StateEntry entry = state->entry(i);
      if (entry.kind == EntryKind::directory) {
        ++directories;
        const std::size_t end = state->end(i);
        ASSERT_TRUE(end == state->size() || state->entry(end).kind == EntryKind::directory);
      } else {
        found[std::string(entry.path)] = entry.stamp.size;
      }
      ASSERT_EQ(state->find(entry.path), i);
    }
    ASSERT_EQ(directories, std::size_t{kDirectories});
    ASSERT_EQ(found, model) << "seed " << kSeed << " round " << round;
  }
  EXPECT_GT(with_delta, 100);
  EXPECT_GT(new_bases, 1);
}

class TreeFactsTest : public DirectoryStateTest {
 protected:
  static object::TreeEntry tree_entry(const StateEntry& entry) {
    return {.name = std::string(name_of(entry.path)),
            .kind = entry.kind,
            .mode = entry.kind == EntryKind::directory ? 0755u : 0644u,
            .node = entry.node,
            .id = entry.kind == EntryKind::directory ? sha256("tree of " + std::string(entry.path)) : entry.id,
            .size = entry.kind == EntryKind::directory ? 0 : entry.stamp.size};
  }
  static std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
  static StateNotes::Claim claim(std::string path, const ObjectId& tree, object::Entries entries) {
    StateNotes::Claim made;
    made.path = std::move(path);
    made.tree = tree;
    made.entries = std::move(entries);
    return made;
  }
  static StateEntry plain_directory(std::string_view path) {
    StateEntry entry = directory(path);
    entry.id = {};
    return entry;
  }
  const ObjectId root_ = sha256("root");
  const ObjectId d_tree_ = sha256("tree of d");

  /// d, d/a, d/b and e, all as in the trees.
  void write_settled() {
    StateUpdate first = update();
    for (const char* path : {"d/a", "d/b", "e"}) first.put(file(path));
    first.put(plain_directory("d"));
    first.claim(claim("", root_, {tree_entry(directory("d")), tree_entry(file("e"))}));
    first.claim(claim("d", d_tree_, {tree_entry(file("d/a")), tree_entry(file("d/b"))}));
    write(first, root_);
    const auto state = load();
    ASSERT_TRUE(state->root_exact());
    ASSERT_TRUE(exact("d"));
    ASSERT_EQ(state->entry(state->find("d")).id, d_tree_);
    ASSERT_EQ(tree_entry_of(state->entry(state->find("d/a"))).id, file("d/a").id);
    ASSERT_EQ(tree_entry_of(state->entry(state->find("d/a"))).mode, 0644u);
  }
  bool exact(const char* path) {
    const auto state = load();
    return state->entry(state->find(path)).exact;
  }
};

// DS5
TEST_F(TreeFactsTest, WhateverChangesAnEntryTakesExactFromItsDirectory) {
  using Edit = std::function<void(StateUpdate&)>;
  const std::vector<Edit> edits = {
      [](StateUpdate& u) { u.put(file("d/a", 2)); },                  // another content
      [](StateUpdate& u) { u.drop(u.old().find("d/a")); },            // gone
      [](StateUpdate& u) { u.set_node("d/a", file("other").node); },  // another node
      [](StateUpdate& u) {
        StateEntry executable = file("d/a");
        executable.stamp.mode = 0755;
        u.put(executable);
      },
      [](StateUpdate& u) {
        u.drop(u.old().find("d"));  // made anew, and looked into in part
        u.put(plain_directory("d"));
        u.put(file("d/a"));
      },
      [](StateUpdate& u) {
        StateEntry link = file("d/a");
        link.kind = EntryKind::symlink;
        u.put(link);
      },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    write_settled();
    StateUpdate next = update();
    edits[i](next);
    write(next, root_);
    EXPECT_FALSE(exact("d")) << i;
    EXPECT_TRUE(load()->root_exact()) << i;
  }
  // What says the same, or is no tree's business, changes nothing.
  write_settled();
  StateUpdate next = update();
  StateEntry touched = file("d/a");
  touched.stamp.mtime_ns += 5;
  next.put(touched);
  next.put(file("d/untracked"));
  StateEntry moved = plain_directory("d");
  moved.stamp.inode = 12345;
  next.put(moved);
  write(next, root_);
  EXPECT_TRUE(exact("d"));
  EXPECT_TRUE(load()->root_exact());
  EXPECT_FALSE(load()->entry(load()->find("d/untracked")).in_tree);
}

// DS5
TEST_F(TreeFactsTest, AnotherHeadIsNotWhatTheTopIsExactFor) {
  write_settled();
  StateUpdate next = update();
  write(next, sha256("another root"));
  EXPECT_FALSE(load()->root_exact());
  EXPECT_TRUE(exact("d"));  // of its own tree still
}

// DS5
TEST_F(TreeFactsTest, WhatDiffersFromTheTreeMakesNothingExact) {
  write_settled();
  StateUpdate next = update();
  object::TreeEntry other = tree_entry(file("d/b"));
  other.id = sha256("not on disk");
  next.claim(claim("d", sha256("another tree of d"), {tree_entry(file("d/a")), other}));
  write(next, root_);
  EXPECT_FALSE(exact("d"));
  EXPECT_FALSE(load()->root_exact());  // its entry of d is another tree's now
  EXPECT_TRUE(load()->entry(load()->find("d/a")).in_tree);
  EXPECT_FALSE(load()->entry(load()->find("d/b")).in_tree);
  // A missing entry, and one too many.
  write_settled();
  StateUpdate missing = update();
  missing.claim(claim("d", d_tree_, {tree_entry(file("d/a")), tree_entry(file("d/b")), tree_entry(file("d/c"))}));
  write(missing, root_);
  EXPECT_FALSE(exact("d"));
  write_settled();
  StateUpdate fewer = update();
  fewer.claim(claim("d", sha256("only a"), {tree_entry(file("d/a"))}));
  write(fewer, root_);
  EXPECT_TRUE(exact("d"));
  EXPECT_FALSE(load()->entry(load()->find("d/b")).in_tree);
}

// DS5
TEST_F(TreeFactsTest, AClaimOfDifferencesNeedsWhatItIsBasedOn) {
  const ObjectId next_root = sha256("next root");
  const ObjectId next_d = sha256("next tree of d");
  const auto edited = [&](const ObjectId& base_of_d, std::vector<const char*> named) {
    StateUpdate next = update();
    next.put(file("d/a", 2));
    next.drop(next.old().find("d/b"));
    StateNotes::Claim d = claim("d", next_d, {});
    d.base = base_of_d;
    d.round = 1;
    for (const char* path : named) {
      if (std::string_view(path) == "d/a") d.entries.push_back(tree_entry(file("d/a", 2)));
      if (std::string_view(path) == "d/b") d.gone.emplace_back("b");
    }
    object::TreeEntry d_entry = tree_entry(directory("d"));
    d_entry.id = next_d;
    StateNotes::Claim top = claim("", next_root, {d_entry});
    top.base = root_;
    top.round = 1;
    next.claim(std::move(top));
    next.claim(std::move(d));
    write(next, next_root);
  };
  write_settled();
  edited(d_tree_, {"d/a", "d/b"});
  EXPECT_TRUE(exact("d"));
  EXPECT_TRUE(load()->root_exact());
  EXPECT_EQ(load()->entry(load()->find("d")).id, next_d);
  // Of another tree than the one it was exact for.
  write_settled();
  edited(sha256("unknown"), {"d/a", "d/b"});
  EXPECT_FALSE(exact("d"));
  // Something changed that the claim does not speak of.
  write_settled();
  edited(d_tree_, {"d/a"});
  EXPECT_FALSE(exact("d"));
}

TEST_F(DirectoryStateTest, RandomUpdatesMatchAMap) {
  constexpr unsigned kSeed = 42;
  std::mt19937 random(kSeed);
  std::map<std::string, std::uint64_t> model;  // files in directories d0..d3 and the top
  StateUpdate first = update();
  for (int i = 0; i < 4; ++i) first.put(directory("d" + std::to_string(i)));
  write(first);
  for (int round = 0; round < 60; ++round) {
    StateUpdate next = update();
    for (int edit = 0; edit < 8; ++edit) {
      const auto where = random() % 5;
      const std::string path =
          (where == 4 ? "" : "d" + std::to_string(where) + "/") + "f" + std::to_string(random() % 12);
      const std::size_t known = next.old().find(path);
      if (random() % 3 == 0) {
        // Dropping what was put in the same update is no use that occurs.
        if (known == DirectoryState::kNone || model[path] > 1'000'000u + static_cast<unsigned>(round) * 100) continue;
        next.drop(known);
        model.erase(path);
      } else {
        const std::uint64_t number = 1'000'001u + static_cast<unsigned>(round) * 100 + random() % 99;
        next.put(file(path, number));
        model[path] = number;
      }
    }
    write(next);
    const auto state = load();
    std::map<std::string, std::uint64_t> found;
    for (std::size_t i = 0; i < state->size(); ++i) {
      if (i > 0) {
        EXPECT_TRUE(path_less(state->path(i - 1), state->path(i)));
      }
      const StateEntry entry = state->entry(i);
      if (entry.kind == EntryKind::file) found[std::string(entry.path)] = entry.stamp.size;
      EXPECT_EQ(state->find(entry.path), i);
    }
    ASSERT_EQ(found, model) << "seed " << kSeed << " round " << round;
  }
}

}  // namespace
}  // namespace weft::work
