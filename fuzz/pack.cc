// A file that claims to be a pack: opened under the id its last bytes give, walked, read and verified. Whatever it
// holds, errors are reported and memory stays in proportion to the file.
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/testing/sim_file_system.h"
#include "object/byte_source.h"
#include "object/pack_format.h"

namespace {

using namespace weft;
using namespace weft::object;

// Of what one input may decompress to: its size times what zstd can do, and blocks are never larger than this.
constexpr std::uint64_t kMaxContentBytes = 64u << 20;

Result<void> read_object(const PackReader& reader, ObjectKind kind, const ObjectId& id, std::uint64_t offset) {
  const auto found = reader.find(kind, id);
  WEFT_CHECK(found || found.error().code == Code::damaged);
  const auto size = reader.size_at(offset, kind, id);
  if (!size) {
    WEFT_CHECK(size.error().code == Code::damaged);
    return {};
  }
  const auto content = reader.read_at(offset, kind, id);
  WEFT_CHECK(content ? content->size() == *size : content.error().code == Code::damaged);
  if (kind != ObjectKind::blob) return {};
  const auto source = reader.open_blob_at(offset, id);
  if (!source) {  // a list of chunks, which lie elsewhere
    WEFT_CHECK(source.error().code == Code::damaged && !content);
    return {};
  }
  const auto streamed = read_all(**source, kMaxContentBytes);
  if (content && content->size() <= kMaxContentBytes) WEFT_CHECK(streamed && *streamed == *content);
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kPackFooterBytes) return 0;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  SimFileSystem fs;
  fs.open("pack", OpenMode::create_new).value()->write_at(0, input).value();
  const auto reader = PackReader::open(fs, "pack", sha256(input.substr(size - kPackFooterBytes)));
  if (!reader) {
    WEFT_CHECK(reader.error().code == Code::damaged || reader.error().code == Code::unsupported);
    return 0;
  }
  const auto walked = reader->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t offset) {
    return read_object(*reader, kind, id, offset);
  });
  WEFT_CHECK(walked || walked.error().code == Code::damaged);
  reader->verify(true, [](const Error& error) { WEFT_CHECK(error.code == Code::damaged); });
  return 0;
}
