// Templates of `log --format` and `show --format`: text with placeholders that begin with %, those git users know.
//
//   %H %h   id, short id           %an %ae %ad %ar %at %aI   author: name, e-mail, date, "2 days ago", seconds, ISO
//   8601 %P %p   parents                %cn %ce %cd %cr %ct %cI   committer %T %t   tree, short            %s %b %B
//   subject, body, whole message %D %d   refs; in " (...)"      %G  git commit it came from    %A  agent    %J  job %l
//   Lamport time %n %% %xHH  newline, %, a byte %C(NAME) %Creset   colours: a name under `ui.colors`, or a colour and
//   attributes
// Named: oneline (`%h%d %s`), short, medium (the default), full, reference (`%h (%s, %as)`).
// Invariant FM-1: a template is checked before anything is printed; a placeholder nobody knows is an error, not text.
// Threading: one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"

namespace weft::cli {

class ChangeFormat {
 public:
  /// usage: unknown placeholder or name.
  static Result<ChangeFormat> parse(std::string_view text);
  Result<std::string> text(const Invocation& invocation, const store::Snapshot& snapshot, const ChangeId& id,
                           const object::Change& change, const RefNames& names) const;
  /// A named one of several lines, with an empty line between two changes.
  bool spaced() const { return spaced_; }
  /// Of the empty text: no line either.
  bool empty() const { return pieces_.empty(); }

 private:
  struct Piece {
    std::string name;  ///< of the placeholder; empty: `text` as it is
    std::string text;
  };
  std::vector<Piece> pieces_;
  bool spaced_ = false;
};

}  // namespace weft::cli
