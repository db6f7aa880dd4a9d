// SHA-256 (FIPS 180-4, OpenSSL's low-level routine: the EVP layer's first call costs more than a commit's hashing) for
// ids, and XXH3-64 for checksums and tables.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft {

ObjectId sha256(ByteView data);

/// Streaming SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(ByteView data);
  /// Once.
  ObjectId finish();

 private:
  alignas(8) unsigned char state_[128];  // SHA256_CTX, kept out of this header
};

/// XXH3, 64 bits, as a checksum and as a hash for tables; not for adversaries.
std::uint64_t xxh3(ByteView data, std::uint64_t seed = 0);

}  // namespace weft
