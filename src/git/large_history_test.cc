// Whole histories through import and export: a generated one (WEFT_GIT_HISTORY=COMMITS,MERGES for another size), the
// repository these sources lie in, and both with processes killed on the way.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "git/testing/history_generator.h"
#include "git/testing/store_fixture.h"

namespace weft::git::testing {
namespace {

class LargeHistory : public StoreFixture {
 protected:
  static HistorySize size() {
    HistorySize size;
    if (const char* wanted = std::getenv("WEFT_GIT_HISTORY")) {
      std::sscanf(wanted, "%zu,%zu", &size.commits, &size.merges);
    }
    return size;
  }
  void generate(HistorySize size) {
    const auto loaded = git().run({"fast-import", "--quiet"}, HistoryGenerator(20240611, size).stream());
    ASSERT_TRUE(loaded.status.ok()) << loaded.err;
  }
  static std::uint64_t packed_bytes(GitRepository& repository) {
    std::istringstream lines(repository.git({"count-objects", "-v"}));
    for (std::string key, value; lines >> key >> value;) {
      if (key == "size-pack:") return std::stoull(value) * 1024;
    }
    return 0;
  }
  void expect_same(const std::string& exported_to) {
    GitRepository out = opened(exported_to);
    EXPECT_EQ(refs_of(out), refs_of(git()));
    EXPECT_TRUE(objects_of(out) == objects_of(git()));
    fsck_strict(out);
  }
  /// What git, too, leaves behind when it is killed while it holds a ref; the export names such a file.
  void remove_stale_locks() {
    for (const auto& each : std::filesystem::recursive_directory_iterator(target() + "/refs")) {
      if (each.path().extension() == ".lock") std::filesystem::remove(each.path());
    }
  }
  /// Runs `work` in a process of its own and kills that, with every process it started, after `us` microseconds.
  static void run_and_kill(unsigned us, const std::function<void()>& work) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setpgid(0, 0);
      work();
      _exit(0);
    }
    setpgid(child, child);
    usleep(us);
    kill(-child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
  }
};

TEST_F(LargeHistory, ComesOutAsItWentIn) {
  generate(size());
  auto repository = init(workspace());
  const auto report = imported(repository, git().path());
  const auto done = exported(repository, target());
  EXPECT_EQ(done.commits, report.commits);
  expect_same(target());
  git().git({"gc", "-q"});
  GitRepository out = opened(target());
  const std::uint64_t ours = packed_bytes(out);
  const std::uint64_t gits = packed_bytes(git());
  std::printf("%llu commits, %llu objects, pack of %llu KiB, after git gc %llu KiB\n",
              static_cast<unsigned long long>(done.commits), static_cast<unsigned long long>(done.objects),
              static_cast<unsigned long long>(ours >> 10), static_cast<unsigned long long>(gits >> 10));
  EXPECT_LT(ours, 2 * gits + (64u << 10));

  // Incremental in both directions: what is new and nothing else.
  EXPECT_EQ(imported(repository, target()).commits, 0u);
  GitRepository clone(directory_.path(), "clone");
  clone.git({"pull", "-q", target(), "main"});
  clone.write("one-more", "one more\n");
  clone.commit("one more");
  clone.git({"push", "-q", target(), "main"});
  EXPECT_EQ(imported(repository, target()).commits, 1u);
  const auto more = exported(repository, git().path(), {}, Code::refused);  // main is checked out there
  EXPECT_EQ(more.commits, 1u);
  EXPECT_LE(more.objects, 3u);
}

TEST_F(LargeHistory, KilledAnywhereItGoesOn) {  // GI1, EX1
  generate({.commits = 150, .merges = 10, .files = 40});
  {
    init(workspace());
  }
  std::mt19937 random(7);
  for (int i = 0; i < 8; ++i) {
    run_and_kill(static_cast<unsigned>(20'000 + random() % 300'000), [this] {
      auto repository = repo::Repository::open(context(workspace()));
      if (repository) imported(*repository, git().path());
    });
  }
  auto repository = repo::Repository::open(context(workspace())).value();
  imported(repository, git().path());
  for (int i = 0; i < 8; ++i) {
    run_and_kill(static_cast<unsigned>(20'000 + random() % 300'000), [this] {
      auto again = repo::Repository::open(context(workspace()));
      if (again) exported(*again, target());
    });
    if (!std::filesystem::exists(target())) continue;
    remove_stale_locks();
    const auto fsck = opened(target()).run({"fsck", "--strict", "--full"});
    EXPECT_TRUE(fsck.status.ok()) << fsck.err;
  }
  exported(repository, target());
  expect_same(target());
}

TEST_F(LargeHistory, InSmallPortionsItBecomesTheSame) {  // GI1
  generate({.commits = 120, .merges = 8, .files = 40});
  auto one = init(workspace());
  const auto whole = imported(one, git().path());
  std::filesystem::create_directories(directory_.path() + "/other");
  auto other = init(directory_.path() + "/other");
  ImportOptions options;
  options.path = git().path();
  options.helper = helper_path();
  options.commits_per_portion = 7;
  const auto portions = import_repository(other, options);
  ASSERT_TRUE(portions.has_value()) << portions.error().message;
  ASSERT_EQ(portions->refs.size(), whole.refs.size());
  for (std::size_t i = 0; i < whole.refs.size(); ++i) EXPECT_EQ(portions->refs[i].change, whole.refs[i].change);
}

TEST_F(LargeHistory, TheRepositoryOfTheseSources) {
  std::string source = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().string();
  if (!std::filesystem::exists(source + "/.git")) GTEST_SKIP() << "the sources lie in no git repository";
  const auto cloned = git().run({"clone", "-q", "--mirror", source, directory_.path() + "/source.git"});
  if (!cloned.status.ok()) GTEST_SKIP() << "it cannot be cloned here: " << cloned.err;
  GitRepository mirror = opened(directory_.path() + "/source.git");
  if (mirror.git({"rev-parse", "--is-shallow-repository"}) == "true") GTEST_SKIP() << "it is shallow";
  auto repository = init(workspace());
  const auto report = imported(repository, mirror.path());
  ASSERT_GT(report.commits, 0u);
  exported(repository, target());
  GitRepository out = opened(target());
  for (const auto& ref : report.refs) {
    EXPECT_EQ(out.git({"rev-parse", ref.ref.git_name}), mirror.git({"rev-parse", ref.ref.git_name}));
  }
  fsck_strict(out);
}

}  // namespace
}  // namespace weft::git::testing
