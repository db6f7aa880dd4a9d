// A working tree compared with a head: what status shows and record turns into a tree. Shared by both.
#pragma once

#include <memory>

#include "work/directory_state.h"
#include "work/scan.h"
#include "work/work.h"

namespace weft::work {

struct Comparison {
  std::shared_ptr<StateUpdate> update;
  StateUpdate::Target target;  ///< where the update is to be written
  Scan scan;                   ///< with moves matched
};

/// With a writer, everything that differs is put there (Observation::id is known for all that is recorded).
Result<Comparison> compare_with_head(const WorkTree& tree, const object::ObjectReader& reader,
                                     object::ObjectWriter* writer, const ObjectId& head, const ScanOptions& options);

/// Takes ignored paths and warnings out of the scan.
Status make_status(Scan& scan);

}  // namespace weft::work
