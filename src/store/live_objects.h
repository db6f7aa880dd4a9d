// Which objects are live: everything that can be reached from what the caller calls a root.
//
// What lies before the log's cut is looked up in the tables it is in anyway, the packs of the base and the runs of one
// view of the index: a bit for each of their places says whether the object is live. What is recorded behind the cut
// stays whatever it is; of it only the ids met are remembered.
//
// Invariants:
//   LO1  An object is read at most once, however often it is shared.
//   LO2  Memory: one bit an object, 24 bytes an object that moves, 40 bytes an id behind the cut, and the changes that
//        are heads of what is walked.
//   LO3  An object that is in several places is live in one: in a pack that stays before one that moves, before the
//   log.
// Threading: one thread.
#pragma once

#include <queue>
#include <unordered_set>

#include "object/repack.h"
#include "store/kept.h"
#include "store/run.h"

namespace weft::store {

class LiveObjects {
 public:
  /// `reader` reads every object; `cut`: positions before it count.
  LiveObjects(const object::ObjectReader& reader, std::uint64_t cut) : reader_(reader), cut_(cut) {}

  /// Packs first, those that stay before those that move (LO3), then runs.
  void add_pack(std::shared_ptr<const object::PackReader> pack, const KeptPack& kept, bool moves);
  /// `counts`: by ordinal, whether a pack that the run's entries lie in was named before the cut; `moves`, whether it
  /// moves.
  void add_run(std::shared_ptr<const Run> run, std::vector<bool> counts, std::vector<bool> moves);

  /// Called now and then while tracing; an error stops it.
  std::function<Result<void>(std::uint64_t objects)> progress;
  /// What is not there cannot be lost; else it is damage.
  bool tolerate_missing = false;

  /// Marks and, at the next trace(), all that it leads to.
  Result<void> add_root(ObjectKind kind, const ObjectId& id);
  Result<void> trace();

  bool is_live(ObjectKind kind, const ObjectId& id) const;
  /// By half an id.
  bool is_live_change(const HalfId& half) const;
  /// Ids of what the content of an object refers to.
  static Result<void> references(
      ObjectKind kind, ByteView content,
      const std::function<Result<void>(ObjectKind, const ObjectId&, std::uint64_t group)>& visit);

  std::uint64_t marked() const { return marked_; }
  std::uint64_t missing() const { return missing_; }
  /// Dead places of a pack, by the order of add_pack(): the bitmap (empty: none), live objects and changes.
  Result<KeptPack> pack_facts(std::size_t number, const PackName& name) const;
  /// The same of a pack whose objects lie in the runs.
  Result<KeptPack> pack_facts(const object::PackReader& pack, const PackName& name) const;

  struct Dropped {
    std::uint64_t objects = 0, changes = 0;
    std::uint64_t live_objects = 0, live_changes = 0;  ///< before the cut
  };
  Result<Dropped> count() const;
  /// Objects that move, marked since the last call, in the order they should be packed in (object/repack.h).
  object::RepackSource take_moving();
  std::size_t moving() const { return moving_.size(); }

 private:
  struct Source {
    std::shared_ptr<const object::PackReader> pack;
    std::vector<std::uint64_t> dead;
    std::shared_ptr<const Run> run;
    std::vector<bool> counts, pack_moves;
    bool moves = false;
    std::size_t first[4] = {};  ///< of a run: where each kind's places begin
    std::vector<std::uint64_t> live;
  };
  struct Place {
    std::size_t source = 0;
    std::uint64_t place = 0;
    bool moves = false;
  };
  struct Moving {
    std::uint64_t place = 0;  ///< source in the upper 8 bits
    std::uint64_t group = 0;
    std::uint32_t sequence = 0;
    ObjectKind kind = ObjectKind::blob;
  };
  struct Head {
    std::uint64_t lamport = 0;
    ChangeId id;
    std::shared_ptr<const object::Change> change;
    bool operator<(const Head& other) const {
      return lamport != other.lamport ? lamport < other.lamport : id < other.id;
    }
  };

  std::optional<Place> find(ObjectKind kind, const ObjectId& id) const;
  std::optional<Place> find_in(std::size_t number, ObjectKind kind, const ObjectId& id) const;
  bool bit(const Place& place) const {
    return (sources_[place.source].live[place.place / 64] >> (place.place % 64) & 1) != 0;
  }
  /// True when it was not marked before and has to be looked into.
  Result<bool> mark(ObjectKind kind, const ObjectId& id, std::uint64_t group);
  Result<void> open(const ChangeId& id);
  /// The chunks of a large blob, which are blobs of their own.
  Result<void> mark_chunks(const ObjectId& blob, std::uint64_t group);
  Result<void> look_into(const object::Change& change);
  Result<void> trees();
  /// Nothing when it is missing and that is tolerated.
  Result<std::optional<Bytes>> content(ObjectKind kind, const ObjectId& id);
  Result<std::pair<ObjectKind, ObjectId>> object_at(std::size_t source, std::uint64_t place) const;

  const object::ObjectReader& reader_;
  std::uint64_t cut_;
  std::vector<Source> sources_;
  std::unordered_set<ObjectId, IdHash> recent_[4];  ///< behind the cut, by kind
  std::priority_queue<Head> heads_;
  std::vector<std::pair<ObjectId, std::uint64_t>> open_trees_;  ///< and their groups
  std::vector<Moving> moving_;
  std::uint64_t marked_ = 0, missing_ = 0, next_sequence_ = 0;
};

}  // namespace weft::store
