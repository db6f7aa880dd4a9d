// Kept file: what is retained of the part of the log that a gc took out of use, under its original log positions, so
// that nothing that points there must be written anew.
//
//   frames      of operations inside the undo window, and of the newest move of every ref: sorted, in compressed blocks
//   refs        name -> newest kept move                 operations   id -> frame
//   links       delta id -> change, git commit -> change
//   packs       where the live objects are, and which objects of those packs do not count any more
//
// Invariants:
//   K1  A kept file is complete, flushed, and under its final name before a checkpoint frame names it; it never
//   changes.
//       One that no checkpoint names means nothing.
//   K2  Its id is the SHA-256 of its footer, which holds the SHA-256 of all before: opening compares the former,
//   verify()
//       the latter. The small tables (blocks, refs, packs) are check-summed at opening, blocks when they are read.
//   K3  A chain (moves of a ref, operations) that leads to something not kept ends there.
//   K4  What is found is only believed when it names what was asked for: the tables hold halves and prefixes of keys.
// Threading: a KeptFile may be used by many threads; a KeptWriter by one.
// Format: docs/FORMATS.md, "Kept file".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/env.h"
#include "log/segments.h"
#include "store/transaction_codec.h"

namespace weft::store {

inline constexpr std::size_t kMaxKeptPacks = 1024;
/// Raw bytes of a block of frames before the next begins; a block with one large frame is larger.
inline constexpr std::size_t kKeptBlockBytes = 32u << 10;
inline constexpr std::uint64_t kMaxKeptBlockBytes = 16u << 20;
inline constexpr std::uint64_t kMaxYoungObjects = 1u << 18;

std::string kept_file_name(const ObjectId& id);

/// Half of an id: enough to tell it from every other one in a store.
using HalfId = Id<struct HalfTag, 16>;
template <typename IdType>
HalfId half_of(const IdType& id) {
  return HalfId::from_bytes(id.view().substr(0, HalfId::kSize));
}

/// What is retained of one frame.
struct KeptFrame {
  std::uint64_t position = 0;
  TransactionId transaction;
  std::int64_t time_ns = 0;
  /// Inside the window: in `op log`, found by its id. Else only its moves count.
  bool listed = false;
  std::optional<OperationInfo> operation;
  std::uint64_t previous_operation = 0;  ///< as in the frame
  std::vector<Move> moves;               ///< some of the frame's, in their order
  /// Objects recorded inside the window that nothing refers to. What is more than kMaxYoungObjects goes into further
  /// entries of the same position, which hold nothing else.
  std::vector<std::pair<ObjectKind, ObjectId>> young;
};

/// A pack that holds live objects.
struct KeptPack {
  PackName name;                      ///< as in the file: also what does not count
  std::uint64_t objects = 0;          ///< that count
  std::uint64_t changes = 0;          ///< among them
  std::vector<std::uint64_t> dead{};  ///< a bit for each place of the pack's table, set: does not count; or empty
  bool is_dead(std::uint64_t place) const { return !dead.empty() && (dead[place / 64] >> (place % 64) & 1) != 0; }
};

/// What is said once.
struct KeptFacts {
  StoreIds ids;
  std::uint64_t start = 0;             ///< where the log begins now
  std::uint64_t window = 0;            ///< frames from here on were kept whole (facts of them, where before `start`)
  std::uint64_t newest_operation = 0;  ///< position of the newest listed frame, plus one; 0: none
};

struct DeltaLink {
  HalfId delta, change;
  auto operator<=>(const DeltaLink&) const = default;
};
struct GitLink {
  GitId git;
  HalfId change;
  auto operator<=>(const GitLink&) const = default;
};

struct KeptName {
  ObjectId id;
  std::uint64_t bytes = 0;
};

struct KeptBlock;  // kept_format.h

class KeptWriter {
 public:
  KeptWriter(Env env, std::string directory);
  ~KeptWriter();
  KeptWriter(const KeptWriter&) = delete;

  /// In order of positions.
  Result<void> add(const KeptFrame& frame);
  void add(DeltaLink link) { deltas_.push_back(link); }
  void add(GitLink link) { gits_.push_back(link); }
  void add(KeptPack pack) { packs_.push_back(std::move(pack)); }
  /// Once (K1).
  Result<KeptName> finish(const KeptFacts& facts);

 private:
  Result<void> begin();
  Result<void> write(ByteView bytes);
  Result<void> end_block();

  Env env_;
  std::string directory_, temporary_;
  std::unique_ptr<File> file_;
  struct Hash;
  std::unique_ptr<Hash> hash_;
  object::RecordCodec codec_{3};
  std::uint64_t written_ = 0;
  std::vector<KeptFrame> pending_;  ///< of the block that is open
  std::size_t pending_bytes_ = 0;
  std::uint64_t block_first_ = 0, last_position_ = 0;
  std::vector<KeptBlock> blocks_;
  std::map<std::string, std::uint64_t, std::less<>> refs_;  ///< name -> newest position
  std::vector<std::pair<std::uint64_t, std::uint32_t>> operations_;
  std::vector<DeltaLink> deltas_;
  std::vector<GitLink> gits_;
  std::vector<KeptPack> packs_;
};

class KeptFile {
 public:
  /// not_found; damaged when it is not the file `id`, or its small tables are not what was written (K2).
  static Result<std::shared_ptr<const KeptFile>> open(FileSystem& fs, const std::string& path, const ObjectId& id);

  ~KeptFile();
  const KeptFacts& facts() const;
  const std::vector<KeptPack>& packs() const;
  std::uint64_t bytes() const;
  /// Listed frames.
  std::uint64_t operations() const;

  /// The frame at this position; nullptr: not kept.
  Result<std::shared_ptr<const KeptFrame>> frame(std::uint64_t position) const;
  /// The move at this position of the log; nullopt: not kept.
  Result<std::optional<Move>> move(std::uint64_t position) const;
  /// Positions of newest moves of refs whose key begins like this one (K4).
  Result<std::vector<std::uint64_t>> refs(const Key& key) const;
  Result<void> for_each_ref(const std::function<Result<void>(std::uint64_t position)>& visit) const;
  /// Positions of listed frames whose transaction id, as a key, begins with a word in [low, high] (K4).
  Result<std::vector<std::uint64_t>> operations_between(std::uint64_t low, std::uint64_t high) const;
  /// Halves of the changes of a delta.
  std::vector<HalfId> changes_of(const HalfId& delta) const;
  std::vector<GitLink> gits_between(const GitId& low, const GitId& high) const;

  Result<void> for_each_frame(const std::function<Result<void>(const KeptFrame&)>& visit) const;
  void for_each_delta(const std::function<void(const DeltaLink&)>& visit) const;
  void for_each_git(const std::function<void(const GitLink&)>& visit) const;

  /// Everything: the hash of all bytes, every block, the order of the tables.
  void verify(const std::function<void(const Error&)>& report) const;

 private:
  using Frames = std::vector<std::shared_ptr<const KeptFrame>>;
  struct Parts;
  explicit KeptFile(std::unique_ptr<Parts> parts);
  Error located(Error error) const;
  Result<Frames> read_block(std::uint64_t block) const;
  Result<std::shared_ptr<const Frames>> block(std::uint64_t number) const;
  /// Calls `visit` for the entries of this position.
  Result<void> at_position(std::uint64_t position,
                           const std::function<void(const std::shared_ptr<const KeptFrame>&)>& visit) const;
  void verify_tables(const std::function<void(const Error&)>& report) const;

  std::unique_ptr<Parts> parts_;
};

/// The frames of one block. Bounded by what is there; damaged on anything encode_kept_frames could not have written.
Bytes encode_kept_frames(const std::vector<KeptFrame>& frames);
Result<std::vector<KeptFrame>> decode_kept_frames(ByteView bytes);

}  // namespace weft::store
