// Changes and the ops in them. Format: docs/FORMATS.md, "Change". The id of a change is the SHA-256 of its encoding.
//
// Invariants:
//   X1  A change has one encoding and an encoding one change: decode_change accepts exactly what encode_change writes
//   of
//       changes that pass check_change. (Another byte for the same facts would be another id for the same change.)
//   X2  Parents, Lamport time and tree lead the encoding, so that walking history reads little.
// Threading: values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "object/tree.h"
#include "object/version.h"

namespace weft::object {

inline constexpr std::size_t kMaxMessageBytes = 64u << 20;
inline constexpr std::size_t kMaxSignatureBytes = 64u << 10;  ///< of a name, of an email
inline constexpr std::size_t kMaxLabelBytes = 4u << 10;       ///< of agent and job
inline constexpr std::size_t kMaxExtraHeaders = 4096;
inline constexpr std::size_t kMaxExtraKeyBytes = 255;
inline constexpr std::size_t kMaxExtraValueBytes = 64u << 20;
inline constexpr std::size_t kMaxOps = 10'000'000;
/// No text is longer, so that offsets into it never overflow.
inline constexpr std::uint64_t kMaxTextOffset = std::uint64_t{1} << 48;

struct Timestamp {
  std::int64_t unix_ns = 0;
  std::int32_t offset_min = 0;  ///< minutes east of UTC
  bool operator==(const Timestamp&) const = default;
};

struct Signature {
  Bytes name;
  Bytes email;
  Timestamp time;
  bool operator==(const Signature&) const = default;
};

/// A place in a tree: directory node and name.
struct Place {
  NodeId directory;
  std::string name;
  bool operator==(const Place&) const = default;
};

/// One replaced byte range of a text: [offset, offset + removed.size()) of the base becomes `added`. Sorted, disjoint.
/// `before` and `after` are up to three whole lines of context each side, for the delta id and for showing a change
/// alone.
struct Hunk {
  std::uint64_t offset = 0;
  Bytes removed;
  Bytes added;
  Bytes context_before;
  Bytes context_after;
  bool operator==(const Hunk&) const = default;
};

namespace op {
struct Create {
  NodeId node;
  Place place;
  EntryKind kind = EntryKind::file;
  std::uint32_t mode = 0644;
  ObjectId blob;           ///< zero for directories
  std::uint64_t size = 0;  ///< of the blob
  std::optional<NodeId> replaces;
  bool operator==(const Create&) const = default;
};
struct Move {
  NodeId node;
  Place from;
  Place to;
  bool operator==(const Move&) const = default;
};
struct Delete {  ///< one for the topmost removed node
  NodeId node;
  Place from;
  bool operator==(const Delete&) const = default;
};
struct SetContent {
  NodeId node;
  ObjectId base;
  ObjectId result;
  std::uint64_t size = 0;  ///< of the result
  bool operator==(const SetContent&) const = default;
};
struct EditText {
  NodeId node;
  ObjectId base;
  ObjectId result;
  std::uint64_t size = 0;  ///< of the result
  std::vector<Hunk> hunks;
  bool operator==(const EditText&) const = default;
};
struct SetMode {
  NodeId node;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool operator==(const SetMode&) const = default;
};
struct Settle {
  ObjectId conflict;
  bool operator==(const Settle&) const = default;
};
}  // namespace op
using Op = std::variant<op::Create, op::Move, op::Delete, op::SetContent, op::EditText, op::SetMode, op::Settle>;

/// Which ops a change carries (DESIGN 5).
enum class OpsForm : std::uint8_t {
  recorded = 1,  ///< ops say everything; their fold on the parents is the result tree
  derived = 2,   ///< imported, or a merge: no ops; derived from the trees when needed
};

struct Change {
  std::vector<ChangeId> parents;  ///< in the author's order (first parent first), unique, at most kMaxVersionChanges
  std::uint64_t lamport = 1;      ///< 1 + the greatest of its parents', 1 without parents
  Signature author;
  Signature committer;
  std::string agent;  ///< optional: the agent that made it
  std::string job;    ///< optional: the job it is the result of
  Bytes message;
  ObjectId tree;  ///< result tree
  std::uint32_t rules = 1;
  OpsForm form = OpsForm::recorded;
  std::vector<Op> ops;
  /// Raw extra headers in order, e.g. {"git-sha1", 20 bytes}, for exact git round trips.
  std::vector<std::pair<std::string, Bytes>> extra;

  bool operator==(const Change&) const = default;
  const Bytes* find_extra(std::string_view key) const;
};

/// Code::invalid for what no change may hold: limits, names (CASES C17), parents there twice, a Lamport time that does
/// not fit the number of parents, hunks out of order, ... Whoever builds a change from outside words asks before
/// encoding.
Result<void> check_change(const Change& change);

/// Of a change that passes check_change (WEFT_CHECKed as far as the encoding depends on it).
Bytes encode_change(const Change& change);
/// damaged on anything that encode_change could not have written, and on whatever check_change refuses.
Result<Change> decode_change(ByteView encoded);
ChangeId change_id(ByteView encoded);

/// Only the facts that walking history needs, decoded without the rest.
struct ChangeSummary {
  std::vector<ChangeId> parents;
  std::uint64_t lamport = 0;
  ObjectId tree;
};
Result<ChangeSummary> decode_change_summary(ByteView encoded);

/// DESIGN 5, "Delta id": equal for the same patch recorded twice or on another base. `shown_paths(node)` gives the path
/// under which a node is shown after the change (or before it, for deleted ones). Zero for a change without ops, which
/// no other change can repeat.
DeltaId delta_id(const Change& change, const std::function<std::string(const NodeId&)>& shown_path);

}  // namespace weft::object
