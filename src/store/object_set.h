// A set of objects that takes 8 to 16 bytes for each: what a whole store holds, kept in memory while it is looked
// through. Of (kind, id) 63 bits are kept: ids are hashes, two objects that agree in them are not to be expected (for
// ten million objects one chance in 180,000), and one would hide a loss, not make one.
#pragma once

#include <vector>

#include "object/object.h"

namespace weft::store {

class ObjectSet {
 public:
  /// Whether it was not there yet. `whole`: a copy that was found to be so; once said it stays.
  bool insert(object::ObjectKind kind, const ObjectId& id, bool whole) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    const std::uint64_t key = key_of(kind, id);
    std::uint64_t& slot = find(key);
    const bool fresh = slot == 0;
    if (fresh) ++count_;
    slot = key | (slot & 1) | (whole ? 1 : 0);
    return fresh;
  }
  bool contains(object::ObjectKind kind, const ObjectId& id) const {
    return count_ > 0 && const_cast<ObjectSet*>(this)->find(key_of(kind, id)) != 0;
  }
  bool is_whole(object::ObjectKind kind, const ObjectId& id) const {
    return count_ > 0 && (const_cast<ObjectSet*>(this)->find(key_of(kind, id)) & 1) != 0;
  }
  std::uint64_t size() const { return count_; }

 private:
  static std::uint64_t key_of(object::ObjectKind kind, const ObjectId& id) {
    std::uint64_t word = 0;
    std::memcpy(&word, id.bytes.data(), sizeof(word));
    word ^= static_cast<std::uint64_t>(kind) * 0x9e3779b97f4a7c15;
    return (word & ~std::uint64_t{1}) == 0 ? 2 : word & ~std::uint64_t{1};
  }
  std::uint64_t& find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 8) & mask;
    while (slots_[at] != 0 && (slots_[at] & ~std::uint64_t{1}) != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.empty() ? 1024 : slots_.size() * 2, 0);
    old.swap(slots_);
    for (const std::uint64_t value : old) {
      if (value != 0) find(value & ~std::uint64_t{1}) = value;
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

}  // namespace weft::store
