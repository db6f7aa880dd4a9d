// What the writers write: changes with random ids and bodies, reproducible from a seed.
#pragma once

#include <cstdint>

#include "contender.h"

namespace weft::bench {

/// splitmix64: small, fast, and every seed is as good as another.
class SmallRandom {
 public:
  explicit SmallRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

inline Id32 random_id(SmallRandom& random) {
  Id32 id;
  for (std::size_t i = 0; i < 32; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(id.bytes.data() + i, &word, 8);
  }
  return id;
}

/// A body of printable bytes with 6 bits of entropy each, as an encoded change of small edits has about.
inline NewChange random_change(SmallRandom& random, const Id32& parent, std::int64_t time_ns) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 \n";
  NewChange change;
  change.id = random_id(random);
  change.delta = random_id(random);
  change.parent = parent;
  change.time_ns = time_ns;
  for (std::size_t i = 0; i < kBodyBytes;) {
    std::uint64_t word = random.next();
    for (int j = 0; j < 10 && i < kBodyBytes; ++j, ++i, word >>= 6) change.body[i] = kAlphabet[word & 63];
  }
  return change;
}

}  // namespace weft::bench
