// One difference with the contents of both sides, and its names as a diff writes them. Internal to the patch files.
// Threading: pure functions over a reader.
#pragma once

#include <string>

#include "object/object.h"
#include "text/unified.h"
#include "tree/tree.h"

namespace weft::cli {

/// One side's content as a diff sees it.
struct Side {
  Bytes content;
  bool text = true;
};

struct Sides {
  Side before, after;
  bool binary = false;
  bool same = false;  ///< of content
};
Result<Sides> read_sides(const object::ObjectReader& reader, const tree::Difference& difference);

bool is_directory(const tree::Difference& difference);
bool kind_changed(const tree::Difference& difference);
/// The path after; before, where it is gone.
const std::string& path_of(const tree::Difference& difference);
/// As git writes them: type and permissions.
std::string git_mode(const object::TreeEntry& entry);
/// "dir/{old => new}/name", as git shows renames in a stat.
std::string rename_text(const std::string& from, const std::string& to);

}  // namespace weft::cli
