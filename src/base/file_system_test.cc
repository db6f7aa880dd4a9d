// The real file system, and the helpers that work on any.
#include "base/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <thread>

#include "base/host_dir.h"
#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"

namespace weft {
namespace {

void ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

/// What every FileSystem must do, real or simulated.
void check_contract(FileSystem& fs, const std::string& root) {
  const std::string directory = join_path(root, "d");
  const std::string path = join_path(directory, "file");
  ok(fs.make_directory(directory));
  EXPECT_EQ(fs.make_directory(directory).error().code, Code::exists);
  EXPECT_EQ(fs.open(path, OpenMode::read).error().code, Code::not_found);
  EXPECT_EQ(fs.open(path, OpenMode::write).error().code, Code::not_found);
  const auto file = fs.open(path, OpenMode::create_new).value();
  EXPECT_EQ(fs.open(path, OpenMode::create_new).error().code, Code::exists);

  std::vector<Bytes> pieces;
  for (int i = 0; i < 3000; ++i) pieces.push_back(i % 7 == 0 ? "" : std::to_string(i) + ",");
  const std::vector<ByteView> parts(pieces.begin(), pieces.end());
  Bytes all;
  for (const ByteView part : parts) all += part;
  ok(file->write_at(10, parts));
  ok(file->write_at(0, "0123456789"));
  ok(file->write_at(500'000, ByteView()));
  ok(file->sync());
  EXPECT_EQ(file->size().value(), all.size() + 10);
  Bytes back(all.size(), '\0');
  ok(file->read_at(10, back));
  EXPECT_EQ(back, all);
  EXPECT_EQ(file->read_some_at(all.size(), back).value(), 10u);
  const auto beyond = file->read_at(all.size(), back);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Code::damaged);

  const auto mapping = fs.open(path, OpenMode::read).value()->map(1 << 20).value();
  EXPECT_EQ(mapping->bytes().substr(0, 10), "0123456789");
  ok(file->write_at(4, "X"));
  EXPECT_EQ(mapping->bytes().substr(0, 10), "0123X56789");
  ok(file->set_size(8192));
  ok(file->set_size(9000));
  ok(file->write_at(8999, "Y"));
  EXPECT_EQ(mapping->bytes()[8999], 'Y');
  EXPECT_EQ(mapping->bytes()[8192], '\0');

  ok(fs.make_directory(join_path(directory, "sub")));
  EXPECT_TRUE(fs.open(join_path(directory, "a"), OpenMode::create));
  const auto entries = fs.list(directory).value();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[1].name, "file");
  EXPECT_EQ(entries[1].kind, FileKind::file);
  EXPECT_EQ(entries[2].kind, FileKind::directory);
  ok(fs.rename(join_path(directory, "a"), path));
  EXPECT_EQ(fs.status(path).value().size, 0u);
  EXPECT_EQ(fs.status(path).value().uid, ::geteuid());
  EXPECT_EQ(fs.status(join_path(directory, "a")).error().code, Code::not_found);
  EXPECT_FALSE(fs.remove_directory(directory));
  ok(fs.unlink(path));
  ok(fs.remove_directory(join_path(directory, "sub")));
  ok(fs.sync_directory(directory));
  ok(fs.remove_directory(directory));
  EXPECT_EQ(fs.list(directory).error().code, Code::not_found);
  EXPECT_GT(fs.free_bytes(root).value(), 0u);
}

TEST(FileSystem, TheRealOneKeepsTheContract) {
  const TempDir dir;
  check_contract(posix_file_system(), dir.path());
}

TEST(FileSystem, TheSimulatedOneKeepsTheContract) {
  SimFileSystem fs;
  check_contract(fs, "/");
}

TEST(PosixFileSystem, ADeadFileStaysDead) {  // P1
  // Every write to /dev/full fails with ENOSPC.
  const auto file = posix_file_system().open("/dev/full", OpenMode::write).value();
  const auto failed = file->write_at(0, "x");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::no_space);
  EXPECT_EQ(failed.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_EQ(file->sync().error().message,
            "cannot flush /dev/full: No space left on device (an earlier write or flush of it failed)");
}

std::set<int> open_descriptors() {
  std::set<int> numbers;
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) numbers.insert(fd);
  }
  return numbers;
}

TEST(PosixFileSystem, DescriptorsCloseOnExec) {
  const TempDir dir;
  const std::set<int> before = open_descriptors();
  const auto created = posix_file_system().open(dir / "a", OpenMode::create).value();
  const auto read = posix_file_system().open(dir / "a", OpenMode::read).value();
  const auto host = HostDir::open(dir.path()).value();
  const auto file = host.open_file("a").value();
  const auto fresh_file = host.create_file("new", 0600).value();
  unsigned fresh = 0;
  for (const int fd : open_descriptors()) {
    if (before.contains(fd)) continue;
    ++fresh;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << fd;
  }
  EXPECT_EQ(fresh, 5u);
}

TEST(ReadFile, LimitsTheSize) {
  SimFileSystem fs;
  ok(write_file_durably(fs, "a", "12345"));
  EXPECT_EQ(read_file(fs, "a", 5).value(), "12345");
  const auto too_large = read_file(fs, "a", 4);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, Code::invalid);
  EXPECT_EQ(too_large.error().message, "a is larger than the 4 bytes allowed here");
}

TEST(WriteFileDurably, IsOldOrNewAfterEveryCrash) {
  SimFileSystem fs;
  ok(fs.make_directory("d"));
  ok(write_file_durably(fs, "d/a", "old"));
  fs.settle();
  ok(write_file_durably(fs, "d/a", Bytes(3000, 'n')));
  bool old_seen = false, new_seen = false;
  fs.for_each_crash(0, 10, [&](SimFileSystem& disk, std::size_t, const std::string& text) {
    const Bytes content = disk.content("d/a");
    EXPECT_TRUE(content == "old" || content == Bytes(3000, 'n')) << text;
    (content == "old" ? old_seen : new_seen) = true;
  });
  EXPECT_TRUE(old_seen && new_seen);
  EXPECT_EQ(fs.after_crash(fs.operation_count(), {})->content("d/a"), Bytes(3000, 'n')) << "durable on return";
}

TEST(WriteFileDurably, EveryFaultLeavesTheOldAndNoTemporary) {
  unsigned faults = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    SimFileSystem fs(nth);
    ok(write_file_durably(fs, "a", "old"));
    fs.add_fault({.nth = nth});
    const auto result = write_file_durably(fs, "a", "new");
    if (fs.fault_hits() == 0) break;
    ++faults;
    EXPECT_FALSE(result) << nth;
    // The last call flushes the directory: then the new content is already in place, but not known to be durable.
    EXPECT_TRUE(fs.content("a") == "old" || (fs.content("a") == "new" && fs.counts()[SimCall::sync_directory] == 2))
        << nth;
    EXPECT_EQ(fs.list(".").value().size(), 1u) << nth;
  }
  EXPECT_EQ(faults, 5u);  // create, write, sync, rename, sync of the directory
}

TEST(WriteFileDurably, WritersDoNotDisturbEachOther) {
  const TempDir dir;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) ok(write_file_durably(posix_file_system(), dir / "a", std::to_string(t % 2)));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(posix_file_system().list(dir.path()).value().size(), 1u);
  EXPECT_EQ(read_file(posix_file_system(), dir / "a", 10).value().size(), 1u);
}

TEST(Paths, JoinAndSplit) {
  EXPECT_EQ(join_path("a/b", "c"), "a/b/c");
  EXPECT_EQ(join_path("a/", "c"), "a/c");
  EXPECT_EQ(join_path("", "c"), "c");
  EXPECT_EQ(join_path("/", "c"), "/c");
  EXPECT_EQ(parent_path("a/b"), "a");
  EXPECT_EQ(parent_path("a//b/"), "a");
  EXPECT_EQ(parent_path("a"), ".");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("/"), "/");
  EXPECT_EQ(base_name("a/b"), "b");
  EXPECT_EQ(base_name("a/b/"), "b");
  EXPECT_EQ(base_name("a"), "a");
  EXPECT_EQ(base_name("/"), "/");
}

}  // namespace
}  // namespace weft
