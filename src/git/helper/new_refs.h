// The refs of a repository that was made a moment ago: written at once, as git's packed-refs file, instead of one file
// and one flush each (5,000 refs are 5,000 flushes).
//
// Invariants:
//   NR1  Nothing names an object before the file is renamed into place, flushed; then all of them do. Whoever finds
//        packed refs in the repository by then is not overwritten: write() fails.
//   NR2  Names are checked as git would: valid, and none is a directory of another.
// Threading: one thread. Format: git's gitrepository-layout(5), packed-refs.
#pragma once

#include <map>
#include <string>

#include "git/helper/ref_mover.h"
#include "git/helper/repository.h"

namespace weft::git::helper {

class NewRefs {
 public:
  explicit NewRefs(const Repository& repository) : repository_(repository) {}

  /// done, or refused (NR2). `written`: it is in the repository already, and only its name is to be kept free.
  MoveResult add(const std::string& name, const Sha1& target, bool written);
  /// Once, behind everything else.
  Result<void> write() const;

 private:
  struct Ref {
    Sha1 target;
    bool written = false;
  };
  Result<std::string> peeled_line(const Sha1& target) const;
  const Repository& repository_;
  std::map<std::string, Ref> refs_;
};

}  // namespace weft::git::helper
