// What a checkout is going to do, decided before anything is touched.
//
// Invariants:
//   CP1  Every path that will be written, replaced or removed was looked at, and what is there is known: it is what the
//        old tree has, or already what the new tree has. Anything else is a conflict, and one conflict stops the whole
//        checkout (W3), or, with keep_edits, is kept and named.
//   CP2  What was seen is kept (`seen`, `known`), so that the apply step notices if it changed in between.
// Threading: one thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "work/dir_cursor.h"
#include "work/directory_state.h"
#include "work/scan.h"
#include "work/work.h"

namespace weft::work {

struct Step {
  enum class Action : std::uint8_t {
    none,              ///< already as it should be
    write,             ///< a file or link; nothing is there, or it replaces `seen`
    set_mode,          ///< the content is right
    remove,            ///< a file or link
    remove_directory,  ///< if nothing is left in it, unless the path is needed: then it must be empty
    make_directory,
  };
  std::string path;
  std::optional<object::TreeEntry> before;
  std::optional<object::TreeEntry> after;
  Action action = Action::none;
  bool clear_first = false;  ///< write, make_directory: what is there is removed first (another kind)
  std::optional<FileStatus> seen;
  ObjectId known;  ///< the content of what was seen, where that is a file or link that will be replaced or removed
};

struct CheckoutPlan {
  std::vector<Step> steps;  ///< in walk order
  std::vector<Warning> conflicts;
  std::vector<Warning> warnings;
  std::vector<std::pair<std::string, FileKind>> leftovers;  ///< temporaries in directories that must go
  /// Every directory of the new tree that was looked into, for directory state.
  std::vector<std::pair<std::string, NodeId>> directories;
};

Result<CheckoutPlan> plan_checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                   const ObjectId& to, const CheckoutOptions& options, StateUpdate& update);

}  // namespace weft::work
