#include "base/shared_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/testing/temp_dir.h"

namespace weft {
namespace {

class SharedControlTest : public testing::Test {
 protected:
  Result<std::unique_ptr<SharedControl>> open(std::uint32_t layout = 1, const std::string& name = "control") {
    SharedControlOptions options;
    options.path = temp_ / name;
    options.size = 64u << 10;
    options.layout = layout;
    options.initialise = [this](SharedControl& control) {
      ++initialised_;
      return control.ensure_allocated(0, 4096);
    };
    return open_mapped_control(options);
  }
  static SharedControl::Word& word(SharedControl& control) {
    return *reinterpret_cast<SharedControl::Word*>(control.base());
  }

  TempDir temp_;
  int initialised_ = 0;
};

TEST_F(SharedControlTest, IsMadeOnceAndShared) {  // SC1
  const auto a = open();
  const auto b = open();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(initialised_, 1);
  word(**a).store(7);
  EXPECT_EQ(word(**b).load(), 7u);
  EXPECT_NE((*a)->token().value(), (*b)->token().value());
}

TEST_F(SharedControlTest, ACopiedFileIsNotUsed) {  // SC2
  const auto a = open();
  ASSERT_TRUE(a);
  word(**a).store(7);
  std::filesystem::copy_file(temp_ / "control", temp_ / "copy");
  const auto b = open(1, "copy");
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(initialised_, 2);
  EXPECT_EQ(word(**b).load(), 0u);
}

TEST_F(SharedControlTest, AnotherLayoutWaitsForThoseWhoUseTheOld) {  // SC2
  auto old = open(1);
  ASSERT_TRUE(old);
  ASSERT_TRUE((*old)->token());
  const auto refused = open(2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy);
  old->reset();
  EXPECT_TRUE(open(2));
  EXPECT_EQ(initialised_, 2);
}

TEST_F(SharedControlTest, TruncatedOrGarbledIsReplaced) {
  ASSERT_TRUE(open());
  for (const off_t size : {off_t{0}, off_t{100}, off_t{5000}}) {
    ASSERT_EQ(0, ::truncate((temp_ / "control").c_str(), size));
    EXPECT_TRUE(open());
  }
  const int fd = ::open((temp_ / "control").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(4, ::pwrite(fd, "XXXX", 4, 0));
  ::close(fd);
  EXPECT_TRUE(open());
  EXPECT_EQ(initialised_, 5);
}

TEST_F(SharedControlTest, ATokenLivesAsLongAsItsProcess) {  // SC3
  const auto mine = open();
  ASSERT_TRUE(mine);
  int fds[2];
  ASSERT_EQ(0, ::pipe2(fds, O_CLOEXEC));
  const pid_t child = ::fork();
  if (child == 0) {
    auto theirs = open();
    const OwnerToken token = theirs ? (*theirs)->token().value_or(0) : 0;
    if (::write(fds[1], &token, sizeof(token)) != sizeof(token)) ::_exit(1);
    for (;;) ::pause();
  }
  OwnerToken token = 0;
  ASSERT_EQ(static_cast<ssize_t>(sizeof(token)), ::read(fds[0], &token, sizeof(token)));
  EXPECT_NE(token, 0u);
  EXPECT_TRUE((*mine)->alive(token));
  EXPECT_EQ((*mine)->process_of(token), static_cast<std::uint32_t>(child));
  ASSERT_EQ(0, ::kill(child, SIGKILL));
  ASSERT_EQ(child, ::waitpid(child, nullptr, 0));
  EXPECT_FALSE((*mine)->alive(token));
  // The slot is used again, under another token.
  for (std::size_t i = 0; i < SharedControl::kMaxSlots; i += 64) {
    auto next = open();
    ASSERT_TRUE(next);
    EXPECT_NE((*next)->token().value(), token);
  }
  EXPECT_FALSE((*mine)->alive(token));
  EXPECT_FALSE((*mine)->alive(0));
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_F(SharedControlTest, ATokenEndsWithItsControl) {
  const auto watcher = open();
  auto holder = open();
  ASSERT_TRUE(watcher && holder);
  const OwnerToken token = (*holder)->token().value();
  EXPECT_EQ((*holder)->token().value(), token);
  EXPECT_TRUE((*watcher)->alive(token));
  holder->reset();
  EXPECT_FALSE((*watcher)->alive(token));
}

TEST_F(SharedControlTest, RetiringNeedsEverySlotFreeAndEndsTheOldBlock) {
  auto holder = open();
  auto reader = open();
  ASSERT_TRUE(holder && reader);
  ASSERT_TRUE((*holder)->token());
  const auto refused = retire_mapped_control(temp_ / "control");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy);
  holder->reset();
  ASSERT_TRUE(retire_mapped_control(temp_ / "control"));
  // Who had only read until now cannot begin to write by the old block.
  const auto late = (*reader)->token();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::busy);
  EXPECT_TRUE(retire_mapped_control(temp_ / "control")) << "nothing there is no error";
  const auto fresh = open();
  ASSERT_TRUE(fresh);
  EXPECT_TRUE((*fresh)->token());
}

}  // namespace
}  // namespace weft
