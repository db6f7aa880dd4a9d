// Segments: the files the log lies in. Position p of the log is byte p % S of segment p / S + 1, S being the store's
// segment size.
//
// Invariants:
//   L1  A segment's directory entry is durable before a byte of it is relied on.
//   L2  Bytes below the durable end never change.
//   L3  Whatever is scanned is accepted only while position, chain and checksum hold; readers never cut.
//   L4  Segments leave from the lowest on, one by one, each durably gone before the next: those that are there have no
//       gap, whenever the power fails.
// Threading: any thread. Processes are coordinated by log.h.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/env.h"
#include "log/frame.h"

namespace weft::log {

/// Where the log stands: everything before `position` is accepted, `chain` is the checksum of the last frame before it.
struct LogPoint {
  std::uint64_t position = 0;
  std::uint64_t chain = 0;
  bool operator==(const LogPoint&) const = default;
};

struct ScanResult {
  LogPoint end;  ///< behind the last accepted frame (not aligned)
  std::uint64_t frames = 0;
  /// Set when bytes once durable are missing: damage, not a torn tail. The sentence says how that is known.
  std::optional<std::string> damage;
  /// Bytes that are not zero behind the end: the remains of what was in flight.
  std::uint64_t torn_bytes = 0;
  /// End of the last segment file.
  std::uint64_t files_end = 0;
};

class Segments {
 public:
  Segments(Env& env, std::string directory, std::uint64_t segment_bytes);

  std::uint64_t segment_bytes() const { return segment_bytes_; }
  const std::string& directory() const { return directory_; }
  std::string path_of(std::uint64_t position) const;
  std::uint64_t segment_start(std::uint64_t position) const { return position / segment_bytes_ * segment_bytes_; }
  std::uint64_t segment_end(std::uint64_t position) const { return segment_start(position) + segment_bytes_; }

  /// From `position` to `end` (a position that is written), or to the end of position's segment if that comes first.
  /// Costs no system call where that was seen to be there before.
  Result<ByteView> view_until(std::uint64_t position, std::uint64_t end, std::shared_ptr<Mapping>& keep);
  /// All of the segment from `position` to the end of its file as it is now. Kept nowhere: a segment that holds nothing
  /// durable yet may be removed and made anew, and a mapping of the old file would go on showing that.
  Result<ByteView> view_rest(std::uint64_t position, std::shared_ptr<Mapping>& keep);

  /// The segment's file, opened for writing and kept.
  Result<File*> writer(std::uint64_t position);
  /// Whether it is open already; else its name decides which file writer() opens.
  bool has_writer(std::uint64_t position) const;
  /// Zeros over [from, to) of one segment, through a handle of its own: a failure here spoils no writer's. Not flushed:
  /// by whoever flushes that segment next.
  Result<void> write_zeros(std::uint64_t from, std::uint64_t to, bool flushed = true);
  /// Makes the segment that begins at `start`, with its first `zeros` bytes written and durable, and its entry durable
  /// (L1). Finds one left behind by a dead process and goes on with it.
  Result<void> create(std::uint64_t start, std::uint64_t zeros);
  /// Size of the segment's file; 0 when there is none.
  Result<std::uint64_t> file_size(std::uint64_t position);

  /// Reads frames from `from`, calling `visit` for each accepted one (may be null); looks behind the end for evidence
  /// of damage. `known_durable`: a position that an index run or pack proves durable; an end before it is damage.
  Result<ScanResult> scan(LogPoint from, std::uint64_t known_durable,
                          const std::function<Result<void>(const Frame&)>& visit);
  /// The frames before `stop`, all of them durable: a missing one is damaged. Returns the point behind the last.
  Result<LogPoint> scan_durable(LogPoint from, std::uint64_t stop,
                                const std::function<Result<void>(const Frame&)>& visit);
  /// damaged unless the segment files from the one that begins at `start` to the one that holds `position` are there
  /// without a gap, and whole.
  Result<void> check_files(std::uint64_t start, std::uint64_t position);
  /// Where the lowest segment there is begins, with the chain its first frame names (taken as given; 0 where it holds
  /// none). nullopt: there is no segment.
  Result<std::optional<LogPoint>> lowest();
  /// Removes the segments before `start` (L4), which begins one. Returns the bytes of their files.
  Result<std::uint64_t> remove_before(std::uint64_t start);
  /// Writes zeros over [from, end of the files) where they are not zero already, and flushes; removes segment files
  /// that lie wholly behind. Also flushes what is before `from` in its segment. `at_least`: so many bytes are written
  /// over even where they read as zero: after a failed flush the disk may yet bring forth what it was given.
  Result<void> clear_behind(std::uint64_t from, std::uint64_t at_least = 0);

  /// Flushes every segment file from `position` on.
  Result<void> flush_from(std::uint64_t position);

  void forget_mappings();
  /// Of segments that are gone, or soon will be: their files take room as long as somebody has them mapped.
  void forget_before(std::uint64_t start);
  /// Moves on when mappings are forgotten.
  std::uint64_t mapping_generation() const { return generation_.load(std::memory_order_acquire); }
  /// A file that met a failed write or flush is dead in the process that met it, and only there.
  void forget_writers();

 private:
  struct Mapped {
    std::shared_ptr<Mapping> mapping;
    std::uint64_t file_size = 0;
    bool sealed = false;  ///< the log goes on in a later segment: this one's size is final
  };
  friend class SegmentViews;
  Result<Mapped> mapped(std::uint64_t position, std::uint64_t need);
  /// The part of it that view_until() gives.
  Result<ByteView> view_of(const Result<Mapped>& found, std::uint64_t position, std::uint64_t end);

  /// Frames from `from` until `stop` or the first place that holds none.
  Result<LogPoint> walk(LogPoint from, std::uint64_t stop, std::uint64_t& frames,
                        const std::function<Result<void>(const Frame&)>& visit);

  Env& env_;
  std::string directory_;
  std::uint64_t segment_bytes_;
  std::atomic<std::uint64_t> generation_ = 0;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Mapped> mappings_;  // by segment start
  std::map<std::uint64_t, std::unique_ptr<File>>
      writers_;  // by segment start; at most the current one and the one before
};

/// Segments as lookups see them: who holds this reads what it has met before without a lock or a count. Mappings are
/// only added; what it cannot hold (too many, or files removed meanwhile) it takes from Segments each time. Threading:
/// any thread.
class SegmentViews {
 public:
  explicit SegmentViews(Segments& segments)
      : segments_(segments), segment_bytes_(segments.segment_bytes()), generation_(segments.mapping_generation()) {}
  ~SegmentViews();
  SegmentViews(const SegmentViews&) = delete;
  SegmentViews& operator=(const SegmentViews&) = delete;

  /// As Segments::view_until. The view lives as long as this and `keep`, which stays empty where this is enough.
  Result<ByteView> view_until(std::uint64_t position, std::uint64_t end, std::shared_ptr<Mapping>& keep) const {
    const std::uint64_t number = position / segment_bytes_;
    const Entry* const entry = entries_[number % kMaxEntries].load(std::memory_order_acquire);
    if (entry == nullptr || entry->number != number || position >= end ||
        generation_ != segments_.mapping_generation()) {
      return slow(position, end, keep);
    }
    const std::uint64_t start = number * segment_bytes_;
    const bool sealed = end - start >= segment_bytes_;
    const bool final_size = entry->sealed.load(std::memory_order_acquire);  // before the size itself
    const std::uint64_t size = entry->file_size.load(std::memory_order_relaxed);
    const std::uint64_t stop = sealed ? size : end - start;
    if (stop > size || (sealed && !final_size) || position - start >= stop) {
      return slow(position, end, keep);
    }
    return entry->mapping->bytes().substr(position - start, stop - (position - start));
  }
  /// Has the processor fetch what lies there, if that is at hand.
  void ready(std::uint64_t position) const {
    const std::uint64_t number = position / segment_bytes_;
    const Entry* const entry = entries_[number % kMaxEntries].load(std::memory_order_acquire);
    if (entry != nullptr && entry->number == number) {
      const char* const at = entry->mapping->bytes().data() + (position - number * segment_bytes_);
      for (std::size_t ahead = 0; ahead < kReadyBytes; ahead += 64) __builtin_prefetch(at + ahead);
    }
  }

 private:
  static constexpr std::size_t kMaxEntries = 256;
  static constexpr std::size_t kReadyBytes = 320;  // a change with a short message
  struct Entry {
    std::uint64_t number = 0;
    std::shared_ptr<Mapping> mapping;
    mutable std::atomic<std::uint64_t> file_size = 0;
    mutable std::atomic<bool> sealed = false;
  };
  Result<ByteView> slow(std::uint64_t position, std::uint64_t end, std::shared_ptr<Mapping>& keep) const;

  Segments& segments_;
  std::uint64_t segment_bytes_;
  std::uint64_t generation_;
  mutable std::array<std::atomic<const Entry*>, kMaxEntries> entries_{};
};

}  // namespace weft::log
