#include "work/directory_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

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
