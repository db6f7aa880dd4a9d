// What the processes that share a log know about it, in the control block. Not truth: see base/shared_control.h.
//
// Enqueued and durable state are published as a whole: the words are written to the copy not in use, then the sequence
// number moves, so a writer killed between two words leaves the old state standing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "log/shared_mutex.h"

namespace weft::log {

/// N words that change together. One writer at a time (under a SharedMutex); readers never wait.
template <std::size_t N>
class PublishedWords {
 public:
  using Words = std::array<std::uint64_t, N>;
  Words load() const {
    Words words;
    for (;;) {
      const std::uint64_t sequence = sequence_.load(std::memory_order_acquire);
      const auto& from = copies_[sequence & 1];
      for (std::size_t i = 0; i < N; ++i) words[i] = from[i].load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      // The copy read from is written again only after the sequence has moved.
      if (sequence_.load(std::memory_order_relaxed) == sequence) return words;
    }
  }
  void store(const Words& words) {
    const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
    auto& to = copies_[(sequence + 1) & 1];
    for (std::size_t i = 0; i < N; ++i) to[i].store(words[i], std::memory_order_relaxed);
    sequence_.store(sequence + 1, std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t> sequence_;
  std::array<std::array<std::atomic<std::uint64_t>, N>, 2> copies_;
};

/// Words of the log's client that move with the frames: what they mean is the client's business.
inline constexpr std::size_t kClientWords = 4;
using ClientWords = std::array<std::uint64_t, kClientWords>;

struct EnqueuedState {
  std::uint64_t position = 0;     ///< where the next frame goes
  std::uint64_t chain = 0;        ///< checksum of the last frame
  std::uint64_t batch = 0;        ///< number of the open batch
  std::uint64_t batch_count = 0;  ///< frames in it
  std::uint64_t ring_floor = 0;   ///< the ring holds nothing before this
  ClientWords client{};
};
struct DurableState {
  std::uint64_t position = 0;
  std::uint64_t chain = 0;
  ClientWords client{};
};

inline constexpr std::size_t kBatchWords = 64;

struct SharedLogState {
  SharedMutexWord append;
  char pad0[60];
  SharedMutexWord leader;
  char pad1[60];
  SharedMutexWord zero;
  char pad2[60];
  PublishedWords<5 + kClientWords> enqueued;
  char pad3[64];
  PublishedWords<2 + kClientWords> durable;
  char pad4[64];
  SharedControl::Word batch_done[kBatchWords];      ///< counts up when that batch is durable or has failed
  std::atomic<std::uint32_t> waiters[kBatchWords];  ///< sleepers on that word; too many after a death, never too few
  std::atomic<std::uint64_t> woken_batch;
  std::atomic<std::uint32_t> epoch;    ///< counts failed batches: positions behind `durable` were given up
  std::atomic<std::uint32_t> failed;   ///< errno of the failure, 0 while healthy
  std::atomic<std::uint32_t> damaged;  ///< nothing may be written before `repair --accept-loss`
  SharedControl::Word fill;            ///< the leader waits here for its batch to fill
  std::atomic<std::uint32_t> fill_target;
  std::atomic<std::uint64_t> last_sizes[2];
  std::atomic<std::uint64_t> fill_cap, fill_cap_until;  ///< so many writers came at most, believed until that batch
  std::atomic<std::uint64_t> flush_average_ns;
  std::atomic<std::uint64_t> zeroed_end;  ///< the current segment is written (with zeros) up to here
  std::atomic<std::uint64_t> next_segment;  ///< start of a prepared next segment; 0 none
  std::atomic<std::uint64_t> next_zeroed;   ///< its zeroed end
  std::atomic<std::uint64_t> ring_allocated;
  // Counters since the block was made.
  std::atomic<std::uint64_t> transactions, batches, flushes, writes, bytes_written, zero_bytes, zero_flushes;
};

}  // namespace weft::log
