// What differs between two git trees, as files, links and submodules that went or came, directories that went, and
// trees that cannot be reproduced from a weft tree.
//
// Directories exist through what is in them: a tree without any file below it ("hollow") counts as absent, and the tree
// holding it as odd. With an odd tree the hollow ones below it are reported, each once, but for the empty tree, whose
// bytes everybody knows. Duplicate names in one tree are refused (CASES C16): no weft directory can hold them.
// Memory: a cache of parsed trees (kCacheBytes) and a table of trees known to be hollow or not. Threading: one thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "git/helper/repository.h"

namespace weft::git::helper {

inline constexpr std::size_t kCacheBytes = 96u << 20;
inline constexpr std::size_t kMaxDepth = 2048;

/// A tree object, its items by name bytes.
struct Tree {
  Bytes object;
  std::vector<TreeItem> items;
  bool canonical = true;
  std::optional<bool> odd;  ///< once computed

  const TreeItem* find(std::string_view name) const;
};

/// Reads a verified tree object.
using ReadTree = std::function<Result<Bytes>(const Sha1& id)>;

/// What a diff reports. Paths are names joined by NUL.
class DiffSink {
 public:
  virtual ~DiffSink() = default;
  virtual Result<void> gone_directory(const std::string& path) = 0;
  virtual Result<void> removed(const std::string& path) = 0;
  /// `parent`: the number of a parent that has this very blob at this path.
  virtual Result<void> put(const std::string& path, const TreeItem& item, std::optional<std::size_t> parent) = 0;
  virtual Result<void> odd_tree(const std::string& path, ByteView object) = 0;
};

class TreeDiff {
 public:
  explicit TreeDiff(ReadTree read);

  /// From the first of `parents` (root trees; none: the empty tree) to `tree`.
  Result<void> diff(const std::vector<Sha1>& parents, const Sha1& tree, DiffSink& sink);

 private:
  using TreePtr = std::shared_ptr<Tree>;
  struct Cached {
    TreePtr tree;
    std::list<Sha1>::iterator use;
  };
  Result<TreePtr> load(const Sha1& id);
  Result<bool> hollow(const Sha1& id, std::size_t depth);
  Result<bool> odd(Tree& tree, std::size_t depth);
  Result<void> hollow_below(std::string& path, const Tree& tree, std::size_t depth, std::set<Sha1>& told,
                            DiffSink& sink);
  /// `before` and `after` may be null; `others` are the further parents' trees here (null where they have none).
  Result<void> directories(std::string& path, const TreePtr& before, const TreePtr& after,
                           const std::vector<TreePtr>& others, std::size_t depth, DiffSink& sink);
  Result<void> items(std::string& path, const TreeItem* before, const TreeItem* after,
                     const std::vector<TreePtr>& others, std::size_t depth, DiffSink& sink);

  ReadTree read_;
  std::unordered_map<Sha1, Cached, IdHash> cache_;
  std::list<Sha1> uses_;  ///< newest first
  std::size_t cached_bytes_ = 0;
  wire::BlobTable<bool> hollow_;
};

}  // namespace weft::git::helper
