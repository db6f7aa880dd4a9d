// Who needs what a store has lost: changes, paths, refs; and which changes can still be stood on.
//
// Invariants:
//   N1  Nothing derived is asked: trees and changes are read from where the survey found them.
//   N2  A change is rooted when it and everything in its past are there; sound when also every directory of its own
//       tree is. Files may be lacking: they can be given anew.
// Memory: about 80 bytes a change, and in proportion to the trees that lack something. Threading: one thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "store/survey.h"

namespace weft::store {

class Needs {
 public:
  explicit Needs(const Survey& survey) : survey_(survey) {}
  Result<void> run();

  struct Of {
    std::uint64_t changes = 0;
    std::vector<ChangeId> some_changes;  ///< oldest first, as they lie in the store
    std::vector<std::pair<std::string, ObjectName>> paths;
    bool more_paths = false;
    std::vector<std::string> refs;  ///< that need it, or have it in their past
  };
  /// Of each damage of the survey; the last of very many (kMaxTold) speaks for all from there on.
  const std::vector<Of>& of() const { return of_; }
  const std::vector<std::string>& whole_refs() const { return whole_refs_; }
  /// Changes that lack nothing, nor does anything in their past.
  std::uint64_t whole_changes() const { return whole_changes_; }

  bool has_changes(const Version& version) const;  ///< whatever their past
  bool is_rooted(const Version& version) const;
  bool is_sound(const Version& version) const;  ///< N2

  static constexpr std::size_t kMaxTold = 64;
  static constexpr std::size_t kMaxChanges = 100;
  static constexpr std::size_t kMaxPaths = 100;

 private:
  using Mask = std::uint64_t;
  struct AffectedTree {
    Mask mask = 0;
    bool lacks_directory = false;
    std::vector<std::pair<std::string, ObjectName>> children;  ///< lost or affected
  };
  struct Node {
    ObjectId id, tree;
    std::uint32_t parents = 0, parents_end = 0;  ///< in parents_
    Mask own = 0, past = 0;                      ///< past: with its own
    bool rooted = true, lacks_directory = false;
  };
  Mask bit(std::size_t damage) const { return Mask{1} << std::min<std::size_t>(damage, kMaxTold - 1); }
  Mask lost_mask(ObjectKind kind, const ObjectId& id) const;
  Result<void> find_trees();
  Result<bool> look_at_tree(const ObjectId& id, ByteView encoded);
  Result<void> find_changes();
  void propagate();
  void find_paths();
  const Node* node(const ChangeId& id) const;

  const Survey& survey_;
  std::unordered_map<ObjectId, AffectedTree, IdHash> trees_;
  std::vector<Node> nodes_;
  std::vector<ChangeId> parents_;
  std::unordered_map<ObjectId, std::uint32_t, IdHash> by_id_;
  std::vector<Of> of_;
  std::vector<std::string> whole_refs_;
  std::uint64_t whole_changes_ = 0;
};

}  // namespace weft::store
