// The damage campaign's world: a store whose every byte is known, damages to it, and an oracle that says from the bytes
// changed what is lost and what is not. The oracle knows nothing of how verify and repair find out.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/survey.h"
#include "store_world.h"

namespace weft::store {

/// Bytes of a file, by its path.
struct Extent {
  std::string path;
  std::uint64_t from = 0, to = 0;
};

struct ModelFrame {
  std::uint64_t position = 0;
  std::uint64_t claim = 0;  ///< what it says was durable
  Extent extent;
  bool first = false;  ///< the store's ids
  std::vector<ObjectName> objects;
  std::vector<Extent> records;  ///< of the objects
  std::vector<std::pair<std::string, std::optional<Version>>> moves;
  std::vector<ObjectId> packs;
};
struct ModelPack {
  ObjectId id;
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t objects_end = 0;
  std::vector<std::pair<ObjectName, Extent>> objects;
};

/// A store, what was put into it, and where it lies.
class DamageWorld {
 public:
  explicit DamageWorld(std::uint64_t seed);

  std::unique_ptr<SimFileSystem> copy() {
    return fs_.after_crash(fs_.operation_count(), {.kind = SimCrash::Kind::prefix});
  }
  const std::map<ObjectName, Bytes>& objects() const { return objects_; }
  const std::vector<ModelFrame>& frames() const { return frames_; }
  const std::vector<ModelPack>& packs() const { return packs_; }
  const std::map<std::string, Bytes>& files() const { return files_; }
  /// Large blobs, with the chunks and pages they are made of.
  const std::map<ObjectId, std::set<ObjectId>>& lists() const { return lists_; }
  const std::map<ChangeId, object::ChangeSummary>& changes() const { return changes_; }
  /// Paths of blobs, by their ids.
  const std::map<ObjectId, std::set<std::string>>& paths() const { return paths_; }
  std::uint64_t indexed() const { return indexed_; }  ///< position the index manifest speaks of
  std::uint64_t log_end() const { return log_end_; }
  /// Where structures begin and end: what damages aim at.
  const std::vector<Extent>& boundaries() const { return boundaries_; }
  FakeClock& clock() { return clock_; }

  static constexpr std::uint64_t kSegmentBytes = 1u << 20;
  static constexpr std::size_t kTransactions = 130;

 private:
  void build(std::uint64_t seed);
  void read_back();
  void remember_list(const Snapshot& snapshot, const ObjectId& blob);

  SimFileSystem fs_;
  FakeClock clock_;
  FakeRandom random_;
  HeapBlock block_{clock_};
  std::map<ObjectName, Bytes> objects_;
  std::map<ObjectId, std::set<ObjectId>> lists_;
  std::map<ChangeId, object::ChangeSummary> changes_;
  std::map<ObjectId, std::set<std::string>> paths_;
  std::vector<ModelFrame> frames_;
  std::vector<ModelPack> packs_;
  std::map<std::string, Bytes> files_;
  std::vector<Extent> boundaries_;
  std::uint64_t log_end_ = 0, indexed_ = 0;
};

/// What is left of a world, told from the bytes.
struct Oracle {
  Oracle(const DamageWorld& world, const DamageWorld& other, SimFileSystem& disk);
  bool log_hit = false, pack_hit = false;  ///< some byte of it that matters
  std::set<std::size_t> frames_hit;
  /// The last ones, of which nothing is left that says they ever were durable: as good as never written.
  std::set<std::size_t> torn;
  std::set<ObjectName> gone;             ///< what was in them alone
  std::set<ObjectName> lost;             ///< no copy is whole
  std::map<std::string, Version> refs;   ///< newest value that can be stood on
  std::map<std::string, Version> moved;  ///< of those that go back: the newest value of all
  std::set<ObjectName> needed;           ///< lost, and something whole names it
  bool foreign = false;                  ///< whole frames of the other store are there
  bool nothing_lost() const { return !foreign && frames_hit.empty() && lost.empty(); }
  std::size_t regions = 0;  ///< damages, at the most

 private:
  bool changed(const Extent& extent) const;
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::uint64_t>>> changes_;  // by path
};

/// One random damage. What it did, for messages.
std::string damage(DamageWorld& world, DamageWorld& other, SimFileSystem& disk, FakeRandom& random);

}  // namespace weft::store
