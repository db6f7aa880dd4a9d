// A record and whatever follows it: content that is given out survives encoding and decoding again.
#include <cstddef>
#include <cstdint>

#include "object/chunk_list.h"
#include "object/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const auto record = object::decode_record(input);
  if (!record) {
    WEFT_CHECK(record.error().code == Code::damaged);
    return 0;
  }
  WEFT_CHECK(record->length <= input.size());
  if (record->form == object::Stored::chunks) {
    const auto list = object::chunk_list_of(*record);
    WEFT_CHECK(list ? list->size == record->raw_size : list.error().code == Code::damaged);
    return 0;
  }
  const auto content = object::record_content(*record);
  if (!content) {
    WEFT_CHECK(content.error().code == Code::damaged);
    return 0;
  }
  WEFT_CHECK(content->size() == record->raw_size);
  object::RecordCodec codec;
  Bytes encoded;
  WEFT_CHECK(codec.encode(record->kind, record->id, *content, encoded).has_value());
  const auto again = object::decode_record(encoded);
  WEFT_CHECK(again && again->kind == record->kind && again->id == record->id);
  WEFT_CHECK(codec.content(*again).value() == *content);
  return 0;
}
