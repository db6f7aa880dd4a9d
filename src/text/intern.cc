#include "text/intern.h"

#include <bit>
#include <functional>

namespace weft::text {

Interner::Interner(std::size_t expected) {
  const std::size_t slots = std::bit_ceil(expected < 8 ? std::size_t{16} : expected * 2);
  slots_.resize(slots);
  mask_ = slots - 1;
  texts_.reserve(expected);
}

Symbol Interner::intern(std::string_view text) {
  if (texts_.size() * 2 >= slots_.size()) grow();
  const std::size_t wide = std::hash<std::string_view>{}(text);
  const auto hash = static_cast<std::uint32_t>(wide >> 32);
  for (std::size_t at = wide & mask_;; at = (at + 1) & mask_) {
    Slot& slot = slots_[at];
    if (slot.symbol == 0) {
      texts_.push_back(text);
      slot = {hash, static_cast<Symbol>(texts_.size())};
      return slot.symbol - 1;
    }
    if (slot.hash == hash && texts_[slot.symbol - 1] == text) return slot.symbol - 1;
  }
}

void Interner::grow() {
  std::vector<Slot> bigger(slots_.size() * 2);
  mask_ = bigger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.symbol == 0) continue;
    std::size_t at = std::hash<std::string_view>{}(texts_[slot.symbol - 1]) & mask_;
    while (bigger[at].symbol != 0) at = (at + 1) & mask_;
    bigger[at] = slot;
  }
  slots_ = std::move(bigger);
}

}  // namespace weft::text
