// Which refs of weft a git repository's refs become, and what may be done to them.
//
//   refs/heads/X -> X            refs/tags/X -> tags/X            refs/remotes/R/X -> peer/R/X
//
// Invariants:
//   GF1  A branch or tag that exists in weft only moves forward: to a version that has the old one in its past.
//   Anything
//        else leaves it where it is and is reported. `peer/` refs say where somebody else's ref was last seen and
//        follow.
//   GF2  Refs that weft keeps for itself (workspaces/ and the like), names weft cannot have, and refs other than tags
//   to
//        what is no commit are left out by name. A tag may name a tree or a blob: it stands at a change made for that
//        (commit_object.h, git-target).
// Threading: functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "git/git_object.h"
#include "git/wire.h"
#include "store/store.h"

namespace weft::git {

/// The same id as the store's index knows it.
inline store::GitId store_id(const Sha1& id) { return store::GitId::from_bytes(id.view()); }

struct GitRef {
  std::string name;  ///< full
  wire::TargetKind kind = wire::TargetKind::commit;
  Sha1 peeled;
  std::vector<Bytes> tags;  ///< raw tag objects, outermost first
  Sha1 target;              ///< what it names: the outermost tag, or `peeled`
};

struct MappedRef {
  std::string git_name;
  std::string name;  ///< weft's
  Sha1 commit;
  Bytes extra;          ///< of an annotated tag: encode_tags()
  bool mirror = false;  ///< peer/: follows, whatever happened there
};
struct SkippedRef {
  std::string git_name;
  std::string reason;  ///< why it is left out
};
struct RefMapping {
  std::vector<MappedRef> refs;
  std::vector<SkippedRef> skipped;
};
RefMapping map_refs(const std::vector<GitRef>& refs);

/// The ref that a git branch becomes ("refs/heads/main" -> "main"); empty when it becomes none.
std::string branch_ref(std::string_view git_name);

/// The other way round: the git ref that a ref of weft becomes; empty for those weft keeps for itself.
std::string git_ref_name(std::string_view name);
/// The ref of weft that a git ref becomes, if weft can have it; else empty.
std::string weft_ref_name(std::string_view git_name);

/// Raw tag objects in a ref's `extra`: a version byte, then each with its length.
inline constexpr std::uint8_t kTagsVersion = 1;
Bytes encode_tags(const std::vector<Bytes>& tags);
Result<std::vector<Bytes>> decode_tags(ByteView extra);

enum class RefAction : std::uint8_t {
  created,
  moved,
  unchanged,
  behind,  ///< weft's has git's in its past: nothing to do
  diverged,
};
std::string_view name(RefAction action);

struct PlannedRef {
  MappedRef ref;
  RefAction action = RefAction::unchanged;
  ChangeId change;                        ///< what git's ref is here
  std::optional<object::Version> before;  ///< what weft's ref holds
};
/// GF1 for one ref.
Result<PlannedRef> plan_ref(const store::Snapshot& snapshot, const MappedRef& ref, const ChangeId& change);

}  // namespace weft::git
