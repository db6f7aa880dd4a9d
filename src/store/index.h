// Index: lookups over everything the log holds: immutable runs for what is merged, the tail tables in the control block
// for what is not. Derived from the log; merged by whoever made the tail grow too long, after its own commit was
// answered.
//
// Invariants:
//   IX1  Tables and runs together cover every frame before the enqueued end: a frozen table counts until a manifest
//   that
//        covers it is published.
//   IX2  A lookup that ran while tables or runs changed is repeated: it never misses what was there before it began.
//   IX3  Order of a merge: run flushed, manifest flushed and renamed, generation published, old files unlinked. A
//   process
//        killed anywhere leaves either the old or the new set; the next merge goes on from there.
//   IX4  A pack that is lost takes with it only what it holds: merges go on without it, its manifest entry then counts
//   no
//        objects, and a lookup that finds nothing says that it may have been there instead of "there is none".
//   IX5  What lies before the log's start (checkpoint.h) is in no run: the base answers for it, the kept file and its
//        packs with their own tables. A file that is gone because of a newer base is no damage: who meets that looks
//        again.
// Threading: any thread; the LogClient calls come under the log's locks.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "object/pack.h"
#include "store/checkpoint.h"
#include "store/control_layout.h"
#include "store/manifest.h"
#include "store/run.h"
#include "store/view.h"

namespace weft::store {

/// Opened packs of a store, by id. So many keep their files open, fewer where the process may open few. Thread-safe.
class PackCache {
 public:
  PackCache(Env& env, std::string directory) : env_(env), directory_(std::move(directory)) {}
  Result<std::shared_ptr<const object::PackReader>> open(const ObjectId& id);
  const std::string& directory() const { return directory_; }

 private:
  static constexpr std::uint64_t kMaxOpenPacks = 256;
  Env& env_;
  std::string directory_;
  std::mutex mutex_;
  std::map<ObjectId, std::shared_ptr<const object::PackReader>> packs_;
  std::size_t max_open_ = 0;  // 0: not asked for yet
};

/// The hex digits an id begins with.
class KeyPrefix {
 public:
  static constexpr std::size_t kMaxDigits = 2 * Key::kSize;
  /// At most kMaxDigits digits, lower case.
  explicit KeyPrefix(std::string_view hex_digits);
  bool matches(ByteView id) const;
  /// First and last 8-byte words a key with this prefix can begin with.
  std::uint64_t low() const { return low_; }
  std::uint64_t high() const { return high_; }
  /// First and last key with this prefix.
  const Key& first() const { return key_; }
  const Key& last() const { return last_; }

 private:
  Key key_, last_;
  std::size_t digits_;
  std::uint64_t low_, high_;
};

struct RecoveredIndex {
  log::LogPoint end;
  log::ClientWords client{};
  std::optional<std::string> damage;
  std::vector<std::string> notices;
};

/// A file that is cut off, garbled or gone, as opposed to one that cannot be read just now.
inline bool is_lost(const Error& error) { return error.code == Code::damaged; }

class Index final : public log::LogClient {
 public:
  Index(Env& env, std::string directory, SharedControl& control, log::Segments& segments, PackCache& packs);

  /// Fills the tables from manifest and log; cuts nothing. Inside SharedControl's initialise, or (with `witnessed`, a
  /// position known to have been durable that the files no longer reach) with the log's locks held.
  Result<RecoveredIndex> recover(std::uint64_t witnessed);

  // LogClient
  void frame_durable(const log::FrameHeader& header, ByteView late, std::uint64_t durable_end) override;
  void forget_from(std::uint64_t position) override;

  /// Every place of what lies under `key` before `bound` in the log; of an object one in a run is enough. `pin`: of the
  /// snapshot that looks, may be null. Takes no lock and no memory where the pinned view is current. Match::prefix:
  /// what lies there may be of another key that begins with the same 16 digits (somebody may have made it so), in place
  /// of the one that is looked for; then only Match::whole knows.
  Result<void> places(const ViewPin* pin, EntryKind kind, const Key& key, Run::Match match, std::uint64_t bound,
                      Places& found) const;
  /// The same, for callers that look now and then; visit returns whether to go on.
  template <typename Visit>
  Result<void> find(EntryKind kind, const Key& key, std::uint64_t bound, const Visit& visit) const {
    Places found;
    WEFT_DO(places(nullptr, kind, key, Run::Match::whole, bound, found));
    for (std::size_t i = 0; i < found.list.size(); ++i) {
      WEFT_TRY(const bool more, visit(found.list[i]));
      if (!more) break;
    }
    return {};
  }
  /// What begins so, duplicates possible. The key is known for entries from runs and packs.
  struct Candidate {
    Found found;
    bool has_key = false;
    Key key;
  };
  struct Candidates {
    SmallList<Candidate, 4> list;
    Places keep;
  };
  Result<void> candidates(const ViewPin* pin, EntryKind kind, const KeyPrefix& prefix, std::uint64_t bound,
                          Candidates& found) const;
  /// Every entry of a kind. The key is known for entries from runs and packs.
  Result<void> for_each(EntryKind kind, std::uint64_t bound,
                        const std::function<Result<void>(const std::optional<Key>&, const Found&)>& visit) const;
  /// Position of a durable move of the ref, at or behind the newest one before `bound` (walk back from it), 0: none.
  Result<std::uint64_t> durable_ref(const ViewPin* pin, const Key& key) const;

  /// Null while the log is there from its beginning.
  Result<std::shared_ptr<const Base>> base() const;
  /// Where the log begins.
  Result<log::LogPoint> log_start() const;
  /// What lies at a position of the log: `from_log` reads it there, `from_kept` where it is before the start. Again
  /// with the new base when a gc came between (IX5).
  template <typename T>
  Result<T> at(std::uint64_t position, const std::function<Result<T>()>& from_log,
               const std::function<Result<T>(const KeptFile&)>& from_kept) const {
    for (int i = 0;; ++i) {
      const std::uint64_t looked = generation();
      WEFT_TRY(const auto now, base());
      if (now && position < now->start.position) {
        if (now->lost) return *now->lost;
        return from_kept(*now->kept);
      }
      auto result = from_log();
      if (result || result.error().code != Code::damaged || i == kMaxLooks || !changed_since(looked)) return result;
    }
  }
  static constexpr int kMaxLooks = 100;
  /// A number that changes with tables, runs and base.
  std::uint64_t generation() const { return state_.tables.load(std::memory_order_acquire); }
  /// Whether what was found with that generation may have moved since. Reads the manifest when nobody has said so: a
  /// private control block hears of nothing.
  bool changed_since(std::uint64_t generation) const;

  /// Whether runs place something where the log has lost its bytes.
  bool behind_damage(std::uint64_t position) const;

  // Inside the append lock:
  /// Position of the ref's newest move, enqueued or durable; 0: none.
  Result<std::uint64_t> newest_ref(const Key& key) const;
  bool has_room(std::size_t entries, std::size_t packs) const;
  void place(EntryKind kind, const Key& key, std::uint64_t position);
  void place_ref(const Key& key, std::uint64_t position);

  bool is_current(const View& view) const {
    return view.tables == generation() && !view.outdated.load(std::memory_order_relaxed);
  }
  /// Pins the current view if it is loaded; else the first lookup does.
  void pin_current(const ViewPin& pin) const;
  /// Loads manifest and runs unless they are current; call before taking the append lock.
  Result<void> refresh() const;
  bool merge_due() const;
  /// For a process that goes on committing: maps the table in use at once.
  void prefault() const;
  /// Merges the tail into runs. `wait`: for another process that does so already; else returns at once.
  Result<void> merge(log::Log& log, bool wait, std::size_t room_for = 0) { return merge(log, {wait, room_for, false}); }
  struct Merging {
    bool wait = false;
    std::size_t room_for = 0;
    bool always = false;  ///< also when none is due
  };
  Result<void> merge(log::Log& log, const Merging& merging);

  /// The newest checkpoint that is taken in, as the client word kCheckpoint.
  Result<std::uint64_t> checkpoint() const;
  /// Manifest and runs as they are now.
  struct Contents {
    Manifest manifest;
    std::vector<std::shared_ptr<const Run>> runs;
  };
  Result<Contents> contents() const;

  struct Files {
    std::uint64_t bytes = 0;
    Manifest manifest;
  };
  Result<Files> files() const;
  std::string directory() const { return directory_; }

 private:
  struct Gathered {
    EntryLists lists;
    struct NamedPack {
      PackName name;
      std::uint64_t position = 0;  ///< of the frame that names it
    };
    std::vector<NamedPack> packs;
    log::ClientWords client{};
    std::optional<Checkpoint> checkpoint;  ///< the newest one met: nothing before its start is in the lists
  };

  TailTable table(int which) const;
  /// The position in `word` of the ref's entry in the tables, else what the runs say.
  Result<std::uint64_t> ref_position(const ViewPin* pin, const Key& key,
                                     std::atomic<std::uint64_t> TailEntry::* word) const;
  Result<std::shared_ptr<const View>> view() const;
  /// `before`: runs that are open there are not opened again.
  Result<std::shared_ptr<View>> load_view(const View* before = nullptr) const;
  Result<Found> resolve(const View& view, std::uint64_t value) const;
  Result<std::shared_ptr<const Base>> load_base(const Manifest& manifest, bool last_try) const;
  /// IX5: what the base has under the key. `lost`: a pack that may have had it.
  Result<void> find_in_base(const Base& base, EntryKind kind, const Key& key, Places& found,
                            std::optional<Error>& lost) const;
  Result<void> candidates_in_base(const Base& base, EntryKind kind, const KeyPrefix& prefix, Candidates& found) const;
  Result<std::uint64_t> ref_in_base(const Base& base, const Key& key) const;
  struct TailPacks {
    std::vector<std::shared_ptr<const object::PackReader>> readers;
    std::optional<Error> lost;  ///< one of the packs is lost: what is found nowhere may have been there
  };
  /// The packs a transaction names. Read once: its frame may be megabytes (an import's), and every lookup asks.
  Result<std::vector<ObjectId>> packs_named_at(ByteView bytes, std::uint64_t position) const;
  /// Packs that only the tail names, before `bound`.
  Result<TailPacks> tail_packs(int which, std::uint64_t bound) const;
  /// IX4: an error when one of them is still lost.
  Result<void> find_in_lost_packs(const View& view, EntryKind kind, const Key& key, Places& found) const;
  /// Calls `look` with a consistent set of tables and runs, again if they changed meanwhile (IX2). `found` keeps them.
  template <typename Look>
  Result<void> consistently(const ViewPin* pin, Places& found, const Look& look) const;
  Result<void> gather(const log::Frame& frame, Gathered& gathered) const;
  /// Writes the gathered entries as a run, merging with older ones, and the new manifest.
  Result<void> write_merged(const View& view, Gathered gathered, log::LogPoint point);
  /// CP2: what the gathered and the view's entries keep when `checkpoint` is taken in; then no run of the view counts.
  Result<void> take_in(const View& view, const Checkpoint& checkpoint, Gathered& gathered, Manifest& manifest) const;
  Result<void> activate(int which, std::uint64_t capacity);
  Result<RecoveredIndex> recover_damaged(RecoveredIndex recovered, std::uint64_t known_durable);

  Env& env_;
  std::string directory_;
  SharedControl& control_;
  log::Segments& segments_;
  PackCache& packs_;
  SharedStoreState& state_;
  mutable std::mutex named_mutex_;
  mutable std::map<std::uint64_t, std::pair<TransactionId, std::vector<ObjectId>>> named_;
  mutable std::mutex view_mutex_;
  mutable std::shared_ptr<const View> view_;               // with the generation of the tables it was loaded for
  mutable std::shared_ptr<const Base> base_;               // the one opened last
  mutable std::atomic<std::uint64_t> prefaulted_[2] = {};  // capacity up to which each table was
};

}  // namespace weft::store
