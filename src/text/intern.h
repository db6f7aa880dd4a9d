// Equal byte strings become equal small numbers, so that diffing compares integers. Internal to text/.
//
// Numbers are given in order of first appearance: results never depend on the hash.
// Threading: one user at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::text {

using Symbol = std::uint32_t;

class Interner {
 public:
  /// Room for about this many distinct strings before it grows.
  explicit Interner(std::size_t expected);
  /// The views must outlive the interner.
  Symbol intern(std::string_view text);
  std::size_t size() const { return texts_.size(); }

 private:
  void grow();

  struct Slot {
    std::uint32_t hash = 0;
    Symbol symbol = 0;  // 0: free, else the symbol plus one
  };
  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::size_t mask_ = 0;
};

}  // namespace weft::text
