// What registers a workspace: the ref's extra, the `.weft` file, the files record, and the paths of a rescue change.
// What is accepted encodes to what was read.
#include <cstddef>
#include <cstdint>

#include "repo/files.h"
#include "repo/repository.h"
#include "repo/rescue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  if (const auto record = repo::decode_workspace(input)) WEFT_CHECK(repo::encode_workspace(*record) == input);
  if (const auto file = repo::decode_workspace_file(input)) WEFT_CHECK(repo::encode_workspace_file(*file) == input);
  if (const auto files = repo::decode_files_record(input)) {
    // Bytes of an older, longer record may stand behind it.
    WEFT_CHECK(input.starts_with(repo::encode_files_record(*files)));
  }
  if (const auto paths = repo::decode_rescued_paths(input)) WEFT_CHECK(repo::encode_rescued_paths(*paths) == input);
  return 0;
}
