// Store: one `.weft/` directory, shared by every process of the machine. The facade of the log, the index and the
// packs.
//
//   Store::create / open  -> Store
//   store.snapshot()      -> Snapshot: an immutable view, readers never wait and never see half a transaction (S4)
//   store.begin()         -> Transaction: objects, changes and ref moves, all or nothing, durable when commit() returns
//   (S2)
//
// Invariants:
//   S-1  The log is the only truth; everything under index/ and control can be deleted and is rebuilt.
//   S-2  commit() returns success only after the flush that covers the frame (G1); a refusal only once the state it was
//        judged against is durable (G7).
//   S-3  A ref that no longer holds what the transaction expects refuses the whole transaction (Code::lost_race,
//   `details`:
//        ref, expected, actual), unless that move said `skip`.
//   T-1  Several threads may put objects into one transaction and read whole ones from its reader() at the same time;
//        everything else of it, and sources it opened, belong to one thread while nobody puts.
// Threading: Store and Snapshot may be used by many threads; a Transaction by one, but see T-1.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/shared_control.h"
#include "object/change.h"
#include "object/object.h"
#include "object/version.h"
#include "store/touch.h"

namespace weft::store {

using object::ObjectKind;
using object::Version;

/// A git commit's SHA-1, as indexed for `git:SHA`.
using GitId = Id<struct GitTag, 20>;

/// What a ref holds. `extra`: raw bytes that belong to the ref (a workspace's registration, an annotated tag's object).
struct RefValue {
  Version version;
  Bytes extra;
  bool operator==(const RefValue&) const = default;
};

/// Why `name` can be no ref name; empty view when it is fine. 1 to 200 bytes of UTF-8 in '/'-separated parts; no
/// control byte, space, `~^:?*[\@{`, "..", leading '-' or '.', trailing '.' or '/', no part ending in ".lock"; not a
/// full hex id.
std::string_view ref_name_problem(std::string_view name);

struct Ref {
  std::string name;
  RefValue value;
};

/// One entry of a reflog.
struct RefMoveRecord {
  std::string ref;
  std::optional<RefValue> before, after;  ///< absent: did not exist, was deleted
  TransactionId operation;
  std::int64_t time_ns = 0;
  std::string label;      ///< of the operation
  std::string author;     ///< "Name <email>"
  std::string workspace;  ///< may be empty
};

/// One command's effect on refs (DESIGN 1): what `op log` lists and `undo` undoes.
struct Operation {
  TransactionId id;
  std::int64_t time_ns = 0;
  std::string label;
  std::string author;
  std::string workspace;
  std::string agent;
  /// Set on the operation an `undo` makes: what it undid; on a `redo`: the undo it undid.
  std::optional<TransactionId> undoes;
  struct Move {
    std::string ref;
    std::optional<RefValue> before, after;
  };
  std::vector<Move> moves;
};

struct ObjectName {
  ObjectKind kind = ObjectKind::blob;
  ObjectId id;
  auto operator<=>(const ObjectName&) const = default;
};

struct StoreOptions {
  std::uint64_t segment_bytes = 64u << 20;  ///< a multiple of 4 KiB, 1 MiB to 1 GiB; fixed at creation
};

/// Changes recorded before the history index is extended over them: so many at most are read from themselves.
inline constexpr std::uint64_t kHistoryStep = 256;

/// What those above give a store, and what tests replace.
struct StoreHooks {
  /// Opens the control block; default: open_mapped_control.
  std::function<Result<std::unique_ptr<SharedControl>>(const SharedControlOptions&)> open_control;
  /// Removes the control block; default: retire_mapped_control.
  std::function<Result<void>(const std::string& path)> retire_control;
  /// Whether a store on a network file system may be written to all the same: its user has said that this machine
  /// alone uses it. Default: none may.
  std::function<bool(const std::string& directory)> trusts_network;
  /// Open it without making, locking or writing anything, as a store that may not be written to is opened; what
  /// records then refuses with this.
  std::optional<Error> only_look{};
  /// About once a second while another live process keeps this one waiting.
  std::function<void(std::uint32_t process)> waiting;
  /// What a change touched; without it the history index is neither extended nor checked.
  TouchesOf touches;
  /// What is wrong with what a change claims: its result tree, and the delta id it is indexed by (zero: by none).
  /// nullopt: nothing. For verify --deep.
  std::function<Result<std::optional<std::string>>(const object::ObjectReader&, const object::Change&, const DeltaId&)>
      check_change;
  /// Changes recorded before the history index is extended over them.
  std::uint64_t history_step = kHistoryStep;
};

struct StoreInfo {
  StoreId store;
  ReplicaId replica;
  std::uint32_t format = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t log_end = 0;  ///< durable position
  std::uint64_t log_files = 0, log_bytes = 0, packs = 0, pack_bytes = 0, index_bytes = 0;
  std::uint64_t objects = 0, changes = 0, refs = 0;
  // Since the control block was made (this boot), all processes:
  std::uint64_t transactions = 0, batches = 0, flushes = 0, log_writes = 0, bytes_written = 0, zero_bytes = 0;
};

class Snapshot final : public object::ObjectReader {
 public:
  struct State;
  explicit Snapshot(std::shared_ptr<State> state);
  ~Snapshot() override;
  Snapshot(const Snapshot&);
  Snapshot& operator=(const Snapshot&);

  Result<Bytes> read(ObjectKind kind, const ObjectId& id) const override;
  Result<bool> contains(ObjectKind kind, const ObjectId& id) const override;
  Result<std::unique_ptr<object::ByteSource>> open_blob(const ObjectId& id) const override;
  Result<std::uint64_t> blob_size(const ObjectId& id) const override;
  Result<std::optional<object::ChunkList>> chunk_list(const ObjectId& blob) const override;
  /// All blobs such a list needs, pages of the list among them, each once; none where there is no list.
  Result<std::vector<ObjectId>> chunks_of(const ObjectId& blob) const;

  /// The object's bytes; nullopt when it is not there, which costs less than read()'s error.
  Result<std::optional<Bytes>> find(ObjectKind kind, const ObjectId& id) const;
  Result<object::Change> change(const ChangeId& id) const;
  Result<object::ChangeSummary> change_summary(const ChangeId& id) const;
  /// Ids of this kind that begin with the hex digits (at least 1), at most `limit`, sorted.
  Result<std::vector<ObjectId>> find_by_prefix(ObjectKind kind, std::string_view hex_digits, std::size_t limit) const;
  Result<std::vector<ChangeId>> find_by_delta(const DeltaId& delta) const;
  Result<std::optional<ChangeId>> find_git_commit(const GitId& id) const;
  /// Git commits whose SHA begins so.
  Result<std::vector<GitId>> find_git_prefix(std::string_view hex_digits, std::size_t limit) const;

  Result<std::optional<RefValue>> ref(std::string_view name) const;
  /// All refs whose names begin with `prefix`, by name.
  Result<std::vector<Ref>> refs(std::string_view prefix = {}) const;
  /// Newest first; visit returns false to stop.
  Result<void> reflog(std::string_view ref, const std::function<bool(const RefMoveRecord&)>& visit) const;
  Result<void> operations(const std::function<bool(const Operation&)>& visit) const;
  Result<std::optional<Operation>> operation(const TransactionId& id) const;
  /// Operation ids that begin so.
  Result<std::vector<TransactionId>> find_operation_prefix(std::string_view hex_digits, std::size_t limit) const;

  /// Every object (duplicates possible), for verify and gc.
  Result<void> for_each_object(const std::function<Result<void>(ObjectKind, const ObjectId&)>& visit) const;
  std::uint64_t position() const;
  /// For verify: the ref whose move lies at this place of the log.
  Result<std::string> move_name_at(std::uint64_t log_position) const;

 private:
  friend class Store;
  friend class Transaction;
  friend class History;
  std::shared_ptr<State> state_;
};

/// One ref move of a transaction.
struct RefEdit {
  std::string name;
  enum class Expect : std::uint8_t {
    anything,
    absent,
    exactly,  ///< exists and holds the version `expected` (extra is not compared)
  };
  Expect expect = Expect::anything;
  Version expected;
  bool skip = false;              ///< on a mismatch leave this ref alone and go on, instead of refusing the transaction
  std::optional<RefValue> after;  ///< absent: delete
  bool keep_extra = false;        ///< take `extra` from the value it replaces
};

struct OperationInfo {
  std::string
      label{};  ///< empty: the transaction is no operation (not listed, not undone); allowed without ref moves only
  std::string author{};
  std::string workspace{};
  std::string agent{};
  std::optional<TransactionId> undoes{};
};

struct Committed {
  TransactionId id;
  std::uint64_t position = 0;
  std::vector<bool> moved;  ///< per RefEdit: false where it was skipped
};

class Transaction final : public object::ObjectWriter {
 public:
  struct State;
  explicit Transaction(std::unique_ptr<State> state);
  ~Transaction() override;
  Transaction(Transaction&&) noexcept;

  Result<ObjectId> put(ObjectKind kind, ByteView bytes) override;
  Result<void> put_with_id(ObjectKind kind, const ObjectId& id, ByteView bytes) override;
  Result<StoredBlob> put_blob(object::ByteSource& source) override;
  /// A large blob's list under the id of its content, as another store or pack has it. What it names is put besides.
  Result<void> put_chunk_list(const ObjectId& id, const object::ChunkList& list);
  /// Encodes, stores, indexes by id and by `delta` (zero: not indexed by delta).
  Result<ChangeId> put_change(const object::Change& change, const DeltaId& delta = {});
  Result<void> index_git_commit(const GitId& git, const ChangeId& change);

  /// What this snapshot and this transaction hold together. Valid while the transaction lives.
  const object::ObjectReader& reader() const;
  const Snapshot& snapshot() const;

  void edit_ref(RefEdit edit);
  void set_operation(OperationInfo info);

  /// Computed inside the lock that orders transactions: `compute` sees the newest value of each named ref (also moves
  /// that are enqueued but not durable yet) and may then put_change() and edit_ref(). Keep it short: every writer
  /// waits. It may run again if the batch before it failed.
  using Late = std::function<Result<void>(Transaction&, const std::vector<std::optional<RefValue>>& newest)>;
  void set_late(std::vector<std::string> refs, Late compute);
  /// Inside `compute` only: of any change that is durable or enqueued, so that what it finds in a ref can be built
  /// upon.
  Result<object::ChangeSummary> late_change_summary(const ChangeId& id) const;

  /// Durable when it returns. The transaction is spent either way.
  Result<Committed> commit();

 private:
  friend class Store;
  Result<StoredBlob> put_large(object::ByteSource& source);
  std::unique_ptr<State> state_;
};

/// One damage, and what it means. `what` names the object or file and place, `affects` what needs it, in words.
struct Finding {
  std::string what;
  std::string affects;
  std::string advice;
  /// log, pack, object, ref, index, history, change (what a change claims).
  std::string kind = "log";
  std::string path{};                 ///< of the file; may be empty
  std::uint64_t offset = 0;           ///< in the log, where it is the log
  std::uint64_t bytes = 0;            ///< damaged, as far as that is known
  std::uint64_t lost_objects = 0;     ///< of which no whole copy is here
  std::vector<ObjectName> objects{};  ///< the first of them
  std::uint64_t needed_by = 0;        ///< changes that need one of them
  std::vector<ChangeId> changes{};    ///< the first of those
  /// Where in their trees.
  std::vector<std::pair<std::string, ObjectName>> paths{};
  bool more_paths = false;
  std::vector<std::string> refs{};  ///< that need them, or have them in their past
};
struct VerifyReport {
  std::vector<Finding> findings;
  std::uint64_t frames = 0, objects = 0, changes = 0, refs = 0, bytes = 0;
  // Where something is damaged:
  std::uint64_t whole_changes = 0;        ///< that lack nothing, nor does anything in their past
  std::vector<std::string> whole_refs{};  ///< the same of refs
  std::uint64_t lost_objects = 0;
  /// Objects an earlier repair gave up, and that are still lacking.
  std::uint64_t known_losses = 0;
  bool clean() const { return findings.empty(); }
};

struct RepairOptions {
  bool accept_loss = false;
  bool dry_run = false;                    ///< change nothing, say what would be done
  std::string from{};                      ///< another store's directory: what is damaged here is taken from there
  const StoreHooks* from_hooks = nullptr;  ///< to open that with; null: what the store itself is opened with
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};
struct RepairReport {
  bool dry_run = false;
  std::vector<std::string> done;      ///< what was rebuilt, saved, fetched
  std::vector<std::string> given_up;  ///< what is lost
  struct RefMove {
    std::string ref;
    Version from;
    std::optional<Version> to;  ///< absent: the ref is deleted
    std::string kept_as;        ///< the ref that keeps `from`; empty where its changes are lost
  };
  std::vector<RefMove> refs{};
  std::vector<ObjectName> lost{};  ///< the first of the lost objects
  std::uint64_t lost_objects = 0;
  std::uint64_t fetched = 0;  ///< objects from the other store
  std::string kept_aside{};   ///< where damaged files were moved; empty: nowhere
};

class Store {
 public:
  struct State;
  /// Makes `directory` (the `.weft` itself). Code::exists where one is.
  static Result<Store> create(Env env, const std::string& directory, const StoreOptions& options = {},
                              const StoreHooks& hooks = {});
  /// A damaged log still opens, for reading: see damage().
  static Result<Store> open(Env env, const std::string& directory, const StoreHooks& hooks = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::string& directory() const;
  Env env() const;
  /// Set when durable bytes are missing: reads work up to the last whole transaction, commits are refused (exit 5).
  const std::optional<Error>& damage() const;
  /// What opening had to do that the user should know (a torn tail dropped, ...), one sentence each.
  const std::vector<std::string>& notices() const;

  /// The newest durable state. Costs a look at shared memory where nothing has happened since the last one.
  Result<Snapshot> snapshot() const;
  Result<Transaction> begin() const;
  Result<StoreInfo> info() const;
  /// Contents given out through this Store and its snapshots so far: what tests hold costs to.
  std::uint64_t objects_read() const;
  /// Changes the history index (history.h) does not hold yet. Reads one small file.
  Result<std::uint64_t> changes_behind_history() const;
  /// Extends the history index over all of them; what commits do by themselves in steps. Returns how many were added.
  Result<std::uint64_t> extend_history(const std::function<void(std::uint64_t done)>& progress = {}) const;

  /// Structure: every frame's checksum and chain, every index run and pack table, refs. Deep: every object hashed, all
  /// that objects name is there, and everything derived is what a rebuilt one would be. Where something is damaged both
  /// say what needs it and what is whole.
  Result<VerifyReport> verify(bool deep,
                              const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) const;
  /// Rebuilds what is derived. Damaged frames, packs and objects are taken from another store that has them; what no
  /// store has is given up only with `accept_loss`: then everything whole is kept, refs go back to where they can be
  /// stood on, and the damaged files are kept aside. Interrupted anywhere it can be begun again.
  static Result<RepairReport> repair(Env env, const std::string& directory, const RepairOptions& options,
                                     const StoreHooks& hooks = {});

 private:
  explicit Store(std::shared_ptr<State> state);
  struct Recent;
  std::shared_ptr<State> state_;
  std::unique_ptr<Recent> recent_;
};

}  // namespace weft::store
