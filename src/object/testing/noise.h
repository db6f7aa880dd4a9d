// Content for tests that must not compress.
#pragma once

#include <cstring>
#include <random>

#include "base/bytes.h"

namespace weft::object {

/// Bytes that nothing compresses.
inline Bytes noise(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  Bytes out(size + 8, '\0');
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t value = random();
    std::memcpy(out.data() + at, &value, sizeof(value));
  }
  out.resize(size);
  return out;
}

}  // namespace weft::object
