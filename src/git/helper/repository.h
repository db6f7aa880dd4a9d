// A git repository as the helper sees it, through libgit2: what it is, its refs, its objects by id.
//
// Commits, trees and tags are verified here (their SHA-1 is computed again); blobs are verified by weft, which hashes
// them anyway. libgit2's own verification is switched off: its collision-detecting SHA-1 would cost more than
// everything else. Threading: one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <git2.h>

#include "git/git_object.h"
#include "git/wire.h"

namespace weft::git::helper {

/// libgit2 is initialised while one lives.
class Library {
 public:
  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

/// libgit2's last error as ours.
Error library_error(Code code, std::string what);

git_oid to_oid(const Sha1& id);
Sha1 from_oid(const git_oid& oid);

class RawObject {
 public:
  explicit RawObject(git_odb_object* object) : object_(object, git_odb_object_free) {}
  ByteView bytes() const {
    return {static_cast<const char*>(git_odb_object_data(object_.get())), git_odb_object_size(object_.get())};
  }
  git_object_t type() const { return git_odb_object_type(object_.get()); }

 private:
  std::unique_ptr<git_odb_object, decltype(&git_odb_object_free)> object_;
};

class Repository {
 public:
  /// `path`: a work tree's top or a repository directory; parents are not searched. Opens what can be opened; whether
  /// it can be imported is import_problem()'s business.
  static Result<Repository> open(const std::string& path);
  /// A new one, HEAD naming the branch `head` (full), at a path where nothing is, or an empty directory. It appears
  /// there whole: it is made beside it first.
  static Result<Repository> make(const std::string& path, bool work_tree, const std::string& head);

  struct Facts {
    std::string object_format;
    std::string head;  ///< full ref name; empty when detached
    std::string work_tree;
    std::string directory;  ///< of all its work trees: git's common directory
    Sha1 head_commit;       ///< of a detached HEAD; else zero
    bool shallow = false;
    bool partial = false;
    bool sparse = false;
    std::string conversions;
  };
  Result<Facts> facts() const;

  struct Reference {
    std::string name;
    Sha1 target;
    wire::TargetKind kind = wire::TargetKind::missing;
    Sha1 peeled;
    std::vector<Bytes> tags;  ///< raw, outermost first
  };
  /// refs/heads, refs/tags and refs/remotes, by name; symbolic refs are left out, broken ones are not. Returns where
  /// else there are refs ("refs/notes"; at most wire::kMaxRefGroups), but for what git keeps for work in progress.
  Result<std::vector<std::string>> for_each_ref(const std::function<Result<void>(const Reference&)>& visit) const;

  /// Verified, of the given type and at most wire::kMaxObjectBytes.
  Result<RawObject> read(const Sha1& id, git_object_t type) const;
  /// A blob's content in pieces of at most `piece` bytes. Loose blobs stream; packed ones are held in memory, because
  /// libgit2 knows no other way.
  Result<void> read_blob(const Sha1& id, std::size_t piece,
                         const std::function<Result<void>(std::uint64_t size)>& begin,
                         const std::function<Result<void>(ByteView)>& data) const;

  git_repository* handle() const { return repository_.get(); }
  git_odb* objects() const { return odb_.get(); }

 private:
  Repository() : repository_(nullptr, git_repository_free), odb_(nullptr, git_odb_free) {}
  /// Files below refs/ that are no refs libgit2 can read (it passes over them in silence).
  std::vector<std::string> broken_refs(const std::vector<std::string>& sound) const;
  Result<void> peel(Reference& reference) const;

  std::unique_ptr<git_repository, decltype(&git_repository_free)> repository_;
  std::unique_ptr<git_odb, decltype(&git_odb_free)> odb_;
};

}  // namespace weft::git::helper
