#include "base/host_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <thread>

#include "base/testing/temp_dir.h"

namespace weft {
namespace {

void ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

class HostDirTest : public ::testing::Test {
 protected:
  HostDirTest() : dir_(HostDir::open(temp_.path()).value()) {}

  void write(const std::string& name, ByteView content) {
    const Fd fd(::open((temp_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    ok(write_all(fd, content, name));
  }
  std::string read(const HostDir& dir, std::string_view name) {
    const auto fd = dir.open_file(name);
    if (!fd) return "error: " + fd.error().message;
    std::string content(1000, '\0');
    content.resize(read_some(*fd, content, name).value());
    return content;
  }

  TempDir temp_;
  HostDir dir_;
};

TEST_F(HostDirTest, RefusesNamesThatAreNotOneComponent) {  // H1
  write("a", "x");
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("/"), std::string("../a"), std::string("a\0b", 3)}) {
    const auto refused = [&](const auto& result) {
      ASSERT_FALSE(result) << quoted(name);
      EXPECT_EQ(result.error().code, Code::invalid) << result.error().message;
    };
    refused(dir_.open_dir(name));
    refused(dir_.open_file(name));
    refused(dir_.status(name));
    refused(dir_.read_link(name));
    refused(dir_.make_dir(name));
    refused(dir_.make_symlink(name, "t"));
    refused(dir_.remove_file(name));
    refused(dir_.remove_dir(name));
    refused(dir_.rename(name, dir_, "b"));
    refused(dir_.rename("a", dir_, name));
    refused(dir_.rename_new(name, dir_, "b"));
    refused(dir_.rename_new("a", dir_, name));
    refused(dir_.set_mode(name, 0600));
  }
  EXPECT_EQ(read(dir_, "a"), "x");
}

TEST_F(HostDirTest, NeverFollowsLinks) {  // H1
  TempDir outside;
  const auto outside_dir = HostDir::open(outside.path()).value();
  ok(outside_dir.make_dir("inner"));
  ok(write_all(Fd(::open((outside / "file").c_str(), O_WRONLY | O_CREAT, 0640)), "secret", "file"));
  ok(dir_.make_symlink("to_dir", outside.path()));
  ok(dir_.make_symlink("to_file", outside / "file"));
  ok(dir_.make_symlink("dangling", "nowhere"));

  EXPECT_FALSE(dir_.open_dir("to_dir"));
  EXPECT_EQ(dir_.open_file("to_file").error().code, Code::invalid);
  EXPECT_EQ(dir_.open_file("to_file").error().message, temp_ / "to_file is not a regular file");
  EXPECT_EQ(dir_.status("to_file").value().kind, FileKind::symlink);
  EXPECT_EQ(dir_.status("dangling").value().kind, FileKind::symlink);
  EXPECT_EQ(dir_.set_mode("to_file", 0777).error().code, Code::invalid);
  EXPECT_EQ(outside_dir.status("file").value().mode, 0640u);
  EXPECT_EQ(dir_.read_link("to_file").value(), outside / "file");
  EXPECT_FALSE(dir_.remove_dir("to_dir"));
  ok(dir_.remove_file("to_dir"));
  ok(dir_.remove_file("to_file"));
  EXPECT_EQ(outside_dir.list().value().size(), 2u);
}

TEST_F(HostDirTest, ItsOwnPathMayBeALink) {
  ok(dir_.make_dir("real"));
  ok(dir_.make_symlink("link", "real"));
  EXPECT_TRUE(HostDir::open(temp_ / "link"));
}

TEST_F(HostDirTest, SpecialFilesAreRefusedAndDoNotBlock) {  // CASES C14
  ASSERT_EQ(::mkfifo((temp_ / "fifo").c_str(), 0600), 0);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = temp_ / "socket";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ok(dir_.make_dir("directory"));
  for (const char* name : {"fifo", "socket", "directory"}) {
    const auto opened = dir_.open_file(name);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, Code::invalid) << opened.error().message;
    EXPECT_EQ(opened.error().message, temp_ / name + " is not a regular file");
  }
  EXPECT_EQ(HostDir::open("/dev").value().open_file("null").error().code, Code::invalid);
  EXPECT_EQ(dir_.status("fifo").value().kind, FileKind::other);
  EXPECT_EQ(dir_.open_file("missing").error().code, Code::not_found);
  EXPECT_EQ(dir_.set_mode("fifo", 0644).error().code, Code::invalid);
}

TEST_F(HostDirTest, ListsEverythingOnceAlsoFromManyThreads) {
  std::set<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    // Long names: more than one kernel buffer.
    const std::string name = "file-with-a-longer-name-" + std::to_string(i);
    expected.insert(name);
    write(name, "");
  }
  ok(dir_.make_dir("d"));
  ok(dir_.make_symlink("l", "d"));
  expected.insert({"d", "l"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        const auto entries = dir_.list().value();
        std::set<std::string> names;
        for (const auto& entry : entries) {
          EXPECT_TRUE(names.insert(entry.name).second);
          const FileKind kind = entry.name == "d"   ? FileKind::directory
                                : entry.name == "l" ? FileKind::symlink
                                                    : FileKind::file;
          EXPECT_EQ(entry.kind, kind) << entry.name;
        }
        EXPECT_EQ(names, expected);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(HostDirTest, RenameNewRefusesToReplace) {
  write("a", "a");
  write("b", "b");
  const auto refused = dir_.rename_new("a", dir_, "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::exists);
  EXPECT_EQ(read(dir_, "b"), "b");
  ok(dir_.rename_new("a", dir_, "c"));
  EXPECT_EQ(read(dir_, "c"), "a");
  ok(dir_.rename("c", dir_, "b"));
  EXPECT_EQ(read(dir_, "b"), "a");
  ok(dir_.make_dir("d"));
  const auto sub = dir_.open_dir("d").value();
  ok(dir_.rename("b", sub, "moved"));
  EXPECT_EQ(read(sub, "moved"), "a");
  const auto missing = dir_.rename("b", sub, "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "cannot rename " + temp_ / "b to " + temp_ / "d/x: No such file or directory");
}

TEST_F(HostDirTest, NewFilesRenamedOverLeaveHardLinksAlone) {  // H2, CASES C29
  write("a", "old");
  ASSERT_EQ(::link((temp_ / "a").c_str(), (temp_ / "elsewhere").c_str()), 0);
  const mode_t umask_before = ::umask(022);
  const Fd fresh = dir_.create_file("fresh", 0777).value();
  ::umask(umask_before);
  EXPECT_EQ(dir_.status("fresh").value().mode, 0755u);
  EXPECT_EQ(dir_.create_file("fresh", 0777).error().code, Code::exists);
  ok(write_all(fresh, "new", "fresh"));
  ok(dir_.rename("fresh", dir_, "a"));
  EXPECT_EQ(read(dir_, "a"), "new");
  EXPECT_EQ(read(dir_, "elsewhere"), "old");
}

TEST_F(HostDirTest, ExchangeSwapsTwoNamesAtOnce) {
  write("a", "1");
  ok(dir_.make_symlink("b", "2"));
  ok(dir_.exchange("a", "b"));
  EXPECT_EQ(read(dir_, "b"), "1");
  EXPECT_EQ(dir_.read_link("a").value(), "2");
  EXPECT_EQ(dir_.exchange("a", "missing").error().code, Code::not_found);
}

TEST_F(HostDirTest, TheLockIsOneHostDirsAtATime) {
  HostDir other = HostDir::open(temp_.path()).value();
  EXPECT_FALSE(other.is_locked_by_another());
  {
    const HostDir first = HostDir::open(temp_.path()).value();
    EXPECT_TRUE(first.try_lock().value());
    EXPECT_TRUE(first.try_lock().value());  // it has it
    EXPECT_TRUE(other.is_locked_by_another());
    EXPECT_FALSE(other.try_lock().value());
  }
  EXPECT_FALSE(other.is_locked_by_another());
  EXPECT_TRUE(other.try_lock().value());
}

TEST_F(HostDirTest, NamesCanBeLimitedAndFoldedForTests) {  // CASES C23, C26
  ok(dir_.make_dir("short"));
  dir_.set_names({.fold_case = true});
  ok(dir_.make_dir("Case"));
  EXPECT_EQ(dir_.make_dir("cAsE").error().code, Code::exists);
  EXPECT_EQ(dir_.status("CASE").value().kind, FileKind::directory);
  EXPECT_EQ(dir_.open_dir("case").value().create_file("A", 0600).has_value(), true);
  dir_.set_names({.max_bytes = 10});
  const HostDir below = dir_.open_dir("short").value();
  EXPECT_TRUE(below.create_file("0123456789", 0600));
  EXPECT_EQ(below.create_file("0123456789x", 0600).error().sys_errno, ENAMETOOLONG);
  EXPECT_EQ(below.status("0123456789x").error().sys_errno, ENAMETOOLONG);
}

TEST_F(HostDirTest, StatusTellsWhatDirectoryStateNeeds) {
  write("a", "12345");
  ok(dir_.set_mode("a", 0751));
  const FileStatus by_name = dir_.status("a").value();
  EXPECT_EQ(by_name.kind, FileKind::file);
  EXPECT_EQ(by_name.size, 5u);
  EXPECT_EQ(by_name.mode, 0751u);
  EXPECT_EQ(by_name.uid, ::geteuid());
  EXPECT_EQ(by_name.links, 1u);
  struct stat status{};
  ASSERT_EQ(::stat((temp_ / "a").c_str(), &status), 0);
  EXPECT_EQ(by_name.inode, status.st_ino);
  EXPECT_EQ(by_name.device, status.st_dev);
  EXPECT_EQ(by_name.mtime_ns, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
  EXPECT_EQ(file_status(dir_.open_file("a").value(), "a").value().inode, by_name.inode);
  EXPECT_EQ(dir_.self_status().value().kind, FileKind::directory);
  ok(dir_.make_dir("d"));
  ok(dir_.set_mode("d", 0700));
  EXPECT_EQ(dir_.status("d").value().mode, 0700u);
}

TEST_F(HostDirTest, OddNamesAndLongLinkTargetsWork) {
  const std::string odd = "odd \n\"\xff name";
  write(odd, "x");
  EXPECT_EQ(read(dir_, odd), "x");
  EXPECT_EQ(dir_.list().value().at(0).name, odd);
  const std::string target(4000, 't');
  ok(dir_.make_symlink("long", target));
  EXPECT_EQ(dir_.read_link("long").value(), target);
  EXPECT_EQ(dir_.make_symlink("nul", ByteView("a\0b", 3)).error().code, Code::invalid);
  EXPECT_EQ(dir_.status(std::string(300, 'n')).error().sys_errno, ENAMETOOLONG);
}

TEST(Fd, ClosesOnceAndMoves) {
  int number = -1;
  {
    Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    Fd second = std::move(first);
    EXPECT_EQ(second.get(), number);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_GE(::fcntl(number, F_GETFD), 0);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(ReadAndWrite, ReportErrorsWithThePath) {
  char buffer[4];
  const auto failed = read_some(Fd(::open("/", O_RDONLY | O_CLOEXEC)), buffer, "/");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "cannot read /: Is a directory");
  EXPECT_EQ(write_all(Fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "x", "/dev/full").error().code, Code::no_space);
}

}  // namespace
}  // namespace weft
