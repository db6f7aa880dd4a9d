// What a change touched, as keys the history index can be asked for.
//
// Two families share one key space (keys are random or hashes; one that collides costs a look, never a wrong answer):
//   - nodes: created, moved, deleted, edited, or given another mode by the change;
//   - places, (directory, name): where something began or ceased to be.
// So a file's own changes are found by its node, and a path that means another thing, or nothing, by the places along
// it. A directory is touched when it changes itself, not when something below it does.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "object/change.h"

namespace weft::store {

using TouchKey = Id<struct TouchTag, 16>;

TouchKey node_key(const NodeId& node);
TouchKey place_key(const NodeId& directory, std::string_view name);

/// The keys of a change, in any order; may name one twice. Against its first parent (nothing, without one).
using TouchesOf = std::function<Result<std::vector<TouchKey>>(const object::ObjectReader&, const object::Change&)>;

}  // namespace weft::store
