// What writer and reader of kept files share: footer and tables (kept.h).
//
// Threading: functions of bytes.
// Format: docs/FORMATS.md, "Kept file".
#pragma once

#include "store/kept.h"

namespace weft::store {

inline constexpr ByteView kKeptMagic = "weftkept";
inline constexpr ByteView kKeptEndMagic = "weftkend";
inline constexpr std::uint32_t kKeptVersion = 1;
inline constexpr std::size_t kKeptHeaderBytes = 16;
inline constexpr std::string_view kKeptTemporaryPrefix = "tmp-kept-";
/// Top bit of a block's stored size: compressed.
inline constexpr std::uint32_t kKeptCompressed = 1u << 31;
inline constexpr std::size_t kKeptBlockEntryBytes = 8 + 8 + 4 + 4 + 8;
inline constexpr std::size_t kDeltaLinkBytes = 32;
inline constexpr std::size_t kGitLinkBytes = 36;
/// A bit for each object of a pack.
inline constexpr std::uint64_t kMaxDeadBytes = 64u << 20;

struct KeptBlock {
  std::uint64_t first = 0, offset = 0;
  std::uint32_t raw = 0, stored = 0;
  std::uint64_t checksum = 0;
};
void append_kept_block(Bytes& out, const KeptBlock& block);
KeptBlock read_kept_block(ByteReader& in);

void append_kept_pack(Bytes& out, const KeptPack& pack, object::RecordCodec& codec);
/// Fails the reader where it is none.
KeptPack read_kept_pack(ByteReader& in);

struct KeptCounts {
  std::uint64_t blocks = 0, refs = 0, operations = 0, deltas = 0, gits = 0, packs = 0;
  bool operator==(const KeptCounts&) const = default;
};
struct KeptFooter {
  KeptFacts facts;
  std::uint64_t tables = 0;       ///< where they begin
  std::uint64_t small_bytes = 0;  ///< of the tables of blocks, refs and packs
  std::uint64_t small_checksum = 0;
  KeptCounts counts;
  ObjectId body_hash;
};
inline constexpr std::size_t kKeptFooterBytes = 2 * 16 + 3 * 8 + 3 * 8 + 6 * 8 + 32 + 4 + 4 + 8;
Bytes encode_kept_footer(const KeptFooter& footer);
/// `file_bytes`: everything must fit exactly.
Result<KeptFooter> decode_kept_footer(ByteView bytes, std::uint64_t file_bytes);

/// Where the tables behind the small ones begin, relative to the file.
struct KeptLayout {
  explicit KeptLayout(const KeptFooter& footer);
  std::uint64_t ref_keys, ref_positions, packs, operation_ids, operation_blocks, deltas, gits, end;
};

}  // namespace weft::store
