// Repacking: writing a given set of objects into new packs, in an order that lets them be stored small.
//
// The newest version of each group of items goes, with those of its neighbours, into groups of 32 KiB that need nothing
// else to be read: that is what most reading asks for. Its older versions go into groups of their own, compressed
// against it or against the group before, so that each costs what is new in it. docs/adr has the measurements.
//
// Invariants:
//   RP1  Every pack named in the result is complete, flushed and under its final name (pack.h, P1); after an error, or
//        a stop, none of this call's packs is named anywhere: they are garbage like any pack no frame names.
//   RP2  Every item is in exactly one of the packs, with exactly its content. An item that cannot be read fails the
//        whole call: what is live is never left out.
//   RP3  Memory is bounded by the pack writer's (about 100 bytes an object of one pack) and kMaxPendingBytes and a few
//        MiB of content for each kind of object.
//   RP4  No object needs more than kReadBytes of content decoded, or ten times that of its group, and the limits of
//        group.h.
// Threading: a function; one thread.
#pragma once

#include <functional>
#include <vector>

#include "base/env.h"
#include "object/object.h"
#include "object/pack.h"

namespace weft::object {

/// One object to write. Items come in the order they should lie in: changes first, in causal order; then trees and
/// blobs, those of one `group` (the versions of one node) beside each other, newest first. Groups whose newest versions
/// are read together (the files of one directory) belong beside each other.
struct RepackItem {
  ObjectKind kind = ObjectKind::blob;
  ObjectId id;
  std::uint64_t group = 0;  ///< equal for versions of one thing; 0: nothing is known of it
};

struct RepackOptions {
  /// Of zstd, for blobs. Trees and changes, whose ids no level makes smaller, get 3 at the most.
  int level = 9;
  /// A new pack is begun when one has grown to this.
  std::uint64_t pack_bytes = std::uint64_t{1} << 40;
  std::uint64_t pack_objects = 32'000'000;
  /// Called every so often; an error stops the call with it.
  std::function<Result<void>(std::uint64_t objects_done)> progress;
};

struct RepackedPack {
  PackSummary summary;
  std::uint64_t changes = 0;        ///< among its objects
  std::uint64_t content_bytes = 0;  ///< sum of its objects' sizes
};

/// The next item; nullopt at the end.
using RepackSource = std::function<Result<std::optional<RepackItem>>()>;

/// `directory`: where packs lie.
Result<std::vector<RepackedPack>> repack(Env env, const std::string& directory, const RepackSource& next,
                                         const ObjectReader& reader, const RepackOptions& options);

}  // namespace weft::object
