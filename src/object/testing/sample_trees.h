// Names and entries for tests of directories: a pool in which names that end chunks are far more frequent than in life,
// so that boundaries come and go in small tests.
#pragma once

#include <string>
#include <vector>

#include "object/tree.h"

namespace weft::object::testing {

/// Sorted names; `ends` end a chunk, `inner` do not.
struct NamePool {
  std::vector<std::string> inner;
  std::vector<std::string> ends;
  NamePool(std::size_t inner_count, std::size_t end_count, std::size_t padding = 0);
  std::vector<std::string> all() const;
};

/// A file whose node follows from its name and whose content follows from name and version.
TreeEntry sample_entry(const std::string& name, std::uint64_t version);

}  // namespace weft::object::testing
