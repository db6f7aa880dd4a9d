// CASES that need the whole product or a file system of their own, by id: from the files to what a user is told.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/fake_env.h"
#include "places.h"
#include "repo/history.h"
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

/// "" unless the program ended as it should.
std::string unlike(const ProcessOutput& output, int code) {
  if (output.status.signal == 0 && output.status.code == code) return "";
  return output.status.text() + ": " + output.out + output.err;
}

class Cases : public ::testing::Test {
 protected:
  Cases() {
    stdfs::create_directory(top());
    EXPECT_EQ(unlike(weft(top(), {"init"}), 0), "");
  }
  std::string top() const { return dir_ / "w"; }
  std::string at(const std::string& path) const { return top() + "/" + path; }
  ProcessOutput run(std::vector<std::string> arguments) { return weft(top(), std::move(arguments)); }
  void commit(const std::string& message = "Change") { EXPECT_EQ(unlike(run({"commit", "-m", message}), 0), ""); }
  std::string status_lines() {
    const auto output = run({"status", "-0"});
    EXPECT_EQ(unlike(output, 0), "");
    std::string out = output.out;
    std::replace(out.begin(), out.end(), '\0', '|');
    return out;
  }

  TempDir dir_;
};

TEST(CasesWithTheirOwnDisk, C6FullAndThenFreeAgain) {
  const TempDir dir;
  stdfs::create_directory(dir / "disk");
  const int code = in_child([&] {
    if (!own_mounts() || !mount_tmpfs(dir / "disk", "size=20m")) return kNotHere;
    const std::string top = dir / "disk";
    put(top + "/a", "first\n");
    if (!unlike(weft(top, {"init"}), 0).empty()) return 1;
    if (!unlike(weft(top, {"commit", "-m", "First"}), 0).empty()) return 2;
    // Content that does not compress, and then everything else, to the last byte.
    std::string noise(3u << 20, '\0');
    system_env().random.fill({noise.data(), noise.size()});
    put(top + "/large", noise);
    {
      std::ofstream filler(dir / "disk/filler.ign", std::ios::binary);
      const std::string block(4096, 'x');
      while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
    put(top + "/.gitignore", "");
    const auto full = weft(top, {"commit", "-m", "Full", "large"});
    if (full.status.signal != 0 || full.status.code == 0 || full.err.empty()) return 3;
    if (!unlike(weft(top, {"log"}), 0).empty()) return 4;
    stdfs::remove(top + "/filler.ign");
    if (const auto problem = unlike(weft(top, {"verify", "--deep"}), 0); !problem.empty()) {
      std::fprintf(stderr, "%s\n", problem.c_str());
      return 5;
    }
    const auto again = weft(top, {"commit", "-m", "Second"});
    if (!unlike(again, 0).empty()) return 6;
    if (!unlike(weft(top, {"verify", "--deep"}), 0).empty()) return 7;
    const auto log = weft(top, {"log"});
    return has(log.out, "First") && has(log.out, "Second") && !has(log.out, "Full") ? 0 : 8;
  });
  if (code == kNotHere) GTEST_SKIP() << "SKIPPED LOUDLY: a file system of 20 MB needs root and mounts";
  EXPECT_EQ(code, 0);
}

TEST(CasesOfVerbs, C10SameSizeAndSameTimeThroughTheVerbs) {
  World world;
  const std::string path = world.at("w", "f");
  put(path, "aaaa");
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(must(world.commit("w")).change.has_value()) << round;
    struct stat before{};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string content(4, static_cast<char>('a' + (round + 1) % 26));
    ASSERT_EQ(::pwrite(fd, content.data(), content.size(), 0), 4);
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::futimens(fd, times), 0);
    ::close(fd);
    ASSERT_EQ(must(world.status("w")).entries.size(), 1U) << round;
  }
}

TEST_F(Cases, C13UnreadableForAnotherUser) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  const std::string theirs = dir_ / "theirs";
  stdfs::create_directory(theirs);
  ASSERT_EQ(::chmod(theirs.c_str(), 0777), 0);
  const int code = in_child([&] {
    if (!become_nobody(theirs)) return kNotHere;
    if (!unlike(weft(theirs, {"init"}), 0).empty()) return 1;
    put(theirs + "/secret", "1");
    put(theirs + "/fine", "1");
    ::chmod((theirs + "/secret").c_str(), 0);
    const auto status = weft(theirs, {"status"});
    if (!unlike(status, 0).empty() || !has(status.out, "A fine")) return 2;
    const auto committed = weft(theirs, {"commit", "-m", "x"});
    if (!unlike(committed, 0).empty() || !has(committed.err, "secret")) return 3;
    const auto listed = weft(theirs, {"ls"});
    return has(listed.out, "fine") && !has(listed.out, "secret") ? 0 : 4;
  });
  if (code == kNotHere) GTEST_SKIP() << "SKIPPED LOUDLY: cannot become another user here, or nothing is open to it";
  EXPECT_EQ(code, 0);
}

TEST_F(Cases, C23NamesOtherSystemsCannotTellApart) {
  put(at("README"), "1");
  put(at("caf\xc3\xa9"), "1");
  commit();
  put(at("readme"), "2");
  put(at("cafe\xcc\x81"), "2");
  const auto output = run({"commit", "-m", "Both"});
  EXPECT_EQ(unlike(output, 0), "");
  EXPECT_TRUE(has(output.err, "readme: differs from README only in case")) << output.err;
  EXPECT_TRUE(has(output.err, "cafe\xcc\x81: differs from caf\xc3\xa9")) << output.err;
  EXPECT_EQ(status_lines(), "");
  const auto quiet = run({"commit", "-m", "Nothing"});
  EXPECT_FALSE(has(quiet.err, "differs")) << quiet.err;
}

TEST_F(Cases, C24OddNamesInStatusJsonAndWithZero) {
  const std::vector<std::string> names = {" lead", "a -> b", "new\nline", "q\"uote", "trail ", "\xff\xfe"};
  std::string expected;
  for (const std::string& name : names) {
    put(at(name), "1");
    expected += "A " + name + "|";
  }
  EXPECT_EQ(status_lines(), expected);
  const auto json = run({"status", "--json"});
  EXPECT_TRUE(has(json.out, "\"new\\nline\"")) << json.out;
  EXPECT_TRUE(has(json.out, "\"q\\\"uote\"")) << json.out;
  EXPECT_TRUE(has(json.out, "{\"bytes\": \"//4=\"}")) << json.out;
  const auto text = run({"status"});
  EXPECT_TRUE(has(text.out, "A \"new\\nline\"")) << text.out;
  commit();
  EXPECT_EQ(status_lines(), "");
  // A move's two paths are two records: no name can be taken for the arrow.
  stdfs::rename(at("a -> b"), at("c -> d"));
  EXPECT_EQ(status_lines(), "R a -> b|c -> d|");
}

TEST_F(Cases, C25PathsBehindTheDashesAreTakenAsTheyAre) {
  for (const char* name : {"-x", "a,b", "p(q)", "--", "*", "q"}) put(at(name), name);
  EXPECT_EQ(unlike(run({"commit", "-m", "Odd", "--", "-x", "a,b", "p(q)", "--", "*"}), 0), "");
  EXPECT_EQ(status_lines(), "A q|");
  put(at("-x"), "2");
  EXPECT_EQ(unlike(run({"restore", "--", "-x"}), 0), "");
  EXPECT_EQ(get(at("-x")), "-x");
  EXPECT_EQ(unlike(run({"rm", "--", "*"}), 0), "");
  EXPECT_EQ(status_lines(), "D *|A q|");
}

TEST_F(Cases, C26NamesOf255Bytes) {
  const std::string name(255, 'n');
  stdfs::create_directory(at(name));
  put(at(name + "/" + name), "1");
  commit();
  put(at(name + "/" + name), "2");
  commit();
  EXPECT_EQ(unlike(run({"restore", "--from", "@-", name}), 0), "");
  EXPECT_EQ(get(at(name + "/" + name)), "1");
}

/// Directories named "d" in each other, by descriptors: no path is long enough for them.
void make_deep(const std::string& top, int levels) {
  int here = ::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < levels; ++i) {
    WEFT_CHECK(::mkdirat(here, "d", 0755) == 0);
    const int next = ::openat(here, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    WEFT_CHECK(next >= 0);
    ::close(here);
    here = next;
  }
  ::close(here);
}
/// From the top, one level at a time: rename() takes the rest along.
void remove_deep(const std::string& top) {
  const int here = ::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (::renameat(here, "d/d", here, "e") == 0) {
    WEFT_CHECK(::unlinkat(here, "d", AT_REMOVEDIR) == 0);
    WEFT_CHECK(::renameat(here, "e", here, "d") == 0);
  }
  (void)::unlinkat(here, "d", AT_REMOVEDIR);
  ::close(here);
}

TEST_F(Cases, C27TwoThousandLevels) {
  make_deep(top(), 2000);
  commit();
  EXPECT_EQ(status_lines(), "");
  remove_deep(top());
  EXPECT_EQ(unlike(run({"restore", "d"}), 0), "");
  EXPECT_EQ(status_lines(), "");
  remove_deep(top());
}

TEST_F(Cases, C27DirectoriesBeyondTheLimitAreNamed) {
  put(at("fine"), "1");
  make_deep(top(), std::getenv("WEFT_LONG") != nullptr ? 100'000 : 4'200);
  const auto output = run({"commit", "-m", "Deep"});
  EXPECT_EQ(unlike(output, 0), "");
  EXPECT_TRUE(has(output.err, "lies deeper than 4096 levels"))
      << output.err.substr(output.err.size() > 300 ? output.err.size() - 300 : 0);
  EXPECT_EQ(unlike(run({"status"}), 0), "");
  EXPECT_TRUE(has(run({"ls"}).out, "fine"));
  remove_deep(top());
}

TEST_F(Cases, C28TheExecuteBitAlone) {
  put(at("tool"), "1");
  commit();
  ASSERT_EQ(::chmod(at("tool").c_str(), 0755), 0);
  EXPECT_EQ(status_lines(), "P tool|");
  commit();
  EXPECT_EQ(status_lines(), "");
  EXPECT_EQ(unlike(run({"restore", "--from", "@-", "tool"}), 0), "");
  EXPECT_EQ(stdfs::status(at("tool")).permissions() & stdfs::perms::owner_exec, stdfs::perms::none);
  EXPECT_EQ(status_lines(), "P tool|");
}

TEST(CasesOfVerbs, C30AClockThatGoesBackwards) {
  const TempDir dir;
  stdfs::create_directory(dir / "w");
  FakeClock clock;
  Env env{posix_file_system(), clock, system_random()};
  const repo::Context context{
      env, dir / "w", {{"WEFT_AUTHOR", "Ann <ann@example.org>"}}, static_cast<std::uint32_t>(::geteuid())};
  must(repo::Repository::init(context, ".", "main"));
  std::vector<ChangeId> made;
  const auto commit_at = [&](std::int64_t second, const std::string& content) {
    clock.set(second * 1'000'000'000);
    put(dir / "w/f", content);
    auto repository = must(repo::Repository::open_only(context));
    repo::CommitRequest request;
    request.message = "Second" + std::to_string(second) + ".\n";
    made.push_back(*must(repo::commit(repository, request)).change);
  };
  commit_at(20, "a");
  commit_at(1, "b");
  commit_at(25, "c");
  const auto repository = must(repo::Repository::open_only(context));
  const auto snapshot = must(repository.store().snapshot());
  using object::Version;
  EXPECT_TRUE(must(repo::is_ancestor(snapshot, Version(made[0]), Version(made[1]))));
  EXPECT_TRUE(must(repo::is_ancestor(snapshot, Version(made[0]), Version(made[2]))));
  EXPECT_FALSE(must(repo::is_ancestor(snapshot, Version(made[2]), Version(made[1]))));
  for (const char* graph : {"--graph", "--no-graph"}) {
    const auto log = weft(dir / "w", {"log", graph});
    const auto third = log.out.find("Second25.");
    const auto second = log.out.find("Second1.");
    const auto first = log.out.find("Second20.");
    EXPECT_TRUE(third < second && second < first && first != std::string::npos) << log.out;
  }
}

TEST_F(Cases, C31EmptyDirectoriesAreWhatTheyAre) {
  stdfs::create_directories(at("a/b"));
  stdfs::create_directories(at("c"));
  put(at("c/f"), "1");
  EXPECT_EQ(status_lines(), "A a/b|A c/f|");
  commit();
  EXPECT_EQ(status_lines(), "");
  stdfs::remove_all(at("a"));
  stdfs::remove(at("c/f"));
  EXPECT_EQ(status_lines(), "D a/b|D c/f|");
  EXPECT_EQ(unlike(run({"restore", "a"}), 0), "");
  EXPECT_TRUE(stdfs::is_directory(at("a/b")));
  commit();
  EXPECT_TRUE(stdfs::is_directory(at("c")));  // it has become an empty one
  EXPECT_EQ(unlike(run({"switch", "@-"}), 0), "");
  EXPECT_EQ(get(at("c/f")), "1");
}

// The size guard
TEST_F(Cases, LargeNewFilesAreLeftOutUnlessAskedFor) {
  put(at("small"), "1");
  ASSERT_EQ(::truncate((put(at("large"), ""), at("large")).c_str(), 60 << 20), 0);
  EXPECT_EQ(status_lines(), "A small|L large|");
  auto output = run({"commit", "-m", "x"});
  EXPECT_EQ(unlike(output, 0), "");
  EXPECT_TRUE(has(output.err, "large: is new and has 60.0 MiB, more than record.max-new-file-size: left out"))
      << output.err;
  EXPECT_TRUE(has(output.err, "--max-new-file-size=0")) << output.err;
  EXPECT_TRUE(has(run({"status", "--json"}).out, "\"left_out\": [{\"path\": \"large\", \"size\": 62914560}]"));
  EXPECT_EQ(unlike(run({"commit", "-m", "named", "large"}), 0), "");
  EXPECT_EQ(status_lines(), "");
  ASSERT_EQ(::truncate((put(at("other"), ""), at("other")).c_str(), 60 << 20), 0);
  EXPECT_EQ(unlike(run({"commit", "-m", "y", "--max-new-file-size", "1 GiB"}), 0), "");
  EXPECT_EQ(status_lines(), "");
  EXPECT_EQ(unlike(run({"commit", "-m", "z", "--max-new-file-size", "much"}), 2), "");
  put(at(".weft/config.toml"), "[record]\nmax-new-file-size = \"3 B\"\n");
  put(at("tiny"), "1234");
  EXPECT_EQ(status_lines(), "L tiny|");
}

}  // namespace
}  // namespace weft::worktree
