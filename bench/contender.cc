#include "contender.h"

#include <stdexcept>

namespace weft::bench {

std::unique_ptr<Contender> make_contender(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const std::string_view variant = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  if (kind == "sqlite") return make_sqlite(variant);
  if (kind == "lmdb") return make_lmdb(variant);
  if (kind == "rocksdb") return make_rocksdb(variant);
  if (kind == "weft" && variant.empty()) return make_weft();
  if (kind == "redb" || kind == "fjall" || kind == "sled") return make_embedded_rust(name);
  throw std::runtime_error("no contender " + std::string(name));
}

}  // namespace weft::bench
