#include "log/log.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <new>

namespace weft::log {
namespace {

constexpr std::uint64_t kFirstZeroStep = 256u << 10;
constexpr std::uint64_t kLastZeroStep = 8u << 20;
/// Zeros are written in larger steps as a segment grows, never more ahead than a tenth of it: they stay at most the
/// same again as what is recorded. By the segment, not by the log: one that a gc has just begun may be all there is.
std::uint64_t zero_step(std::uint64_t in_segment) {
  return std::clamp(std::bit_floor(in_segment / 16), kFirstZeroStep, kLastZeroStep);
}
/// The ring's pages are made ready in steps, so that a small store stays small.
constexpr std::uint64_t kRingStep = 64u << 10;

/// Ctrl-Z on a leader would stop everybody: stopping is held off until its batch is done.
class HoldStops {
 public:
  HoldStops() {
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaddset(&stops, SIGTTIN);
    sigaddset(&stops, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stops, &before_);
  }
  ~HoldStops() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HoldStops(const HoldStops&) = delete;
  HoldStops& operator=(const HoldStops&) = delete;

 private:
  sigset_t before_{};
};

int errno_of(const Error& error) { return error.sys_errno == 0 ? EIO : error.sys_errno; }

/// Does it: 0, or what went wrong, memory running out included.
template <typename Action>
int errno_of(const Action& action) {
  try {
    const auto done = action();
    return done ? 0 : errno_of(done.error());
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace

/// The append lock's holder reads what is before the enqueued end: from the ring while it is still there, else from the
/// files.
class Log::Context final : public AppendContext {
 public:
  Context(Log& log, const EnqueuedState& enqueued, std::uint64_t durable)
      : log_(log), enqueued_(enqueued), durable_(durable) {}

  const EnqueuedState& enqueued() const override { return enqueued_; }
  std::uint64_t durable_position() const override { return durable_; }
  Result<ByteView> read_up_to(std::uint64_t position, std::uint64_t length) override {
    if (position >= enqueued_.position)
      return weft::damaged(fmt::format("the log has no bytes at position {}", position));
    length = std::min(length, enqueued_.position - position);
    if (in_ring(position)) return log_.ring_read(position, length, scratch_);
    WEFT_TRY(const ByteView rest, log_.segments_.view_until(position, durable_, keep_));
    return rest.substr(0, length);
  }

 private:
  bool in_ring(std::uint64_t position) const {
    return position >= enqueued_.ring_floor && position + kRingBytes >= enqueued_.position;
  }
  Log& log_;
  const EnqueuedState& enqueued_;
  std::uint64_t durable_;
  Bytes scratch_;
  std::shared_ptr<Mapping> keep_;
};

Log::Log(Env& env, SharedControl& control, const ControlLayout& layout, Segments& segments, LogClient& client,
         std::function<void(std::uint32_t)> notice)
    : env_(env),
      control_(control),
      segments_(segments),
      client_(client),
      notice_(std::move(notice)),
      state_(*reinterpret_cast<SharedLogState*>(control.base() + layout.state_offset)),
      ring_(control.base() + layout.ring_offset),
      ring_offset_(layout.ring_offset),
      append_mutex_(control, env.clock, state_.append),
      leader_mutex_(control, env.clock, state_.leader),
      zero_mutex_(control, env.clock, state_.zero) {}

Result<LogPoint> Log::create(Env& env, Segments& segments, ByteView store_payload) {
  WEFT_DO(segments.create(0, kFirstZeroStep));
  FrameHeader header;
  header.kind = FrameKind::store;
  header.length = static_cast<std::uint32_t>(kFrameHeaderBytes + store_payload.size());
  header.transaction = env.random.id<TransactionId>();
  header.payload_checksum = payload_checksum(store_payload);
  char bytes[kFrameHeaderBytes];
  encode_header(header, {}, bytes);
  WEFT_TRY(File* const file, segments.writer(0));
  const ByteView parts[] = {ByteView(bytes, sizeof(bytes)), store_payload};
  WEFT_DO(file->write_at(0, parts));
  WEFT_DO(file->sync());
  return LogPoint{padded_length(header.length), header.checksum};
}

Result<void> Log::initialise(SharedControl& control, const ControlLayout& layout, Segments& segments, LogPoint end,
                             const ClientWords& client, bool is_damaged) {
  WEFT_DO(control.ensure_allocated(layout.state_offset, sizeof(SharedLogState)));
  auto& state = *new (control.base() + layout.state_offset) SharedLogState{};
  const std::uint64_t position = align_up(end.position, kBatchAlignment);
  EnqueuedState enqueued;
  enqueued.position = position;
  enqueued.chain = end.chain;
  enqueued.batch = 1;
  enqueued.ring_floor = position;
  enqueued.client = client;
  state.enqueued.store({position, end.chain, 1, 0, position, client[0], client[1], client[2], client[3]});
  state.durable.store({position, end.chain, client[0], client[1], client[2], client[3]});
  WEFT_TRY(const std::uint64_t size, segments.file_size(position));
  state.zeroed_end.store(std::max(position, segments.segment_start(position) + size));
  state.damaged.store(is_damaged ? 1 : 0);
  return {};
}

EnqueuedState Log::load_enqueued() const {
  const auto words = state_.enqueued.load();
  return {words[0], words[1], words[2], words[3], words[4], {words[5], words[6], words[7], words[8]}};
}

void Log::publish_enqueued(const EnqueuedState& s) {
  if (control_.killed()) return;
  state_.enqueued.store(
      {s.position, s.chain, s.batch, s.batch_count, s.ring_floor, s.client[0], s.client[1], s.client[2], s.client[3]});
}

DurableState Log::durable() const {
  const auto words = state_.durable.load();
  return {words[0], words[1], {words[2], words[3], words[4], words[5]}};
}
EnqueuedState Log::enqueued() const { return load_enqueued(); }

void Log::publish_durable(const DurableState& s) {
  if (control_.killed()) return;
  state_.durable.store({s.position, s.chain, s.client[0], s.client[1], s.client[2], s.client[3]});
}

void Log::reset_enqueued(EnqueuedState& state, const DurableState& durable) {
  state.position = durable.position;
  state.chain = durable.chain;
  state.client = durable.client;
  state.ring_floor = durable.position;
  ++state.batch;
  state.batch_count = 0;
}

Result<OwnerToken> Log::token() { return control_.token(); }

SharedMutex::Acquired Log::lock_append(SharedMutex& mutex, OwnerToken token) {
  const auto acquired = mutex.lock(token, notice_);
  if (acquired.from_dead_owner) {
    control_.point("append:from-dead-owner");
    // It died somewhere between taking a position and publishing it: nothing behind the published end exists. An author
    // of an own flush publishes the durable state first; if it died before the enqueued one, that is behind.
    EnqueuedState state = load_enqueued();
    const DurableState durable = this->durable();
    if (durable.position > state.position) {
      reset_enqueued(state, durable);
    } else {
      // Its frame may lie in the ring over older bytes, though never over what is not durable yet.
      state.ring_floor = std::max(state.ring_floor, durable.position);
    }
    publish_enqueued(state);
    client_.forget_from(state.position);
  }
  return acquired;
}

void Log::ring_write(std::uint64_t position, ByteView bytes) {
  if (control_.killed()) return;
  const std::uint64_t offset = position % kRingBytes;
  const std::uint64_t first = std::min<std::uint64_t>(bytes.size(), kRingBytes - offset);
  std::memcpy(ring_ + offset, bytes.data(), first);
  std::memcpy(ring_, bytes.data() + first, bytes.size() - first);
}

void Log::ring_zero(std::uint64_t position, std::uint64_t length) {
  if (control_.killed()) return;
  const std::uint64_t offset = position % kRingBytes;
  const std::uint64_t first = std::min<std::uint64_t>(length, kRingBytes - offset);
  std::memset(ring_ + offset, 0, first);
  std::memset(ring_, 0, length - first);
}

std::size_t Log::ring_parts(std::uint64_t from, std::uint64_t to, ByteView (&parts)[2]) const {
  if (from == to) return 0;
  const std::uint64_t offset = from % kRingBytes;
  const std::uint64_t first = std::min(to - from, kRingBytes - offset);
  const char* ring = reinterpret_cast<const char*>(ring_);
  parts[0] = ByteView(ring + offset, first);
  if (first == to - from) return 1;
  parts[1] = ByteView(ring, to - from - first);
  return 2;
}

ByteView Log::ring_read(std::uint64_t position, std::uint64_t length, Bytes& scratch) const {
  ByteView parts[2];
  const std::size_t count = ring_parts(position, position + length, parts);
  if (count == 0) return {};
  if (count == 1) return parts[0];
  scratch.assign(parts[0]);
  scratch.append(parts[1]);
  return scratch;
}

Error Log::failure() const {
  const int error = static_cast<int>(state_.failed.load());
  Error result = system_error(error == 0 ? EIO : error, "write", "the log");
  if (error == ENOMEM) result.code = Code::no_space;
  if (result.code != Code::no_space) result.code = Code::store_failed;
  if (error == ENOMEM) {
    result.hint = "nothing was recorded; free some memory and try again";
  } else if (result.code == Code::no_space) {
    result.hint.insert(0, "nothing was recorded; ");
  } else {
    result.hint = "nothing was recorded; check the disk, then try again: the store recovers by itself";
  }
  return result;
}

Result<void> Log::still_here() const {
  if (control_.current()) return {};
  return make_error(Code::busy, "the store was moved, removed or repaired while this command had it open",
                    "nothing was recorded; run the command again where the store is now");
}

Result<File*> Log::writer(std::uint64_t position) {
  if (!segments_.has_writer(position)) WEFT_DO(still_here());
  return segments_.writer(position);
}

Result<Appended> Log::append(FrameSource& source, const TransactionId& transaction) {
  WEFT_TRY(const OwnerToken me, token());
  /// Each round but the last met a failure of the store, a full ring or the end of a segment.
  constexpr int kMaxRounds = 10'000;
  for (int round = 0; round < kMaxRounds; ++round) {
    if (damaged()) {
      return weft::damaged("the log has lost bytes that were durable; nothing can be written",
                           "run `weft verify`, then `weft repair --accept-loss`");
    }
    if (state_.failed.load(std::memory_order_acquire) != 0) WEFT_DO(recover_failed(me));
    control_.point("append:before-lock");
    lock_append(append_mutex_, me);
    SharedUnlock append_lock(append_mutex_);
    control_.point("append:locked");
    if (state_.failed.load(std::memory_order_relaxed) != 0 || damaged()) continue;
    EnqueuedState state = load_enqueued();
    const std::uint32_t epoch = state_.epoch.load();
    const std::uint64_t durable_position = state_.durable.load()[0];
    Context context(*this, state, durable_position);
    std::uint64_t judged_at = 0;
    auto sections = source.build(context, judged_at);
    if (!sections) {
      append_lock.now();
      if (judged_at > durable_position) {  // G7
        const std::uint64_t batch = state.batch_count == 0 ? state.batch - 1 : state.batch;
        if (wait_durable(std::min(judged_at, state.position), batch, epoch, me) == Waited::given_up) {
          control_.point("refuse:judged-again");
          continue;
        }
      }
      return std::move(sections).error();
    }
    const std::uint64_t length = kFrameHeaderBytes + sections->late.size() + sections->payload.size();
    const std::uint64_t total = padded_length(length);
    if (total > kMaxRingFrame || !fits_segment(state.position, total)) {
      append_lock.now();
      bool again = false;
      judged_at = 0;
      auto appended = append_exclusively(source, transaction, me, again, judged_at);
      if (again) continue;
      return appended;
    }
    const std::uint64_t padded_end = align_up(state.position + total, kBatchAlignment);
    if (padded_end - durable_position > kRingBytes) {
      // A full ring: wait for a flush with the lock released.
      append_lock.now();
      control_.point("append:full-ring");
      const std::uint64_t batch = state.batch_count == 0 ? state.batch - 1 : state.batch;
      (void)wait_durable(state.position, batch, epoch, me);
      continue;
    }
    const std::uint64_t ring_end = padded_end % kRingBytes;
    const std::uint64_t ring_need = ring_end < state.position % kRingBytes || ring_end == 0 ? kRingBytes : ring_end;
    if (state_.ring_allocated.load(std::memory_order_relaxed) < ring_need) {
      const std::uint64_t target = std::min(align_up(ring_need, kRingStep), kRingBytes);
      WEFT_DO(control_.ensure_allocated(ring_offset_, target));
      state_.ring_allocated.store(target, std::memory_order_relaxed);
    }

    FrameHeader header;
    header.kind = source.kind();
    header.length = static_cast<std::uint32_t>(length);
    header.late_length = static_cast<std::uint32_t>(sections->late.size());
    header.position = state.position;
    header.durable = durable_position;
    header.transaction = transaction;
    header.previous = state.chain;
    header.payload_checksum = sections->payload_checksum;
    char header_bytes[kFrameHeaderBytes];
    encode_header(header, sections->late, header_bytes);
    ring_write(header.position, ByteView(header_bytes, sizeof(header_bytes)));
    ring_write(header.position + kFrameHeaderBytes, sections->late);
    control_.point("append:copying");
    const std::uint64_t payload_position = header.position + kFrameHeaderBytes + sections->late.size();
    ring_write(payload_position, sections->payload);
    ring_zero(header.position + length, total - length);
    try {
      source.placed(header.position, payload_position);
    } catch (const std::bad_alloc&) {
      client_.forget_from(header.position);
      throw;
    }
    control_.point("append:placed");

    const bool first = state.batch_count == 0;
    const std::uint64_t batch = state.batch;
    state.position += total;
    state.chain = header.checksum;
    state.client = sections->client;
    ++state.batch_count;
    publish_enqueued(state);
    const std::uint32_t fill_target = state_.fill_target.load(std::memory_order_relaxed);
    const bool filled = fill_target != 0 && state.batch_count >= fill_target;
    control_.point("append:published");
    append_lock.now();
    state_.transactions.fetch_add(1, std::memory_order_relaxed);

    if (filled) {
      state_.fill_target.store(0, std::memory_order_relaxed);
      state_.fill.fetch_add(1);
      control_.wake(state_.fill, 1);
    }
    try {
      if (first) {
        control_.point("append:leading");
        lead(state.position, me);
      }
      if (wait_durable(state.position, batch, epoch, me) == Waited::durable) {
        return Appended{header.position, state.position};
      }
      // The store failed meanwhile; perhaps before us, perhaps behind us.
      WEFT_TRY(const bool there, survived(header.position, state.position, transaction));
      if (there) return Appended{header.position, state.position};
      return failure();
    } catch (const std::bad_alloc&) {  // it is published: others may make it durable
      return make_error(Code::no_space, "out of memory while this was written",
                        "`weft op log` shows whether it was recorded");
    }
  }
  return make_error(Code::busy, "the store kept failing and recovering while this was written", "try again");
}

bool Log::fits_segment(std::uint64_t position, std::uint64_t length) const {
  // Exactly at a segment's end the next one may not be there yet: nothing of it is written then.
  const bool at_boundary = position != 0 && position % segments_.segment_bytes() == 0;
  if (at_boundary && state_.zeroed_end.load(std::memory_order_acquire) <= position) return false;
  return position + length <= segments_.segment_end(position);
}

Log::Waited Log::wait_durable(std::uint64_t position, std::uint64_t batch, std::uint32_t epoch, OwnerToken me) {
  SharedControl::Word& word = state_.batch_done[batch % kBatchWords];
  for (;;) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    if (state_.epoch.load(std::memory_order_acquire) != epoch) return Waited::given_up;
    if (state_.durable.load()[0] >= position) {
      // A failure between the two loads would have changed the epoch first.
      return state_.epoch.load(std::memory_order_acquire) == epoch ? Waited::durable : Waited::given_up;
    }
    const std::int64_t before = env_.clock.monotonic_ns();
    auto& waiters = state_.waiters[batch % kBatchWords];
    // Counted before the last look at the word: a waker that sees no waiter has changed the word before that look.
    waiters.fetch_add(1);
    if (word.load() == seen) control_.wait(word, seen, kOwnerCheckNs);
    if (control_.killed()) return Waited::given_up;
    waiters.fetch_sub(1);
    if (env_.clock.monotonic_ns() - before < kOwnerCheckNs) continue;
    lead(position, me);
    // Whoever met a failure may have died before it told us: without this, writers that all wait would wait for ever
    // (G3).
    if (state_.failed.load() != 0 && state_.epoch.load() == epoch) (void)recover_failed(me);
  }
}

Result<bool> Log::survived(std::uint64_t position, std::uint64_t end, const TransactionId& transaction) {
  if (state_.durable.load()[0] < end) return false;
  std::shared_ptr<Mapping> keep;
  WEFT_TRY(const ByteView bytes, segments_.view_rest(position, keep));
  const auto header = parse_header(bytes, position);
  return header && header->transaction == transaction;
}

EnqueuedState Log::close_batch(EnqueuedState state) {
  const std::uint64_t aligned = align_up(state.position, kBatchAlignment);
  ring_zero(state.position, aligned - state.position);
  state.position = aligned;
  ++state.batch;
  state.batch_count = 0;
  publish_enqueued(state);
  return state;
}

void Log::wait_for_fill(bool contended) {
  const auto average = static_cast<std::int64_t>(state_.flush_average_ns.load(std::memory_order_relaxed));
  if (average < kSlowFlushNs) return;
  const std::uint64_t sizes[2] = {state_.last_sizes[0].load(std::memory_order_relaxed),
                                  state_.last_sizes[1].load(std::memory_order_relaxed)};
  if (!contended && sizes[0] <= 1 && sizes[1] <= 1) return;  // G5
  // Two batches that take turns hold all the writers there are: together they need half the flushes. When that many do
  // not come in time, there are fewer: for a while no more than came are waited for.
  std::uint64_t target = sizes[0] + sizes[1];
  const std::uint64_t batch = load_enqueued().batch;
  if (batch < state_.fill_cap_until.load(std::memory_order_relaxed)) {
    target = std::min(target, state_.fill_cap.load(std::memory_order_relaxed));
  }
  if (target <= 1) return;
  const std::int64_t deadline = env_.clock.monotonic_ns() + average / 4;
  for (;;) {
    const std::uint32_t seen = state_.fill.load();
    state_.fill_target.store(static_cast<std::uint32_t>(target), std::memory_order_relaxed);
    const std::uint64_t count = load_enqueued().batch_count;
    if (count >= target) break;
    const std::int64_t left = deadline - env_.clock.monotonic_ns();
    if (left <= 0) {
      constexpr std::uint64_t kCapBatches = 64;
      state_.fill_cap.store(count, std::memory_order_relaxed);
      state_.fill_cap_until.store(batch + kCapBatches, std::memory_order_relaxed);
      break;
    }
    control_.wait(state_.fill, seen, left);
  }
  state_.fill_target.store(0, std::memory_order_relaxed);
}

void Log::lead(std::uint64_t position, OwnerToken me) {
  const auto acquired = leader_mutex_.lock(me, notice_);
  SharedUnlock leader_lock(leader_mutex_);
  control_.point(acquired.from_dead_owner ? "lead:from-dead-owner" : "lead:locked");
  if (state_.durable.load()[0] >= position || state_.failed.load() != 0) return;
  const HoldStops hold;
  wait_for_fill(acquired.waited);
  lock_append(append_mutex_, me);
  EnqueuedState state = load_enqueued();
  state_.last_sizes[1].store(state_.last_sizes[0].load(std::memory_order_relaxed), std::memory_order_relaxed);
  state_.last_sizes[0].store(state.batch_count, std::memory_order_relaxed);
  state = close_batch(state);
  append_mutex_.unlock();
  control_.point("lead:closed");
  const bool flushed = flush_ring(state, false, me);
  if (flushed) state_.batches.fetch_add(1, std::memory_order_relaxed);
  control_.point("lead:published");
  leader_lock.now();
  wake_batches(state.batch - 1);
  if (flushed) extend_ahead(me);
}

bool Log::flush_ring(const EnqueuedState& closed, bool append_locked, OwnerToken me) {
  const DurableState durable = this->durable();
  if (closed.position == durable.position) return true;
  ByteView parts[2];
  const std::size_t count = ring_parts(durable.position, closed.position, parts);
  const bool grows = closed.position > state_.zeroed_end.load(std::memory_order_acquire);
  if (grows) zero_mutex_.lock(me, notice_);
  const auto write = [&]() -> Result<void> {
    WEFT_TRY(File* const file, writer(durable.position));
    WEFT_DO(file->write_at(durable.position % segments_.segment_bytes(), std::span<const ByteView>(parts, count)));
    control_.point("lead:written");
    const std::int64_t before = env_.clock.monotonic_ns();
    WEFT_DO(file->sync());
    const std::int64_t took = env_.clock.monotonic_ns() - before;
    const std::uint64_t average = state_.flush_average_ns.load(std::memory_order_relaxed);
    state_.flush_average_ns.store(
        average == 0 ? static_cast<std::uint64_t>(took) : (average * 7 + static_cast<std::uint64_t>(took)) / 8,
        std::memory_order_relaxed);
    return {};
  };
  const int failed = errno_of(write);
  if (grows) {
    if (failed == 0 && !control_.killed()) {
      state_.zeroed_end.store(std::max(state_.zeroed_end.load(), closed.position), std::memory_order_release);
    }
    zero_mutex_.unlock();
  }
  if (failed != 0) {
    segments_.forget_writers();
    control_.point("lead:failed");
    fail_batch(failed, append_locked, me);
    return false;
  }
  control_.point("lead:flushed");
  state_.flushes.fetch_add(1, std::memory_order_relaxed);
  state_.writes.fetch_add(1, std::memory_order_relaxed);
  state_.bytes_written.fetch_add(closed.position - durable.position, std::memory_order_relaxed);

  // Frames lie one behind the other; behind a batch closed by a leader that died, zeros up to the boundary.
  const auto tell = [&]() -> Result<void> {
    Bytes header_scratch;
    Bytes late_scratch;
    for (std::uint64_t at = durable.position; at + kFrameHeaderBytes <= closed.position;) {
      const auto header = parse_header(ring_read(at, kFrameHeaderBytes, header_scratch), at);
      if (!header) {
        const std::uint64_t boundary = align_up(at + 1, kBatchAlignment);
        at = boundary;
        continue;
      }
      client_.frame_durable(*header, ring_read(at + kFrameHeaderBytes, header->late_length, late_scratch),
                            durable.position);
      at += padded_length(header->length);
    }
    return {};
  };
  if (const int untold = errno_of(tell); untold != 0) {  // flushed, but known to nobody: a recovery clears it
    segments_.forget_writers();
    fail_batch(untold, append_locked, me);
    return false;
  }
  control_.point("lead:indexed");
  publish_durable(DurableState{closed.position, closed.chain, closed.client});
  return true;
}

void Log::wake_batches(std::uint64_t through) {
  if (control_.killed()) return;
  // Also those whose leader died before it could.
  const std::uint64_t woken = state_.woken_batch.exchange(through);
  const std::uint64_t from =
      woken >= through ? through : std::max(woken + 1, through < kBatchWords ? 0 : through - kBatchWords + 1);
  for (std::uint64_t batch = from; batch <= through; ++batch) {
    SharedControl::Word& word = state_.batch_done[batch % kBatchWords];
    word.fetch_add(1);
    if (state_.waiters[batch % kBatchWords].load() != 0) control_.wake(word, INT_MAX);
  }
}

void Log::give_up_enqueued(const DurableState& durable) {
  state_.epoch.fetch_add(1);
  client_.forget_from(durable.position);
  EnqueuedState state = load_enqueued();
  reset_enqueued(state, durable);
  publish_enqueued(state);
}

void Log::fail_batch(int errnum, bool append_locked, OwnerToken me) {
  if (!append_locked) lock_append(append_mutex_, me);
  if (!control_.killed()) {
    state_.failed.store(static_cast<std::uint32_t>(errnum));
    control_.point("fail:marked");
    const DurableState durable = this->durable();
    give_up_enqueued(durable);
  }
  if (!append_locked) append_mutex_.unlock();
  control_.point("fail:reset");
  for (std::uint64_t i = 0; i < kBatchWords && !control_.killed(); ++i) {
    state_.batch_done[i].fetch_add(1);
    control_.wake(state_.batch_done[i], INT_MAX);
  }
}

Result<void> Log::recover_failed(OwnerToken me) {
  leader_mutex_.lock(me, notice_);
  const SharedUnlock leader_lock(leader_mutex_);
  lock_append(append_mutex_, me);
  const SharedUnlock append_lock(append_mutex_);
  Result<void> result;
  if (state_.failed.load() != 0) {
    // Whoever failed may have died before it had reset everything: do it again.
    const DurableState durable = this->durable();
    give_up_enqueued(durable);
    zero_mutex_.lock(me, notice_);
    const SharedUnlock zero_lock(zero_mutex_);
    segments_.forget_mappings();  // handles that met a failed flush are dead
    result = still_here();
    if (result) result = segments_.clear_behind(durable.position, kMaxFrameBytes);
    if (result) {
      const auto size = segments_.file_size(durable.position);
      const std::uint64_t start = segments_.segment_start(durable.position);
      state_.zeroed_end.store(size ? std::max(durable.position, start + *size) : durable.position);
      state_.next_segment.store(0);
      state_.failed.store(0);
      control_.point("recover:done");
    }
  }
  if (!result) {
    Error error = failure();
    error.message += fmt::format(" (and recovery failed: {})", result.error().message);
    return error;
  }
  return {};
}

Result<void> Log::roll_segment(OwnerToken me) {
  const DurableState durable = this->durable();
  const std::uint64_t start = segments_.segment_end(durable.position == 0 ? 0 : durable.position - 1);
  zero_mutex_.lock(me, notice_);  // somebody may be preparing that segment right now
  SharedUnlock zero_lock(zero_mutex_);
  Result<void> created = still_here();
  if (!created) return created;
  if (state_.next_segment.load() == start) {
    state_.zeroed_end.store(state_.next_zeroed.load());
  } else {
    const std::uint64_t zeros = std::min(kFirstZeroStep, segments_.segment_bytes());
    created = segments_.create(start, zeros);
    if (created && !control_.killed()) {
      state_.zero_flushes.fetch_add(1, std::memory_order_relaxed);
      state_.zero_bytes.fetch_add(zeros, std::memory_order_relaxed);
      state_.zeroed_end.store(start + zeros);
    }
  }
  if (created) state_.next_segment.store(0);
  zero_lock.now();
  if (!created) return created;
  EnqueuedState enqueued = load_enqueued();
  enqueued.position = start;
  enqueued.ring_floor = start;
  publish_durable(DurableState{start, durable.chain, durable.client});
  control_.point("roll:durable");
  publish_enqueued(enqueued);
  return {};
}

Result<Appended> Log::append_exclusively(FrameSource& source, const TransactionId& transaction, OwnerToken me,
                                         bool& again, std::uint64_t& judged_at) {
  std::uint64_t wake_through = 0;
  bool extend = false;
  auto appended = [&]() -> Result<Appended> {
    leader_mutex_.lock(me, notice_);
    const SharedUnlock leader_lock(leader_mutex_);
    const HoldStops hold;
    lock_append(append_mutex_, me);
    const SharedUnlock append_lock(append_mutex_);
    try {
      return append_with_locks(source, transaction, me, again, judged_at, wake_through, extend);
    } catch (const std::bad_alloc&) {
      // Perhaps before the frame was written, perhaps behind its flush: whatever is there is cleared.
      segments_.forget_writers();
      fail_batch(ENOMEM, true, me);
      return failure();
    }
  }();
  if (wake_through != 0) wake_batches(wake_through);
  if (extend) extend_ahead(me);
  return appended;
}

Result<Appended> Log::append_with_locks(FrameSource& source, const TransactionId& transaction, OwnerToken me,
                                        bool& again, std::uint64_t& judged_at, std::uint64_t& wake_through,
                                        bool& extend) {
  const auto fail = [&](int errnum) {
    fail_batch(errnum, true, me);
    return failure();
  };
  if (state_.failed.load() != 0) {
    again = true;
    return Appended{};
  }
  EnqueuedState state = load_enqueued();
  if (state.position != state_.durable.load()[0] || state.batch_count != 0) {
    state = close_batch(state);
    wake_through = state.batch - 1;
    // With the append lock held: nobody may slip in between what is before this frame and the frame.
    if (!flush_ring(state, true, me)) return failure();
  }
  control_.point("exclusive:drained");

  Context context(*this, state, state.position);
  auto sections = source.build(context, judged_at);
  if (!sections) return std::move(sections).error();
  const std::uint64_t length = kFrameHeaderBytes + sections->late.size() + sections->payload.size();
  const std::uint64_t total = align_up(length, kBatchAlignment);
  if (total > segments_.segment_bytes() || length > kMaxFrameBytes) {
    return make_error(Code::invalid, fmt::format("a transaction of {} bytes does not fit into one frame", length),
                      "record fewer paths at once");
  }
  if (!fits_segment(state.position, total)) {
    if (auto rolled = roll_segment(me); !rolled) {
      if (rolled.error().code == Code::busy) return std::move(rolled).error();  // nothing was touched
      return fail(errno_of(rolled.error()));
    }
    control_.point("exclusive:rolled");
    // Positions changed: judge again, for links in the sections may depend on them.
    again = true;
    return Appended{};
  }

  FrameHeader header;
  header.kind = source.kind();
  header.length = static_cast<std::uint32_t>(length);
  header.late_length = static_cast<std::uint32_t>(sections->late.size());
  header.position = state.position;
  header.durable = state.position;
  header.transaction = transaction;
  header.previous = state.chain;
  header.payload_checksum = sections->payload_checksum;
  char header_bytes[kFrameHeaderBytes];
  encode_header(header, sections->late, header_bytes);
  const Bytes padding(total - length, '\0');
  const ByteView parts[] = {ByteView(header_bytes, sizeof(header_bytes)), sections->late, sections->payload, padding};
  zero_mutex_.lock(me, notice_);
  SharedUnlock zero_lock(zero_mutex_);
  std::uint64_t zeroed = header.position + total;
  const bool grows = zeroed > state_.zeroed_end.load();
  const auto write = [&]() -> Result<void> {
    WEFT_TRY(File* const file, writer(header.position));
    WEFT_DO(file->write_at(header.position % segments_.segment_bytes(), parts));
    control_.point("exclusive:written");
    if (grows) {
      // The file grows in any case, which is what a flush pays for: what the next commits need grows with it, instead
      // of by a flush of its own. A step of the smallest, for others wait. A failure here is nobody's failure.
      const std::uint64_t ahead = std::min(zeroed + kFirstZeroStep, segments_.segment_end(header.position));
      if (ahead > zeroed && segments_.write_zeros(zeroed, ahead, false)) zeroed = ahead;
    }
    return file->sync();
  };
  const int failed = errno_of(write);
  if (failed == 0 && !control_.killed()) {
    state_.zeroed_end.store(std::max(state_.zeroed_end.load(), zeroed));
    state_.zero_bytes.fetch_add(zeroed - (header.position + total), std::memory_order_relaxed);
  }
  zero_lock.now();
  if (failed != 0) {
    segments_.forget_writers();
    return fail(failed);
  }
  state_.transactions.fetch_add(1, std::memory_order_relaxed);
  state_.batches.fetch_add(1, std::memory_order_relaxed);
  state_.flushes.fetch_add(1, std::memory_order_relaxed);
  state_.writes.fetch_add(1, std::memory_order_relaxed);
  state_.bytes_written.fetch_add(total, std::memory_order_relaxed);
  control_.point("exclusive:flushed");

  source.placed(header.position, header.position + kFrameHeaderBytes + sections->late.size());
  client_.frame_durable(header, sections->late, header.position);
  state.position = header.position + total;
  state.chain = header.checksum;
  state.client = sections->client;
  state.ring_floor = state.position;
  // Durable first: the other way round a death in between would have the next leader write these positions from the
  // ring.
  publish_durable(DurableState{state.position, state.chain, state.client});
  control_.point("exclusive:durable");
  publish_enqueued(state);
  // What grew has its zeros; whoever leads a batch into them writes more. At a segment's end the next one is due.
  extend = !grows || zeroed == segments_.segment_end(header.position);
  return Appended{header.position, state.position};
}

void Log::extend_ahead(OwnerToken me) {
  const std::uint64_t durable_position = state_.durable.load()[0];
  const std::uint64_t zeroed = state_.zeroed_end.load(std::memory_order_acquire);
  const std::uint64_t step = zero_step(durable_position % segments_.segment_bytes());
  const std::uint64_t segment_stop = segments_.segment_end(durable_position);
  const bool segment_full = zeroed >= segment_stop;
  const bool prepare_next = segment_full && state_.next_segment.load() != segment_stop &&
                            segment_stop - durable_position < segments_.segment_bytes() / 4;
  if (!prepare_next && (segment_full || zeroed > durable_position + step / 2)) return;
  SharedMutex::Acquired acquired;
  if (!zero_mutex_.try_lock(me, acquired)) return;
  const SharedUnlock zero_lock(zero_mutex_);
  // Nobody waits for this, and a failure here is nobody's failure yet.
  (void)errno_of([&]() -> Result<void> {
    prepare(durable_position, step, segment_stop, prepare_next);
    return {};
  });
}

void Log::prepare(std::uint64_t durable_position, std::uint64_t step, std::uint64_t segment_stop, bool prepare_next) {
  control_.point("extend:locked");
  if (!control_.current()) return;
  const std::uint64_t from = state_.zeroed_end.load();
  if (prepare_next) {
    if (state_.next_segment.load() != segment_stop &&
        segments_.segment_start(from - 1) + segments_.segment_bytes() == segment_stop) {
      prepare_segment(segment_stop, std::min(step, segments_.segment_bytes()));
    }
    return;
  }
  // Without room, smaller steps down to one batch.
  for (std::uint64_t size = step; size >= kBatchAlignment; size /= 2) {
    const std::uint64_t to = std::min(from + size, segment_stop);
    if (from >= to || segments_.segment_start(from) != segments_.segment_start(durable_position)) break;
    const auto filled = segments_.write_zeros(from, to);
    if (filled) {
      if (!control_.killed()) {
        state_.zeroed_end.store(to, std::memory_order_release);
        state_.zero_bytes.fetch_add(to - from, std::memory_order_relaxed);
        state_.zero_flushes.fetch_add(1, std::memory_order_relaxed);
      }
      break;
    }
    if (filled.error().code != Code::no_space) break;
  }
}

void Log::prepare_segment(std::uint64_t start, std::uint64_t zeros) {
  if (!segments_.create(start, zeros) || control_.killed()) return;
  state_.next_zeroed.store(start + zeros);
  state_.next_segment.store(start);
  state_.zero_bytes.fetch_add(zeros, std::memory_order_relaxed);
  state_.zero_flushes.fetch_add(1, std::memory_order_relaxed);
}

Result<Log::SegmentStart> Log::begin_segment() {
  WEFT_TRY(const OwnerToken me, token());
  // Ahead of the locks, or writers would wait for the making of a file.
  WEFT_DO(still_here());
  {
    zero_mutex_.lock(me, notice_);
    const SharedUnlock zero_lock(zero_mutex_);
    const std::uint64_t stands = this->durable().position;
    const std::uint64_t next = segments_.segment_end(stands == 0 ? 0 : stands - 1);
    if (stands != next && state_.next_segment.load() != next) {
      prepare_segment(next, std::min(kFirstZeroStep, segments_.segment_bytes()));
    }
  }
  control_.point("segment:prepared");

  leader_mutex_.lock(me, notice_);
  SharedUnlock leader_lock(leader_mutex_);
  const HoldStops hold;
  lock_append(append_mutex_, me);
  SharedUnlock append_lock(append_mutex_);
  const std::int64_t locked_ns = env_.clock.monotonic_ns();
  std::uint64_t wake_through = 0;
  auto begun = [&]() -> Result<DurableState> {
    if (damaged()) return weft::damaged("the log has lost bytes that were durable", "run `weft verify`");
    if (state_.failed.load() != 0) return failure();
    EnqueuedState state = load_enqueued();
    if (state.position != this->durable().position || state.batch_count != 0) {
      state = close_batch(state);
      wake_through = state.batch - 1;
      if (!flush_ring(state, true, me)) return failure();
    }
    control_.point("segment:drained");
    const DurableState durable = this->durable();
    if (durable.position % segments_.segment_bytes() != 0) {
      WEFT_DO(roll_segment(me));  // nothing was enqueued: a failure is nobody's
    }
    return this->durable();
  }();
  append_lock.now();
  SegmentStart start;
  start.held_ns = env_.clock.monotonic_ns() - locked_ns;
  leader_lock.now();
  if (wake_through != 0) wake_batches(wake_through);
  if (!begun) return std::move(begun).error();
  start.state = *begun;
  return start;
}

Result<void> Log::flush_to(std::uint64_t position) {
  WEFT_TRY(const OwnerToken me, token());
  constexpr int kMaxRounds = 1000;
  for (int round = 0; round < kMaxRounds && state_.durable.load()[0] < position; ++round) {
    // What was enqueued when the position was read may have been given up since: then nothing will ever lie before it.
    if (state_.failed.load() != 0 || load_enqueued().position < position) return failure();
    lead(position, me);
  }
  if (state_.durable.load()[0] < position) return make_error(Code::busy, "the log could not be flushed", "try again");
  return {};
}

Result<void> Log::with_append_lock(const std::function<Result<void>(AppendContext&)>& action) {
  WEFT_TRY(const OwnerToken me, token());
  lock_append(append_mutex_, me);
  const SharedUnlock append_lock(append_mutex_);
  EnqueuedState state = load_enqueued();
  Context context(*this, state, state_.durable.load()[0]);
  return action(context);
}

Result<void> Log::declare_damaged(const std::function<Result<std::pair<LogPoint, ClientWords>>()>& recover) {
  WEFT_TRY(const OwnerToken me, token());
  leader_mutex_.lock(me, notice_);
  const SharedUnlock leader_lock(leader_mutex_);
  lock_append(append_mutex_, me);
  const SharedUnlock append_lock(append_mutex_);
  Result<void> result;
  if (!damaged()) {
    segments_.forget_mappings();
    auto recovered = recover();
    if (recovered) {
      state_.damaged.store(1);
      state_.epoch.fetch_add(1);
      EnqueuedState state = load_enqueued();
      const DurableState durable{align_up(recovered->first.position, kBatchAlignment), recovered->first.chain,
                                 recovered->second};
      reset_enqueued(state, durable);
      publish_durable(durable);
      publish_enqueued(state);
    } else {
      result = std::move(recovered).error();
    }
  }
  return result;
}

void Log::prefault() const { control_.prefault(ring_offset_, state_.ring_allocated.load(std::memory_order_relaxed)); }

LogCounters Log::counters() const {
  return {state_.transactions.load(),  state_.batches.load(),    state_.flushes.load(),     state_.writes.load(),
          state_.bytes_written.load(), state_.zero_bytes.load(), state_.zero_flushes.load()};
}

}  // namespace weft::log
