// A survey of a whole store, in whatever state it is: which frames, packs and objects are whole, what is damaged, what
// is lost with it, what the refs hold. It believes nothing that is derived; verify reports what it finds, repair acts
// on it.
//
// Invariants:
//   SV1  An object counts as lost only when no whole copy of it was found anywhere, and something names it: a table, an
//        index run, or an object that refers to it.
//   SV2  Frames behind a gap count only while what they say of those before agrees with what is there; a stretch that
//        does not is foreign: of another history, or of another store. Nothing in it counts.
//   SV3  Each lost object belongs to one damage: the gap, pack or record it lay in as far as that is known.
//   SV4  A large blob counts as whole when its list and all that the list names are; looking deep, and wherever only
//        the list's own checksum speaks for it, its content is hashed too.
// Memory: 8 to 16 bytes an object, 150 a chunk of a large blob, and in proportion to the damage. Threading: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "log/frame_map.h"
#include "store/checkpoint.h"
#include "store/manifest.h"
#include "store/object_set.h"
#include "store/pack_scan.h"
#include "store/store.h"
#include "store/transaction_codec.h"

namespace weft::store {

struct Damage {
  enum class Kind : std::uint8_t {
    gap,      ///< bytes of the log
    foreign,  ///< a stretch of the log that is of another history
    frame,    ///< a frame that is whole and makes no sense
    pack,
    record,   ///< an object in a whole frame
    missing,  ///< nothing tells where it was
    kept,     ///< the file that speaks for the log before its start
    known,    ///< given up by an earlier repair: no finding
  };
  Kind kind = Kind::missing;
  std::string what;
  std::string path;
  std::uint64_t from = 0, to = 0;  ///< in the log; of a pack, 0 and its length
  ObjectId pack;
  std::uint64_t lost = 0;    ///< objects
  std::uint64_t copies = 0;  ///< damaged objects of which another copy is whole
};

/// A pack as the log names it.
struct SurveyedPack {
  PackName name;
  std::uint64_t position = 0;  ///< of the frame
  std::string problem;         ///< with the whole file; empty: none
  bool has_table = true;
  bool from_donor = false;         ///< the other store's file is whole
  const KeptPack* kept = nullptr;  ///< the kept file names it, not a frame
  bool holds_bad_list = false;     ///< a large blob's, of which something is lost
  std::optional<std::size_t> damage;
  std::uint64_t found = 0;  ///< objects
};

struct SurveyOptions {
  bool deep = false;                ///< hash every object; without it objects are looked at only where there is damage
  std::uint64_t end = UINT64_MAX;   ///< the log is looked at up to here
  std::uint64_t known_durable = 0;  ///< a position somebody knows to have been durable
  const std::set<ObjectName>* known_losses = nullptr;
  /// Another store of the same history, perhaps a copy: whole frames of its log are taken for those that are missing
  /// here, and its packs.
  log::Segments* donor = nullptr;
  std::string donor_directory = {};
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

class Survey {
 public:
  /// `directory`: the store.
  Survey(Env env, log::Segments& segments, std::string directory)
      : env_(env), segments_(segments), directory_(std::move(directory)) {}
  Result<void> run(const SurveyOptions& options);

  bool clean() const { return damages_.empty() || (damages_.size() == 1 && damages_[0].kind == Damage::Kind::known); }
  const std::vector<Damage>& damages() const { return damages_; }
  const log::FrameMap& map() const { return map_; }
  bool is_foreign(std::size_t stretch) const { return foreign_[stretch]; }
  bool is_donated(std::size_t stretch) const { return donated_[stretch]; }
  /// Where frames begin that make no sense.
  const std::unordered_set<std::uint64_t>& senseless() const { return senseless_; }
  /// What speaks for the log before its start; null: nothing does, or it is lost.
  const std::shared_ptr<const KeptFile>& kept() const { return kept_; }
  const KeptName& kept_name() const { return kept_name_; }
  bool kept_from_donor() const { return kept_from_donor_; }
  log::LogPoint start() const { return start_; }
  /// The objects of a pack that count.
  Result<void> for_each_packed(const SurveyedPack& pack, const PackScan& scan,
                               const std::function<Result<void>(const PackScan::Object&)>& visit) const;
  const std::optional<StoreIds>& ids() const { return ids_; }
  const std::vector<SurveyedPack>& packs() const { return packs_; }
  /// Lost objects, each with the place of its damage.
  const std::map<ObjectName, std::size_t>& lost() const { return lost_; }
  bool is_lost(ObjectKind kind, const ObjectId& id) const { return lost_.contains({kind, id}); }
  /// Whether this copy of an object is damaged.
  bool is_bad(const object::Record& record) const;
  /// Of a large blob: its list is of no use any more, or never was.
  bool is_bad_list(const ObjectId& blob) const { return bad_lists_.contains(blob); }
  /// Positions of frames that hold such lists.
  const std::vector<std::uint64_t>& bad_list_positions() const { return bad_list_positions_; }
  /// SV4. Again after something was found elsewhere: then a list may be of use again.
  Result<void> judge_lists();
  /// Nothing tells whose the stretches are, and they are not of one log: what is done with them would be a guess.
  bool is_ambiguous() const { return ambiguous_; }
  std::string donor_pack_path(const SurveyedPack& pack) const {
    return join_path(join_path(donor_directory_, "packs"), object::pack_file_name(pack.name.id));
  }
  const ObjectSet& objects() const { return objects_; }
  /// A lost tree or change that somebody else has: from here on it counts as whole.
  void found(const ObjectName& name, Bytes content);
  /// A lost blob, likewise.
  void found_blob(const ObjectId& id) {
    lost_.erase({ObjectKind::blob, id});
    found_blobs_.insert(id);
  }
  std::string donor_kept_path() const {
    return join_path(join_path(donor_directory_, "log"), kept_file_name(kept_name_.id));
  }
  const Damage& damage(std::size_t place) const { return damages_[place]; }
  /// Something that a found object needs, and nobody has.
  void lacks(const ObjectName& name, std::size_t damage) {
    if (lost_.emplace(name, damage).second) ++damages_[damage].lost;
  }
  /// Objects that lay in packs of which there is no table, and of which not even the name is known.
  std::uint64_t nameless() const;
  std::uint64_t donated_frames() const { return donated_frames_; }
  /// Operations that index runs know to have been in a gap.
  const std::vector<TransactionId>& lost_operations() const { return lost_operations_; }

  struct RefState {
    std::uint64_t position = 0;  ///< of its newest move
    std::optional<Version> version;
    std::uint64_t operation = 0;  ///< position of the frame
  };
  /// What the refs hold by the moves that are left.
  const std::map<std::string, RefState>& refs() const { return refs_; }
  std::uint64_t frames() const { return frames_; }
  std::uint64_t records() const { return records_; }  ///< objects, one put twice counted twice
  std::uint64_t change_records() const { return change_records_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Whole frames, in order; those that make no sense are left out.
  Result<void> for_each_frame(const std::function<Result<void>(const log::Frame&, std::size_t stretch)>& visit) const;
  /// Every whole tree and change (duplicates possible), wherever it lies, with its content. `changes`, `trees`: which.
  Result<void> for_each_object(bool trees, bool changes,
                               const std::function<Result<void>(ObjectKind, const ObjectId&, ByteView)>& visit) const;
  const std::string& directory() const { return directory_; }
  Env env() const { return env_; }
  log::Segments& segments() const { return segments_; }

 private:
  /// Where a copy of a blob lies.
  struct Place {
    std::optional<std::size_t> pack;  ///< else the log
    std::size_t stretch = 0;
    std::uint64_t position = 0;  ///< of the record
    PackScan::Object object;
  };
  struct List {
    ObjectId id;
    object::ChunkList list;
    std::optional<std::size_t> pack;
    std::uint64_t position = 0;  ///< of the frame
    bool proven = true;          ///< a table or a frame says that it is this blob
    bool hashed = false;
    bool bad = false;
  };
  class PartReader;
  Result<void> find_start(const Manifest* manifest);
  void add_list(const ObjectId& id, object::ChunkList list, std::optional<std::size_t> pack, std::uint64_t position,
                bool proven);
  Result<void> find_parts();
  Result<void> for_each_blob(const std::function<Result<void>(const ObjectId&, const Place&)>& visit) const;
  Result<Bytes> read_place(const Place& place, const ObjectId& id) const;
  /// Of the parts of a list, one for which `wanted` holds.
  std::optional<ObjectId> part_of(const List& list, const std::function<bool(const ObjectId&)>& wanted) const;
  Result<bool> has_its_content(const List& list) const;
  Result<void> gather_kept();
  void open_foreign();
  Result<void> fill_gaps(log::Segments& donor);
  log::Segments& segments_of(std::size_t stretch) const { return donated_[stretch] ? *donor_ : segments_; }
  Result<PackScan> scan_of(const SurveyedPack& pack) const;
  Result<bool> donor_has(const SurveyedPack& pack) const;
  Result<void> classify(const Manifest* manifest);
  Result<void> gather();
  Result<void> look_at_packs();
  Result<void> look_at_contents(bool deep);
  void look_into(ObjectKind kind, const ObjectId& id, ByteView content, std::size_t* damage,
                 const std::function<std::size_t()>& make_damage);
  void bad(ObjectKind kind, const ObjectId& id, std::size_t damage);
  void refer(ObjectKind kind, const ObjectId& id);
  void attribute(const Manifest* manifest, const std::set<ObjectName>* known);
  std::size_t pack_damage(SurveyedPack& pack, std::string what);
  bool in_gap(std::uint64_t position) const;
  std::optional<std::size_t> damage_at(std::uint64_t position) const;
  void tick(std::uint64_t done, std::uint64_t total) const {
    if (progress_) progress_(done, total);
  }

  Env env_;
  log::Segments& segments_;
  std::string directory_;
  std::function<void(std::uint64_t, std::uint64_t)> progress_;
  log::FrameMap map_;
  std::vector<bool> foreign_;
  log::Segments* donor_ = nullptr;
  std::string donor_directory_;
  std::vector<bool> donated_;  // of each stretch
  std::uint64_t donated_frames_ = 0;
  std::map<ObjectName, Bytes> found_;
  std::unordered_set<std::uint64_t> senseless_;  // positions of frames
  std::shared_ptr<const KeptFile> kept_;
  KeptName kept_name_;
  bool kept_from_donor_ = false;
  log::LogPoint start_;
  std::optional<StoreIds> ids_;
  std::vector<Damage> damages_;
  std::vector<SurveyedPack> packs_;
  ObjectSet objects_;
  std::map<ObjectName, std::size_t> bad_;  // some copy is damaged
  std::map<ObjectName, bool> missing_;     // referred to, and named nowhere
  std::map<ObjectName, std::size_t> lost_;
  std::vector<List> lists_;
  std::unordered_map<ObjectId, Place, IdHash> parts_;                  // what lists name
  std::unordered_map<ObjectId, std::vector<ObjectId>, IdHash> pages_;  // what those of it that are pages name
  mutable std::map<std::size_t, PackScan> part_packs_;
  std::set<ObjectId> bad_lists_, found_blobs_;
  std::vector<std::uint64_t> bad_list_positions_;
  bool deep_ = false, ambiguous_ = false;
  std::set<ObjectName> found_without_table_;
  std::vector<TransactionId> lost_operations_;
  std::map<std::string, RefState> refs_;
  std::uint64_t frames_ = 0, records_ = 0, change_records_ = 0, bytes_ = 0;
};

}  // namespace weft::store
