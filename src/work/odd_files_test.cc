// Working trees as people and programs really leave them: CASES C10, C11, C13, C14, C15, C22, C24.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

using testing::Lines;
using testing::must;

class OddFilesTest : public testing::WorkTest {};

// CASES C10, W5
TEST_F(OddFilesTest, C10SameSizeAndSameTimeIsNotMissed) {
  int missed = 0;
  for (int round = 0; round < 200; ++round) {
    write("f", "aaaa");
    struct stat before{};
    ASSERT_EQ(::stat(at("f").c_str(), &before), 0);
    commit();
    {
      std::ofstream file(at("f"), std::ios::in | std::ios::out);
      file << "bbbb";
    }
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
    if (status_lines() != Lines{"M f"}) ++missed;
    commit();
    if (must(objects_.read(object::ObjectKind::blob, head_entry("f").id)) != "bbbb") ++missed;
  }
  EXPECT_EQ(missed, 0);
}

// CASES C11
TEST_F(OddFilesTest, C11AFileThatMovesWhileItIsRead) {
  // One page: a writer that the kernel sets aside in the middle of a longer write leaves half-written bytes that hold
  // still, and no reader can tell those from finished ones.
  constexpr std::size_t kSize = 4096;
  write("calm", "calm");
  write("moving", std::string(kSize, 'a'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const int fd = ::open(at("moving").c_str(), O_WRONLY);
    std::string content(kSize, 'a');
    for (int i = 0; !stop; ++i) {
      std::fill(content.begin(), content.end(), static_cast<char>('a' + i % 26));
      if (::pwrite(fd, content.data(), content.size(), 0) < 0) break;
      if (i % 8 == 0) std::this_thread::yield();
    }
    ::close(fd);
  });
  int recorded_rounds = 0;
  int named_rounds = 0;
  for (int round = 0; round < 40; ++round) {
    write("calm", "calm " + std::to_string(round));
    const auto recorded = commit();
    const auto picture = picture_of(head_);
    EXPECT_EQ(picture.at("calm"), "f644:calm " + std::to_string(round));
    if (warned(recorded.status.warnings) == Lines{"moving"}) {
      ++named_rounds;
      continue;
    }
    EXPECT_TRUE(recorded.status.warnings.empty());
    ++recorded_rounds;
    const std::string content = picture.at("moving").substr(5);
    EXPECT_EQ(content, std::string(content.size(), content[0])) << "a torn read was recorded";
  }
  stop = true;
  writer.join();
  EXPECT_EQ(recorded_rounds + named_rounds, 40);
  commit();
  EXPECT_EQ(picture_of(head_), picture_of_disk());
}

// CASES C13
TEST_F(OddFilesTest, C13UnreadableFilesWarnAndTheRestWorks) {
  write("secret", "1");
  write("fine", "1");
  write("locked/in", "1");
  commit();
  const ObjectId before = head_entry("secret").id;
  write("secret", "changed");
  write("fine", "2");
  write("new_secret", "n");
  ASSERT_EQ(::chmod(at("secret").c_str(), 0), 0);
  ASSERT_EQ(::chmod(at("new_secret").c_str(), 0), 0);
  ASSERT_EQ(::chmod(at("locked").c_str(), 0), 0);
  const auto check = [&]() -> bool {
    const auto recorded = record(tree(), objects_, objects_, head_, {});
    if (!recorded) return false;
    if (lines(recorded->status) != Lines{"M fine"}) return false;
    if (warned(recorded->status.warnings) != Lines{"locked", "new_secret", "secret"}) return false;
    head_ = recorded->tree;
    return head_entry("secret").id == before && picture_of(head_).contains("locked/in") &&
           !picture_of(head_).contains("new_secret");
  };
  if (::geteuid() != 0) {
    EXPECT_TRUE(check());
  } else {
    // Root reads everything: ask without that right, in a child.
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!obey_modes()) ::_exit(77);
      ::_exit(check() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "SKIPPED LOUDLY: root cannot give up its rights here";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  ASSERT_EQ(::chmod(at("locked").c_str(), 0755), 0);
}

// CASES C14
TEST_F(OddFilesTest, C14PipesAndSocketsNeverBlock) {
  write("f", "1");
  write("g", "1");
  write("d/x", "1");
  commit();
  const ObjectId before = head_;
  remove("f");
  ASSERT_EQ(::mkfifo(at("f").c_str(), 0644), 0);
  remove("g");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(fd, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(at("g").size(), sizeof(address.sun_path));
  at("g").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
  ASSERT_EQ(::mkfifo(at(".gitignore").c_str(), 0644), 0);
  ASSERT_EQ(::mkfifo(at("d/.weftignore").c_str(), 0644), 0);
  ASSERT_EQ(::mkfifo(at("new").c_str(), 0644), 0);
  const Status seen = scan();
  EXPECT_EQ(lines(seen), Lines{});
  EXPECT_EQ(warned(seen.warnings),
            (Lines{".gitignore", ".gitignore", "d/.weftignore", "d/.weftignore", "f", "g", "new"}));
  commit();
  EXPECT_EQ(head_, before);
  // Checkout refuses what it does not know.
  EXPECT_FALSE(try_checkout(tree_with(head_, "f", "2")));
  EXPECT_FALSE(try_checkout(tree_with(head_, "new", "2")));
}

// CASES C15
TEST_F(OddFilesTest, C15LinksAreRecordedAsLinks) {
  std::filesystem::create_directory(temp_ / "outside");
  std::ofstream(temp_ / "outside/file") << "outside";
  link("u", "u");
  link("dangling", "no/such/thing");
  link("absolute", temp_ / "outside");
  link("escape", "../outside/file");
  write("d/f", "1");
  link("to_d", "d");
  EXPECT_EQ(status_lines(), (Lines{"A absolute", "A d/f", "A dangling", "A escape", "A to_d", "A u"}));
  const ObjectId with = commit().tree;
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  const auto picture = picture_of_disk();
  switch_to(must(object::write_directory(objects_, {})));
  EXPECT_TRUE(picture_of_disk().empty());
  EXPECT_TRUE(std::filesystem::exists(temp_ / "outside/file"));
  switch_to(with);
  EXPECT_EQ(picture_of_disk(), picture);
  EXPECT_EQ(status_lines(), Lines{});
  remove("u");
  link("u", "v");
  EXPECT_EQ(status_lines(), Lines{"M u"});
}

// CASES C22
TEST_F(OddFilesTest, C22NestedRepositories) {
  write("d/f", "1");
  write("d/s/g", "1");
  commit();
  write("d/.git/HEAD", "ref: refs/heads/main");
  write("d/new", "theirs");
  Status seen = scan();
  EXPECT_EQ(lines(seen), Lines{});
  EXPECT_EQ(warned(seen.warnings), Lines{"d"});
  write("d/f", "22");
  EXPECT_EQ(status_lines(), Lines{"M d/f"});
  // What was really deleted is: directly beside the repository's mark, and below.
  remove("d/f");
  EXPECT_EQ(status_lines(), Lines{"D d/f"});
  write("d/s/new", "theirs");
  EXPECT_EQ(status_lines(), Lines{"D d/f"});
  remove("d/s/g");
  EXPECT_EQ(status_lines(), (Lines{"D d/f", "D d/s/g"}));
  write("d/f/theirs", "in place of a tracked file");
  EXPECT_EQ(status_lines(), (Lines{"D d/f", "D d/s/g"}));
  commit();
  EXPECT_EQ(status_lines(), Lines{});
  // A repository nobody tracks anything of is left alone whole.
  write("sub/.weft", "weft workspace 1\n");
  write("sub/file", "theirs");
  seen = scan();
  EXPECT_EQ(lines(seen), Lines{});
  EXPECT_EQ(warned(seen.warnings), (Lines{"d", "sub"}));
}

// CASES C24
TEST_F(OddFilesTest, C24OddNamesRoundTrip) {
  const Lines names = {"new\nline", "quote\"d", " lead", "trail ",      "a -> b",       "\xff\xfe", "-x",  "p(q)",
                       "\\",        "\x01",     "tab\t", "caf\xc3\xa9", "cafe\xcc\x81", "CASE",     "case"};
  for (const std::string& name : names) write(name, "content of " + name);
  for (const std::string& name : names) write("dir " + name + "/" + name, name);
  const Status seen = scan();
  EXPECT_EQ(seen.entries.size(), 2 * names.size());
  const ObjectId full = commit().tree;
  EXPECT_EQ(picture_of(head_), picture_of_disk());
  EXPECT_EQ(status_lines(), Lines{});
  const auto picture = picture_of_disk();
  switch_to(must(object::write_directory(objects_, {})));
  switch_to(full);
  EXPECT_EQ(picture_of_disk(), picture);
}

}  // namespace
}  // namespace weft::work
