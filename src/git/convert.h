// Git history -> changes, commit by commit, as the helper's messages come in.
//
// Invariants:
//   GV1  Deterministic: the change of a commit depends on the commit object and on its ancestry alone, so importing the
//        same history twice, anywhere, in whatever portions, gives the same change ids.
//   GV2  No node occurs twice in a tree. What keeps its path from the first parent keeps its node; then what another
//   parent
//        has at the path brings its node along (the first such parent); then renames (rename.h); the rest is new:
//        SHA-256("weft import node", commit id, path), 16 bytes. Whoever comes later in path order for a node that is
//        taken gets a new one.
//   GV3  commit_bytes() of every change is verified to be the commit object (GC1), and every blob and commit hashes to
//   its
//        git id, before the change is put.
//   GV4  A name that no weft directory can hold refuses the commit by path (CASES C17); names that are never written
//   out,
//        `.git` and the like, are kept in history (C18).
//   GV5  A commit that this store's own change would be exported as, byte for byte, is that change and no other
//        (export_commit.h, GX3); where the change is not here it is imported like any commit.
// Memory: one commit's difference (kMaxEntries) and tables of fixed size, whatever the history. Threading: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "git/commit_object.h"
#include "git/rename.h"
#include "git/wire.h"
#include "object/change.h"
#include "object/object.h"
#include "tree/tree.h"

namespace weft::git {

/// What the conversion needs to know of a change.
struct ImportedChange {
  ChangeId change;
  ObjectId tree;
  std::uint64_t lamport = 0;
};

/// Where converted history goes and where earlier history is found. `store/` or memory behind it.
class ImportSink {
 public:
  virtual ~ImportSink() = default;
  /// Both valid until the next message after a commit's end.
  virtual const object::ObjectReader& reader() = 0;
  virtual object::ObjectWriter& writer() = 0;
  /// The change of a commit put earlier, by this import or another.
  virtual Result<std::optional<ImportedChange>> find_commit(const Sha1& commit) = 0;
  virtual Result<ChangeId> put_change(const object::Change& change) = 0;
  virtual Result<void> index_commit(const Sha1& commit, const ImportedChange& change) = 0;
};

class Converter {
 public:
  static constexpr std::size_t kMaxEntries = 4'000'000;     ///< paths that one commit may touch
  static constexpr std::size_t kRememberedCommits = 65536;  ///< looked up without asking the sink

  explicit Converter(ImportSink& sink);
  ~Converter();

  // The messages of one commit, in the order of wire.h.
  Result<void> begin(const wire::Commit& message);
  Result<void> gone_directory(const wire::GoneDirectory& message);
  Result<void> removed(const wire::Remove& message);
  /// `data`: the content when the message says Content::data; read to its end.
  Result<void> put(const wire::Put& message, object::ByteSource* data);
  Result<void> odd_tree(const wire::OddTree& message);
  Result<ImportedChange> end();

  /// The change of a commit; nullopt when it has not been converted.
  Result<std::optional<ImportedChange>> find(const Sha1& commit);

 private:
  struct Blob {
    ObjectId id;
    std::uint64_t size = 0;
  };
  struct Current;
  Result<std::string> check_path(ByteView path) const;
  Result<Blob> store_content(const wire::Put& message, const std::string& path, object::ByteSource* data);
  Result<ObjectId> build_tree();
  Result<ChangeId> put_change(const ObjectId& tree, std::uint64_t& lamport);
  Result<std::optional<ImportedChange>> own_change(const ObjectId& tree);
  void remember(const Sha1& commit, const ImportedChange& change);

  ImportSink& sink_;
  wire::BlobTable<Blob> blobs_;
  std::unordered_map<Sha1, ImportedChange, IdHash> known_, older_known_;  ///< two generations; the older one is dropped
  std::unique_ptr<Current> current_;
};

/// GV2's id of a new node.
NodeId new_node_id(const Sha1& commit, ByteView path);

}  // namespace weft::git
