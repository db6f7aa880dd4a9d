#include "base/file_system_type.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/host_dir.h"
#include "base/posix_calls.h"

namespace weft {
namespace {

constexpr std::uint64_t kFuse = 0x65735546;
constexpr std::size_t kMaxMountinfoBytes = 4u << 20;

struct Known {
  std::uint64_t magic;
  std::string_view name;
  Sharing sharing;
};

// linux/magic.h, statfs(2), and the file systems' own sources. Cluster file systems are `network`: their locks and
// mappings are kept together by a server, not by this kernel.
constexpr Known kKnown[] = {
    {0xEF53, "ext4", Sharing::local},           {0x58465342, "xfs", Sharing::local},
    {0x9123683E, "btrfs", Sharing::local},      {0x2FC12FC1, "zfs", Sharing::local},
    {0xCA451A4E, "bcachefs", Sharing::local},   {0xF2F52010, "f2fs", Sharing::local},
    {0x3153464A, "jfs", Sharing::local},        {0x3434, "nilfs2", Sharing::local},
    {0x52654973, "reiserfs", Sharing::local},   {0x01021994, "tmpfs", Sharing::local},
    {0x858458F6, "ramfs", Sharing::local},      {0x794C7630, "overlay", Sharing::local},
    {0x61756673, "aufs", Sharing::local},       {0x4244, "hfs", Sharing::local},
    {0x482B, "hfsplus", Sharing::local},        {0x4D44, "vfat", Sharing::local},
    {0x2011BAB0, "exfat", Sharing::local},      {0x5346544E, "ntfs", Sharing::local},
    {0x7366746E, "ntfs3", Sharing::local},      {0x24051905, "ubifs", Sharing::local},
    {0x72B6, "jffs2", Sharing::local},          {0x15013346, "udf", Sharing::local},
    {0x9660, "iso9660", Sharing::local},        {0x73717368, "squashfs", Sharing::local},
    {0xE0F5E1E2, "erofs", Sharing::local},      {0xF15F, "ecryptfs", Sharing::local},
    {0x6969, "nfs", Sharing::network},          {0xFF534D42, "cifs", Sharing::network},
    {0xFE534D42, "smb2", Sharing::network},     {0x517B, "smbfs", Sharing::network},
    {0x01021997, "9p", Sharing::network},       {0x5346414F, "afs", Sharing::network},
    {0x6B414653, "afs", Sharing::network},      {0x73757245, "coda", Sharing::network},
    {0x564C, "ncpfs", Sharing::network},        {0x00C36400, "ceph", Sharing::network},
    {0x0BD00BD0, "lustre", Sharing::network},   {0x47504653, "gpfs", Sharing::network},
    {0x01161970, "gfs2", Sharing::network},     {0x7461636F, "ocfs2", Sharing::network},
    {0x19830326, "beegfs", Sharing::network},   {0xAAD7AAEA, "panfs", Sharing::network},
    {0x20030528, "orangefs", Sharing::network}, {0x786F4256, "vboxsf", Sharing::network},
    {0xBACBACBC, "vmhgfs", Sharing::network},
};

/// What lies on disks of this machine, or over directories that are judged by themselves.
constexpr std::string_view kLocalFuse[] = {
    "fuseblk",       "fuse.ntfs-3g",      "fuse.ntfs",     "fuse.exfat", "fuse.gocryptfs",
    "fuse.encfs",    "fuse.cryfs",        "fuse.bindfs",   "fuse.ext2",  "fuse.fuse-overlayfs",
    "fuse.mergerfs", "fuse.unionfs-fuse", "fuse.securefs", "fuse.zfs",   "fuse.squashfuse",
};

const Known* find(std::uint64_t magic) {
  const auto* const found =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& known) { return known.magic == magic; });
  return found == std::end(kKnown) ? nullptr : found;
}

std::string number_text(std::uint64_t magic) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), kDigits[magic & 15]);
    magic >>= 4;
  } while (magic != 0);
  return "0x" + digits;
}

/// Empty where it cannot be read.
std::string read_mountinfo() {
  const Fd fd(retry_eintr([] { return ::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC); }));
  std::string all;
  std::string piece(64u << 10, '\0');
  while (fd && all.size() < kMaxMountinfoBytes) {
    const auto got = read_some(fd, piece, "/proc/self/mountinfo");
    if (!got || *got == 0) break;
    all.append(piece, 0, *got);
  }
  return all;
}

std::string_view take_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

}  // namespace

std::string_view file_system_name(std::uint64_t magic) {
  if (magic == kFuse) return "fuse";
  const Known* const known = find(magic);
  return known == nullptr ? std::string_view() : known->name;
}

Sharing sharing_of(const FileSystemType& type) {
  if (type.magic == kFuse) {
    const bool local = std::find(std::begin(kLocalFuse), std::end(kLocalFuse), type.name) != std::end(kLocalFuse);
    return local ? Sharing::local : Sharing::network;
  }
  const Known* const known = find(type.magic);
  return known == nullptr ? Sharing::unknown : known->sharing;
}

bool is_volatile(const FileSystemType& type) { return type.name == "tmpfs" || type.name == "ramfs"; }

// A line: "36 35 98:0 /root /mount rw,noatime master:1 - ext3 /dev/root rw,errors=continue".
std::string mount_type(std::string_view mountinfo, std::uint32_t major, std::uint32_t minor) {
  const std::string device = std::to_string(major) + ":" + std::to_string(minor);
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    (void)take_field(line);
    (void)take_field(line);
    if (take_field(line) != device) continue;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    line.remove_prefix(dash + 3);
    return std::string(take_field(line));
  }
  return {};
}

Result<FileSystemType> file_system_type(const std::string& path) {
  struct statfs status{};
  if (retry_eintr([&] { return ::statfs(path.c_str(), &status); }) != 0) {
    return system_error(errno, "find the file system of", path);
  }
  FileSystemType type;
  type.magic = static_cast<std::uint32_t>(status.f_type);
  type.read_only = (static_cast<unsigned long>(status.f_flags) & ST_RDONLY) != 0;
  type.name = file_system_name(type.magic);
  if (type.magic == kFuse) {
    struct stat file{};
    if (::stat(path.c_str(), &file) == 0) {
      if (auto named = mount_type(read_mountinfo(), gnu_dev_major(file.st_dev), gnu_dev_minor(file.st_dev));
          !named.empty()) {
        type.name = std::move(named);
      }
    }
  }
  if (type.name.empty()) type.name = number_text(type.magic);
  return type;
}

}  // namespace weft
