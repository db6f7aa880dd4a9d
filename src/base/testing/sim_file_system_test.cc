// The harness must be able to fail: most of these tests show that the simulated disk really loses what was not synced.
#include "base/testing/sim_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/testing/fake_env.h"

namespace weft {
namespace {

std::unique_ptr<File> open(FileSystem& fs, const std::string& path, OpenMode mode = OpenMode::create) {
  auto file = fs.open(path, mode);
  EXPECT_TRUE(file) << file.error().message;
  return file ? std::move(*file) : nullptr;
}

void ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

bool exists(FileSystem& fs, const std::string& path) { return fs.status(path).has_value(); }

/// A file with durable content and a durable name.
std::unique_ptr<File> durable_file(FileSystem& fs, const std::string& path, ByteView content) {
  auto file = open(fs, path);
  ok(file->write_at(0, content));
  ok(file->sync());
  ok(fs.sync_directory(parent_path("/" + path)));
  return file;
}

constexpr SimCrash kSyncedOnly = {SimCrash::Kind::synced_only};
constexpr SimCrash kPrefix = {SimCrash::Kind::prefix};
SimCrash torn(std::uint64_t seed) { return {SimCrash::Kind::torn, seed}; }

TEST(SimFileSystem, WritesAreReadBack) {
  SimFileSystem fs;
  ok(fs.make_directory("d"));
  const auto file = open(fs, "d/a", OpenMode::create_new);
  const ByteView parts[] = {"hello", "", " world"};
  ok(file->write_at(3, parts));
  EXPECT_EQ(file->size().value(), 14u);
  Bytes out(14, 'x');
  ok(file->read_at(0, out));
  EXPECT_EQ(out, Bytes("\0\0\0hello world", 14));
  EXPECT_EQ(file->read_some_at(12, out).value(), 2u);
  const auto beyond = file->read_at(10, out);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Code::damaged);
  EXPECT_EQ(fs.content("/d/../d/./a"), Bytes("\0\0\0hello world", 14));
}

TEST(SimFileSystem, RefusesAsTheRealOneDoes) {
  SimFileSystem fs;
  ok(fs.make_directory("d"));
  open(fs, "d/a");
  EXPECT_EQ(fs.open("d/b", OpenMode::read).error().sys_errno, ENOENT);
  EXPECT_EQ(fs.open("x/b", OpenMode::create).error().sys_errno, ENOENT);
  EXPECT_EQ(fs.open("d/a/b", OpenMode::create).error().sys_errno, ENOTDIR);
  EXPECT_EQ(fs.open("d/a", OpenMode::create_new).error().code, Code::exists);
  EXPECT_EQ(fs.open("d", OpenMode::write).error().sys_errno, EISDIR);
  EXPECT_EQ(fs.make_directory("d").error().code, Code::exists);
  EXPECT_EQ(fs.remove_directory("d").error().sys_errno, ENOTEMPTY);
  EXPECT_EQ(fs.unlink("d").error().sys_errno, EISDIR);
  EXPECT_EQ(fs.rename("d", "d/e").error().sys_errno, EINVAL);
  EXPECT_EQ(fs.rename("d/a", "d").error().sys_errno, EISDIR);
  EXPECT_EQ(open(fs, "d/a", OpenMode::read)->write_at(0, "x").error().sys_errno, EBADF);
  const std::size_t before = fs.operation_count();
  ok(fs.rename("d/a", "./d/a"));
  EXPECT_EQ(fs.operation_count(), before) << "a rename to itself changes nothing";
}

TEST(SimFileSystem, UnsyncedBytesAreLost) {  // D1
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", "old");
  ok(file->write_at(0, "newer"));
  const std::size_t cut = fs.operation_count();
  EXPECT_EQ(fs.after_crash(cut, kSyncedOnly)->content("a"), "old");
  EXPECT_EQ(fs.after_crash(cut, kPrefix)->content("a"), "newer");
  ok(file->sync());
  EXPECT_EQ(fs.after_crash(cut, kSyncedOnly)->content("a"), "old") << "the sync came after the cut";
  EXPECT_EQ(fs.after_crash(cut + 1, kSyncedOnly)->content("a"), "newer");
  EXPECT_EQ(fs.content("a"), "newer");
}

TEST(SimFileSystem, UnsyncedNamesAreLost) {  // D1, D2
  SimFileSystem fs;
  const auto file = open(fs, "a");
  ok(file->write_at(0, "x"));
  ok(file->sync());
  EXPECT_FALSE(exists(*fs.after_crash(fs.operation_count(), kSyncedOnly), "a"));
  ok(fs.sync_directory("."));
  EXPECT_EQ(fs.after_crash(fs.operation_count(), kSyncedOnly)->content("a"), "x");
}

TEST(SimFileSystem, ADirectoryNeedsItsParentSynced) {  // D2
  SimFileSystem fs;
  ok(fs.make_directory("d"));
  durable_file(fs, "d/a", "x");
  EXPECT_FALSE(exists(*fs.after_crash(fs.operation_count(), kSyncedOnly), "d"));
  ok(fs.sync_directory("/"));
  EXPECT_EQ(fs.after_crash(fs.operation_count(), kSyncedOnly)->content("d/a"), "x");
}

TEST(SimFileSystem, RenamesAndUnlinksAreLostWithoutSyncDirectory) {  // D2
  SimFileSystem fs;
  durable_file(fs, "a", "old");
  durable_file(fs, "b", "new");
  ok(fs.rename("b", "a"));
  auto disk = fs.after_crash(fs.operation_count(), kSyncedOnly);
  EXPECT_EQ(disk->content("a"), "old");
  EXPECT_EQ(disk->content("b"), "new");
  ok(fs.sync_directory("."));
  disk = fs.after_crash(fs.operation_count(), kSyncedOnly);
  EXPECT_EQ(disk->content("a"), "new");
  EXPECT_FALSE(exists(*disk, "b"));
  ok(fs.unlink("a"));
  EXPECT_TRUE(exists(*fs.after_crash(fs.operation_count(), kSyncedOnly), "a"));
  EXPECT_FALSE(exists(*fs.after_crash(fs.operation_count(), kPrefix), "a"));
}

TEST(SimFileSystem, ARenameBetweenDirectoriesIsNeverHalf) {  // D2
  SimFileSystem fs;
  ok(fs.make_directory("d"));
  ok(fs.make_directory("e"));
  ok(fs.sync_directory("."));
  durable_file(fs, "d/a", "x");
  ok(fs.rename("d/a", "e/b"));
  const std::size_t moved = fs.operation_count();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto disk = fs.after_crash(moved, torn(seed));
    EXPECT_NE(exists(*disk, "d/a"), exists(*disk, "e/b")) << "seed " << seed;
  }
  // Later entries of the same name must not be overtaken by the older rename.
  durable_file(fs, "d/a", "second");
  const auto disk = fs.after_crash(fs.operation_count(), kPrefix);
  EXPECT_EQ(disk->content("d/a"), "second");
  EXPECT_EQ(disk->content("e/b"), "x");
}

TEST(SimFileSystem, TornDisksReachTheBadCases) {  // D3
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", Bytes(4096, 'o'));
  ok(file->write_at(4096, Bytes(2048, '1')));
  ok(file->write_at(6144, Bytes(2048, '2')));
  open(fs, "b");
  const std::size_t cut = fs.operation_count();
  bool overtaken = false, torn_inside = false, zeros = false, garbage = false, name_lost = false, name_kept = false;
  bool whole = false, nothing = false;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto disk = fs.after_crash(cut, torn(seed));
    const Bytes content = disk->content("a");
    ASSERT_EQ(content.substr(0, 4096), Bytes(4096, 'o')) << "durable bytes changed, seed " << seed;
    ASSERT_LE(content.size(), 8192u);
    const Bytes first = content.size() > 4096 ? content.substr(4096, 2048) : "";
    const Bytes second = content.size() > 6144 ? content.substr(6144) : "";
    nothing |= first.empty();
    whole |= first == Bytes(2048, '1') && second == Bytes(2048, '2');
    overtaken |= first.find('1') == Bytes::npos && second == Bytes(2048, '2');
    zeros |= !second.empty() && second.find_first_not_of('\0') == Bytes::npos;
    const auto twos = std::count(second.begin(), second.end(), '2');
    torn_inside |= twos > 0 && twos < 2048;
    for (std::size_t at = 0; at + 512 <= second.size(); at += 512) {
      const std::set<char> values(second.begin() + at, second.begin() + at + 512);
      garbage |= values.size() > 10;
    }
    (exists(*disk, "b") ? name_kept : name_lost) = true;
  }
  EXPECT_TRUE(nothing);
  EXPECT_TRUE(whole);
  EXPECT_TRUE(overtaken);
  EXPECT_TRUE(torn_inside);
  EXPECT_TRUE(zeros);
  EXPECT_TRUE(garbage);
  EXPECT_TRUE(name_lost);
  EXPECT_TRUE(name_kept);
}

TEST(SimFileSystem, TheSameSeedGivesTheSameDisk) {
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", Bytes(1000, 'o'));
  ok(file->write_at(500, Bytes(5000, 'n')));
  const std::size_t cut = fs.operation_count();
  std::set<Bytes> different;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Bytes content = fs.after_crash(cut, torn(seed))->content("a");
    EXPECT_EQ(content, fs.after_crash(cut, torn(seed))->content("a")) << "seed " << seed;
    different.insert(content);
  }
  EXPECT_GT(different.size(), 10u);
}

/// A naive way to replace a file must be caught by the crash loop, the careful one must not.
unsigned wrong_disks(const std::function<void(FileSystem&)>& replace) {
  SimFileSystem fs;
  durable_file(fs, "a", Bytes(2000, 'o'));
  fs.settle();
  replace(fs);
  unsigned wrong = 0;
  fs.for_each_crash(0, 8, [&](SimFileSystem& disk, std::size_t, const std::string&) {
    const Bytes content = exists(disk, "a") ? disk.content("a") : "missing";
    wrong += content != Bytes(2000, 'o') && content != Bytes(2000, 'n') ? 1 : 0;
  });
  return wrong;
}

TEST(SimFileSystem, TheCrashLoopCatchesCarelessWriters) {
  const Bytes content(2000, 'n');
  EXPECT_GT(wrong_disks([&](FileSystem& fs) { ok(open(fs, "a")->write_at(0, content)); }), 0u) << "written in place";
  EXPECT_GT(wrong_disks([&](FileSystem& fs) {
              ok(open(fs, "b")->write_at(0, content));
              ok(fs.rename("b", "a"));
              ok(fs.sync_directory("."));
            }),
            0u)
      << "renamed before the content was durable";
  EXPECT_EQ(wrong_disks([&](FileSystem& fs) { ok(write_file_durably(fs, "a", content)); }), 0u);
}

TEST(SimFileSystem, ForEachCrashCutsEverywhereAndSaysWhere) {
  SimFileSystem fs;
  const auto file = open(fs, "a");
  ok(file->write_at(0, "x"));
  std::vector<std::string> texts;
  std::set<std::size_t> cuts;
  fs.for_each_crash(1, 1, [&](SimFileSystem&, std::size_t cut, const std::string& text) {
    cuts.insert(cut);
    texts.push_back(text);
  });
  EXPECT_EQ(cuts, (std::set<std::size_t>{1, 2}));
  ASSERT_EQ(texts.size(), 6u);
  EXPECT_EQ(texts[0], "cut after operation 1 of 2 (create a), synced only");
  EXPECT_EQ(texts[5], "cut after operation 2 of 2 (write a at 0, 1 bytes), torn, seed 2");
}

TEST(SimFileSystem, MappingsSeeLaterWrites) {
  SimFileSystem fs;
  const auto file = open(fs, "a");
  ok(file->write_at(0, "abc"));
  const auto mapping = file->map(1 << 20).value();
  ASSERT_EQ(mapping->bytes().size(), std::size_t{1} << 20);
  const char* const start = mapping->bytes().data();
  EXPECT_EQ(mapping->bytes().substr(0, 3), "abc");
  ok(open(fs, "a")->write_at(100'000, "later"));
  EXPECT_EQ(mapping->bytes().data(), start);
  EXPECT_EQ(mapping->bytes().substr(100'000, 5), "later");
  EXPECT_EQ(mapping->bytes()[50'000], '\0');
  ok(file->set_size(2));
  ok(file->set_size(3));
  EXPECT_EQ(mapping->bytes().substr(0, 3), ByteView("ab\0", 3));
  const auto second = open(fs, "a", OpenMode::read)->map(10).value();
  ok(file->write_at(0, "z"));
  EXPECT_EQ(second->bytes()[0], 'z');
  EXPECT_EQ(mapping->bytes()[0], 'z');
  EXPECT_EQ(file->map(0).value()->bytes().size(), 0u);
}

TEST(SimFileSystem, ADiskAfterACrashIsIndependent) {
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", "one");
  const auto disk = fs.after_crash(fs.operation_count(), kSyncedOnly);
  ok(file->write_at(0, "two"));
  ok(open(*disk, "a")->write_at(0, "six"));
  EXPECT_EQ(fs.content("a"), "two");
  EXPECT_EQ(disk->content("a"), "six");
  EXPECT_EQ(disk->after_crash(disk->operation_count(), kSyncedOnly)->content("a"), "one") << "a crash of the crashed";
}

TEST(SimFileSystem, FaultsHitTheNthCallOnceOrForGood) {
  SimFileSystem fs;
  fs.add_fault({.calls = sim_calls({SimCall::rename}), .nth = 2, .errnum = EACCES});
  open(fs, "a");
  ok(fs.rename("a", "b"));
  const auto failed = fs.rename("b", "c");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::permission);
  EXPECT_EQ(failed.error().message, "cannot rename b to c: Permission denied");
  ok(fs.rename("b", "c"));
  EXPECT_EQ(fs.fault_hits(), 1u);
  fs.add_fault({.calls = kWritingSimCalls, .for_good = true});
  EXPECT_FALSE(fs.rename("c", "d"));
  EXPECT_FALSE(fs.make_directory("d"));
  EXPECT_TRUE(fs.list(".")) << "reads still work";
  EXPECT_EQ(fs.fault_hits(), 3u);
  fs.clear_faults();
  ok(fs.rename("c", "d"));
}

TEST(SimFileSystem, AFileIsDeadAfterAFailedWriteOrSync) {
  SimFileSystem fs;
  const auto file = open(fs, "a");
  fs.add_fault({.calls = sim_calls({SimCall::sync})});
  ok(file->write_at(0, "x"));
  EXPECT_EQ(file->sync().error().code, Code::io);
  EXPECT_FALSE(file->sync());
  EXPECT_FALSE(file->write_at(0, "y"));
  EXPECT_FALSE(file->set_size(0));
  ok(open(fs, "a")->sync());
}

TEST(SimFileSystem, AFailedSyncKeepsOrDropsTheDirtyBytes) {  // D4
  bool kept = false, cached = false, evicted = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SimFileSystem fs(seed);
    {
      const auto file = durable_file(fs, "a", "old");
      ok(file->write_at(0, "new"));
      fs.add_fault({.calls = sim_calls({SimCall::sync})});
      EXPECT_FALSE(file->sync());
    }
    const bool read_new = fs.content("a") == "new";
    const auto again = open(fs, "a", OpenMode::write);
    ok(again->sync());  // reports success whatever happened to the bytes: the trap
    const bool durable = fs.after_crash(fs.operation_count(), kSyncedOnly)->content("a") == "new";
    kept |= read_new && durable;
    cached |= read_new && !durable;
    evicted |= !read_new && !durable;
    EXPECT_FALSE(!read_new && durable);
    ok(again->write_at(0, "new"));
    ok(again->sync());
    EXPECT_EQ(fs.after_crash(fs.operation_count(), kSyncedOnly)->content("a"), "new") << "written again it is safe";
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(cached);
  EXPECT_TRUE(evicted);
}

/// A size change is pending like a write, but cannot be torn: it is there or not.
TEST(SimFileSystem, AFailedSyncBehindASizeChangeLeavesTheOldSizeOrTheNew) {  // D4
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SimFileSystem fs(seed);
    const auto file = durable_file(fs, "a", Bytes(2000, 'x'));
    ok(file->set_size(700));
    fs.add_fault({.calls = sim_calls({SimCall::sync})});
    EXPECT_FALSE(file->sync());
    for (std::uint64_t crash = 0; crash < 16; ++crash) {
      const Bytes left = fs.after_crash(fs.operation_count(), torn(crash))->content("a");
      EXPECT_TRUE(left == Bytes(2000, 'x') || left == Bytes(700, 'x')) << left.size();
      sizes.insert(left.size());
    }
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{700, 2000}));
}

TEST(SimFileSystem, AFailedWriteMayGetThroughInPart) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SimFileSystem fs(seed);
    fs.add_fault({.calls = sim_calls({SimCall::write})});
    EXPECT_FALSE(open(fs, "a")->write_at(0, Bytes(2000, 'x')));
    sizes.insert(fs.content("a").size());
  }
  EXPECT_TRUE(sizes.contains(0) && sizes.contains(512) && sizes.contains(1999));
  EXPECT_FALSE(sizes.contains(2000));
}

TEST(SimFileSystem, TheDiskFillsUp) {
  SimFileSystem fs;
  fs.set_free_bytes(3 * 4096);
  ok(open(fs, "a")->write_at(0, Bytes(5000, 'x')));
  EXPECT_EQ(fs.free_bytes(".").value(), 4096u);
  ok(open(fs, "a")->write_at(5000, Bytes(100, 'x')));  // inside a block that is taken
  const auto full = open(fs, "b")->write_at(0, Bytes(9000, 'y'));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::no_space);
  EXPECT_EQ(fs.content("b").size(), 4096u) << "what fits is written";
  ok(open(fs, "c")->set_size(1 << 20));  // a hole takes nothing
  EXPECT_EQ(open(fs, "c")->write_at(0, "z").error().code, Code::no_space);
  ok(fs.unlink("a"));
  EXPECT_EQ(fs.free_bytes(".").value(), 2u * 4096);
  ok(open(fs, "c")->write_at(0, "z"));
}

TEST(SimFileSystem, CountsCalls) {
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", "12345");
  Bytes out(3, ' ');
  ok(file->read_at(0, out));
  const SimCounts counts = fs.counts();
  EXPECT_EQ(counts[SimCall::open], 1u);
  EXPECT_EQ(counts[SimCall::write], 1u);
  EXPECT_EQ(counts[SimCall::sync], 1u);
  EXPECT_EQ(counts[SimCall::sync_directory], 1u);
  EXPECT_EQ(counts.bytes_written, 5u);
  EXPECT_EQ(counts.bytes_read, 3u);
  fs.reset_counts();
  EXPECT_EQ(fs.counts()[SimCall::write], 0u);
}

TEST(SimFileSystem, SettleMakesEverythingDurable) {
  SimFileSystem fs;
  ok(fs.make_directory("d"));
  const auto file = open(fs, "d/a");
  ok(file->write_at(0, "x"));
  fs.settle();
  EXPECT_EQ(fs.operation_count(), 0u);
  EXPECT_EQ(fs.after_crash(0, kSyncedOnly)->content("d/a"), "x");
  ok(file->write_at(0, "y"));  // the handle lives on
  EXPECT_EQ(fs.after_crash(1, kSyncedOnly)->content("d/a"), "x");
  EXPECT_EQ(fs.after_crash(1, kPrefix)->content("d/a"), "y");
  fs.damage("d/a", 0, "z");
  EXPECT_EQ(fs.after_crash(0, kSyncedOnly)->content("d/a"), "z");
}

TEST(SimFileSystem, HistoryHashTellsRunsApart) {
  const auto run = [](ByteView content) {
    SimFileSystem fs;
    durable_file(fs, "a", content);
    return fs.history_hash();
  };
  EXPECT_EQ(run("x"), run("x"));
  EXPECT_NE(run("x"), run("y"));
}

TEST(SimFileSystem, TheHookRunsBeforeASyncTakesEffect) {
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", "old");
  ok(file->write_at(0, "new"));
  std::string seen;
  fs.set_before_sync([&](const std::string& path) {
    seen = path + ":" + fs.after_crash(fs.operation_count(), kSyncedOnly)->content("a");
  });
  ok(file->sync());
  EXPECT_EQ(seen, "a:old");
}

TEST(SimFileSystem, UnlinkedFilesLiveAsLongAsTheyAreOpen) {
  SimFileSystem fs;
  const auto file = durable_file(fs, "a", "x");
  ok(fs.unlink("a"));
  ok(file->write_at(1, "y"));
  Bytes out(2, ' ');
  ok(file->read_at(0, out));
  EXPECT_EQ(out, "xy");
  EXPECT_FALSE(exists(*fs.after_crash(fs.operation_count(), kPrefix), "a"));
}

}  // namespace
}  // namespace weft
