// What lookups, snapshots and opening cost, counted: allocations and system calls, not time.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/hash.h"
#include "base/testing/temp_dir.h"
#include "store/store.h"

namespace {
thread_local std::uint64_t allocations = 0;
}  // namespace

// Counted for this thread; the other forms of new and delete end up here.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace weft::store {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Known {
  ChangeId id;
  DeltaId delta;
};

object::Change change_of(std::size_t number) {
  object::Change change;
  change.lamport = 1;
  change.author = change.committer = {"A", "a@example.org", {1'000'000'000, 60}};
  change.message = "change number " + std::to_string(number);
  change.tree = object::empty_tree_id();
  return change;
}

class Lookups : public testing::Test {
 protected:
  /// A store of so many changes, each with a delta.
  void make(std::size_t changes) {
    ASSERT_TRUE(Store::create(env_, directory()));
    store_.emplace(*Store::open(env_, directory()));
    add(changes);
  }
  void add(std::size_t changes) {
    while (changes > 0) {
      auto transaction = store_->begin();
      ASSERT_TRUE(transaction);
      for (int i = 0; i < 1000 && changes > 0; ++i, --changes) {
        Known known;
        known.delta = DeltaId::from_bytes(sha256("delta " + std::to_string(known_.size())).view());
        const auto id = transaction->put_change(change_of(known_.size()), known.delta);
        ASSERT_TRUE(id);
        known.id = *id;
        known_.push_back(known);
      }
      ASSERT_TRUE(transaction->commit());
    }
  }
  std::string directory() const { return temp_.path() + "/.weft"; }

  TempDir temp_;
  Env env_ = system_env();
  std::optional<Store> store_;
  std::vector<Known> known_;
};

template <typename Call>
std::uint64_t allocations_of(const Call& call) {
  const std::uint64_t before = allocations;
  call();
  return allocations - before;
}

/// In the tail alone, in runs alone, and in both.
class LookupsIn : public Lookups, public testing::WithParamInterface<std::size_t> {};

TEST_P(LookupsIn, AllocateWhatTheyGiveAndNothingElse) {
  make(GetParam());
  const auto snapshot = store_->snapshot();
  ASSERT_TRUE(snapshot);
  for (const Known& known : known_)
    ASSERT_TRUE(*snapshot->contains(ObjectKind::change, known.id));  // maps what there is
  for (std::size_t i = 0; i < known_.size(); i += known_.size() / 97) {
    const Known& known = known_[i];
    const std::string digits = known.id.hex().substr(0, 16);
    const ObjectId missing = sha256("missing " + std::to_string(i));
    EXPECT_EQ(allocations_of([&] { EXPECT_FALSE(*snapshot->find(ObjectKind::change, missing)); }), 0u) << i;
    EXPECT_EQ(allocations_of([&] { EXPECT_FALSE(*snapshot->contains(ObjectKind::change, missing)); }), 0u) << i;
    EXPECT_EQ(allocations_of([&] { EXPECT_TRUE(*snapshot->contains(ObjectKind::change, known.id)); }), 0u) << i;
    EXPECT_EQ(allocations_of([&] { EXPECT_TRUE(*snapshot->find(ObjectKind::change, known.id)); }), 1u) << i;
    EXPECT_EQ(allocations_of([&] { EXPECT_EQ(snapshot->change_summary(known.id)->lamport, 1u); }), 0u) << i;
    EXPECT_EQ(
        allocations_of([&] { EXPECT_EQ(snapshot->find_by_prefix(ObjectKind::change, digits, 2)->front(), known.id); }),
        1u)
        << i;
    EXPECT_EQ(allocations_of([&] { EXPECT_EQ(snapshot->find_by_delta(known.delta)->front(), known.id); }), 1u) << i;
  }
}

TEST_P(LookupsIn, GiveTheSameFromEveryThread) {
  make(GetParam());
  const auto snapshot = store_->snapshot();
  ASSERT_TRUE(snapshot);
  std::vector<std::thread> threads;
  std::array<std::size_t, 3> right{};
  for (std::size_t thread = 0; thread < right.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < known_.size(); i += 7) {
        const auto change = snapshot->change(known_[i].id);
        if (change && change->message == change_of(i).message) ++right[thread];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t thread = 0; thread < right.size(); ++thread) {
    EXPECT_EQ(right[thread], (known_.size() - thread + 6) / 7) << thread;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LookupsIn, testing::Values(1000, 30'000));

TEST_F(Lookups, ASnapshotIsTheLastOneWhereNothingHappened) {
  make(10);
  ASSERT_TRUE(*store_->snapshot()->contains(ObjectKind::change, known_[0].id));
  EXPECT_EQ(allocations_of([&] { (void)store_->snapshot()->position(); }), 0u);
  const std::uint64_t before = store_->snapshot()->position();
  auto other = Store::open(env_, directory());
  ASSERT_TRUE(other);
  auto transaction = other->begin();
  ASSERT_TRUE(transaction);
  const auto id = transaction->put_change(change_of(99));
  ASSERT_TRUE(id);
  const auto old = store_->snapshot();
  ASSERT_TRUE(transaction->commit());
  EXPECT_EQ(allocations_of([&] { EXPECT_GT(store_->snapshot()->position(), before); }), 1u) << "the handle";
  EXPECT_TRUE(*store_->snapshot()->contains(ObjectKind::change, *id));
  EXPECT_FALSE(*old->contains(ObjectKind::change, *id));
}

TEST_F(Lookups, OldSnapshotsOutliveManyMerges) {
  make(10);
  const auto old = store_->snapshot();
  ASSERT_TRUE(old);
  for (int round = 0; round < 8; ++round) {  // about 20,000 entries each: more merges than a snapshot holds views
    add(10'000);
    EXPECT_TRUE(*old->contains(ObjectKind::change, known_[3].id)) << round;
    EXPECT_FALSE(*old->contains(ObjectKind::change, known_.back().id)) << round;
    EXPECT_FALSE(*old->find(ObjectKind::change, known_[known_.size() - 9000].id)) << round;
    EXPECT_TRUE(*store_->snapshot()->contains(ObjectKind::change, known_.back().id)) << round;
  }
}

/// System calls that `call` makes, in a child; nullopt where a process may not be traced.
template <typename Call>
std::optional<std::uint64_t> system_calls_of(const Call& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
    ::raise(SIGSTOP);
    const bool right = call();
    ::raise(SIGUSR1);
    ::_exit(right ? 0 : 4);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  (void)::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  std::uint64_t stops = 0, counted = 0;
  while (true) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return std::nullopt;
    if (::waitpid(child, &status, 0) != child) return std::nullopt;
    if (WIFEXITED(status) || WIFSIGNALED(status)) break;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      ++stops;
    } else if (WSTOPSIG(status) == SIGUSR1) {
      counted = stops;
    }
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the call went wrong";
  // Each call stops twice, on entry and on return; raise() makes four of its own on the way in and out.
  return counted / 2;
}

/// raise() and what the C library does around it.
constexpr std::uint64_t kRaiseCalls = 6;

TEST_F(Lookups, SnapshotsAndLookupsAskTheSystemForNothing) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make calls of their own";
  make(30'000);
  const auto warm = [&] {
    const auto snapshot = store_->snapshot();
    return std::all_of(known_.begin(), known_.end(),
                       [&](const Known& known) { return *snapshot->contains(ObjectKind::change, known.id); });
  };
  ASSERT_TRUE(warm());
  const auto calls = system_calls_of([&] {
    for (std::size_t i = 0; i < 1000; ++i) {
      const auto snapshot = store_->snapshot();
      const Known& known = known_[i * 17 % known_.size()];
      if (!snapshot->find(ObjectKind::change, known.id)->has_value()) return false;
      if (snapshot->find_by_delta(known.delta)->size() != 1) return false;
    }
    return true;
  });
  if (!calls) GTEST_SKIP() << "no process may be traced here";
  EXPECT_LE(*calls, kRaiseCalls + 4) << "the allocator may ask for memory";
}

// S9
TEST_F(Lookups, OpeningCostsTheSameWhateverThereIs) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make calls of their own";
  make(10);
  std::vector<std::uint64_t> costs;
  for (const std::size_t more : {0u, 10'000u, 30'000u, 60'000u}) {
    add(more);
    store_.reset();
    const auto calls = system_calls_of([&] {
      const auto store = Store::open(env_, directory());
      return store && *store->snapshot()->contains(ObjectKind::change, known_[known_.size() / 2].id);
    });
    if (!calls) GTEST_SKIP() << "no process may be traced here";
    costs.push_back(*calls);
    store_.emplace(*Store::open(env_, directory()));
  }
  // Format 4, boot id 3, control block 3, end of the log 1, manifest 4, each of at most 4 runs 4, segment 4; unmapping
  // and closing them, 8; an allocation or two. Without runs there is no manifest to read.
  for (const std::uint64_t cost : costs) EXPECT_LE(cost, kRaiseCalls + 50) << testing::PrintToString(costs);
  EXPECT_LE(costs.back(), costs[1] + 20) << testing::PrintToString(costs);
}

}  // namespace
}  // namespace weft::store
