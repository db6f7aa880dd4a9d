// A build without cargo: redb, fjall and sled are no contenders.
#include "contender.h"

namespace weft::bench {

std::unique_ptr<Contender> make_embedded_rust(std::string_view) { return nullptr; }

}  // namespace weft::bench
