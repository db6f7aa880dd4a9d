// Chunk lists: a large blob as the list of the blobs it is made of.
//
// A blob of kLargeBlobBytes and more is stored as a record of form `chunks` (record.h) under the id of its whole
// content: a list of chunks, each an ordinary blob under an id of its own, and of runs of zeros. So what two versions
// have in common is stored once. Long lists are cut into pages, blobs themselves, at places that the chunks' ids
// choose: an edit writes the chunks it touches, a page or two, and the short list of pages.
//
// Invariants:
//   CL1  A list's entries follow from the content alone (chunker.h), but nothing depends on it: any list is read.
//   CL2  A list says how large each piece is; what is read for it must be just as large. Who reads a whole blob from
//        its beginning gets content of the blob's id, or an error at its end.
//   CL3  Reading takes the list, one page and one chunk, whatever the blob's size.
// Threading: values; a source belongs to one thread.
// Format: docs/FORMATS.md, "Chunk list".
#pragma once

#include <memory>
#include <vector>

#include "base/hash.h"
#include "object/record.h"

namespace weft::object {

inline constexpr std::size_t kMaxListEntries = 1u << 19;
inline constexpr std::size_t kMaxPageEntries = 1024;
inline constexpr ByteView kPageMagic = "weftpag1";

struct ChunkEntry {
  enum class Kind : std::uint8_t { zeros = 0, chunk = 1, page = 2 };
  Kind kind = Kind::zeros;
  std::uint64_t size = 0;  ///< of the content it stands for
  ObjectId id;             ///< zero for zeros
  bool operator==(const ChunkEntry&) const = default;
};

struct ChunkList {
  std::uint64_t size = 0;
  std::vector<ChunkEntry> entries;
  bool operator==(const ChunkList&) const = default;
};

/// What a record of form `chunks` stores. `size` is not in it.
Bytes encode_chunk_list(const std::vector<ChunkEntry>& entries);
/// damaged unless it is a list of `size` bytes of content.
Result<ChunkList> decode_chunk_list(ByteView bytes, std::uint64_t size);
/// A page: zeros and chunks alone.
Bytes encode_page(const std::vector<ChunkEntry>& entries);
Result<ChunkList> decode_page(ByteView bytes, std::uint64_t size);

/// The list a record of form `chunks` holds, its checksum compared.
Result<ChunkList> chunk_list_of(const Record& record);

/// All blobs that the list names, pages read for what they name: each chunk or page as often as it is there.
Result<void> for_each_chunk(const ObjectReader& reader, const ChunkList& list,
                            const std::function<Result<void>(const ChunkEntry&)>& visit);

/// damaged unless every chunk of the list is there and of its size; `whole`: and they make up the blob's content, which
/// reads all of it.
Result<void> check_chunks(const ObjectReader& reader, const ObjectId& blob, const ChunkList& list, bool whole);

/// The content. CL2, CL3.
std::unique_ptr<ByteSource> open_chunks(std::shared_ptr<const ObjectReader> reader, const ObjectId& id, ChunkList list);
/// As one Bytes, for content that is small enough; Code::invalid above kMaxWholeBytes.
inline constexpr std::uint64_t kMaxWholeBytes = std::uint64_t{1} << 30;
Result<Bytes> read_chunks(const ObjectReader& reader, const ObjectId& id, ChunkList list);

/// The content of a record of either kind. Chunks are read from `reader`; without one, a list is damaged.
Result<Bytes> whole_content(RecordCodec& codec, const Record& record, const ObjectReader* reader);

/// Cuts a source into chunks, puts them and the pages of their list, and says what the list is.
struct ChunkedBlob {
  ObjectId id;
  ChunkList list;
};
Result<ChunkedBlob> put_chunks(ByteSource& source, ObjectWriter& writer);

}  // namespace weft::object
