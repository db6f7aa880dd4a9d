// Records: how one object lies in a log frame or a pack.
//
// Invariants:
//   O1  A record's content is given out only after the checksum of its stored bytes and its length were found right.
//   The id
//       is not hashed again here: what travels is verified at the door, what rests by `verify --deep`.
//   O2  Reading takes memory in proportion to what is stored and never beyond kMaxRecordBytes.
// Threading: values; a RecordCodec belongs to one thread at a time.
// Format: docs/FORMATS.md, "Records".
#pragma once

#include <memory>

#include "object/object.h"

namespace weft::object {

/// Content of one record. Larger objects lie in packs as blocks (pack.h).
inline constexpr std::uint64_t kMaxRecordBytes = 16u << 20;
/// Below this, compressing costs more than it saves: making a zstd context asks the processor what it can do, which
/// under a hypervisor takes longer than everything else a small commit does with its objects.
inline constexpr std::size_t kMinCompressedBytes = 1024;

/// How the bytes of a record or block are stored. Values are part of the format.
enum class Stored : std::uint8_t {
  plain = 0,
  zstd = 1,
  blocks = 2,  ///< packs only
  group = 3,   ///< packs only: of several objects (group.h)
  chunks = 4,  ///< of a large blob, instead of its content: what it is made of (chunk_list.h)
};

/// A record as it lies in the bytes it was decoded from.
struct Record {
  ObjectKind kind = ObjectKind::blob;
  Stored form = Stored::plain;
  ObjectId id;
  std::uint64_t raw_size = 0;
  std::uint64_t checksum = 0;  ///< XXH3 of `stored`
  ByteView stored;
  std::size_t length = 0;  ///< of the whole record
};

/// No header of a record is longer.
inline constexpr std::size_t kMaxRecordHeadBytes = 1 + 1 + ObjectId::kSize + 7 + 4 + 8;
/// The header of the record that begins `bytes`, which need not hold the stored bytes: `stored` is empty, `stored_size`
/// and `length` say what they will be. damaged as below.
struct RecordHead {
  Record record;
  std::uint64_t stored_size = 0;
};
Result<RecordHead> decode_record_head(ByteView bytes);
/// The record that begins `bytes` (which may go on behind it). damaged on anything a codec could not have written.
Result<Record> decode_record(ByteView bytes);

/// Appends the record of a blob that is kept as a list of chunks: `list` as encode_chunk_list() makes it, at most
/// kMaxRecordBytes of it, else Code::invalid.
Result<void> encode_chunks_record(const ObjectId& id, std::uint64_t size, ByteView list, Bytes& out);

/// Encodes and decodes records, keeping zstd's working memory from one to the next; there is none before the first
/// object that is large enough to compress.
class RecordCodec {
 public:
  /// zstd levels: 1 on the way of a commit, 3 where nobody waits.
  explicit RecordCodec(int level = 1);
  ~RecordCodec();
  RecordCodec(RecordCodec&&) noexcept;
  RecordCodec& operator=(RecordCodec&&) noexcept;

  /// Appends the record of an object to `out`. Code::invalid above kMaxRecordBytes, with `out` unchanged.
  Result<void> encode(ObjectKind kind, const ObjectId& id, ByteView content, Bytes& out);
  /// O1, O2. Of a list of chunks, which is no content: damaged (chunk_list.h has whole_content).
  Result<Bytes> content(const Record& record);

  /// The better of the two forms for some bytes; the view lives until the next call.
  struct Packed {
    Stored form = Stored::plain;
    ByteView bytes;
  };
  Packed pack(ByteView content);
  /// Appends exactly raw_size bytes to `out`, or fails with damaged and leaves `out` as it was.
  Result<void> unpack(Stored form, ByteView stored, std::uint64_t raw_size, Bytes& out);

 private:
  struct Contexts;
  Contexts& contexts();
  int level_;
  std::unique_ptr<Contexts> contexts_;
};

/// RecordCodec::content() with working memory of its own, for single reads from any thread.
Result<Bytes> record_content(const Record& record);

}  // namespace weft::object
