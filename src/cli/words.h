// Telling versions from paths among the words a user typed (log, diff, show).
//
// In front of `--` every word is a version, behind it every word is a path. Without `--` words are versions as long as
// they name one; the first that does not, and all behind it, are paths, which must exist in the working tree or at the
// head. `A..B` is two versions.
// Threading: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace weft::cli {

struct Words {
  struct Named {
    std::string typed;
    repo::Resolved resolved;
    bool range_start = false;  ///< the A of `A..B`; the next one is its B
    bool since_fork = false;   ///< the A of `A...B`
  };
  std::vector<Named> versions;
  std::vector<std::string> paths;  ///< inside the tree; "" is its top
};

struct TypedWords {
  std::vector<std::string> words;
  std::vector<std::string> behind_dashes;
  bool dashes = false;
  void declare(Options& options, std::string name, std::string help) {
    options.positionals(std::move(name), words, std::move(help), false);
    options.behind_dashes(behind_dashes, dashes);
  }
};

Result<Words> sort_words(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                         const TypedWords& typed);

}  // namespace weft::cli
