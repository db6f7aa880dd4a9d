// A list of chunks and a page of one: what is taken for one encodes to the same bytes again, within its limits. The
// first eight bytes are the size that is claimed for the content.
#include <cstddef>
#include <cstdint>

#include "object/chunk_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  ByteReader reader(ByteView(reinterpret_cast<const char*>(data), size));
  const std::uint64_t claimed = reader.u64();
  if (!reader.ok()) return 0;
  const ByteView bytes = reader.rest();
  const auto list = object::decode_chunk_list(bytes, claimed);
  if (list) {
    WEFT_CHECK(list->size == claimed && list->entries.size() <= object::kMaxListEntries);
    WEFT_CHECK(object::encode_chunk_list(list->entries) == bytes);
  } else {
    WEFT_CHECK(list.error().code == Code::damaged);
  }
  const auto page = object::decode_page(bytes, claimed);
  if (page) {
    WEFT_CHECK(page->size == claimed && page->entries.size() <= object::kMaxPageEntries);
    WEFT_CHECK(object::encode_page(page->entries) == bytes);
  } else {
    WEFT_CHECK(page.error().code == Code::damaged);
  }
  return 0;
}
