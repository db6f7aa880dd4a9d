// What a gc learns from reading the part of the log that goes, and what is behind it: which moves and operations stay.
//
// Invariants:
//   GF1  The window is a suffix of the log: it begins with the first transaction whose time is inside it, so that a
//        clock that jumps back shortens nothing.
//   GF2  Of a ref that exists the newest move stays; of each move inside the window the one before it, because it says
//        what the ref held.
// Threading: one thread.
#pragma once

#include <map>
#include <set>

#include "store/store_state.h"

namespace weft::store {

class GcFacts {
 public:
  explicit GcFacts(std::int64_t window_start_ns) : window_start_ns_(window_start_ns) {}

  /// A frame of the log, or what was kept of one, in order.
  void see(const KeptFrame& frame);
  /// At the latest it begins here: before the first frame behind the cut is seen.
  void begin_window(std::uint64_t cut) {
    if (!window_) window_ = cut;
  }
  std::uint64_t window() const { return window_.value_or(UINT64_MAX); }

  /// Whether this move of the ref, which lies before the cut, is among what stays.
  bool keeps(std::uint64_t position, std::string_view name) const;
  /// Whether a frame was seen since forget_unkept() that leads to a move that did not stay until then.
  bool has_unkept() const { return unkept_; }
  void forget_unkept() { unkept_ = false; }

  /// What stays of a frame.
  std::optional<KeptFrame> retained(const KeptFrame& frame) const;
  /// Positions of moves whose values must be live but which lie before the window.
  std::set<std::uint64_t> moves_before_window() const;
  /// Values of the moves inside the window, as far as seen since the last call.
  std::vector<ChangeId> take_values();
  /// Moves before the window that what was seen since the last call leads to.
  std::vector<std::uint64_t> take_before();
  std::uint64_t dropped_operations() const { return dropped_operations_; }
  void count_dropped(const KeptFrame& frame);

  /// Facts of a transaction frame.
  static Result<KeptFrame> of(const log::Frame& frame);

 private:
  struct Newest {
    std::uint64_t position = 0;
    bool exists = false;
  };
  std::int64_t window_start_ns_;
  std::optional<std::uint64_t> window_;
  std::map<std::string, Newest, std::less<>> newest_;
  std::set<std::uint64_t> before_;  ///< of moves inside the window
  std::vector<ChangeId> values_;
  std::vector<std::uint64_t> new_before_;
  bool unkept_ = false;
  std::uint64_t dropped_operations_ = 0;
};

}  // namespace weft::store
