// weft trees -> git trees, each as an edit of its first parent's git tree, so that the cost follows the difference.
//
// Invariants:
//   GE1  The tree of an imported change is exactly the commit's: odd trees (commit_object.h) from the change; what
//        equals the first parent's directory at the same path is that one's; all else is the encoding of its entries.
//   GE2  The tree of any other change: what equals the directory that the first parent has under the same node, at
//        whatever path, is that one's git tree; all else is the encoding of its entries. (So what a change does not
//        touch keeps its git tree, however odd.)
//   GE3  Directories without any file below them are not in git.
//   GE4  Every object of the tree that the first parent's tree lacks is written, children first.
// Memory: a cache of git trees (kCacheBytes), a table of blobs of fixed size, the directories of one path.
// Threading: one thread.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "git/commit_object.h"
#include "git/target.h"
#include "object/tree.h"

namespace weft::git {

/// Git's mode for an entry.
std::uint32_t git_mode(const object::TreeEntry& entry);

/// Whether two trees would hold the same files in git: what is empty, node ids and finer modes do not count.
Result<bool> same_in_git(const object::ObjectReader& reader, const ObjectId& a, const ObjectId& b);

/// A tree on both sides.
struct TreePair {
  ObjectId weft;
  Sha1 git;
};

class TreeExporter {
 public:
  static constexpr std::size_t kCacheBytes = 64u << 20;
  static constexpr std::size_t kBlobSlots = 1u << 18;

  /// Both must outlive it.
  TreeExporter(const object::ObjectReader& reader, GitTarget& target);
  ~TreeExporter();

  /// `odd`: of an imported change, else null. `parent`: the first parent's tree, which the target has.
  Result<Sha1> run(const ObjectId& tree, const std::optional<TreePair>& parent, const OddTrees* odd);

  /// One file's content.
  Result<Sha1> export_blob(const std::string& path, const object::TreeEntry& entry);

  /// Paths of directories that GE3 left out of changes that are not imported; of each change what it touched.
  std::uint64_t empty_directories() const { return empty_directories_; }

 private:
  struct Parsed;
  struct Base;
  struct Run;
  struct Slot {
    ObjectId blob;
    Sha1 id;
    bool used = false;
  };
  using ParsedPtr = std::shared_ptr<const Parsed>;

  Result<ParsedPtr> load(const Sha1& id);
  ParsedPtr remember(const Sha1& id, Bytes object);
  Result<std::optional<Sha1>> directory(Run& run, const ObjectId& tree, const std::optional<Base>& base);
  Result<std::optional<Base>> base_of(Run& run, const object::TreeEntry& entry, const object::TreeEntry* same_name,
                                      const Parsed* git, bool same_path);
  Result<std::optional<Base>> moved_base(Run& run, const NodeId& node);
  Result<Sha1> content_id(Run& run, const object::TreeEntry& entry, const object::TreeEntry* same_name,
                          const Parsed* git);
  Result<Sha1> put_tree(const std::string& path, Bytes object);
  Result<void> find_moves(Run& run);

  const object::ObjectReader& reader_;
  GitTarget& target_;
  struct Cached {
    ParsedPtr tree;
    std::list<Sha1>::iterator use;
  };
  std::unordered_map<Sha1, Cached, IdHash> cache_;
  std::list<Sha1> uses_;  ///< newest first
  std::size_t cached_bytes_ = 0;
  std::vector<Slot> blobs_;  ///< written, or in the target already
  std::uint64_t empty_directories_ = 0;
};

}  // namespace weft::git
