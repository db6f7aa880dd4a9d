// Git's object formats as far as weft and its helper read them: ids, the heads of commits and tags, trees. Pure
// functions of bytes over base/ alone, so that weft-git can link them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "git/wire.h"

namespace weft::git {

using wire::Sha1;

/// SHA-1 as git uses it, over "KIND SIZE\0" and the object's bytes, streaming. Names objects; proves nothing against
/// whoever can make collisions.
class Sha1Hasher {
 public:
  /// Starts with git's header for an object of this kind ("blob", "commit", "tree", "tag") and size.
  Sha1Hasher(std::string_view kind, std::uint64_t size);
  void update(ByteView data);
  /// Once.
  Sha1 finish();

 private:
  alignas(8) unsigned char state_[128];  // SHA_CTX, kept out of this header
};

Sha1 git_object_id(std::string_view kind, ByteView object);

struct CommitObject {
  Sha1 tree;
  std::vector<Sha1> parents;
  bool canonical_head = true;  ///< tree and parent lines are exactly what git writes
  std::string_view rest;       ///< behind the parent lines
};
/// Lenient: anything behind the leading tree line and parent lines is `rest`. damaged without a tree line.
Result<CommitObject> parse_commit(ByteView object);
/// The tree line and parent lines as git writes them.
Bytes commit_head(const Sha1& tree, const std::vector<Sha1>& parents);

/// What a tag object points to. damaged unless it begins with an object line and a type line.
struct TagTarget {
  Sha1 object;
  std::string_view type;
};
Result<TagTarget> parse_tag(ByteView object);

inline constexpr std::uint32_t kModeFile = 0100644;
inline constexpr std::uint32_t kModeExecutable = 0100755;
inline constexpr std::uint32_t kModeSymlink = 0120000;
inline constexpr std::uint32_t kModeSubmodule = 0160000;
inline constexpr std::uint32_t kModeDirectory = 0040000;

/// By the type bits of a mode, as git reads them; anything else is a file.
constexpr bool is_directory(std::uint32_t mode) { return (mode & 0170000) == kModeDirectory; }
constexpr bool is_symlink(std::uint32_t mode) { return (mode & 0170000) == kModeSymlink; }
constexpr bool is_submodule(std::uint32_t mode) { return (mode & 0170000) == kModeSubmodule; }

struct TreeItem {
  std::string_view name;
  std::uint32_t mode = 0;
  Sha1 id;
};
struct TreeObject {
  std::vector<TreeItem> items;  ///< in the object's order
  bool canonical = true;        ///< writing the items again in git's order with git's modes gives the same bytes
};
/// Views into `object`. damaged where the bytes are no tree.
Result<TreeObject> parse_tree(ByteView object);
/// In git's order, whatever the order of `items`.
Bytes write_tree(std::vector<TreeItem> items);

}  // namespace weft::git
