#include "base/private_control.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace weft {
namespace {

class PrivateControl final : public SharedControl {
 public:
  PrivateControl(std::byte* memory, std::size_t size) {
    base_ = memory;
    size_ = size;
  }
  PrivateControl(const PrivateControl&) = delete;
  PrivateControl& operator=(const PrivateControl&) = delete;
  ~PrivateControl() override { ::munmap(base_, size_); }

  void wait(Word& word, std::uint32_t expected, std::int64_t timeout_ns) override {
    futex_wait(word, expected, timeout_ns);
  }
  void wake(Word& word, int count) override { futex_wake(word, count); }
  Result<void> ensure_allocated(std::size_t offset, std::size_t length) override {
    WEFT_CHECK(offset + length <= size_);
    return {};
  }
  Result<OwnerToken> token() override { return kToken; }
  bool is_shared() const override { return false; }
  bool alive(OwnerToken token) override { return token == kToken; }
  std::uint32_t process_of(OwnerToken token) override {
    return token == kToken ? static_cast<std::uint32_t>(::getpid()) : 0;
  }

 private:
  static constexpr OwnerToken kToken = 2;
};

}  // namespace

Result<std::unique_ptr<SharedControl>> make_private_control(const SharedControlOptions& options) {
  // Zeros, and memory only for what is touched.
  void* const memory =
      ::mmap(nullptr, options.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return system_error(errno, "map", options.path);
  auto control = std::make_unique<PrivateControl>(static_cast<std::byte*>(memory), options.size);
  WEFT_DO(options.initialise(*control));
  return std::unique_ptr<SharedControl>(std::move(control));
}

}  // namespace weft
