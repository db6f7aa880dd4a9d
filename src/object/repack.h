// Repacking: writing a given set of objects into new packs, in an order that lets them be stored small.
//
// Invariants:
//   RP1  Every pack named in the result is complete, flushed and under its final name (pack.h, P1); after an error, or
//        a stop, none of this call's packs is named anywhere: they are garbage like any pack no frame names.
//   RP2  Every item is in exactly one of the packs, with exactly its content. An item that cannot be read fails the
//        whole call: what is live is never left out.
//   RP3  Memory is bounded by the pack writer's (about 100 bytes an object of one pack) and a window of content.
// Threading: a function; one thread.
#pragma once

#include <functional>
#include <vector>

#include "base/env.h"
#include "object/object.h"
#include "object/pack.h"

namespace weft::object {

/// One object to write. Items come in the order they should lie in: changes first, in causal order; then trees and
/// blobs, those of one `group` (the versions of one node) beside each other, newest first.
struct RepackItem {
  ObjectKind kind = ObjectKind::blob;
  ObjectId id;
  std::uint64_t group = 0;  ///< equal for versions of one thing; 0: nothing is known of it
};

struct RepackOptions {
  int level = 3;  ///< of zstd
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
