// The append-only log shared by every process that has the store open: group commit without a daemon.
//
//   writer:  lock append -> judge, take a position, copy the frame into the ring, publish -> unlock -> wait
//   leader:  (the first of a batch) lock leader -> close the batch -> one write, one flush -> publish durable -> wake
//
// Guarantees (DESIGN 4), cited by tests:
//   G1  append() returns success only after the flush that covers its frame returned.
//   G2  The durable position, which bounds what readers see, moves only after the flush.
//   G3  A process killed anywhere blocks nobody longer than kOwnerCheckNs; its transaction is wholly in or wholly out.
//   G4  Frames are ordered as their writers got the append lock.
//   G5  A lone writer never waits for others to join its batch.
//   G6  A failed write or flush fails every frame enqueued from there on, resets the enqueued to the durable state, and
//       stops everybody until a recovery has cleared what may have reached the disk. So does memory that runs out
//       between a frame's publication and its batch's: no exception takes a lock along or leaves half a batch.
//   G7  A refusal is told only once the state it was judged against is durable.
// Lock order: leader, append, zero. No lock is held while waiting for another process's flush.
// Threading: any thread; each call stands for itself.
// Format: docs/FORMATS.md, "Log".
#pragma once

#include <functional>
#include <optional>

#include "log/segments.h"
#include "log/shared_state.h"

namespace weft::log {

/// A frame above this is written by its own author instead of going through the ring (a quarter of it).
inline constexpr std::uint64_t kRingBytes = 1u << 20;
inline constexpr std::uint64_t kMaxRingFrame = kRingBytes / 4;
/// From this average on, a leader waits for its batch to fill.
inline constexpr std::int64_t kSlowFlushNs = 300'000;

/// Where in the control block the log's parts lie.
struct ControlLayout {
  std::size_t state_offset = 0;
  std::size_t ring_offset = 0;
};

/// What a frame source sees inside the append lock.
class AppendContext {
 public:
  virtual ~AppendContext() = default;
  virtual const EnqueuedState& enqueued() const = 0;
  virtual std::uint64_t durable_position() const = 0;
  /// Bytes of the log before enqueued().position, from the ring or the segments: at most `length`, fewer at the end of
  /// what is there. Valid until the next call.
  virtual Result<ByteView> read_up_to(std::uint64_t position, std::uint64_t length) = 0;
};

/// One transaction on its way into the log.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  struct Sections {
    ByteView late;
    ByteView payload;
    std::uint64_t payload_checksum = 0;
    ClientWords client{};  ///< the client words once this frame is in
  };
  /// Inside the append lock: judge and say what to write. An error refuses; `judged_at` (set by the source) is the end
  /// of the newest state it was judged against (G7), 0 when it does not depend on any. May be called again after a
  /// failure.
  virtual Result<Sections> build(AppendContext& context, std::uint64_t& judged_at) = 0;
  virtual FrameKind kind() const { return FrameKind::transaction; }
  /// Inside the append lock, once the place is certain and before the frame is published.
  virtual void placed(std::uint64_t position, std::uint64_t payload_position) = 0;
};

/// The store, as the log sees it.
class LogClient {
 public:
  virtual ~LogClient() = default;
  /// By the leader, in order, after the flush and before the durable position moves. Must be idempotent. The frame's
  /// payload is not given (it may lie apart in the ring). `durable_end` is the position published as durable so far.
  virtual void frame_durable(const FrameHeader& header, ByteView late, std::uint64_t durable_end) = 0;
  /// Inside the append lock: everything placed at or behind `position` never happened.
  virtual void forget_from(std::uint64_t position) = 0;
};

struct Appended {
  std::uint64_t position = 0;
  std::uint64_t end = 0;
};

struct LogCounters {
  std::uint64_t transactions = 0, batches = 0, flushes = 0, writes = 0, bytes_written = 0, zero_bytes = 0,
                zero_flushes = 0;
};

class Log {
 public:
  /// `notice(process)`: called about once a second while another live process keeps us waiting.
  Log(Env& env, SharedControl& control, const ControlLayout& layout, Segments& segments, LogClient& client,
      std::function<void(std::uint32_t process)> notice = {});

  /// Makes the first segment with the store's first frame in it, durable.
  static Result<LogPoint> create(Env& env, Segments& segments, ByteView store_payload);
  /// Fills the shared state of a new control block (inside SharedControl's initialise).
  static Result<void> initialise(SharedControl& control, const ControlLayout& layout, Segments& segments, LogPoint end,
                                 const ClientWords& client, bool damaged);

  Result<Appended> append(FrameSource& source, const TransactionId& transaction);
  /// Makes what is recorded from now on begin in a segment of its own, so that those before it can go. Where the log
  /// stands at a segment's beginning already nothing is done.
  struct SegmentStart {
    DurableState state;        ///< the log where that segment begins
    std::int64_t held_ns = 0;  ///< how long writers were kept waiting
  };
  Result<SegmentStart> begin_segment();
  /// Waits until everything before `position` is durable, leading if nobody does.
  Result<void> flush_to(std::uint64_t position);
  /// Runs `action` inside the append lock.
  Result<void> with_append_lock(const std::function<Result<void>(AppendContext&)>& action);

  /// Durable bytes turned out to be missing: runs `recover` (which fills the client's tables from what is left) with
  /// all locks held, then stands at the point it returns, never to be written again before a repair.
  Result<void> declare_damaged(const std::function<Result<std::pair<LogPoint, ClientWords>>()>& recover);

  /// For a process that goes on committing: maps the ring at once.
  void prefault() const;

  DurableState durable() const;
  EnqueuedState enqueued() const;
  bool damaged() const { return state_.damaged.load() != 0; }
  LogCounters counters() const;

 private:
  class Context;
  enum class Waited : std::uint8_t { durable, given_up };

  Result<OwnerToken> token();
  SharedMutex::Acquired lock_append(SharedMutex& mutex, OwnerToken token);
  EnqueuedState load_enqueued() const;
  void publish_enqueued(const EnqueuedState& state);
  void publish_durable(const DurableState& state);
  void ring_write(std::uint64_t position, ByteView bytes);
  void ring_zero(std::uint64_t position, std::uint64_t length);
  /// One or two pieces of the ring.
  std::size_t ring_parts(std::uint64_t from, std::uint64_t to, ByteView (&parts)[2]) const;
  ByteView ring_read(std::uint64_t position, std::uint64_t length, Bytes& scratch) const;

  Result<Appended> append_exclusively(FrameSource& source, const TransactionId& transaction, OwnerToken token,
                                      bool& again, std::uint64_t& judged_at);
  Waited wait_durable(std::uint64_t position, std::uint64_t batch, std::uint32_t epoch, OwnerToken token);
  /// Leads a batch unless everything before `position` is durable already. Failures are published, not returned.
  void lead(std::uint64_t position, OwnerToken token);
  /// Leader lock held. Writes and flushes [durable, closed.position) and publishes it; false after a failure.
  bool flush_ring(const EnqueuedState& closed, bool append_locked, OwnerToken token);
  static void reset_enqueued(EnqueuedState& state, const DurableState& durable);
  /// Append lock held: what is enqueued but not durable never happened (G6).
  void give_up_enqueued(const DurableState& durable);
  bool fits_segment(std::uint64_t position, std::uint64_t length) const;
  EnqueuedState close_batch(EnqueuedState state);
  void wait_for_fill(bool contended);
  void fail_batch(int errnum, bool append_locked, OwnerToken token);
  Result<Appended> append_with_locks(FrameSource& source, const TransactionId& transaction, OwnerToken token,
                                     bool& again, std::uint64_t& judged_at, std::uint64_t& wake_through, bool& extend);
  /// Where files are made by name: the store at that name must still be this one.
  Result<void> still_here() const;
  Result<File*> writer(std::uint64_t position);
  void wake_batches(std::uint64_t through);
  Result<void> recover_failed(OwnerToken token);
  /// Leader and append lock held, nothing enqueued that is not durable. Goes on in the next segment.
  Result<void> roll_segment(OwnerToken token);
  void extend_ahead(OwnerToken token);
  /// Zero lock held. Makes the segment that begins at `start` ready; a failure is nobody's yet.
  void prepare_segment(std::uint64_t start, std::uint64_t zeros);
  /// Zero lock held: zeros ahead of need, or the next segment.
  void prepare(std::uint64_t durable_position, std::uint64_t step, std::uint64_t segment_stop, bool prepare_next);
  Result<bool> survived(std::uint64_t position, std::uint64_t end, const TransactionId& transaction);
  Error failure() const;

  Env& env_;
  SharedControl& control_;
  Segments& segments_;
  LogClient& client_;
  std::function<void(std::uint32_t)> notice_;
  SharedLogState& state_;
  std::byte* ring_;
  std::size_t ring_offset_;
  SharedMutex append_mutex_, leader_mutex_, zero_mutex_;
};

}  // namespace weft::log
