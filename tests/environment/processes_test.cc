// Several processes on one store in odd circumstances: containers, stops, forks, signals, a machine that was started
// anew, a store that is copied, moved, cut or deleted under them.
//
// Guarantees cited: G1, G3 (log/log.h), SC1 to SC5 (base/shared_control.h).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "base/bus_error.h"
#include "support.h"

namespace weft::environment {
namespace {

namespace stdfs = std::filesystem;
using store::Store;

class OddProcesses : public ::testing::Test {
 protected:
  OddProcesses() : directory_(make_store(temp_.path())) {}
  std::string notes() const { return temp_ / "notes"; }
  /// A child that opens the store and commits `count` times.
  pid_t writer(const std::string& name, int count, const store::StoreHooks& hooks = {}) {
    return children_.start([=, this] {
      const auto store = Store::open(system_env(), directory_, hooks);
      if (!store) return 2;
      const auto done = commit_many(*store, name, count, notes());
      if (!done) note(notes() + ".errors", name + ": " + done.error().message);
      return done ? 0 : 1;
    });
  }
  std::string errors() const {
    std::string all;
    for (const auto& line : noted(notes() + ".errors")) all += line + "\n";
    return all;
  }
  std::string problem() const { return problem_with(directory_, notes()); }

  TempDir temp_;
  std::string directory_;
  Children children_;
};

/// A process id that means another process, or none, on the other side: SC3.
TEST_F(OddProcesses, TwoContainersAndALeaderKilledInOne) {
  const auto contained = [&](const std::string& name, bool killed) {
    return children_.start([=, this] {
      // Mounts first, and private: what is mounted here must not reach the machine.
      if (!worktree::own_mounts() || ::unshare(CLONE_NEWPID) != 0) return kNotHere;
      const pid_t inside = ::fork();  // process 1 of its namespace
      if (inside == 0) {
        ::mount("proc", "/proc", "proc", 0, nullptr);
        if (killed) {  // a leader dies with everybody waiting for it; process 1 cannot kill itself, its child can
          const pid_t victim = ::fork();
          if (victim == 0) {
            const auto hooks = acting_at("lead:written", 3, [] { ::kill(::getpid(), SIGKILL); });
            const auto store = Store::open(system_env(), directory_, hooks);
            if (store) (void)commit_many(*store, name + "victim", 50, notes());
            ::_exit(3);
          }
          int status = 0;
          ::waitpid(victim, &status, 0);
          if (!WIFSIGNALED(status)) ::_exit(4);
        }
        const auto store = Store::open(system_env(), directory_);
        if (!store) ::_exit(5);
        ::_exit(commit_many(*store, name, 60, notes()) ? 0 : 6);
      }
      int status = 0;
      ::waitpid(inside, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
    });
  };
  const pid_t one = contained("one", false), other = contained("other", true);
  const int first = children_.end_of(one), second = children_.end_of(other);
  if (WIFEXITED(first)) SKIP_IF_NOT_HERE(WEXITSTATUS(first), "a PID namespace needs root");
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 0);
  EXPECT_EQ(noted(notes(), "one-").size(), 60u);
  EXPECT_EQ(noted(notes(), "other-").size(), 60u);
  EXPECT_EQ(problem(), "");
}

/// Ctrl-Z while leading takes effect when the batch is done: nobody waits for who is stopped.
TEST_F(OddProcesses, CtrlZIsHeldOffWhileLeading) {
  const pid_t stopped = children_.start([&] {
    ::setpgid(0, 0);  // a job of its own; its parent is in the same session, so it may be stopped
    const auto hooks = acting_at("lead:closed", 1, [] { ::kill(::getpid(), SIGTSTP); });
    const auto store = Store::open(system_env(), directory_, hooks);
    return store && commit_many(*store, "stopped", 2, notes()) ? 0 : 1;
  });
  ASSERT_TRUE(children_.is_stopped(stopped)) << errors();
  EXPECT_EQ(children_.end_of(writer("free", 5), 20), 0) << "somebody waits for a process that is stopped";
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  EXPECT_EQ(children_.end_of(stopped), 0);
  EXPECT_EQ(noted(notes()).size(), 7u);
  EXPECT_EQ(problem(), "");
}

/// A forked child takes a slot of its own, and does not give its parent's back: SC4.
TEST_F(OddProcesses, ForkInTheMiddle) {
  const auto store = Store::open(system_env(), directory_);
  ASSERT_TRUE(store);
  ASSERT_TRUE(commit_many(*store, "before", 2, notes()));
  const pid_t child = children_.start([&] { return commit_many(*store, "child", 40, notes()) ? 0 : 1; });
  ASSERT_TRUE(commit_many(*store, "parent", 40, notes()));
  EXPECT_EQ(children_.end_of(child), 0);
  ASSERT_TRUE(commit_many(*store, "after", 2, notes()));
  EXPECT_EQ(noted(notes()).size(), 84u);
  EXPECT_EQ(problem(), "");
}

TEST_F(OddProcesses, AForkThatDiesWithALockHoldsUpNobody) {
  const auto hooks = acting_at("lead:closed", 2, [first = ::getpid()] {
    if (::getpid() != first) ::kill(::getpid(), SIGKILL);
  });
  const auto store = Store::open(system_env(), directory_, hooks);
  ASSERT_TRUE(store);
  ASSERT_TRUE(commit_many(*store, "before", 1, notes()));
  const pid_t child = children_.start([&] { return commit_many(*store, "child", 3, notes()) ? 0 : 1; });
  EXPECT_TRUE(WIFSIGNALED(children_.end_of(child)));
  const std::int64_t before = system_clock().monotonic_ns();
  ASSERT_TRUE(commit_many(*store, "parent", 4, notes()));
  EXPECT_LT(system_clock().monotonic_ns() - before, 20'000'000'000);
  EXPECT_EQ(problem(), "");
}

/// Signals that end a process do so anywhere; what was not acknowledged is wholly in or wholly out.
TEST_F(OddProcesses, EndedBySignalsAtEveryPoint) {
  int number = 0;
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    for (const char* const point : {"append:locked", "append:copying", "append:published", "lead:closed",
                                    "lead:written", "lead:flushed", "exclusive:written", "exclusive:flushed"}) {
      SCOPED_TRACE(point);
      const std::string name = "v" + std::to_string(number++);
      const pid_t victim = writer(name, 12, acting_at(point, 1, [=] { ::kill(::getpid(), signal); }));
      const int status = children_.end_of(victim);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
      EXPECT_EQ(children_.end_of(writer(name + "next", 2), 30), 0) << errors();
    }
  }
  EXPECT_EQ(noted(notes()).size() >= static_cast<std::size_t>(2 * number), true);
  EXPECT_EQ(problem(), "");
}

/// SC2: what the block says is of a machine that is no more.
TEST_F(OddProcesses, ABootInBetween) {
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store && commit_many(*store, "before", 5, notes()));
  }
  constexpr std::streamoff kBootId = 16;  // behind magic, layout and ready
  const std::string control = directory_ + "/control";
  {
    std::fstream file(control, std::ios::in | std::ios::out | std::ios::binary);
    std::string id(36, '\0');
    file.seekg(kBootId).read(id.data(), 36);
    ASSERT_EQ(id + "\n", get_file("/proc/sys/kernel/random/boot_id"));
    file.seekp(kBootId).write("00000000-0000-4000-8000-000000000000", 36);
    // And what it says of the log is of another one.
    file.seekp(4096 + 4096 * 8 + 192).write(std::string(256, '\x77').data(), 256);
  }
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(labels_of(*store).size(), 5u);
    ASSERT_TRUE(commit_many(*store, "after", 5, notes()));
  }
  EXPECT_EQ(problem(), "");
}

/// SC4: a block that somebody still goes by is not replaced because its file is gone.
TEST_F(OddProcesses, TheControlBlockIsDeletedWhileItIsInUse) {
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store && commit_many(*store, "first", 2, notes()));
    ASSERT_TRUE(stdfs::remove(directory_ + "/control"));
    const auto other = Store::open(system_env(), directory_);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(labels_of(*other).size(), 2u) << "it can be read";
    const auto refused = commit_once(*other, "other-0");
    ASSERT_FALSE(refused) << "two processes would write to one place of the log";
    EXPECT_EQ(refused.error().code, Code::busy);
    EXPECT_TRUE(has(refused.error().hint, "weft doctor")) << refused.error().hint;
    // Who has the old one goes on.
    ASSERT_TRUE(commit_many(*store, "second", 6, notes()));
  }
  EXPECT_EQ(problem(), "");
  const auto store = Store::open(system_env(), directory_);
  ASSERT_TRUE(store && commit_many(*store, "third", 2, notes()));
}

/// Runs `body` in a child whose bus errors are explained; gives what it said and how it ended.
struct Explained {
  int status = 0;
  std::string said;
};
Explained explained(Children& children, const std::string& errors, const std::function<int()>& body) {
  const pid_t child = children.start([&] {
    const int fd = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(fd, STDERR_FILENO);
    explain_bus_errors(BusErrorForm::text, 5);
    return body();
  });
  const int status = children.end_of(child);
  return {status, get_file(errors)};
}

TEST_F(OddProcesses, TheControlBlockIsCutWhileItIsInUse) {
  const auto ended = explained(children_, temp_ / "said", [&] {
    const auto store = Store::open(system_env(), directory_);
    if (!store || !commit_many(*store, "before", 2, notes())) return 1;
    stdfs::resize_file(directory_ + "/control", 0);
    (void)commit_many(*store, "after", 1, notes());
    return 2;
  });
  ASSERT_TRUE(WIFEXITED(ended.status)) << "it crashed: " << ended.status;
  EXPECT_EQ(WEXITSTATUS(ended.status), 5);
  EXPECT_TRUE(has(ended.said, directory_ + "/control was cut")) << ended.said;
  EXPECT_TRUE(has(ended.said, "hint: nothing recorded is lost")) << ended.said;
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(children_.end_of(writer("next", 2)), 0) << errors();
  EXPECT_EQ(problem(), "");
}

TEST_F(OddProcesses, ASegmentIsCutWhileItIsRead) {
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store && commit_many(*store, "before", 2, notes()));
  }
  const auto ended = explained(children_, temp_ / "said", [&] {
    const auto store = Store::open(system_env(), directory_);
    if (!store || labels_of(*store).size() != 2) return 1;
    stdfs::resize_file(directory_ + "/log/0000000001.seg", 0);
    (void)labels_of(*store);
    return 2;
  });
  ASSERT_TRUE(WIFEXITED(ended.status)) << "it crashed: " << ended.status;
  EXPECT_EQ(WEXITSTATUS(ended.status), 5) << ended.said;
  EXPECT_TRUE(has(ended.said, "/log/0000000001.seg was cut")) << ended.said;
  EXPECT_TRUE(has(ended.said, "weft verify")) << ended.said;
}

/// A fault that is no file's stays a crash: the handler must not hide our own mistakes.
TEST_F(OddProcesses, OtherBusErrorsStayCrashes) {
  const pid_t child = children_.start([&] {
    explain_bus_errors(BusErrorForm::text, 5);
    return ::raise(SIGBUS) == 0 && ::raise(SIGBUS) == 0 ? 0 : 1;
  });
  const int status = children_.end_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

TEST_F(OddProcesses, TheStoreIsMovedWhileItIsInUse) {
  const std::string moved = temp_ / "moved";
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store && commit_many(*store, "before", 2, notes()));
    stdfs::rename(directory_, moved);
    // Another one takes its place: nothing of ours may get into it.
    ASSERT_EQ(make_store(temp_.path()), directory_);
    const std::string before = get_file(directory_ + "/log/0000000001.seg");
    Result<void> done;
    for (int i = 0; i < 20 && done; ++i) {
      const std::string label = "on-" + std::to_string(i);
      done = commit_once(*store, label, 200'000);
      if (done) note(notes(), label);
    }
    ASSERT_FALSE(done) << "it went on into a segment by the store's old name";
    EXPECT_EQ(done.error().code, Code::busy) << done.error().message;
    EXPECT_TRUE(has(done.error().message, "moved")) << done.error().message;
    EXPECT_EQ(get_file(directory_ + "/log/0000000001.seg"), before);
    EXPECT_FALSE(stdfs::exists(directory_ + "/log/0000000002.seg"));
  }
  EXPECT_EQ(problem_with(moved, notes()), "");
  EXPECT_EQ(problem_with(directory_, temp_ / "nothing"), "");
}

TEST_F(OddProcesses, TheStoreIsDeletedWhileItIsInUse) {
  const auto store = Store::open(system_env(), directory_);
  ASSERT_TRUE(store && commit_many(*store, "before", 1, notes()));
  stdfs::remove_all(directory_);
  Result<void> done;
  for (int i = 0; i < 20 && done; ++i) done = commit_once(*store, "on-" + std::to_string(i), 200'000);
  ASSERT_FALSE(done);
  EXPECT_FALSE(done.error().hint.empty()) << done.error().message;
  EXPECT_FALSE(stdfs::exists(directory_)) << "nothing is made where the store was";
}

/// `cp -a` of a store in use is what was durable at some moment, or says what is missing of it.
TEST_F(OddProcesses, CopiedWhileItIsInUse) {
  const std::string stop = temp_ / "stop";
  std::vector<pid_t> writers;
  for (const std::string name : {"wa", "wb", "wc"}) {
    writers.push_back(children_.start([=, this] {
      const auto store = Store::open(system_env(), directory_);
      if (!store) return 1;
      for (int i = 0; !stdfs::exists(stop); ++i) {
        const std::string label = name + "-" + std::to_string(i);
        if (!commit_once(*store, label, i % 4 == 3 ? 300'000 : 0)) return 2;
        note(notes(), label);
      }
      return 0;
    }));
  }
  int whole = 0, damaged = 0;
  for (int round = 0; round < 8; ++round) {
    pause_ms(30);
    const auto before = noted(notes());
    const std::string copy = temp_ / ("copy" + std::to_string(round));
    const std::string command = "cp -a '" + directory_ + "' '" + copy + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
    auto store = Store::open(system_env(), copy);  // the control block in it is of another file: SC2
    ASSERT_TRUE(store) << store.error().message;
    std::set<std::string> listed;
    for (const auto& label : labels_of(*store)) listed.insert(label);
    if (const auto& damage = store->damage()) {
      ++damaged;
      EXPECT_TRUE(has(damage->message, "position") || has(damage->message, ".seg is missing")) << damage->message;
      EXPECT_TRUE(has(damage->hint, "repair")) << damage->hint;
      store = make_error(Code::internal, "closed");
      const auto repaired = Store::repair(system_env(), copy, {.accept_loss = true});
      ASSERT_TRUE(repaired) << repaired.error().message;
    } else {
      ++whole;
      // Everything that was acknowledged before the copying began.
      for (const auto& label : before) EXPECT_TRUE(listed.contains(label)) << label;
      store = make_error(Code::internal, "closed");
    }
    EXPECT_EQ(problem_with(copy, temp_ / "nothing"), "") << round;
    stdfs::remove_all(copy);
  }
  put_file(stop, "");
  for (const pid_t child : writers) EXPECT_EQ(children_.end_of(child), 0);
  std::printf("copies: %d whole, %d that say what is missing\n", whole, damaged);
  EXPECT_EQ(problem(), "");
}

}  // namespace
}  // namespace weft::environment
