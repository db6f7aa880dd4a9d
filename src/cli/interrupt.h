// Ctrl-C while a command reads and has done nothing yet: says so, and dies of the signal (exit status 130 in a shell).
//
// Without this the signal would kill as silently; with it the user knows that nothing was recorded. Once the command is
// about to make something durable the signal is put off: what follows takes milliseconds, and then it is told.
// Where the signal was ignored when the command began (nohup, a background job), it stays so.
// Threading: one at a time in a process, made and destroyed by one thread.
#pragma once

#include <string_view>

namespace weft::cli {

class InterruptNotice {
 public:
  /// `text`: said on stderr, a whole line; must outlive it.
  explicit InterruptNotice(std::string_view text);
  ~InterruptNotice();
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

  /// Whether what the command does may be durable from now on.
  void put_off(bool yes);

 private:
  bool installed_ = false;
};

}  // namespace weft::cli
