#include "object/object.h"

#include "object/chunk_list.h"

#include <algorithm>
#include <array>

namespace weft::object {

std::string_view name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::blob:
      return "blob";
    case ObjectKind::tree:
      return "tree";
    case ObjectKind::change:
      return "change";
  }
  return "unknown kind";
}

Result<std::optional<ChunkList>> ObjectReader::chunk_list(const ObjectId&) const { return std::optional<ChunkList>{}; }

Result<std::uint64_t> ByteSource::skip(std::uint64_t count) {
  std::array<char, 16u << 10> unwanted;
  std::uint64_t passed = 0;
  while (passed < count) {
    WEFT_TRY(const std::size_t got, read(std::span(unwanted).first(static_cast<std::size_t>(
                                        std::min<std::uint64_t>(count - passed, unwanted.size())))));
    if (got == 0) break;
    passed += got;
  }
  return passed;
}

}  // namespace weft::object
