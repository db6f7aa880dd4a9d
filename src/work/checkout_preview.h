// What a checkout would do, found out without touching anything: verbs that make an operation durable before they write
// files refuse by this first, and record by it what they speak for.
//
// Threading: a function.
#pragma once

#include <string>
#include <vector>

#include "work/work.h"

namespace weft::work {

struct CheckoutPreview {
  /// What would be written, removed or given another mode, in walk order. Of directories only those in which nothing
  /// else would be done, or whose place something of another kind takes or leaves: then with all that is in them.
  std::vector<std::string> paths;
};
/// Code::refused as checkout() would without `keep_edits`, whatever `options` says of that.
Result<CheckoutPreview> preview_checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                         const ObjectId& to, const CheckoutOptions& options);

}  // namespace weft::work
