// Gathers the objects of one kind into groups (group.h) and writes them to a pack: what repack() does with each kind.
//
// Threading: one thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "object/group.h"
#include "object/pack.h"

namespace weft::object {

/// Content of a group of newest versions: what reading one of them decodes.
inline constexpr std::uint64_t kNewestGroupBytes = 32u << 10;
/// Of older versions of one thing.
inline constexpr std::uint64_t kOlderGroupBytes = 128u << 10;
/// What one object may need decoded, unless it is large itself: then ten times the content of its group.
inline constexpr std::uint64_t kReadBytes = 512u << 10;
inline constexpr std::uint64_t kReadFactor = 10;
/// Compressed groups that wait for the group of newest versions they refer to.
inline constexpr std::uint64_t kMaxPendingBytes = 4u << 20;

class GroupBuilder {
 public:
  GroupBuilder(PackWriter& writer, ObjectKind kind, int level) : writer_(writer), kind_(kind), level_(level) {}

  /// Smaller than kMaxGroupBytes, and not added before. Versions of one `group` one after the other, newest first; 0
  /// is of no group.
  Result<void> add(const ObjectId& id, Bytes content, std::uint64_t group);
  /// Writes what is gathered; the next object begins anew.
  Result<void> finish();

  /// Whether it was added and is not in the pack yet.
  bool holds(const ObjectId& id) const { return held_.contains(id); }
  /// Held back, about as many bytes as it will take in the pack.
  std::uint64_t held_bytes() const { return pending_bytes_ + newest_.content.size() / 4; }

 private:
  /// Objects on the way into one group.
  struct Gathered {
    std::vector<ObjectId> ids;
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint32_t> tags;
    Bytes content;
    bool fits(const ObjectId& id, std::size_t size, std::uint64_t limit) const;
    void add(const ObjectId& id, ByteView bytes);
  };
  /// Where a group lies; known once it is written.
  struct Place {
    std::uint64_t offset = 0;
    std::uint32_t chain_groups = 1;
    std::uint64_t chain_bytes = 0;
  };
  /// An object to refer to.
  struct Base {
    std::shared_ptr<Place> place;
    std::uint32_t member = 0;
    Bytes content;
  };
  struct Pending {
    std::vector<ObjectId> ids;
    std::vector<std::uint64_t> sizes;
    Bytes stored;
    std::shared_ptr<Place> place;
    std::shared_ptr<Place> base;
    std::uint32_t base_member = 0;
  };

  Result<void> begin_versions(const ObjectId& id, Bytes content, std::uint64_t group);
  Result<void> close_older();
  Result<void> write();

  PackWriter& writer_;
  ObjectKind kind_;
  int level_;
  GroupEncoder encoder_;
  Gathered newest_;
  std::shared_ptr<Place> newest_place_ = std::make_shared<Place>();
  std::uint64_t group_ = 0;  // of the versions being added; 0: none
  Base first_;               // the newest of them
  Base last_;                // the oldest in the last group of older ones, if there is one
  Gathered older_;
  std::vector<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::unordered_set<ObjectId, IdHash> held_;
};

}  // namespace weft::object
