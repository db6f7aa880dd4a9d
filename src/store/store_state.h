// What a Store, its Snapshots and Transactions share. Internal to store/.
#pragma once

#include "base/hash.h"
#include "store/index.h"
#include "store/store.h"

namespace weft::store {

/// What `.weft/format` says.
struct Format {
  std::uint32_t version = 1;
  std::uint64_t segment_bytes = 64u << 20;
};
inline constexpr std::uint32_t kFormatVersion = 1;
Bytes encode_format(const Format& format);
/// unsupported for versions and features this binary does not know.
Result<Format> decode_format(ByteView bytes, const std::string& path);

/// Transactions whose objects take more are streamed into a pack.
inline constexpr std::uint64_t kMaxFrameObjectBytes = 4u << 20;

/// Codecs kept from one object to the next: a new one costs more than decoding a small object with it. Thread-safe.
class CodecPool {
 public:
  /// The record's content where it lies, if it is stored plain, else in `owned`.
  Result<ByteView> view(const object::Record& record, Bytes& owned) {
    if (record.form == object::Stored::plain && record.stored.size() == record.raw_size &&
        xxh3(record.stored) == record.checksum) {
      return record.stored;
    }
    WEFT_TRY(owned, content(record));
    return ByteView(owned);
  }
  Result<Bytes> content(const object::Record& record) {
    object::RecordCodec codec = take();
    auto bytes = codec.content(record);
    give_back(std::move(codec));
    return bytes;
  }
  Result<void> encode(object::ObjectKind kind, const ObjectId& id, ByteView content, Bytes& out) {
    object::RecordCodec codec = take();
    auto done = codec.encode(kind, id, content, out);
    give_back(std::move(codec));
    return done;
  }

 private:
  static constexpr std::size_t kMaxKept = 16;
  object::RecordCodec take() {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (free_.empty()) return object::RecordCodec();
    object::RecordCodec codec = std::move(free_.back());
    free_.pop_back();
    return codec;
  }
  void give_back(object::RecordCodec codec) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (free_.size() < kMaxKept) free_.push_back(std::move(codec));
  }
  std::mutex mutex_;
  std::vector<object::RecordCodec> free_;
};

struct Store::State {
  State(Env outer, std::string store_directory, const Format& store_format, std::unique_ptr<SharedControl> block,
        const StoreHooks& hooks)
      : env(outer),
        directory(std::move(store_directory)),
        format(store_format),
        segments(env, join_path(directory, "log"), format.segment_bytes),
        packs(env, join_path(directory, "packs")),
        control(std::move(block)),
        index(env, join_path(directory, "index"), *control, segments, packs),
        log(env, *control, kLogLayout, segments, index, hooks.waiting),
        touches(hooks.touches),
        check_change(hooks.check_change),
        history_step(hooks.history_step) {}

  SharedStoreState& shared() const { return *reinterpret_cast<SharedStoreState*>(control->base() + kStoreStateOffset); }

  /// A view of now.
  static Result<Snapshot> view(const std::shared_ptr<State>& store);
  static Snapshot::State& of(const Snapshot& snapshot);
  /// What the log's first frame says.
  Result<StoreIds> ids();

  Env env;
  std::string directory;
  Format format;
  log::Segments segments;
  PackCache packs;
  std::unique_ptr<SharedControl> control;
  Index index;
  log::Log log;
  TouchesOf touches;
  decltype(StoreHooks::check_change) check_change;
  std::uint64_t history_step;
  CodecPool codecs;
  std::atomic<std::uint32_t> commits = 0;  ///< by this process
  std::atomic<std::uint64_t> objects_read = 0;
  std::optional<Error> damage;
  std::optional<Error> unwritable;  ///< why nothing can be recorded: the control block is private
  std::vector<std::string> notices;
};

/// After so many commits a process is taken for one that goes on: what it will touch is mapped at once.
inline constexpr std::uint32_t kPrefaultCommits = 64;

struct Snapshot::State {
  std::shared_ptr<Store::State> store;
  log::DurableState durable;
  ViewPin pin;  ///< goes before the store it looks into

  /// Calls `use` with the object's places, one after the other, until it gives something; what is found is only
  /// believed when it names the object. nullopt: the object is not there.
  template <typename T, typename Use>
  Result<std::optional<T>> use_object(ObjectKind kind, const ObjectId& id, const Use& use,
                                      Run::Match first = Run::Match::prefix) const;
  /// The record at a position of the log; nullopt when another thing lies there.
  Result<std::optional<object::Record>> record_at(const View& view, std::uint64_t position, ObjectKind kind,
                                                  const ObjectId& id, std::shared_ptr<Mapping>& keep) const;
  /// Calls `use` with the object's bytes, in place where they can be used so. A large blob's chunks are read
  /// from `chunks`. nullopt: the object is not there.
  template <typename T, typename Use>
  Result<std::optional<T>> use_content(ObjectKind kind, const ObjectId& id, const object::ObjectReader* chunks,
                                       const Use& use) const;
  /// The change a delta or git entry leads to, and the entry's own key.
  Result<std::optional<std::pair<Key, ChangeId>>> link_at(const View& view, EntryKind kind,
                                                          std::uint64_t position) const;
  /// The move at `position`, which must be a durable one; nullopt: it lies before the log's start and was not kept.
  Result<std::optional<Move>> find_move(std::uint64_t position) const;
  /// The same where it must be there, for this view.
  Result<Move> move_at(std::uint64_t position) const;
  Error collected() const;
  /// The newest move of the ref before this snapshot's position.
  Result<std::optional<Move>> newest_move(std::string_view name) const;
  struct Before {
    bool known = true;  ///< false: the move before was not kept
    std::optional<RefValue> value{};
  };
  Result<Before> value_before(const Move& move) const;
  /// Facts of the frame at `position`, its payload's checksum not computed again; null: not kept.
  Result<std::shared_ptr<const KeptFrame>> frame_at(std::uint64_t position) const;
  Result<Operation> operation_of(const KeptFrame& frame) const;
  /// The record a candidate of a prefix leads to, if its key is not known.
  Result<object::Record> candidate_record(const Index::Candidates& found, const Index::Candidate& each,
                                          std::shared_ptr<Mapping>& keep) const;
  /// K4: those that begin so.
  Result<void> changes_beginning(const HalfId& half, std::vector<ChangeId>& changes) const;
  /// Changes that delta or git entries of this key lead to.
  Result<std::vector<ChangeId>> linked(EntryKind kind, const Key& key) const;
};

Error not_found(ObjectKind kind, const ObjectId& id);

/// Opens the control block, making one if need be: `before` runs first then, while nobody else has the store open or
/// can open it.
Result<std::unique_ptr<SharedControl>> open_store_control(Env& env, const std::string& directory, const Format& format,
                                                          const StoreHooks& hooks, std::vector<std::string>& notices,
                                                          std::optional<Error>& unwritable,
                                                          const std::function<Result<void>()>& before = {});
/// In a store: a repair is half-way through replacing files (salvage.h).
inline constexpr std::string_view kRepairingName = "repairing";
/// Why the store in `directory` must not be written to where it lies: other machines could write to it, and our locks
/// and our shared memory would not know. Nothing where it may be.
std::optional<Error> unsafe_place(Env env, const std::string& directory, const StoreHooks& hooks);

/// Part of Store::verify: the history index. Deep: every record and every key is what the change itself says.
Result<void> verify_history(Store::State& store, const Snapshot& snapshot, bool deep,
                            const std::function<void(Finding)>& report);

}  // namespace weft::store
