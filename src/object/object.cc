#include "object/object.h"

namespace weft::object {

std::string_view name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::blob:
      return "blob";
    case ObjectKind::tree:
      return "tree";
    case ObjectKind::change:
      return "change";
  }
  return "unknown kind";
}

}  // namespace weft::object
