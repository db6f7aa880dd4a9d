// The same verbs where things are not as at home: other file systems, another user, a working tree or a store that may
// not be written to, a full disk.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "places.h"
#include "world.h"

namespace weft::worktree {
namespace {

namespace stdfs = std::filesystem;

void put(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}
std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Says what the program did when it should have ended otherwise.
bool ended(const ProcessOutput& output, bool well) {
  const bool as_wanted = output.status.signal == 0 && (output.status.code == 0) == well;
  if (!as_wanted)
    std::fprintf(stderr, "%s\n%s%s", output.status.text().c_str(), output.out.c_str(), output.err.c_str());
  return as_wanted;
}

/// This program's model test with another temporary directory. In a child.
int run_model(const std::string& temporary) {
  ::setenv("TMPDIR", temporary.c_str(), 1);
  ::setenv("WEFT_MODEL_STEPS", "200", 1);
  ::setenv("WEFT_MODEL_SEED", "2000", 1);
  const std::string program = stdfs::read_symlink("/proc/self/exe").string();
  ::execl(program.c_str(), program.c_str(), "--gtest_filter=WorktreeModel.StatusIs*", nullptr);
  return kNotHere;
}

#define SKIP_UNLESS(code, why) \
  if ((code) == kNotHere) GTEST_SKIP() << "SKIPPED LOUDLY: " << (why)

TEST(Environment, TheModelOnTmpfs) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!own_mounts() || !mount_tmpfs(dir / "disk", "size=64m,mode=1777")) return kNotHere;
    return run_model(dir / "disk");
  });
  SKIP_UNLESS(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

TEST(Environment, TheModelOnExt4) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!own_mounts() || !mount_ext4(dir / "image", dir / "disk", 96)) return kNotHere;
    return run_model(dir / "disk");
  });
  SKIP_UNLESS(code, "a loop device with ext4 needs root and mkfs.ext4");
  EXPECT_EQ(code, 0);
}

TEST(Environment, TheModelAsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "this user is not root in any case";
  const TempDir dir;
  stdfs::create_directory(dir / "theirs");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir / "theirs").c_str(), 0777), 0);
  const int code = in_child([&] {
    if (!become_nobody(dir / "theirs") || ::access("/proc/self/exe", X_OK) != 0) return kNotHere;
    return run_model(dir / "theirs");
  });
  SKIP_UNLESS(code, "cannot become another user here, or nothing is open to it");
  EXPECT_EQ(code, 0);
}

TEST(Environment, AWorkingTreeThatMayNotBeWrittenTo) {
  const TempDir dir;
  for (const char* name : {"w", "disk"}) stdfs::create_directory(dir / name);
  const int code = in_child([&] {
    if (!own_mounts() || !mount_tmpfs(dir / "disk", "size=8m")) return kNotHere;
    put(dir / "w/f", "one\n");
    if (!ended(weft(dir / "w", {"init"}), true) || !ended(weft(dir / "w", {"commit", "-m", "One"}), true)) return 1;
    put(dir / "w/f", "two\n");
    if (!ended(weft(dir / "w", {"commit", "-m", "Two"}), true)) return 2;
    if (!ended(weft(dir / "w", {"workspace", "add", "x", "--path", dir / "disk/x"}), true)) return 3;
    put(dir / "disk/x/g", "edit\n");
    if (!remount(dir / "disk", MS_RDONLY)) return kNotHere;
    const auto status = weft(dir / "disk/x", {"status"});
    if (!ended(status, true) || !has(status.out, "A g")) return 4;
    // File by file: what cannot be written is named, and stays what it is.
    const auto named = weft(dir / "disk/x", {"switch", "main-"});
    if (!ended(named, true) || !has(named.err, "f: not written out: Read-only file system")) return 5;
    if (get(dir / "disk/x/f") != "two\n" || get(dir / "disk/x/g") != "edit\n") return 6;
    if (weft(dir / "disk/x", {"status", "-0"}).out != std::string("M f\0A g\0", 8)) return 11;
    if (!remount(dir / "disk", 0)) return kNotHere;
    if (!ended(weft(dir / "disk/x", {"restore", "f"}), true)) return 7;
    if (get(dir / "disk/x/f") != "one\n" || get(dir / "disk/x/g") != "edit\n") return 8;
    if (!remount(dir / "disk", MS_RDONLY)) return kNotHere;
    // Recording writes to the store alone.
    if (!ended(weft(dir / "disk/x", {"commit", "-m", "From there"}), true)) return 9;
    return ended(weft(dir / "w", {"verify", "--deep"}), true) ? 0 : 10;
  });
  SKIP_UNLESS(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

TEST(Environment, AFullDiskUnderTheWorkingTree) {
  const TempDir dir;
  for (const char* name : {"w", "disk"}) stdfs::create_directory(dir / name);
  const int code = in_child([&] {
    if (!own_mounts() || !mount_tmpfs(dir / "disk", "size=2m")) return kNotHere;
    put(dir / "w/small", "1\n");
    if (!ended(weft(dir / "w", {"init"}), true) || !ended(weft(dir / "w", {"commit", "-m", "Small"}), true)) return 1;
    if (!ended(weft(dir / "w", {"workspace", "add", "x", "--path", dir / "disk/x"}), true)) return 2;
    for (int i = 0; i < 6; ++i)
      put(dir / ("w/large" + std::to_string(i)), std::string(1u << 20, static_cast<char>('a' + i)));
    if (!ended(weft(dir / "w", {"commit", "-m", "Large"}), true)) return 3;
    put(dir / "disk/x/mine", "edit\n");
    const auto full = weft(dir / "disk/x", {"switch", "main"});
    if (!ended(full, false) || !has(full.err, "No space left")) {
      std::fprintf(stderr, "%s", full.err.c_str());
      return 4;
    }
    if (get(dir / "disk/x/mine") != "edit\n" || get(dir / "disk/x/small") != "1\n") return 5;
    const auto status = weft(dir / "disk/x", {"status"});  // says that a write-out was interrupted, and how to go on
    if (!ended(status, true) || !has(status.err, "switch @")) {
      std::fprintf(stderr, "%s%s", status.out.c_str(), status.err.c_str());
      return 6;
    }
    if (!remount(dir / "disk", 0, "size=20m")) return kNotHere;
    if (!ended(weft(dir / "disk/x", {"switch", "@"}), true)) return 7;
    const auto after = weft(dir / "disk/x", {"status", "-0"});
    if (after.out != std::string("A mine\0", 7)) return 8;
    if (!ended(weft(dir / "disk/x", {"switch", "main"}), true)) return 10;
    return get(dir / "disk/x/large5") == std::string(1u << 20, 'f') ? 0 : 9;
  });
  SKIP_UNLESS(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

/// Everything that only reads works in `directory`, and what records says why it does not.
int check_reading(const std::string& directory) {
  const auto status = weft(directory, {"status", "-0"});
  if (!ended(status, true) || status.out != std::string("M f\0", 4)) return 1;
  const auto log = weft(directory, {"log"});
  if (!ended(log, true) || !has(log.out, "One") || !has(log.out, "Two")) return 2;
  const auto diff = weft(directory, {"diff"});
  if (!ended(diff, true) || !has(diff.out, "+three")) return 3;
  const auto cat = weft(directory, {"cat", "f"});
  if (!ended(cat, true) || cat.out != "two\n") return 4;
  for (const char* verb : {"show", "ls", "op log", "ref list", "verify"}) {
    std::vector<std::string> words{verb};
    if (const std::string_view two = verb; two.find(' ') != two.npos) {
      words = {std::string(two.substr(0, two.find(' '))), std::string(two.substr(two.find(' ') + 1))};
    }
    if (!ended(weft(directory, words), true)) return 5;
  }
  const auto refused = weft(directory, {"commit", "-m", "Three"});
  if (!ended(refused, false) || !has(refused.err, "can be read as it is")) {
    std::fprintf(stderr, "%s", refused.err.c_str());
    return 6;
  }
  return get(directory + "/f") == "three\n" ? 0 : 7;
}

bool make_store_of_two(const std::string& directory) {
  if (!ended(weft(directory, {"init"}), true)) return false;
  for (const auto& [content, message] : {std::pair("one\n", "One"), std::pair("two\n", "Two")}) {
    put(directory + "/f", content);
    if (!ended(weft(directory, {"commit", "-m", message}), true)) return false;
  }
  put(directory + "/f", "three\n");
  return true;
}

TEST(Environment, AStoreOnAFileSystemThatMayNotBeWrittenTo) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!own_mounts() || !mount_tmpfs(dir / "disk", "size=8m")) return kNotHere;
    if (!make_store_of_two(dir / "disk")) return 10;
    if (!remount(dir / "disk", MS_RDONLY)) return kNotHere;
    if (const int problem = check_reading(dir / "disk"); problem != 0) return problem;
    if (!remount(dir / "disk", 0)) return kNotHere;
    // As after a boot: no block to look at either.
    stdfs::remove(dir / "disk/.weft/control");
    if (!remount(dir / "disk", MS_RDONLY)) return kNotHere;
    if (const int problem = check_reading(dir / "disk"); problem != 0) return problem + 20;
    if (!remount(dir / "disk", 0)) return kNotHere;
    return ended(weft(dir / "disk", {"commit", "-m", "Three"}), true) ? 0 : 11;
  });
  SKIP_UNLESS(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

TEST(Environment, AStoreThatThisUserMayOnlyRead) {
  const TempDir dir;
  stdfs::create_directory(dir / "w");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir / "w").c_str(), 0777), 0);
  const int code = in_child([&] {
    if (!become_nobody(dir / "w")) return kNotHere;
    const std::string own = dir / "w/own";
    stdfs::create_directory(own);
    if (!make_store_of_two(own)) return 10;
    const std::string quoted_path = "'" + own + "'";
    if (std::system(("chmod -R a-w " + quoted_path).c_str()) != 0) return kNotHere;
    const int problem = check_reading(own);
    if (std::system(("chmod -R u+w " + quoted_path).c_str()) != 0) return kNotHere;
    if (problem != 0) return problem;
    return ended(weft(own, {"commit", "-m", "Three"}), true) ? 0 : 11;
  });
  SKIP_UNLESS(code, "cannot become another user here, or nothing is open to it");
  EXPECT_EQ(code, 0);
}

TEST(Environment, AFullDiskUnderTheStoreAfterABoot) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!own_mounts() || !mount_tmpfs(dir / "disk", "size=4m")) return kNotHere;
    if (!make_store_of_two(dir / "disk")) return 10;
    stdfs::remove(dir / "disk/.weft/control");
    stdfs::create_directory(dir / "disk/.git");
    {
      std::ofstream filler(dir / "disk/.git/filler", std::ios::binary);  // not content
      const std::string block(4096, 'x');
      while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
    return check_reading(dir / "disk");
  });
  SKIP_UNLESS(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace weft::worktree
