#include "base/machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/bus_error.h"
#include "base/file_system.h"
#include "base/testing/temp_dir.h"

namespace weft {
namespace {

TEST(Machine, NamesOfProcessesMayHoldAnything) {
  const auto plain = parse_process_stat("1234 (weft) S 1 1234 0\n");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->id, 1234u);
  EXPECT_EQ(plain->name, "weft");
  EXPECT_FALSE(plain->stopped());
  const auto odd = parse_process_stat("7 (a) S (b ) T 1");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->name, "a) S (b ");
  EXPECT_TRUE(odd->stopped());
  for (const char* const bad : {"", "1", "1 (a", "1 a)", "(a) S", "x (a) S 1", "1 (a)", "1 )a( S"}) {
    EXPECT_FALSE(parse_process_stat(bad)) << bad;
  }
}

TEST(Machine, StoppedProcessesAreSeen) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  const auto look = look_at_process(static_cast<std::uint32_t>(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(look);
  EXPECT_TRUE(look->stopped()) << look->state;
  EXPECT_FALSE(look_at_process(static_cast<std::uint32_t>(child))) << "it is gone";
}

TEST(Machine, WhoHasAFileOpen) {
  const TempDir dir;
  const auto file = posix_file_system().open(dir / "f", OpenMode::create_new);
  ASSERT_TRUE(file);
  const auto status = posix_file_system().status(dir / "f");
  ASSERT_TRUE(status);
  const auto openers = processes_with(status->device, status->inode);
  ASSERT_EQ(openers.size(), 1u);
  EXPECT_EQ(openers[0].id, static_cast<std::uint32_t>(::getpid()));
}

TEST(Machine, LimitsAndRights) {
  const auto limits = machine_limits();
  EXPECT_TRUE(!limits.open_files || *limits.open_files > 3);
  const TempDir dir;
  EXPECT_TRUE(may_read(dir.path()) && may_write(dir.path()));
  EXPECT_FALSE(may_read(dir / "nothing"));
}

TEST(BusError, FindsTheFileByItsAddress) {
  constexpr std::string_view kMaps =
      "00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/dbus daemon\n"
      "7f0c4b000000-7f0c4f000000 r--s 00000000 fe:00 1234567                    /s/.weft/log/0000000001.seg (deleted)\n"
      "7ffd1000-7ffd2000 rw-p 00000000 00:00 0                                  [stack]\n"
      "7fff1000-7fff2000 rw-p 00000000 00:00 0 \n"
      "garbage";
  EXPECT_EQ(mapped_path(kMaps, 0x400000), "/usr/bin/dbus daemon");
  EXPECT_EQ(mapped_path(kMaps, 0x452000), "") << "just behind";
  EXPECT_EQ(mapped_path(kMaps, 0x7f0c4b000123), "/s/.weft/log/0000000001.seg");
  EXPECT_EQ(mapped_path(kMaps, 0x7ffd1800), "");
  EXPECT_EQ(mapped_path(kMaps, 0x7fff1800), "");
  EXPECT_EQ(mapped_path("", 1), "");
}

}  // namespace
}  // namespace weft
