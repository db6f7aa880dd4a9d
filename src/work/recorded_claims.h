// What directory state may say of the tree a record resulted in: claims of the directories on the way to what changed,
// so that the next look need not read their trees.
//
// Threading: a function of objects.
#pragma once

#include "work/directory_state.h"
#include "work/scan.h"

namespace weft::work {

/// `before` and `after` are root trees that differ at the paths of these observations and above them. Of a directory
/// with a few differences only those entries are read, whatever its size (CASES C32).
Result<std::vector<StateNotes::Claim>> claims_of_record(const object::ObjectReader& reader, const ObjectId& before,
                                                        const ObjectId& after,
                                                        const std::vector<Observation>& observations);

}  // namespace weft::work
