// Real processes on a real directory: this program starts itself again as writers and readers, kills them, and compares
// what they wrote down outside the store with what the store holds.
//
//   test_processes --writer DIRECTORY NOTES NAME COUNT LARGE-ONE-IN [POINT PASS kill|stop|lie]
//   test_processes --reader DIRECTORY STOP-FILE
// A writer appends "NAME-i" to NOTES (O_APPEND) after each commit() that returned success, and its worst wait at the
// end. "lie" notes the commit under way at that point, before it is durable, and kills: a bug put in on purpose.
//
// WEFT_PROCESS_SECONDS=n lets the test with 32 processes run for n seconds. Guarantees cited: G1 to G5 (log/log.h), SC3
// (base/shared_control.h).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "base/testing/fake_random.h"
#include "base/testing/temp_dir.h"
#include "store/store.h"

namespace weft::store {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// The real control block; at the n-th pass of a point something is done.
class WatchedControl final : public SharedControl {
 public:
  WatchedControl(std::unique_ptr<SharedControl> inner, std::string name, int pass, std::function<void()> action)
      : inner_(std::move(inner)), name_(std::move(name)), pass_(pass), action_(std::move(action)) {
    base_ = inner_->base();
    size_ = inner_->size();
  }
  void wait(Word& word, std::uint32_t expected, std::int64_t timeout_ns) override {
    inner_->wait(word, expected, timeout_ns);
  }
  void wake(Word& word, int count) override { inner_->wake(word, count); }
  Result<void> ensure_allocated(std::size_t offset, std::size_t length) override {
    return inner_->ensure_allocated(offset, length);
  }
  Result<OwnerToken> token() override { return inner_->token(); }
  bool alive(OwnerToken token) override { return inner_->alive(token); }
  std::uint32_t process_of(OwnerToken token) override { return inner_->process_of(token); }
  void point(const char* name) override {
    if (name_ == name && --pass_ == 0) action_();
  }

 private:
  std::unique_ptr<SharedControl> inner_;
  std::string name_;
  int pass_;
  std::function<void()> action_;
};

void note(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(9);
  ::close(fd);
}

Result<void> write_commits(const std::vector<std::string>& words) {
  const std::string &directory = words.at(0), &notes = words.at(1), &name = words.at(2);
  const int count = std::stoi(words.at(3));
  const int large_one_in = std::stoi(words.at(4));
  std::string label;
  StoreHooks hooks;
  hooks.waiting = [&](std::uint32_t process) { note(notes, "waiting for " + std::to_string(process)); };
  if (words.size() > 5) {
    hooks.open_control = [&](const SharedControlOptions& options) -> Result<std::unique_ptr<SharedControl>> {
      WEFT_TRY(auto inner, open_mapped_control(options));
      const auto action = [&] {
        if (words.at(7) == "lie") note(notes, label);
        ::kill(::getpid(), words.at(7) == "stop" ? SIGSTOP : SIGKILL);
      };
      return std::unique_ptr<SharedControl>(
          std::make_unique<WatchedControl>(std::move(inner), words.at(5), std::stoi(words.at(6)), action));
    };
  }
  WEFT_TRY(const Store store, Store::open(system_env(), directory, hooks));
  std::int64_t worst = 0;
  for (int i = 0; i < count; ++i) {
    label = name + "-" + std::to_string(i);
    WEFT_TRY(auto transaction, store.begin());
    object::Change change;
    change.lamport = 1;
    change.author = change.committer = {"A", "a@example.org", {kSecond, 60}};
    change.message = label;
    change.tree = object::empty_tree_id();
    // Some are too large for the ring: their authors write them.
    const Bytes extra(i % large_one_in == large_one_in - 1 ? 300'000 : 0, 'x');
    transaction.set_operation({.label = label, .author = "A <a@example.org>"});
    WEFT_TRY(const ChangeId id, transaction.put_change(change));
    for (const std::string& ref : {std::string("pair/a"), std::string("pair/b"), "own/" + name}) {
      RefEdit edit;
      edit.name = ref;
      edit.after = RefValue{Version(id), ref == "pair/a" ? extra : Bytes()};
      transaction.edit_ref(std::move(edit));
    }
    const std::int64_t before = system_clock().monotonic_ns();
    WEFT_TRY(const Committed committed, transaction.commit());
    worst = std::max(worst, system_clock().monotonic_ns() - before);
    (void)committed;
    note(notes, label);
  }
  note(notes, "worst " + std::to_string(worst));
  return {};
}

Result<void> read_pairs(const std::vector<std::string>& words) {
  WEFT_TRY(const Store store, Store::open(system_env(), words.at(0)));
  while (::access(words.at(1).c_str(), F_OK) != 0) {
    WEFT_TRY(const Snapshot snapshot, store.snapshot());
    WEFT_TRY(const auto a, snapshot.ref("pair/a"));
    WEFT_TRY(const auto b, snapshot.ref("pair/b"));
    if (a.has_value() != b.has_value() || (a && !(a->version == b->version))) {
      return make_error(Code::internal, "a snapshot shows half of a transaction");
    }
    if (!a) continue;
    WEFT_TRY(const auto change, snapshot.change(a->version.changes.front()));
    WEFT_TRY(const auto own, snapshot.ref("own/" + change.message.substr(0, change.message.find('-'))));
    if (!own || !(own->version == a->version))
      return make_error(Code::internal, "the writer's own ref is not where the pair is");
    WEFT_TRY(const auto again, snapshot.ref("pair/a"));
    if (!again || !(again->version == a->version)) return make_error(Code::internal, "a snapshot changed");
  }
  return {};
}

int run_child(const std::string& mode, const std::vector<std::string>& words) {
  const auto done = mode == "--writer" ? write_commits(words) : read_pairs(words);
  if (done) return 0;
  std::cerr << mode << ": " << done.error().message << "\n";
  return 1;
}

pid_t start(std::vector<std::string> words) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> arguments;
    words.insert(words.begin(), "test_processes");
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(8);
  }
  return child;
}

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = Store::create(system_env(), directory(), {.segment_bytes = 1u << 20});
    ASSERT_TRUE(made) << made.error().message;
  }
  void TearDown() override {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }

  std::string directory() const { return temp_ / ".weft"; }
  std::string notes() const { return temp_ / "notes"; }

  pid_t writer(const std::string& name, int count, const std::vector<std::string>& signalled = {},
               int large_one_in = 4) {
    std::vector<std::string> words = {"--writer", directory(),           notes(),
                                      name,       std::to_string(count), std::to_string(large_one_in)};
    words.insert(words.end(), signalled.begin(), signalled.end());
    const pid_t child = start(words);
    children_.insert(child);
    return child;
  }
  /// Its wait status. Fails the test (and kills the child) when it does not end in time.
  int end_of(pid_t child, std::int64_t timeout_ns = 120 * kSecond) {
    children_.erase(child);
    int status = 0;
    const std::int64_t deadline = system_clock().monotonic_ns() + timeout_ns;
    for (;;) {
      if (::waitpid(child, &status, WNOHANG) == child) return status;
      if (system_clock().monotonic_ns() > deadline) {
        ADD_FAILURE() << "a process does not end";
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return status;
      }
      pause_ms(2);
    }
  }
  static void pause_ms(long ms) {
    const struct timespec time{ms / 1000, ms % 1000 * 1'000'000};
    ::nanosleep(&time, nullptr);
  }
  std::vector<std::string> noted(const std::string& prefix) const {
    std::vector<std::string> lines;
    std::ifstream file(notes());
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(prefix)) lines.push_back(line);
    }
    return lines;
  }
  std::int64_t worst_ms() const {
    std::int64_t worst = 0;
    for (const auto& line : noted("worst ")) worst = std::max<std::int64_t>(worst, std::stoll(line.substr(6)));
    return worst / 1'000'000;
  }

  /// Every acknowledged commit is there once, none twice; also when the control block is gone. Says what is wrong.
  std::vector<std::string> compare(std::size_t& acknowledged) {
    std::vector<std::string> wrong;
    for (const bool without_control : {false, true}) {
      if (without_control && ::unlink((directory() + "/control").c_str()) != 0) wrong.push_back("no control block");
      const auto store = Store::open(system_env(), directory());
      if (!store) return {store.error().message};
      if (store->damage()) return {store->damage()->message};
      const auto snapshot = store->snapshot();
      if (!snapshot) return {snapshot.error().message};
      std::map<std::string, int> listed;
      const auto read =
          snapshot->operations([&](const Operation& operation) { return ++listed[operation.label], true; });
      if (!read) return {read.error().message};
      acknowledged = 0;
      for (const auto& label : noted("w")) {
        if (label.starts_with("worst ") || label.starts_with("waiting ")) continue;
        ++acknowledged;
        if (listed[label] != 1) wrong.push_back(label + " is there " + std::to_string(listed[label]) + " times");
      }
      for (const auto& [label, times] : listed) {
        if (times > 1) wrong.push_back(label + " is there " + std::to_string(times) + " times");
      }
      const auto report = store->verify(true, {});
      if (!report) return {report.error().message};
      for (const auto& finding : report->findings) wrong.push_back(finding.what + " / " + finding.affects);
    }
    return wrong;
  }
  void expect_what_was_acknowledged(std::size_t at_least) {
    std::size_t acknowledged = 0;
    for (const auto& text : compare(acknowledged)) ADD_FAILURE() << text;
    EXPECT_GE(acknowledged, at_least);
  }

  TempDir temp_;
  std::set<pid_t> children_;
};

TEST_F(Processes, SixteenWritersSurviveRandomKillsBesideReaders) {
  const std::string stop = temp_ / "stop";
  const pid_t readers[] = {start({"--reader", directory(), stop}), start({"--reader", directory(), stop})};
  children_.insert(std::begin(readers), std::end(readers));
  FakeRandom random(20);
  std::vector<pid_t> writers;
  int started = 0;
  const auto another = [&] { writers.push_back(writer("w" + std::to_string(started++), 100'000)); };
  for (int i = 0; i < 16; ++i) another();
  for (int kills = 0; kills < 40; ++kills) {
    pause_ms(static_cast<long>(20 + random.below(30)));
    const std::size_t victim = random.below(writers.size());
    ::kill(writers[victim], SIGKILL);
    const int status = end_of(writers[victim]);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer failed by itself, with status " << status;
    writers.erase(writers.begin() + static_cast<std::ptrdiff_t>(victim));
    another();
  }
  for (const pid_t child : writers) ::kill(child, SIGKILL);
  for (const pid_t child : writers) end_of(child);
  // All at once, then one more: nobody is left to hold it up.
  const std::int64_t before = system_clock().monotonic_ns();
  EXPECT_EQ(end_of(writer("wlast", 3)), 0);
  std::cout << "after all were killed, three commits took " << (system_clock().monotonic_ns() - before) / 1'000'000
            << " ms\n";
  std::ofstream(stop).put('\n');
  for (const pid_t reader : readers) EXPECT_EQ(end_of(reader), 0) << "a reader saw something torn";
  expect_what_was_acknowledged(3);
}

TEST_F(Processes, ThirtyTwoProcessesOfFiftyCommitsWithKills) {
  FakeRandom random(32);
  std::vector<pid_t> writers;
  for (int i = 0; i < 32; ++i) writers.push_back(writer("w" + std::to_string(i), 50));
  std::size_t killed = 0;
  for (int i = 0; i < 8; ++i) {
    pause_ms(static_cast<long>(10 + random.below(40)));
    ::kill(writers[random.below(writers.size())], SIGKILL);
  }
  for (const pid_t child : writers) {
    const int status = end_of(child);
    if (WIFSIGNALED(status)) {
      ++killed;
    } else {
      EXPECT_EQ(status, 0);
    }
  }
  std::cout << killed << " of 32 killed; the others' worst commit took " << worst_ms() << " ms\n";
  expect_what_was_acknowledged((32 - killed) * 50);
}

/// As many kills as the time allows: half of the processes die by themselves while they lead or write, at a random
/// place, and random ones are killed from outside; now and then all at once, and then the control block goes as well.
TEST_F(Processes, ThirtyTwoProcessesAndTheirLeadersKilledAllTheTime) {
  static constexpr const char* kPlaces[] = {
      "lead:locked",    "lead:closed",       "lead:written",      "lead:flushed",      "lead:indexed",
      "lead:published", "exclusive:drained", "exclusive:written", "exclusive:flushed", "exclusive:durable",
      "append:placed",  "append:published",  "append:leading",    "merge:frozen",      "merge:manifest-written"};
  constexpr std::uint64_t kMaxLogBytes = std::uint64_t{2} << 30;
  const char* const text = std::getenv("WEFT_PROCESS_SECONDS");
  const std::int64_t seconds = text == nullptr ? 3 : std::strtoll(text, nullptr, 10);
  FakeRandom random(static_cast<std::uint64_t>(seconds));
  std::size_t started = 0, killed = 0, died_leading = 0, all_killed = 0;
  std::set<pid_t> writers;
  const auto another = [&] {
    std::vector<std::string> dies;
    if (random.chance(2)) {
      dies = {kPlaces[random.below(std::size(kPlaces))], std::to_string(1 + random.below(20)), "kill"};
    }
    writers.insert(writer("w" + std::to_string(started++), 1'000'000, dies, 64));
  };
  const auto kill_and_reap = [&](pid_t child) {
    ::kill(child, SIGKILL);
    const int status = end_of(child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer failed by itself, with status " << status;
    writers.erase(child);
    ++killed;
  };
  const std::int64_t end = system_clock().monotonic_ns() + seconds * kSecond;
  while (system_clock().monotonic_ns() < end && !testing::Test::HasFailure()) {
    while (writers.size() < 32) another();
    pause_ms(static_cast<long>(5 + random.below(40)));
    for (auto each = writers.begin(); each != writers.end();) {
      int status = 0;
      const pid_t child = *each++;
      if (::waitpid(child, &status, WNOHANG) != child) continue;
      EXPECT_TRUE(WIFSIGNALED(status)) << "a writer failed by itself, with status " << status;
      children_.erase(child);
      writers.erase(child);
      ++died_leading;
    }
    if (!writers.empty()) {
      kill_and_reap(*std::next(writers.begin(), static_cast<std::ptrdiff_t>(random.below(writers.size()))));
    }
    if (random.chance(40)) {
      while (!writers.empty()) kill_and_reap(*writers.begin());
      ++all_killed;
      if (random.chance(2)) {
        ASSERT_EQ(0, ::unlink((directory() + "/control").c_str()));
      }
      const auto store = Store::open(system_env(), directory());
      ASSERT_TRUE(store) << store.error().message;
      ASSERT_FALSE(store->damage()) << store->damage()->message;
      if (store->info()->log_bytes > kMaxLogBytes) break;
    }
  }
  while (!writers.empty()) kill_and_reap(*writers.begin());
  std::size_t acknowledged = 0;
  for (const auto& wrong : compare(acknowledged)) ADD_FAILURE() << wrong;
  EXPECT_GT(acknowledged, 0u);
  EXPECT_GT(died_leading, 0u);
  std::cout << started << " processes, " << killed << " killed from outside, " << died_leading
            << " at a place of the protocol, " << all_killed << " times all at once; " << acknowledged
            << " commits acknowledged, each there once\n";
}

/// Canary: a process that says a commit is durable when it is merely in the ring is found out.
TEST_F(Processes, ACommitAcknowledgedTooEarlyIsFoundOut) {
  EXPECT_EQ(end_of(writer("w1", 3)), 0);
  EXPECT_TRUE(WIFSIGNALED(end_of(writer("w2", 3, {"append:placed", "2", "lie"}))));
  EXPECT_EQ(end_of(writer("w3", 3)), 0);
  std::size_t acknowledged = 0;
  const auto wrong = compare(acknowledged);
  EXPECT_EQ(acknowledged, 8u);
  ASSERT_FALSE(wrong.empty()) << "nobody noticed";
  EXPECT_EQ(wrong.front(), "w2-1 is there 0 times");
}

/// Each place of the protocol: whoever is killed there holds up the others for as long as finding out takes, and no
/// longer.
TEST_F(Processes, KilledAtEveryPoint) {
  int number = 0;
  for (const char* const point :
       {"append:before-lock", "append:locked", "append:copying", "append:placed", "append:published", "append:leading",
        "lead:locked", "lead:closed", "lead:written", "lead:flushed", "lead:indexed", "lead:published",
        "exclusive:drained", "exclusive:written", "exclusive:flushed", "exclusive:durable", "exclusive:rolled",
        "roll:durable", "extend:locked"}) {
    SCOPED_TRACE(point);
    const std::string name = "w" + std::to_string(number++);
    const pid_t others[] = {writer(name + "x", 12), writer(name + "y", 12)};
    const pid_t victim = writer(name + "v", 40, {point, "1", "kill"});
    const int status = end_of(victim);
    EXPECT_TRUE(WIFSIGNALED(status) || status == 0) << status;
    for (const pid_t other : others) EXPECT_EQ(end_of(other), 0);
  }
  std::cout << "worst commit beside one killed at a point: " << worst_ms() << " ms\n";
  expect_what_was_acknowledged(static_cast<std::size_t>(number) * 24);
}

/// A stopped leader does hold up the others; they say for whom they wait, and go on when it does.
TEST_F(Processes, AStoppedLeaderIsNamedAndGoesOn) {
  const pid_t stopped = writer("wstopped", 2, {"lead:closed", "1", "stop"});
  int status = 0;
  ASSERT_EQ(::waitpid(stopped, &status, WUNTRACED), stopped);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  const pid_t waiter = writer("wwaiter", 2);
  const std::string expected = "waiting for " + std::to_string(stopped);
  const std::int64_t deadline = system_clock().monotonic_ns() + 60 * kSecond;
  while (noted(expected).empty() && system_clock().monotonic_ns() < deadline) pause_ms(20);
  EXPECT_FALSE(noted(expected).empty()) << "nobody said for whom it waits";
  EXPECT_TRUE(noted("wwaiter").empty()) << "a live leader was passed over";
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  EXPECT_EQ(end_of(stopped), 0);
  EXPECT_EQ(end_of(waiter), 0);
  expect_what_was_acknowledged(4);
}

/// Repair removes the control block. A process that had the store open before, but had written nothing yet, must not go
/// on by what the old block says.
TEST_F(Processes, NobodyWritesByARetiredControlBlock) {
  auto store = Store::open(system_env(), directory());
  ASSERT_TRUE(store);
  auto transaction = store->begin();
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(transaction->put(ObjectKind::blob, "content"));
  const auto repaired = Store::repair(system_env(), directory(), {});
  ASSERT_TRUE(repaired) << repaired.error().message;
  ASSERT_EQ(end_of(writer("w", 3)), 0);
  const auto committed = transaction->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Code::busy);
  expect_what_was_acknowledged(3);
}

}  // namespace
}  // namespace weft::store

int main(int argc, char** argv) {
  if (argc > 1 && (std::string(argv[1]) == "--writer" || std::string(argv[1]) == "--reader")) {
    return weft::store::run_child(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
