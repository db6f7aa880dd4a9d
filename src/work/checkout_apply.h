// The steps of a checkout plan, carried out: what goes, from the bottom up; then what comes, directory by directory.
//
// Invariants:
//   CA1  Every step leaves its path old, new, or (between removing one kind and making another) absent, so a killed
//        checkout is finished by planning again (W4). A new directory comes with all its files at once: they are
//        written into it under a temporary name.
//   CA2  A step that fails for its path alone becomes a warning that names it (concerns_one_path); any other failure
//   stops
//        the checkout: the first in walk order is returned, and `update` has what was done by then.
//   CA3  What is reported, warned of and put into `update`, and in which order, does not depend on how the work was
//   spread
//        over threads.
// Threading: starts threads of its own for large plans, and has joined them when it returns. A directory is one job of
// one thread; a new one waits for the one it is in.
#pragma once

#include "object/object.h"
#include "work/checkout_plan.h"

namespace weft::work {

struct Applied {
  CheckoutReport report;
  std::optional<Error> stopped;  ///< CA2
};
Applied apply_plan(const WorkTree& tree, const object::ObjectReader& reader, const CheckoutOptions& options,
                   CheckoutPlan plan, StateUpdate& update);

/// From this many files, or bytes, on to be written, more than one thread works.
inline constexpr std::size_t kFilesWorthThreads = 256;
inline constexpr std::uint64_t kBytesWorthThreads = 16u << 20;

/// Whether the failure is about this path and not about the disk, the store or this process.
bool concerns_one_path(const Error& error);

}  // namespace weft::work
