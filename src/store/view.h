// View: what a lookup uses besides the tail tables: the runs of one manifest, the packs it names, the segments.
//
// A snapshot pins the view it looks with (ViewPin): its lookups then take no lock and count no reference. Where the
// index moves on meanwhile, lookups use the newer view: they are bounded by the snapshot's position, not by a view.
// Threading: any thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "log/segments.h"
#include "object/pack.h"
#include "store/manifest.h"
#include "store/run.h"
#include "store/small_list.h"

namespace weft::store {

class PackCache;

/// What speaks for the log before its start.
struct Base {
  log::LogPoint start;
  KeptName name;
  std::shared_ptr<const KeptFile> kept;  ///< null when it is lost; then `lost` says so
  std::optional<Error> lost;
};

struct View {
  explicit View(log::Segments& log_segments) : segments(log_segments) {}

  std::uint64_t tables = 0;  ///< the generation of the tables it goes with
  Manifest manifest;
  std::vector<std::shared_ptr<const Run>> runs;  ///< oldest first
  std::shared_ptr<const Base> base;              ///< null: the log is there from its beginning
  std::vector<std::uint64_t> lost_packs;         ///< ordinals of packs that were lost when merged
  log::SegmentViews segments;
  /// Set when another process's gc has changed what no generation told of (a private control block hears of nothing).
  mutable std::atomic<bool> outdated = false;

  /// Call once manifest is set.
  void prepare();
  Result<const object::PackReader*> pack(PackCache& packs, std::uint64_t ordinal) const;

 private:
  /// Opened ones, by ordinal; held by `held_`.
  std::unique_ptr<std::atomic<const object::PackReader*>[]> opened_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const object::PackReader>> held_;
};

/// Where a lookup found something. What it points to lives as long as the Places it is in.
struct Found {
  std::uint64_t position = 0;  ///< in the log, when `pack` is null
  const object::PackReader* pack = nullptr;
  std::uint64_t offset = 0;           ///< in the pack
  std::optional<HalfId> change = {};  ///< the change a kept link leads to; then neither position nor pack counts
};

/// The places of one key, and what they need to stay valid.
struct Places {
  SmallList<Found, 2> list;
  const View* view = nullptr;
  std::shared_ptr<const View> keep_view;
  std::vector<std::shared_ptr<const object::PackReader>> keep_packs;
};

/// The views one snapshot has looked with.
class ViewPin {
 public:
  /// The view pinned last; null before the first.
  const View* get() const { return current_.load(std::memory_order_acquire); }
  /// From the next get() on, while there is room for it: a snapshot that outlives many merges takes newer views each
  /// time.
  void set(const std::shared_ptr<const View>& view) const;

 private:
  static constexpr std::size_t kMaxHeld = 4;
  mutable std::atomic<const View*> current_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::array<std::shared_ptr<const View>, kMaxHeld> held_;
  mutable std::size_t count_ = 0;
};

}  // namespace weft::store
