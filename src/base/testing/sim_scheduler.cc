#include "base/testing/sim_scheduler.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <climits>

#include "base/result.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft {
namespace {

constexpr std::size_t kStackBytes = 2u << 20;
constexpr std::size_t kGuardBytes = 4096;
/// One in so many calls of maybe_switch() switches.
constexpr std::uint64_t kSwitchOneIn = 4;
constexpr std::uint64_t kSpuriousOneIn = 200;
/// One in so many choices lets time pass although somebody could run: the others are slow.
constexpr std::uint64_t kSlowOneIn = 60;
constexpr std::int64_t kSlowNs = 80'000'000;

}  // namespace

struct SimScheduler::Main {
  ucontext_t context{};
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* fiber = nullptr;
#endif
};

struct SimScheduler::Flow {
  ~Flow() {
    if (stack != nullptr) ::munmap(stack, kStackBytes + kGuardBytes);
#if defined(__SANITIZE_THREAD__)
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
#endif
  }
  SimScheduler* scheduler = nullptr;
  std::function<void()> body;
  ucontext_t context{};
  char* stack = nullptr;
  std::uint64_t number = 0;
  enum class State : std::uint8_t { ready, waiting, ended } state = State::ready;
  const std::atomic<std::uint32_t>* word = nullptr;
  std::int64_t deadline = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* fiber = nullptr;
#endif
};

SimScheduler::SimScheduler(std::uint64_t seed, FakeClock& clock)
    : clock_(clock), random_(seed ^ 0x5c4ed), main_(std::make_unique<Main>()) {}
SimScheduler::~SimScheduler() = default;

void SimScheduler::mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3ULL; }

void SimScheduler::add(std::function<void()> body) {
  auto flow = std::make_unique<Flow>();
  flow->scheduler = this;
  flow->body = std::move(body);
  flow->number = flows_.size();
  void* const memory = ::mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WEFT_CHECK(memory != MAP_FAILED);
  flow->stack = static_cast<char*>(memory);
  WEFT_CHECK(::mprotect(flow->stack, kGuardBytes, PROT_NONE) == 0);
  WEFT_CHECK(getcontext(&flow->context) == 0);
  flow->context.uc_stack.ss_sp = flow->stack + kGuardBytes;
  flow->context.uc_stack.ss_size = kStackBytes;
  flow->context.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(flow.get());
  makecontext(&flow->context, reinterpret_cast<void (*)()>(&SimScheduler::enter), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#if defined(__SANITIZE_THREAD__)
  flow->fiber = __tsan_create_fiber(0);
#endif
  flows_.push_back(std::move(flow));
}

void SimScheduler::enter(unsigned high, unsigned low) {
  Flow* const flow = reinterpret_cast<Flow*>((static_cast<std::uintptr_t>(high) << 32) | low);  // NOLINT
#if defined(__SANITIZE_ADDRESS__)
  Main& main = *flow->scheduler->main_;
  __sanitizer_finish_switch_fiber(nullptr, &main.bottom, &main.size);
#endif
  flow->body();
  flow->body = nullptr;
  flow->state = Flow::State::ended;
  flow->scheduler->to_scheduler();
}

void SimScheduler::to_scheduler() {
  Flow* const flow = current_;
#if defined(__SANITIZE_ADDRESS__)
  const bool ended = flow->state == Flow::State::ended;
  __sanitizer_start_switch_fiber(ended ? nullptr : &flow->fake_stack, main_->bottom, main_->size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(main_->fiber, 0);
#endif
  WEFT_CHECK(swapcontext(&flow->context, &main_->context) == 0);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(flow->fake_stack, &main_->bottom, &main_->size);
#endif
}

SimScheduler::Flow* SimScheduler::choose() {
  std::vector<Flow*> ready;
  std::int64_t earliest = INT64_MAX;
  const auto collect = [&] {
    ready.clear();
    earliest = INT64_MAX;
    const std::int64_t now = clock_.monotonic_ns();
    for (const auto& flow : flows_) {
      if (flow->state == Flow::State::waiting && flow->deadline <= now) flow->state = Flow::State::ready;
      if (flow->state == Flow::State::ready) ready.push_back(flow.get());
      if (flow->state == Flow::State::waiting) earliest = std::min(earliest, flow->deadline);
    }
  };
  collect();
  if (earliest != INT64_MAX && (ready.empty() || random_.chance(kSlowOneIn))) {
    const std::int64_t now = clock_.monotonic_ns();
    if (ready.empty()) {
      clock_.advance(earliest - now);
    } else {
      clock_.advance(static_cast<std::int64_t>(random_.below(kSlowNs)));
    }
    ++time_jumps_;
    collect();
  }
  if (ready.empty()) return nullptr;
  return ready[random_.below(ready.size())];
}

bool SimScheduler::run(std::uint64_t max_steps) {
  WEFT_CHECK(current_ == nullptr);
#if defined(__SANITIZE_THREAD__)
  main_->fiber = __tsan_get_current_fiber();
#endif
  for (std::uint64_t step = 0; step < max_steps; ++step) {
    current_ = choose();
    if (current_ == nullptr) return true;
    mix(current_->number + 1);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&main_->fake_stack, current_->stack + kGuardBytes, kStackBytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(current_->fiber, 0);
#endif
    WEFT_CHECK(swapcontext(&main_->context, &current_->context) == 0);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(main_->fake_stack, nullptr, nullptr);
#endif
    current_ = nullptr;
  }
  return false;
}

void SimScheduler::maybe_switch(std::string_view name) {
  if (!inside()) return;
  for (const char c : name) mix(static_cast<unsigned char>(c));
  if (random_.chance(kSwitchOneIn)) to_scheduler();
}

void SimScheduler::wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) {
  WEFT_CHECK(inside());
  if (word.load() != expected) return;
  if (!random_.chance(kSpuriousOneIn)) {
    current_->state = Flow::State::waiting;
    current_->word = &word;
    current_->deadline = clock_.monotonic_ns() + timeout_ns;
  }
  to_scheduler();
}

void SimScheduler::wake(std::atomic<std::uint32_t>& word, int count) {
  // Whom the kernel wakes first is not for us to know: begin anywhere.
  if (flows_.empty()) return;
  const std::size_t start = random_.below(flows_.size());
  for (std::size_t i = 0; i < flows_.size() && count > 0; ++i) {
    Flow& flow = *flows_[(start + i) % flows_.size()];
    if (flow.state != Flow::State::waiting || flow.word != &word) continue;
    flow.state = Flow::State::ready;
    --count;
  }
}

}  // namespace weft
