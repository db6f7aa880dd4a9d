#include "base/testing/fake_random.h"

#include <algorithm>
#include <cstring>

namespace weft {

std::uint64_t FakeRandom::next() {
  const MutexLock lock(mutex_);
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t FakeRandom::below(std::uint64_t bound) {
  WEFT_CHECK(bound > 0);
  return next() % bound;  // the bias is far below what a test could notice
}

void FakeRandom::fill(std::span<char> out) {
  while (!out.empty()) {
    const std::uint64_t value = next();
    const std::size_t count = std::min(out.size(), sizeof(value));
    std::memcpy(out.data(), &value, count);
    out = out.subspan(count);
  }
}

}  // namespace weft
