// Memory, descriptors, places for processes: what a store does when they run out.
//
// This program's operator new can be made to fail at the n-th allocation, which reaches every place where C++ code asks
// for memory; RLIMIT_AS on the real program reaches the libraries in C.
// Guarantees cited: G1, G3, G6 (log/log.h).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "base/machine.h"
#include "store/store_state.h"
#include "support.h"

namespace {

std::atomic<long> allocations_left{-1};  // below 0: any number

void* allocate(std::size_t size) {
  if (allocations_left.load(std::memory_order_relaxed) >= 0 && allocations_left.fetch_sub(1) == 0) {
    allocations_left.store(0);  // and all that follow, until it is lifted
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weft::environment {
namespace {

namespace stdfs = std::filesystem;
using store::Store;

class Resources : public ::testing::Test {
 protected:
  Resources() : directory_(make_store(temp_.path())) {}
  std::string notes() const { return temp_ / "notes"; }
  TempDir temp_;
  std::string directory_;
  Children children_;
};

/// Commits once with memory for `budget` allocations: 0 done, 1 refused with an error, 2 out of memory.
int commit_with(const Store& store, const std::string& label, std::size_t extra, long budget) {
  allocations_left.store(budget);
  int outcome = 2;
  try {
    const auto done = commit_once(store, label, extra);
    outcome = done ? 0 : 1;
  } catch (const std::bad_alloc&) {
  }
  allocations_left.store(-1);
  return outcome;
}

void run_out_everywhere(const std::string& directory, std::size_t extra) {
  const auto store = Store::open(system_env(), directory);
  const auto other = Store::open(system_env(), directory);  // as another process: a slot of its own
  ASSERT_TRUE(store && other);
  ASSERT_TRUE(commit_once(*store, "first-0", extra));
  ASSERT_TRUE(commit_once(*other, "first-1"));
  constexpr long kMost = 5000;
  long budget = 0;
  int failures = 0;
  for (; budget < kMost; ++budget) {
    const std::string label = "low-" + std::to_string(budget);
    const int outcome = commit_with(*store, label, extra, budget);
    failures += outcome == 0 ? 0 : 1;
    // The other one is neither kept waiting nor shown half a batch.
    const std::int64_t before = system_clock().monotonic_ns();
    const auto done = commit_once(*other, "other-" + std::to_string(budget));
    ASSERT_TRUE(done) << "after " << budget << " allocations: " << done.error().message;
    ASSERT_LT(system_clock().monotonic_ns() - before, 10'000'000'000) << "after " << budget << " allocations";
    const auto labels = labels_of(*other);
    const auto times = std::count(labels.begin(), labels.end(), label);
    // Refused is refused; out of memory before it was published likewise; done is done.
    ASSERT_FALSE(outcome == 0 && times != 1) << "acknowledged and lost: " << budget;
    ASSERT_FALSE(outcome == 2 && times != 0) << "reported as failed and there all the same: " << budget;
    if (outcome == 0) break;
  }
  ASSERT_LT(budget, kMost);
  EXPECT_GT(failures, 20) << "memory never ran out: this test can find nothing";
}

TEST_F(Resources, MemoryRunsOutAtEveryAllocationOfACommit) {
  run_out_everywhere(directory_, 0);
  EXPECT_EQ(problem_with(directory_, notes()), "");
}

TEST_F(Resources, MemoryRunsOutAtEveryAllocationOfALargeTransaction) {
  run_out_everywhere(directory_, 300'000);  // written by its own author
  EXPECT_EQ(problem_with(directory_, notes()), "");
}

TEST(ResourcesOfTheProgram, AddressSpaceIsLimited) {
  const TempDir dir;
  stdfs::create_directory(dir / "w");
  put_file(dir / "w/f", "0\n");
  ASSERT_EQ(unlike(weft(dir / "w", {"init"}), 0), "");
  ASSERT_EQ(unlike(weft(dir / "w", {"commit", "-m", "First"}), 0), "");
  int refused = 0, done = 0;
  for (const int mebibytes : {8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512}) {
    put_file(dir / "w/f", std::to_string(mebibytes) + "\n");
    const int code = in_child([&] {
      const rlim_t bytes = static_cast<rlim_t>(mebibytes) << 20;
      const rlimit limit{bytes, bytes};
      if (::chdir((dir / "w").c_str()) != 0) return 96;
      const int null = ::open("/dev/null", O_RDWR);
      const int said = ::open((dir / "said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      ::dup2(null, 1);
      ::dup2(said, 2);
      ::setenv("WEFT_AUTHOR", "Ann <ann@example.org>", 1);
      if (::setrlimit(RLIMIT_AS, &limit) != 0) return 97;
      ::execl(WEFT_PROGRAM, WEFT_PROGRAM, "commit", "-m", "Limited", nullptr);
      return 98;  // not even that fits
    });
    if (code == 0) {
      ++done;
    } else if (code != 1000 + SIGSEGV && code != 1000 + SIGKILL && code != 98) {  // the kernel's word on exec
      ++refused;
      EXPECT_LT(code, 10) << mebibytes << " MiB: " << get_file(dir / "said");
      EXPECT_TRUE(has(get_file(dir / "said"), "weft: ")) << mebibytes << " MiB";
      EXPECT_TRUE(has(get_file(dir / "said"), "hint: ")) << mebibytes << " MiB: " << get_file(dir / "said");
    }
    ASSERT_EQ(unlike(weft(dir / "w", {"verify", "--deep"}), 0), "") << mebibytes;
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, 0) << "memory never ran out: this test can find nothing";
  ASSERT_EQ(unlike(weft(dir / "w", {"commit", "-m", "Unlimited", "--allow-empty"}), 0), "");
}

/// More packs than descriptors.
TEST_F(Resources, SixtyFourOpenFiles) {
  constexpr int kPacks = 70;
  // Too much for a frame, and nothing that one has in common with another.
  Bytes content(static_cast<std::size_t>(store::kMaxFrameObjectBytes) + (256u << 10), '\0');
  const auto make_content = [&] { system_env().random.fill({content.data(), content.size()}); };
  std::vector<ObjectId> blobs;
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store);
    for (int i = 0; i < kPacks; ++i) {
      auto transaction = store->begin();
      ASSERT_TRUE(transaction);
      make_content();
      const auto id = transaction->put(object::ObjectKind::blob, content);
      ASSERT_TRUE(id) << id.error().message;
      blobs.push_back(*id);
      transaction->set_operation({.label = "pack-" + std::to_string(i), .author = "A <a@example.org>"});
      ASSERT_TRUE(transaction->commit());
    }
    const auto info = store->info();
    ASSERT_TRUE(info);
    ASSERT_GE(info->packs, 64u) << "too few packs for this test to find anything";
  }
  const pid_t child = children_.start([&] {
    const rlimit limit{64, 64};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    const auto store = Store::open(system_env(), directory_);
    if (!store) return 2;
    const auto snapshot = store->snapshot();
    for (int round = 0; round < 2; ++round) {
      for (const auto& id : blobs) {
        const auto read = snapshot->read(object::ObjectKind::blob, id);
        if (read) continue;
        std::fprintf(stderr, "%s\n", read.error().message.c_str());
        return 3;
      }
    }
    if (!commit_many(*store, "low", 20, notes())) return 4;
    const auto report = store->verify(true, {});
    if (!report || !report->clean()) {
      std::fprintf(stderr, "%s\n", report ? report->findings[0].what.c_str() : report.error().message.c_str());
      return 5;
    }
    // A merge of the index opens all of them.
    for (int i = 0; i < 20; ++i) {
      auto transaction = store->begin();
      make_content();
      if (!transaction->put(object::ObjectKind::blob, content)) return 6;
      if (!transaction->commit()) return 7;
    }
    return 0;
  });
  EXPECT_EQ(children_.end_of(child), 0);
  EXPECT_EQ(problem_with(directory_, notes()), "");
}

TEST(ResourcesOfTheProgram, SixtyFourOpenFiles) {
  const TempDir dir;
  for (int d = 0; d < 80; ++d) stdfs::create_directories(dir / ("w/d" + std::to_string(d) + "/e/f/g"));
  for (int d = 0; d < 80; ++d) put_file(dir / ("w/d" + std::to_string(d) + "/e/f/g/file"), std::to_string(d));
  ProcessOptions options;
  options.argv = {"/bin/sh", "-c",
                  "set -e; ulimit -n 64; W=" WEFT_PROGRAM
                  "; $W init; $W commit -m One; echo x >> d7/e/f/g/file; $W status; $W diff; $W commit -m Two; "
                  "$W switch main-; $W switch main; $W log; $W verify --deep; $W doctor --no-probe || test $? = 1"};
  options.directory = dir / "w";
  options.environment = std::vector<std::string>{"PATH=/usr/bin:/bin", "WEFT_AUTHOR=Ann <ann@example.org>"};
  const auto output = run_process(std::move(options), "", 16u << 20);
  ASSERT_TRUE(output);
  EXPECT_EQ(unlike(*output, 0), "");
  EXPECT_TRUE(has(output->out, "this process may open 64 files")) << output->out;
}

/// All 4,096 places taken: readers need none, writers are told, and none is lost for good.
TEST_F(Resources, AllPlacesForProcessesAreTaken) {
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store && commit_many(*store, "before", 2, notes()));
  }
  const int fd = ::open((directory_ + "/control").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = (off_t{1} << 40) + 1;  // the bytes of the slots (base/shared_control.cc)
  lock.l_len = static_cast<off_t>(SharedControl::kMaxSlots);
  ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &lock), 0);
  const auto store = Store::open(system_env(), directory_);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(labels_of(*store).size(), 2u);
  const auto refused = commit_many(*store, "refused", 1, notes());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy);
  EXPECT_EQ(exit_code(refused.error().code), 4);
  EXPECT_TRUE(has(refused.error().message, "4096")) << refused.error().message;
  EXPECT_FALSE(refused.error().hint.empty());
  ::close(fd);
  EXPECT_TRUE(commit_many(*store, "after", 2, notes()));
  EXPECT_EQ(problem_with(directory_, notes()), "");
}

/// Each with a view of its own, beside writers: no view changes, nobody waits for a reader.
TEST_F(Resources, AThousandReadersBesideWriters) {
  {
    const auto store = Store::open(system_env(), directory_);
    ASSERT_TRUE(store && commit_many(*store, "before", 3, notes()));
  }
  constexpr int kReaders = 1000;
  int go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  std::vector<pid_t> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.push_back(children_.start([&, i] {
      ::close(go[1]);
      const auto store = Store::open(system_env(), directory_);
      if (!store) return 1;
      const auto snapshot = store->snapshot();
      if (!snapshot) return 2;
      const auto read = [&]() -> std::string {
        const auto refs = snapshot->refs();
        std::string all;
        if (!refs) return "failed: " + refs.error().message;
        for (const auto& ref : *refs) all += ref.name + " " + ref.value.version.text() + "\n";
        return all;
      };
      const std::string first = read();
      if (first.starts_with("failed")) return 3;
      note(temp_ / "ready", std::to_string(i));
      char byte = 0;
      if (::read(go[0], &byte, 1) < 0) return 5;  // until the writers are done
      return read() == first ? 0 : 4;
    }));
  }
  const std::int64_t deadline = system_clock().monotonic_ns() + 120'000'000'000;
  while (noted(temp_ / "ready").size() < kReaders / 2 && system_clock().monotonic_ns() < deadline) pause_ms(10);
  std::vector<pid_t> writers;
  for (const std::string name : {"wa", "wb", "wc", "wd"}) {
    writers.push_back(children_.start([=, this] {
      const auto store = Store::open(system_env(), directory_);
      return store && commit_many(*store, name, 50, notes()) ? 0 : 1;
    }));
  }
  for (const pid_t child : writers) EXPECT_EQ(children_.end_of(child), 0);
  while (noted(temp_ / "ready").size() < kReaders && system_clock().monotonic_ns() < deadline) pause_ms(10);
  EXPECT_EQ(noted(temp_ / "ready").size(), static_cast<std::size_t>(kReaders));
  ::close(go[1]);
  ::close(go[0]);
  int wrong = 0;
  for (const pid_t child : readers) wrong += children_.end_of(child) == 0 ? 0 : 1;
  EXPECT_EQ(wrong, 0) << "readers failed, or their views changed";
  EXPECT_EQ(problem_with(directory_, notes()), "");
}

}  // namespace
}  // namespace weft::environment
