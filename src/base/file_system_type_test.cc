#include "base/file_system_type.h"

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "base/testing/temp_dir.h"

namespace weft {
namespace {

constexpr std::uint64_t kFuse = 0x65735546;

TEST(FileSystemType, OfThisMachine) {
  const TempDir dir;
  const auto type = posix_file_system().type_of(dir.path());
  ASSERT_TRUE(type) << type.error().message;
  EXPECT_NE(type->magic, 0u);
  EXPECT_FALSE(type->name.empty());
  EXPECT_FALSE(type->read_only);
  const auto proc = posix_file_system().type_of("/proc");
  ASSERT_TRUE(proc);
  EXPECT_EQ(proc->name, "0x9fa0") << "not in the table: its number";
  EXPECT_EQ(sharing_of(*proc), Sharing::unknown);
  EXPECT_EQ(posix_file_system().type_of(dir / "nothing").error().code, Code::not_found);
}

TEST(FileSystemType, WhoElseMayWriteThere) {
  for (const std::uint64_t local : {0xEF53ul, 0x58465342ul, 0x9123683Eul, 0x01021994ul, 0x794C7630ul, 0x2FC12FC1ul}) {
    EXPECT_EQ(sharing_of({.magic = local}), Sharing::local) << std::hex << local;
    EXPECT_FALSE(file_system_name(local).empty());
  }
  for (const std::uint64_t network : {0x6969ul, 0xFF534D42ul, 0xFE534D42ul, 0x01021997ul, 0x5346414Ful, 0x00C36400ul}) {
    EXPECT_EQ(sharing_of({.magic = network}), Sharing::network) << std::hex << network;
  }
  EXPECT_EQ(sharing_of({.magic = kFuse, .name = "fuse.sshfs"}), Sharing::network);
  EXPECT_EQ(sharing_of({.magic = kFuse, .name = "virtiofs"}), Sharing::network);
  EXPECT_EQ(sharing_of({.magic = kFuse, .name = "fuse"}), Sharing::network) << "it may be anything";
  EXPECT_EQ(sharing_of({.magic = kFuse, .name = "fuseblk"}), Sharing::local);
  EXPECT_EQ(sharing_of({.magic = 0x1badface}), Sharing::unknown);
  EXPECT_EQ(sharing_of({}), Sharing::unknown);
  EXPECT_TRUE(is_volatile({.magic = 0x01021994, .name = "tmpfs"}));
}

TEST(FileSystemType, MountsByDevice) {
  constexpr std::string_view kMounts =
      "22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
      "91 28 0:57 / /far rw,nosuid,nodev - fuse.sshfs u@far: rw,user_id=1000\n"
      "broken line\n"
      "92 28 0:58 / /x rw";
  EXPECT_EQ(mount_type(kMounts, 98, 0), "ext3");
  EXPECT_EQ(mount_type(kMounts, 0, 57), "fuse.sshfs");
  EXPECT_EQ(mount_type(kMounts, 0, 58), "") << "cut off";
  EXPECT_EQ(mount_type(kMounts, 8, 0), "") << "98:0 is not 8:0";
  EXPECT_EQ(mount_type("", 1, 1), "");
}

}  // namespace
}  // namespace weft
