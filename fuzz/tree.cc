// One tree object of any form: what is accepted encodes to exactly the bytes it came from, and reads as what it says.
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "object/memory_objects.h"
#include "object/tree_codec.h"

namespace {

using namespace weft;
using namespace weft::object;

void try_directory(ByteView input) {
  MemoryObjects objects;
  const ObjectId id = sha256(input);
  objects.replace(ObjectKind::tree, id, Bytes(input));
  const auto entries = read_directory(objects, id);
  if (!entries) return;  // a table's chunks are missing
  MemoryObjects written;
  WEFT_CHECK(write_directory(written, *entries).value() == id);
  for (const TreeEntry& entry : *entries) WEFT_CHECK(find_entry(objects, id, entry.name).value() == entry);
}

void try_chunk(ByteView input) {
  Entries entries;
  auto cursor = EntryCursor::chunk(input, nullptr, {});
  if (!cursor || !read_entries(*cursor, entries)) return;
  WEFT_CHECK(encode_entries(TreeForm::chunk, entries) == input);
}

void try_table(ByteView input) {
  const auto table = decode_table(input);
  if (table) WEFT_CHECK(encode_table(*table) == input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const char*>(data), size);
  const auto references = tree_references(input);
  WEFT_CHECK(references || references.error().code == Code::damaged);
  try_directory(input);
  try_chunk(input);
  try_table(input);
  return 0;
}
