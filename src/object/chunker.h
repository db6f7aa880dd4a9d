// Content-defined chunking: where a large blob is cut into chunks, so that an edit moves only the boundaries beside it.
//
// FastCDC (Xia et al., "FastCDC: a Fast and Efficient Content-Defined Chunking Approach for Data Deduplication", USENIX
// ATC 2016): a gear hash over the last 64 bytes, a stricter mask before the wanted size than behind it. Besides, every
// run of kMinZeroRun zero bytes or more is a piece of its own, of any length: it is stored as a number.
//
// Invariants:
//   CK1  Boundaries are a function of the content alone: not of how the source gives it, nor of which zeros it knows
//        without reading (holes).
//   CK2  Memory is kWindowBytes, whatever the content.
// Threading: one thread each.
// Format: docs/FORMATS.md, "Chunk list": the table, the masks and the sizes are frozen.
#pragma once

#include <optional>

#include "object/object.h"

namespace weft::object {

/// A maximal run of so many zero bytes is a piece of its own.
inline constexpr std::uint64_t kMinZeroRun = 16u << 10;

/// What decides how large chunks become. Others than kChunkSizes are for measuring.
struct ChunkSizes {
  std::size_t least = 16u << 10;  ///< but for the content's end and what stands before a run of zeros
  unsigned wanted_bits = 16;
  std::size_t most = 256u << 10;
};
inline constexpr ChunkSizes kChunkSizes{};

/// How long the chunk is that begins `window`: all of it, or its prefix up to a boundary. Runs of zeros play no part.
std::size_t chunk_length(ByteView window, const ChunkSizes& sizes);

/// Cuts what a source gives.
class Chunker {
 public:
  explicit Chunker(ByteSource& source, const ChunkSizes& sizes = kChunkSizes);

  struct Piece {
    std::uint64_t size = 0;
    ByteView bytes;  ///< empty: `size` zeros. Valid until the next call.
  };
  /// nullopt at the end.
  Result<std::optional<Piece>> next();

 private:
  Result<void> fill();
  ByteView window() const { return ByteView(buffer_).substr(begin_, end_ - begin_); }
  Result<std::uint64_t> take_zeros();

  ByteSource& source_;
  ChunkSizes sizes_;
  Bytes buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what was read and not given yet
  std::uint64_t zeros_ = 0;          // that the source knows of, behind it
  bool at_end_ = false;              // of the source, behind both
};

}  // namespace weft::object
