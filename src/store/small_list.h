// SmallList: a list that allocates nothing before its N+1st element. Lookups gather what they find in such lists:
// nearly always it is one place.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft::store {

template <typename T, std::size_t N>
class SmallList {
 public:
  void push_back(T value) {
    if (size_ < N) {
      first_[size_] = std::move(value);
    } else {
      more_.push_back(std::move(value));
    }
    ++size_;
  }
  void clear() {
    size_ = 0;
    more_.clear();
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t index) const { return index < N ? first_[index] : more_[index - N]; }

 private:
  std::array<T, N> first_;  // not initialised where T needs none: these lie on the stack of every lookup
  std::vector<T> more_;
  std::size_t size_ = 0;
};

}  // namespace weft::store
