// What `weft` and its helper `weft-git` say to each other over the helper's stdin and stdout.
//
// Import:
//   helper: Hello Facts Ref* RefsEnd      weft: Request
//   helper: Total { Offer }               weft: Known            (one per Offer)
//   helper: { Commit { GoneDirectory | Remove | Put Data* | OddTree } CommitEnd }   for each offered commit weft lacks
//   helper: End                           or, at any point, Failure
// Export:
//   helper: Hello Facts Ref* RefsEnd
//   weft:   { Write Data* }               objects; the helper says nothing
//   weft:   Read                          helper: Found
//   weft:   Keep                          helper: Kept           every object written so far is durable
//   weft:   Move                          helper: Moved          one ref, by compare-and-swap; after a Keep
//   weft:   Attach                        helper: Moved          the ref HEAD names
//   weft:   End                           helper: End; or, instead of any answer, Failure
//
// Invariants:
//   GW1  Commits come parents first; each carries the difference of its tree to its first parent's tree.
//   GW2  A blob's content travels unless the receiver's BlobTable has it or a parent has it at the same path. Both
//        sides keep a BlobTable and make the same updates in message order, so the sender knows what the receiver
//        holds.
//   GW3  The helper never sends more than two Offers without having read the answer to the first, and answers are
//   small:
//        neither side can block on a full pipe while the other does too.
//   GW5  A tree or a blob that a tag names comes like a commit without parents and without an object of its own: the
//        difference of that tree, or of a tree that holds the blob as kTargetName, to the empty one.
//   GW4  Every length has a named limit; a decoder accepts exactly what the encoder writes.
// Paths are the names of a path joined by NUL: git forbids nothing else in a name, so nothing is lost or confused
// before the receiver checks each name. Views in messages point into the frame they were decoded from. Depends on base/
// alone: the helper links nothing else of weft. Format: docs/FORMATS.md, "Git helper protocol".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace weft::git::wire {

inline constexpr std::uint32_t kVersion = 4;
inline constexpr std::size_t kMaxObjectBytes = 16u << 20;  ///< one commit, tag or tree object
inline constexpr std::size_t kMaxFrameBytes = 17u << 20;   ///< type and payload
inline constexpr std::size_t kMaxPathBytes = 1u << 20;
inline constexpr std::size_t kMaxRefNameBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = 16384;         ///< messages, facts
inline constexpr std::size_t kMaxOffer = 2048;              ///< commits in one Offer
inline constexpr std::size_t kMaxHidden = 65536;            ///< commits in a Request
inline constexpr std::size_t kMaxTagDepth = 16;             ///< tags of tags
inline constexpr std::size_t kMaxRefGroups = 16;            ///< places of refs that are not sent
inline constexpr std::size_t kMaxInlineBytes = 128u << 10;  ///< blob content that travels inside its Put
inline constexpr std::size_t kMaxDataBytes = 256u << 10;    ///< one piece of a larger blob

/// Where git has its tags.
inline constexpr std::string_view kTagRefs = "refs/tags/";
/// The name of a blob that a tag names, in the tree that stands for it (GW5).
inline constexpr std::string_view kTargetName = "content";

/// A git object's SHA-1.
using Sha1 = Id<struct GitTag, 20>;

enum class TargetKind : std::uint8_t {
  commit = 1,
  tree = 2,
  blob = 3,
  missing = 4,  ///< it names an object that is not there
  broken = 5,   ///< the ref itself cannot be read
};

/// What there is at the path of an export.
enum class Presence : std::uint8_t {
  existing = 1,
  created = 2,  ///< made now
  absent = 3,   ///< nothing, and nothing was to be made
};

struct Hello {
  std::uint32_t version = kVersion;
  ByteView program;  ///< name and libgit2's version
};
struct Facts {
  ByteView object_format;  ///< "sha1"
  ByteView head;           ///< full name of the ref HEAD points to; empty when detached
  ByteView work_tree;      ///< host path; empty when bare
  ByteView directory;      ///< host path of the repository itself (of all work trees: git's common directory)
  Sha1 head_commit;        ///< where a detached HEAD stands; else zero
  Presence presence = Presence::existing;
  bool shallow = false;
  bool partial = false;
  bool sparse = false;   ///< tracked files are left out of the work tree
  ByteView conversions;  ///< what makes git change files between work tree and history; empty: nothing
};
struct Ref {
  ByteView name;  ///< full
  Sha1 target;
  TargetKind kind = TargetKind::commit;  ///< of what remains after peeling tags
  Sha1 peeled;
  std::vector<ByteView> tags;  ///< raw tag objects, outermost first
};
struct RefsEnd {
  std::vector<ByteView> others;  ///< where there are refs that were not sent: "refs/notes"
};
struct Total {
  std::uint64_t commits = 0;
};
struct Offer {
  std::vector<Sha1> commits;
};
struct Commit {
  Sha1 id;
  TargetKind kind = TargetKind::commit;  ///< or tree, or blob (GW5)
  ByteView object;                       ///< empty unless it is a commit
};
/// A directory of the first parent that the commit no longer has.
struct GoneDirectory {
  ByteView path;
};
/// A file, link or submodule of the first parent that the commit no longer has there.
struct Remove {
  ByteView path;
};
enum class Content : std::uint8_t {
  inline_bytes = 1,  ///< in `bytes`, whole
  data = 2,          ///< in the Data messages that follow, `size` bytes in all
  table = 3,         ///< the BlobTable has it
  parent = 4,        ///< equal to the same path of parent number `parent` (0 is the first: only the mode differs)
  none = 5,          ///< a submodule: the commit's id is all there is
};
struct Put {
  ByteView path;
  std::uint32_t mode = 0;  ///< git's
  Sha1 id;
  Content content = Content::none;
  std::uint64_t size = 0;  ///< inline_bytes and data
  std::uint32_t parent = 0;
  ByteView bytes;
};
struct Data {
  ByteView bytes;
};
/// The directory at `path` ("" is the root) differs from the first parent's, and one of the two is not what encoding
/// the weft tree as a git tree would give: its exact object.
struct OddTree {
  ByteView path;
  ByteView object;
};
struct CommitEnd {};
struct End {
  std::uint64_t commits = 0;
};
enum class FailureKind : std::uint8_t {
  not_repository = 1,
  unsupported = 2,  ///< sound, but nothing weft can import
  damaged = 3,      ///< objects missing or not what their id says
  invalid = 4,      ///< history that cannot be a weft tree
  io = 5,
};
struct Failure {
  FailureKind kind = FailureKind::io;
  ByteView message;
  ByteView hint;
};
// From weft to the helper.
struct Request {
  std::uint32_t version = kVersion;
  bool head = false;         ///< also what a detached HEAD stands at
  std::vector<Sha1> hidden;  ///< commits weft has, with all their ancestors
};
struct Known {
  ByteView bits;  ///< of the oldest Offer not yet answered: bit i (lowest first) is set when weft has commit i
};

// Export.
enum class GitKind : std::uint8_t { commit = 1, tree = 2, blob = 3, tag = 4 };
/// An object, whose id the sender has computed. Only blobs are in pieces.
struct Write {
  GitKind kind = GitKind::blob;
  Sha1 id;
  ByteView hint;      ///< its path: what is written under one path makes good deltas
  bool whole = true;  ///< in `bytes`; else in the Data messages that follow, `size` bytes in all
  std::uint64_t size = 0;
  ByteView bytes;
};
struct Read {
  GitKind kind = GitKind::tree;  ///< not a blob
  Sha1 id;
};
struct Found {
  bool found = false;
  ByteView bytes;
};
struct Keep {};
struct Kept {
  std::uint64_t objects = 0;  ///< new ones since the conversation began
  std::uint64_t bytes = 0;    ///< of the packs and files that hold them
};
/// Zero ids: the ref is not there.
struct Move {
  ByteView name;  ///< full
  Sha1 expected;
  Sha1 target;
  bool own_work_tree = false;  ///< weft keeps the repository's work tree: a branch checked out there may move
};
/// HEAD of the repository's own work tree, to the branch `name`.
struct Attach {
  ByteView name;
};
enum class MoveStatus : std::uint8_t {
  done = 1,
  changed = 2,      ///< it holds `actual` by now
  checked_out = 3,  ///< a work tree has it checked out
  busy = 4,         ///< git is in the middle of something there, or holds a lock
  refused = 5,      ///< git cannot have that ref (beside those it has)
};
struct Moved {
  MoveStatus status = MoveStatus::done;
  Sha1 actual;
  ByteView text;  ///< git's words
};

using Message =
    std::variant<Hello, Facts, Ref, RefsEnd, Total, Offer, Commit, GoneDirectory, Remove, Put, Data, OddTree, CommitEnd,
                 End, Failure, Request, Known, Write, Read, Found, Keep, Kept, Move, Attach, Moved>;

/// Appends the frame of `message`.
void append_frame(Bytes& out, const Message& message);
/// Decodes what stands in a frame behind its length. Code::peer on anything append_frame could not have written.
Result<Message> decode(ByteView frame);

/// Reads frames from a byte stream.
class FrameReader {
 public:
  /// Fills some of the span; 0 at the end of the stream.
  using Read = std::function<Result<std::size_t>(std::span<char>)>;
  explicit FrameReader(Read read) : read_(std::move(read)) {}
  /// The next message; its views hold until the next call. The end of the stream is Code::peer.
  Result<Message> next();

 private:
  Result<void> fill(std::size_t bytes);
  Read read_;
  Bytes buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

/// The blobs both sides know of (GW2): a table of fixed size in which a new blob takes the place of whatever had its
/// slot.
template <typename Value>
class BlobTable {
 public:
  static constexpr std::size_t kSlots = 1u << 18;
  BlobTable() : slots_(kSlots) {}
  const Value* find(const Sha1& id) const {
    const Slot& slot = slots_[index(id)];
    return slot.used && slot.id == id ? &slot.value : nullptr;
  }
  void insert(const Sha1& id, const Value& value) { slots_[index(id)] = {id, true, value}; }

 private:
  struct Slot {
    Sha1 id;
    bool used = false;
    Value value{};
  };
  static std::size_t index(const Sha1& id) { return IdHash{}(id) % kSlots; }
  std::vector<Slot> slots_;
};

}  // namespace weft::git::wire
