// What a program is started with: streams that are closed or full, no environment, a directory that is gone or named
// too long, limits on files; and disks that are full.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "support.h"

namespace weft::environment {
namespace {

namespace stdfs = std::filesystem;

class Surroundings : public ::testing::Test {
 protected:
  Surroundings() {
    stdfs::create_directory(top());
    put_file(top() + "/f", "one\n");
    EXPECT_EQ(unlike(weft(top(), {"init"}), 0), "");
    EXPECT_EQ(unlike(weft(top(), {"commit", "-m", "One"}), 0), "");
  }
  std::string top() const { return dir_ / "w"; }
  /// Shell words with $W for the program, in the workspace, with hardly any environment.
  ProcessOutput shell(const std::string& command, std::vector<std::string> environment = {}) {
    ProcessOptions options;
    options.argv = {"/bin/sh", "-c", "W='" WEFT_PROGRAM "'; " + command};
    options.directory = top();
    options.environment = std::move(environment);
    options.environment->emplace_back("PATH=/usr/bin:/bin");
    auto output = run_process(std::move(options), "", 64u << 20);
    if (output) return *std::move(output);
    return {{126, 0}, "", output.error().message};
  }
  void expect_whole() { EXPECT_EQ(unlike(weft(top(), {"verify", "--deep"}), 0), ""); }
  TempDir dir_;
};

TEST_F(Surroundings, ClosedStreamsAreNotTakenByFilesOfTheStore) {
  for (const std::string closed : {"0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"}) {
    put_file(top() + "/f", closed + "\n");
    const auto output = shell("exec " + closed + "; exec $W commit -m 'Closed streams'", {"WEFT_AUTHOR=A <a@b>"});
    EXPECT_EQ(output.status.signal, 0) << closed;
    EXPECT_EQ(output.status.code, 0) << closed << output.err;
    expect_whole();
  }
  const auto log = weft(top(), {"log"});
  EXPECT_TRUE(has(log.out, "Closed streams"));
}

TEST_F(Surroundings, AReaderThatGoesAway) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(unlike(weft(top(), {"commit", "--allow-empty", "-m", std::string(4000, 'x')}), 0), "");
  }
  const auto output = shell("($W log; echo $? >&2) | head -n 1");
  EXPECT_EQ(output.status.code, 0);
  EXPECT_EQ(output.err, "141\n") << "quietly, as a death by SIGPIPE";
}

TEST_F(Surroundings, ADeviceThatIsFull) {
  const auto output = shell("$W log > /dev/full");
  EXPECT_EQ(output.status.code, 3);
  EXPECT_TRUE(has(output.err, "No space left") && has(output.err, "only its answer is lost")) << output.err;
}

TEST_F(Surroundings, NoEnvironmentAtAll) {
  put_file(top() + "/f", "two\n");
  EXPECT_EQ(unlike(shell("exec env -i $W status"), 0), "");
  EXPECT_EQ(unlike(shell("exec env -i $W log"), 0), "");
  const auto refused = shell("exec env -i $W commit -m Two");
  EXPECT_EQ(unlike(refused, 3), "");
  EXPECT_TRUE(has(refused.err, "nobody is named as the author") && has(refused.err, "hint: ")) << refused.err;
  EXPECT_EQ(unlike(shell("exec env -i LANG=C TERM= $W commit --author 'A <a@b>' -m Two"), 0), "");
  const auto doctor = shell("exec env -i $W doctor");
  EXPECT_EQ(unlike(doctor, 1), "");
  EXPECT_TRUE(has(doctor.out, "neither HOME nor XDG_CONFIG_HOME is set")) << doctor.out;
  expect_whole();
}

TEST_F(Surroundings, TheDirectoryIsGone) {
  const auto output = shell("mkdir gone; cd gone; rmdir ../gone; exec $W status");
  EXPECT_EQ(unlike(output, 3), "");
  EXPECT_TRUE(has(output.err, "the working directory") && has(output.err, "hint: ")) << output.err;
}

TEST_F(Surroundings, PathsLongerThanTheSystemTakes) {
  const std::string level(200, '7');
  const int code = in_child([&] {
    if (::chdir(top().c_str()) != 0) return 90;
    for (int i = 0; i < 25; ++i) {  // by steps: no single call would take the whole name
      if (::mkdir(level.c_str(), 0777) != 0 || ::chdir(level.c_str()) != 0) return 91;
    }
    for (const char* const verb : {"status", "init", "log"}) {
      ProcessOptions options;
      options.argv = {WEFT_PROGRAM, verb};
      options.environment = std::vector<std::string>{"PATH=/usr/bin:/bin"};
      const auto output = run_process(std::move(options), "", 1u << 20);
      if (!output || output->status.signal != 0 || output->status.code != 3) return 92;
      if (!has(output->err, "weft: ") || !has(output->err, "hint: ")) return 93;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
  // From above it is walked step by step, and recorded.
  EXPECT_EQ(unlike(weft(top(), {"status"}), 0), "");
  EXPECT_EQ(unlike(weft(top(), {"commit", "-m", "Deep"}), 0), "");
  expect_whole();
  EXPECT_EQ(unlike(shell("rm -rf 7*; exec $W status"), 0), "");
}

/// `ulimit -f`: told, not killed by it; nothing of the store is half written.
TEST_F(Surroundings, ALimitOnTheSizeOfFiles) {
  std::string noise(1u << 20, '\0');
  system_env().random.fill({noise.data(), noise.size()});
  int refused = 0;
  for (const int kibibytes : {4, 64, 200, 300, 1024, 4096}) {
    put_file(top() + "/f", noise.substr(0, 200'000) + std::to_string(kibibytes));
    // In blocks of 512 bytes.
    const auto output =
        shell("ulimit -f " + std::to_string(kibibytes * 2) + "; exec $W commit -m Limited", {"WEFT_AUTHOR=A <a@b>"});
    EXPECT_EQ(output.status.signal, 0) << kibibytes << " KiB: " << output.status.text();
    if (output.status.code != 0) {
      ++refused;
      EXPECT_EQ(output.status.code, 3) << output.err;
      EXPECT_TRUE(has(output.err, "File too large")) << output.err;
      EXPECT_TRUE(has(output.err, "ulimit -f") || has(output.err, "can be read as it is")) << output.err;
    }
    EXPECT_EQ(unlike(weft(top(), {"log"}), 0), "");
    expect_whole();
  }
  EXPECT_GT(refused, 0) << "no limit was met: this test can find nothing";
  EXPECT_EQ(unlike(weft(top(), {"commit", "--allow-empty", "-m", "Unlimited"}), 0), "");
  const auto doctor = shell("ulimit -f 1000; exec $W doctor", {"WEFT_AUTHOR=A <a@b>"});
  EXPECT_TRUE(has(doctor.out, "commits will fail when the log's file reaches that")) << doctor.out;
}

/// C6 to its end: every kind of write meets the full disk, on ext4.
TEST(FullDisk, C6EveryVerbMeetsItAndNothingIsLost) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!worktree::own_mounts() || !worktree::mount_ext4(dir / "image", dir / "disk", 20)) return kNotHere;
    const std::string top = dir / "disk/w";
    stdfs::create_directory(top);
    const auto said = [](const ProcessOutput& output) {
      std::fprintf(stderr, "%s: %s%s", output.status.text().c_str(), output.out.c_str(), output.err.c_str());
    };
    if (!unlike(weft(top, {"init"}), 0).empty()) return 1;
    put_file(dir / "disk/filler", std::string(4u << 20, 'x'));
    // A git repository, to be imported into the full disk.
    const std::string make_git = "cd '" + dir.path() +
                                 "' && git init -q g && cd g && head -c 3000000 /dev/urandom > r && git add r && git "
                                 "-c user.name=a -c user.email=a@b commit -qm r >/dev/null 2>&1";
    const bool has_git = std::system(make_git.c_str()) == 0;
    int recorded = 0;
    bool full = false;
    std::string noise(300'000, '\0');
    for (int i = 0; i < 200 && !full; ++i) {
      system_env().random.fill({noise.data(), noise.size()});
      // The same file, edited: the disk fills with the store, not with files.
      put_file(top + "/f", noise);
      if (stdfs::file_size(top + "/f") != noise.size()) break;
      const auto output = weft(top, {"commit", "-m", "Change " + std::to_string(i)});
      if (output.status.signal != 0) return said(output), 2;
      if (output.status.code == 0) {
        ++recorded;
        continue;
      }
      full = true;
      if (output.status.code != 3 || !has(output.err, "No space left") || !has(output.err, "hint: ")) {
        return said(output), 3;
      }
    }
    if (recorded < 10) return 4;
    // The last bytes go to somebody else.
    {
      std::ofstream rest(dir / "disk/rest", std::ios::binary);
      const std::string block(1024, 'y');
      while (rest.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
    std::vector<std::vector<std::string>> verbs = {
        {"commit", "-m", "Never"}, {"workspace", "add", "x", "--path", dir / "disk/x"}, {"restore", "f"}};
    if (has_git) verbs.push_back({"git", "import", dir / "g"});
    for (const auto& words : verbs) {
      const auto output = weft(top, words);
      if (output.status.signal != 0 || output.status.code == 0 || !has(output.err, "No space left") ||
          !has(output.err, "hint: ")) {
        return said(output), 5;
      }
    }
    for (const auto& words : std::vector<std::vector<std::string>>{{"log"}, {"show"}, {"verify"}, {"cat", "f"}}) {
      const auto output = weft(top, words);
      if (!unlike(output, 0).empty()) return said(output), 6;
    }
    const auto doctor = weft(top, {"doctor", "--no-probe"});
    if (!unlike(doctor, 1).empty() || !has(doctor.out, "free: commits that do not fit are refused")) {
      return said(doctor), 7;
    }
    // Room again: everything that was acknowledged is there, and the next one goes in.
    stdfs::remove(dir / "disk/filler");
    stdfs::remove(dir / "disk/rest");
    const auto verified = weft(top, {"verify", "--deep"});
    if (!unlike(verified, 0).empty()) return said(verified), 8;
    const auto log = weft(top, {"log"});
    for (int i = 0; i < recorded; ++i) {
      if (!has(log.out, "Change " + std::to_string(i) + "\n")) return 9;
    }
    if (has(log.out, "Never")) return 10;
    const auto next = weft(top, {"commit", "-m", "Next"});
    if (!unlike(next, 0).empty()) return said(next), 11;
    for (const auto& words : verbs) {
      if (words[0] == "commit") continue;
      const auto output = weft(top, words);
      if (!unlike(output, 0).empty()) return said(output), 12;
    }
    const auto last = weft(top, {"verify", "--deep"});
    if (!unlike(last, 0).empty()) return said(last), 13;
    std::printf("%d changes recorded before the disk was full\n", recorded);
    return 0;
  });
  SKIP_IF_NOT_HERE(code, "a loop device with ext4 needs root and mkfs.ext4");
  EXPECT_EQ(code, 0);
}

/// The first commit of a tree that does not fit: refused as a whole, at every size of what is left.
TEST(FullDisk, TheFirstCommitOfATreeDoesNotFit) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  stdfs::create_directory(dir / "tree");
  std::string noise(60'000, '\0');
  for (int i = 0; i < 120; ++i) {
    system_env().random.fill({noise.data(), noise.size()});
    put_file(dir / ("tree/f" + std::to_string(i)), noise);
  }
  const int code = in_child([&] {
    if (!worktree::own_mounts() || !worktree::mount_tmpfs(dir / "disk", "size=8m")) return kNotHere;
    const std::string work = dir / "tree";
    // The store on the small disk, the files elsewhere.
    stdfs::create_directory(dir / "disk/s");
    if (!unlike(weft(dir / "disk/s", {"init"}), 0).empty()) return 1;
    stdfs::remove(work + "/.weft");
    put_file(work + "/.weft", "weft workspace 1\nstore: " + (dir / "disk/s/.weft") + "\nname: default\n");
    int refused = 0;
    for (const int size : {3, 4, 5, 6, 7, 9, 40}) {
      if (!worktree::remount(dir / "disk", 0, "size=" + std::to_string(size) + "m")) return kNotHere;
      const auto output = weft(work, {"commit", "-m", "First"});
      if (output.status.signal != 0) return 2;
      if (output.status.code == 0) continue;
      ++refused;
      if (output.status.code != 3 || !has(output.err, "No space left") || !has(output.err, "hint: ")) {
        std::fprintf(stderr, "%s\n", output.err.c_str());
        return 3;
      }
      if (!unlike(weft(work, {"verify", "--deep"}), 0).empty()) return 4;
      // Nothing is left of it that would take the room.
      for (const auto& entry : stdfs::directory_iterator(dir / "disk/s/.weft/packs")) {
        std::fprintf(stderr, "left: %s\n", entry.path().c_str());
        return 5;
      }
    }
    if (refused == 0) return 6;
    if (has(weft(work, {"log"}).out, "First") != true) return 7;
    return unlike(weft(work, {"verify", "--deep"}), 0).empty() ? 0 : 8;
  });
  SKIP_IF_NOT_HERE(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace weft::environment
