// What the two sections of a transaction frame mean, and the index entries a frame gives rise to. Pure functions of
// bytes.
//
// Late section: link to the operation before, then the ref moves, each with a link to the move of that ref before it.
// Payload: time, then tagged sections: operation, object records, packs, delta entries, git entries.
// Format: docs/FORMATS.md, "Transaction".
#pragma once

#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "log/frame.h"
#include "object/record.h"
#include "store/store.h"

namespace weft::store {

/// What an index entry is about; its key is 32 bytes, shorter ids padded with zeros.
enum class EntryKind : std::uint8_t {
  blob = 1,
  tree = 2,
  change = 3,
  ref = 4,        ///< key: SHA-256 of the name; value: position of the newest move
  delta = 5,      ///< key: delta id; value: position of the delta entry
  git = 6,        ///< key: git SHA-1; value: position of the git entry
  operation = 7,  ///< key: transaction id; value: position of the frame
  pack = 8,       ///< key: pack id; value: position of the frame that names it
};
inline constexpr std::size_t kEntryKinds = 9;  // 0 unused

using Key = ObjectId;  // 32 bytes

inline EntryKind entry_kind(ObjectKind kind) { return static_cast<EntryKind>(kind); }
Key ref_key(std::string_view name);
template <typename IdType>
Key padded_key(const IdType& id) {
  Key key;
  std::copy(id.bytes.begin(), id.bytes.end(), key.bytes.begin());
  return key;
}
/// First and second eight bytes of a key, big-endian: sorted as the bytes are.
inline std::uint64_t key_word(const Key& key, int index) {
  std::uint64_t word = 0;
  std::memcpy(&word, key.bytes.data() + index * 8, sizeof(word));
  return std::byteswap(word);
}

inline constexpr std::size_t kMaxRefNameBytes = 200;
inline constexpr std::size_t kMaxRefExtraBytes = 1u << 20;
inline constexpr std::size_t kMaxRefMoves = 100'000;
inline constexpr std::size_t kMaxLabelBytes = 64u << 10;
/// Index entries one frame may add by itself (its packs' tables not counted).
inline constexpr std::size_t kMaxFrameEntries = 32'768;

/// One ref move as it lies in a late section.
struct Move {
  std::uint64_t position = 0;  ///< of this record in the log
  std::uint64_t frame = 0;     ///< position of its frame
  std::uint64_t previous = 0;  ///< position of the ref's move before; 0: there is none
  Key key;                     ///< only the first 16 bytes are stored and set
  std::string name;
  std::optional<RefValue> after;
};

class LateWriter {
 public:
  /// `previous_operation`: position of the operation frame before, plus one; 0: none.
  LateWriter(Bytes& out, std::uint64_t previous_operation, std::size_t moves);
  /// Returns the record's offset from the frame's start.
  std::size_t add(const Key& key, std::uint64_t previous, std::string_view name, const std::optional<RefValue>& after);

 private:
  Bytes& out_;
};

struct Late {
  std::uint64_t previous_operation = 0;
  std::vector<Move> moves;
};
Result<Late> decode_late(ByteView late, std::uint64_t frame_position);
/// The moves' keys (first 16 bytes), names and positions alone; false when the section is malformed (those before were
/// visited).
bool for_each_move(ByteView late, std::uint64_t frame_position,
                   const std::function<void(ByteView key, std::string_view name, std::uint64_t position)>& visit);
/// One move record at the front of `bytes`; nullopt when more bytes are needed than are there, or they are no such
/// record.
std::optional<Move> decode_move(ByteView bytes, std::uint64_t position);

struct PackName {
  ObjectId id;
  std::uint64_t objects = 0;
  std::uint64_t changes = 0;  ///< among the objects
  std::uint64_t bytes = 0;
};

/// Builds a payload.
class PayloadWriter {
 public:
  explicit PayloadWriter(std::int64_t time_ns);
  void operation(const OperationInfo& info);
  void packs(const std::vector<PackName>& packs);
  /// The records, as RecordCodec::encode appended them. Returns the offset of the first in the payload.
  std::size_t records(ByteView encoded);
  struct LinkEntry {
    ByteView key;  ///< 32 (delta) or 20 (git) bytes
    ChangeId change;
    std::optional<std::size_t> record;  ///< payload offset of the change's record, when this frame carries it
  };
  /// Returns each entry's offset in the payload.
  std::vector<std::size_t> deltas(const std::vector<LinkEntry>& entries);
  std::vector<std::size_t> gits(const std::vector<LinkEntry>& entries);
  const Bytes& bytes() const { return bytes_; }

 private:
  std::vector<std::size_t> links(std::uint8_t tag, const std::vector<LinkEntry>& entries);
  Bytes bytes_;
};

struct Payload {
  std::int64_t time_ns = 0;
  std::optional<OperationInfo> operation;
  std::vector<PackName> packs;
  ByteView records;
  std::size_t records_offset = 0;
  ByteView deltas, gits;
  std::size_t deltas_offset = 0, gits_offset = 0;
};
Result<Payload> decode_payload(ByteView payload);

/// A delta or git entry: where its change is.
struct Link {
  Key key;
  std::optional<ChangeId> change;
  std::uint64_t record_position = 0;  ///< when `change` is not given
  std::size_t length = 0;
};
std::optional<Link> decode_link(EntryKind kind, ByteView bytes, std::uint64_t position);

/// Every index entry of a frame: (kind, key, position). Packs' own tables are not included.
Result<void> for_each_entry(const log::Frame& frame,
                            const std::function<void(EntryKind, const Key&, std::uint64_t position)>& visit);

/// The payload of a store's first frame.
struct StoreIds {
  StoreId store;
  ReplicaId replica;
};
Bytes encode_store_payload(const StoreIds& ids);
Result<StoreIds> decode_store_payload(ByteView payload);

}  // namespace weft::store
