// Other users, groups and root in one store; parts of it that may not be read or written; places where nothing may be
// written at all.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support.h"

namespace weft::environment {
namespace {

namespace stdfs = std::filesystem;

constexpr unsigned kAnn = 12'001, kBob = 12'002, kEve = 12'003, kTeam = 12'500;
const char* const kNeedsRoot = "being several users needs root, and a temporary directory open to them";

/// Everything below that the owner could not hand on to the group.
std::string not_for_group(const std::string& directory) {
  for (const auto& entry : stdfs::recursive_directory_iterator(directory)) {
    struct stat status{};
    if (::stat(entry.path().c_str(), &status) != 0) return entry.path().string() + " is gone";
    const bool executable = S_ISDIR(status.st_mode);
    const mode_t wanted = executable ? S_IRGRP | S_IWGRP | S_IXGRP : S_IRGRP | S_IWGRP;
    if (status.st_gid != kTeam || (status.st_mode & wanted) != wanted) return entry.path().string();
  }
  return "";
}

TEST(Permissions, AStoreThatAGroupShares) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED LOUDLY: " << kNeedsRoot;
  const OpenPlace place;
  const std::string shared = place.dir() / "shared";
  stdfs::create_directory(shared);
  ASSERT_EQ(::chown(shared.c_str(), kAnn, kTeam), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 02775), 0);
  const std::vector<std::string> trusted = {"WEFT_SAFE_STORES=" + shared};
  const auto as = [&](unsigned user, unsigned group, const std::function<std::string()>& body) {
    return in_child([&] {
      if (!become(user, group, 022) || ::access(place.program().c_str(), X_OK) != 0) return kNotHere;
      const std::string problem = body();
      if (!problem.empty()) std::fprintf(stderr, "user %u: %s\n", user, problem.c_str());
      return problem.empty() ? 0 : 1;
    });
  };
  const int begun = as(kAnn, kTeam, [&]() -> std::string {
    put_file(shared + "/a", "ann\n");
    for (const auto& words : {std::vector<std::string>{"init"}, {"commit", "-m", "Ann's"}}) {
      if (const auto problem = unlike(place.run(shared, words), 0); !problem.empty()) return problem;
    }
    return not_for_group(shared + "/.weft");
  });
  SKIP_IF_NOT_HERE(begun, kNeedsRoot);
  ASSERT_EQ(begun, 0);
  // Enough for another segment, packs, a merge of what the index does not hold.
  ASSERT_EQ(as(kBob, kTeam,
               [&]() -> std::string {
                 if (unlike(place.run(shared, {"log"}), 3).size() > 0)
                   return "a store of another user is used without being asked";
                 put_file(shared + "/b", std::string(3u << 20, 'b'));
                 for (const auto& words : {std::vector<std::string>{"commit", "-m", "Bob's"},
                                           {"verify", "--deep"},
                                           {"ref", "set", "x", "main"},
                                           {"undo"}}) {
                   if (const auto problem = unlike(place.run(shared, words, trusted), 0); !problem.empty())
                     return problem;
                 }
                 return not_for_group(shared + "/.weft");
               }),
            0);
  ASSERT_EQ(as(kAnn, kTeam,
               [&]() -> std::string {
                 put_file(shared + "/a", "ann again\n");
                 return unlike(place.run(shared, {"commit", "-m", "Ann's second"}), 0);
               }),
            0);
  // Not of the group: may read, because everybody may; records nothing.
  ASSERT_EQ(as(kEve, kEve,
               [&]() -> std::string {
                 const auto log = place.run(shared, {"log"}, trusted);
                 if (const auto problem = unlike(log, 0); !problem.empty()) return problem;
                 if (!has(log.out, "Ann's second") || !has(log.out, "Bob's")) return "history is not whole: " + log.out;
                 const auto refused = place.run(shared, {"ref", "set", "y", "main"}, trusted);
                 if (const auto problem = unlike(refused, 3); !problem.empty()) return problem;
                 return has(refused.err, "Permission denied") && has(refused.err, "hint: ") ? "" : refused.err;
               }),
            0);
}

TEST(Permissions, WhatRootMakesInSomebodysStoreIsTheirs) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED LOUDLY: " << kNeedsRoot;
  const OpenPlace place;
  const std::string home = place.dir() / "home";
  stdfs::create_directory(home);
  ASSERT_EQ(::chown(home.c_str(), kAnn, kAnn), 0);
  const auto as_ann = [&](const std::vector<std::vector<std::string>>& commands) {
    return in_child([&] {
      if (!become(kAnn, kAnn, 022) || ::access(place.program().c_str(), X_OK) != 0) return kNotHere;
      put_file(home + "/f", "ann " + std::to_string(commands.size()) + "\n");
      for (const auto& words : commands) {
        if (const auto problem = unlike(place.run(home, words), 0); !problem.empty()) {
          std::fprintf(stderr, "%s\n", problem.c_str());
          return 1;
        }
      }
      return 0;
    });
  };
  const int begun = as_ann({{"init"}, {"commit", "-m", "Ann's"}});
  SKIP_IF_NOT_HERE(begun, kNeedsRoot);
  ASSERT_EQ(begun, 0);
  // Root by itself is a stranger here; with sudo it acts for Ann; and whoever it is may be trusted.
  const auto refused = place.run(home, {"log"});
  EXPECT_EQ(unlike(refused, 3), "");
  EXPECT_TRUE(has(refused.err, "belongs to another user") && has(refused.err, "safe.stores")) << refused.err;
  EXPECT_EQ(unlike(place.run(home, {"log"}, {"SUDO_UID=" + std::to_string(kBob)}), 3), "");
  EXPECT_EQ(unlike(place.run(home, {"log"}, {"WEFT_SAFE_STORES=/nowhere:" + home + "/.weft"}), 0), "");
  EXPECT_EQ(unlike(place.run(home, {"log"}, {"WEFT_SAFE_STORES=*"}), 0), "");
  const std::vector<std::string> sudo = {"SUDO_UID=" + std::to_string(kAnn)};
  stdfs::remove(home + "/.weft/control");  // as after a boot: root makes that anew, too
  put_file(home + "/g", std::string(3u << 20, 'g'));
  for (const auto& words : {std::vector<std::string>{"commit", "-m", "Root's"}, {"ref", "set", "x", "main"}}) {
    EXPECT_EQ(unlike(place.run(home, words, sudo), 0), "");
  }
  for (const auto& entry : stdfs::recursive_directory_iterator(home + "/.weft")) {
    struct stat status{};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, kAnn) << entry.path();
    EXPECT_EQ(status.st_gid, kAnn) << entry.path();
  }
  EXPECT_EQ(as_ann({{"commit", "-m", "Ann's second"}, {"verify", "--deep"}, {"log"}}), 0);
}

TEST(Permissions, PartsThatMayNotBeReadOrWritten) {
  const OpenPlace place;
  const std::string home = place.dir() / "home";
  stdfs::create_directory(home);
  ASSERT_EQ(::chmod(home.c_str(), 0777), 0);
  const int code = in_child([&] {
    if (::geteuid() == 0 && !become(kAnn, kAnn, 022)) return kNotHere;
    if (::access(place.program().c_str(), X_OK) != 0) return kNotHere;
    const std::string work = home + "/w";
    stdfs::create_directory(work);
    const auto expect = [&](const std::vector<std::string>& words, int wanted,
                            const std::vector<std::string>& parts) -> bool {
      const auto output = place.run(work, words);
      std::string problem = unlike(output, wanted);
      for (const auto& part : parts) {
        if (problem.empty() && !has(output.out + output.err, part))
          problem = "no \"" + part + "\" in: " + output.out + output.err;
      }
      if (!problem.empty()) std::fprintf(stderr, "%s: %s\n", words[0].c_str(), problem.c_str());
      return problem.empty();
    };
    put_file(work + "/f", "zero\n");
    std::string noise(5u << 20, '\0');  // too much for a frame
    system_env().random.fill({noise.data(), noise.size()});
    put_file(work + "/large", noise);
    if (!expect({"init"}, 0, {}) || !expect({"commit", "-m", "Large"}, 0, {})) return 1;
    put_file(work + "/f", "one\n");
    if (!expect({"commit", "-m", "One"}, 0, {})) return 1;
    std::string pack;
    for (const auto& entry : stdfs::directory_iterator(work + "/.weft/packs")) pack = entry.path().string();
    if (pack.empty()) return 2;

    // A pack: it is named, with what to do, and not taken for damage.
    ::chmod(pack.c_str(), 0);
    if (!expect({"cat", "large"}, 3, {"Permission denied", pack, "hint: "}) ||
        !expect({"doctor"}, 1, {"you may not read", "chmod"})) {
      return 3;
    }
    ::chmod(pack.c_str(), 0644);
    if (!expect({"verify", "--deep"}, 0, {})) return 4;

    // The log: nothing can be shown, and nothing is made in its place.
    const std::string segment = work + "/.weft/log/0000000001.seg";
    const std::string before = get_file(segment);
    ::chmod(segment.c_str(), 0);
    put_file(work + "/f", "two\n");
    if (!expect({"log"}, 3, {"Permission denied", segment}) || !expect({"commit", "-m", "Two"}, 3, {segment})) return 5;
    if (!expect({"doctor"}, 1, {"you may not read"})) return 6;
    ::chmod(segment.c_str(), 0644);
    if (get_file(segment) != before) return 7;

    // Readable only.
    for (const char* const part : {"/.weft/log/0000000001.seg", "/.weft/control", "/.weft/log"}) {
      ::chmod((work + part).c_str(), stdfs::is_directory(work + part) ? 0555 : 0444);
      const bool log_is_fine = expect({"log"}, 0, {"One"});
      const auto refused = place.run(work, {"commit", "-m", "Two"});
      // A log directory that takes no new files is no reason to refuse while its segment has room.
      const bool told = refused.status.code == 0 || (has(refused.err, "ermission") && has(refused.err, "hint: "));
      ::chmod((work + part).c_str(), stdfs::is_directory(work + part) ? 0755 : 0644);
      if (!log_is_fine || refused.status.signal != 0 || !told) {
        std::fprintf(stderr, "%s: %s%s\n", part, refused.out.c_str(), refused.err.c_str());
        return 8;
      }
    }
    if (!expect({"commit", "-m", "Two", "--allow-empty"}, 0, {}) || !expect({"verify", "--deep"}, 0, {})) return 9;
    return 0;
  });
  SKIP_IF_NOT_HERE(code, kNeedsRoot);
  EXPECT_EQ(code, 0);
}

/// What each command does where nothing can be written: those that read work, the others say why not.
TEST(Permissions, EveryCommandInAReadOnlyStore) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!worktree::own_mounts() || !worktree::mount_tmpfs(dir / "disk", "size=32m")) return kNotHere;
    const std::string top = dir / "disk";
    put_file(top + "/f", "one\n");
    for (const auto& words :
         {std::vector<std::string>{"init"}, {"commit", "-m", "One"}, {"ref", "set", "tags/v", "main"}}) {
      if (!unlike(weft(top, words), 0).empty()) return 1;
    }
    put_file(top + "/f", "two\n");
    if (!unlike(weft(top, {"commit", "-m", "Two"}), 0).empty()) return 1;
    put_file(top + "/f", "three\n");
    if (!worktree::remount(top, MS_RDONLY)) return kNotHere;
    int wrong = 0;
    const auto expect = [&](const std::vector<std::string>& words, int wanted) {
      const auto output = weft(top, words);
      const std::string problem = unlike(output, wanted);
      const bool told = wanted == 0 || wanted == 1 || (has(output.err, "weft: ") && has(output.err, "hint: "));
      if (problem.empty() && told) return;
      ++wrong;
      std::fprintf(stderr, "%s: %s%s\n", words[0].c_str(), problem.c_str(), output.err.c_str());
    };
    for (const auto& words : std::vector<std::vector<std::string>>{{"status"},
                                                                   {"log"},
                                                                   {"log", "f"},
                                                                   {"log", "--graph"},
                                                                   {"show"},
                                                                   {"diff"},
                                                                   {"diff", "main-", "main"},
                                                                   {"ls"},
                                                                   {"cat", "f"},
                                                                   {"ref", "list"},
                                                                   {"ref", "log", "main"},
                                                                   {"workspace", "list"},
                                                                   {"op", "log"},
                                                                   {"verify"},
                                                                   {"verify", "--deep"},
                                                                   {"info"},
                                                                   {"help"}}) {
      expect(words, 0);
    }
    expect({"doctor"}, 1);
    for (const auto& words : std::vector<std::vector<std::string>>{{"commit", "-m", "Three"},
                                                                   {"ref", "set", "x", "main"},
                                                                   {"ref", "delete", "tags/v"},
                                                                   {"undo"},
                                                                   {"workspace", "add", "x", "--path", dir / "x"},
                                                                   {"restore", "f"},
                                                                   {"switch", "main-"},
                                                                   {"mv", "f", "g"},
                                                                   {"rm", "f"},
                                                                   {"repair"}}) {
      expect(words, 3);
    }
    if (get_file(top + "/f") != "three\n" || stdfs::exists(dir / "x")) return 3;
    if (!worktree::remount(top, 0)) return kNotHere;
    if (!unlike(weft(top, {"verify", "--deep"}), 0).empty()) return 4;
    if (!unlike(weft(top, {"commit", "-m", "Three"}), 0).empty()) return 5;
    return wrong == 0 ? 0 : 2;
  });
  SKIP_IF_NOT_HERE(code, "mounting needs root");
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace weft::environment
