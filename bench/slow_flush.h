/* What slow_flush.so shares with whoever reads its counters: one block, mapped by every process of a run.
 *
 * Plain C, also included from C++. All fields are accessed with __atomic builtins.
 * A process adds to a slot of its own as long as there are no more than 256 of them, so that counting costs no
 * cache-line traffic between writers. */
#ifndef WEFT_BENCH_SLOW_FLUSH_H
#define WEFT_BENCH_SLOW_FLUSH_H

#include <stdint.h>

#define WEFT_SLOW_FLUSH_SLOTS 256

struct weft_flush_slot {
  uint64_t flushes;     /* fsync, fdatasync, syncfs, sync, msync(MS_SYNC), writes that are durable when they return */
  uint64_t range_syncs; /* sync_file_range */
  uint64_t writes;      /* write, pwrite, writev, pwritev, pwritev2 */
  uint64_t write_bytes; /* what those returned */
  uint64_t delayed_ns;  /* time slept */
  uint64_t pad[3];
};

struct weft_flush_block {
  uint32_t delay_us; /* added to every flush; may be changed while a run is going on */
  uint32_t next_slot;
  uint64_t pad[7];
  struct weft_flush_slot slots[WEFT_SLOW_FLUSH_SLOTS];
};

#ifdef __cplusplus
extern "C" {
#endif
/* The block of this process; found with dlsym, so that a program also runs without the shim. */
struct weft_flush_block* weft_slow_flush_block(void);
#ifdef __cplusplus
}
#endif
#endif
