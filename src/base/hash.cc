// The low-level SHA256_* calls are deprecated in OpenSSL 3 in favour of EVP, but they are what needs no provider
// loaded, no configuration read and nothing allocated: for a process per commit that is most of the cost.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/hash.h"

#include <openssl/sha.h>
#include <xxhash.h>

namespace weft {

namespace {

SHA256_CTX* context(unsigned char* state) { return reinterpret_cast<SHA256_CTX*>(state); }

}  // namespace

ObjectId sha256(ByteView data) {
  Sha256 hasher;
  hasher.update(data);
  return hasher.finish();
}

Sha256::Sha256() {
  static_assert(sizeof(SHA256_CTX) <= sizeof(state_) && alignof(SHA256_CTX) <= 8);
  WEFT_CHECK(SHA256_Init(context(state_)) == 1);
}

void Sha256::update(ByteView data) { WEFT_CHECK(SHA256_Update(context(state_), data.data(), data.size()) == 1); }

ObjectId Sha256::finish() {
  ObjectId id;
  WEFT_CHECK(SHA256_Final(id.bytes.data(), context(state_)) == 1);
  return id;
}

std::uint64_t xxh3(ByteView data, std::uint64_t seed) {
  return seed == 0 ? XXH3_64bits(data.data(), data.size()) : XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

}  // namespace weft
