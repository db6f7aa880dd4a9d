/* slow_flush.so: LD_PRELOAD shim that makes every flush slower by a given time, and counts flushes and writes.
 *
 *   WEFT_SLOW_FLUSH_US=1000              added to each flush (0 or absent: only count)
 *   WEFT_SLOW_FLUSH_COUNTERS=FILE        the shared block (slow_flush.h); made and sized if needed; without it the
 * counters are private to the process
 *
 * A flush is whatever makes bytes durable before it returns: fsync, fdatasync, syncfs, sync, msync(MS_SYNC), a write
 * with RWF_DSYNC or RWF_SYNC, any write to a descriptor opened O_DSYNC or O_SYNC; and sync_file_range, which databases
 * use in a flush's place. The call sleeps after the real work, in the caller, as it would with a slower device: calls
 * from different processes overlap, as they do on a device with a queue.
 *
 * Calls the kernel directly: nothing has to be looked up, so it works from the first instruction of a process on. Not
 * seen: static binaries, io_uring, and the C library's own buffered output. */
#define _GNU_SOURCE
#include "slow_flush.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX_FDS 65536
#define EXPORT __attribute__((visibility("default")))

static struct weft_flush_block private_block;
static struct weft_flush_block* block = &private_block;
static struct weft_flush_slot* slot = &private_block.slots[0];
static unsigned char durable_fd[MAX_FDS]; /* opened O_DSYNC or O_SYNC */

static void take_slot(void) {
  slot = &block->slots[__atomic_fetch_add(&block->next_slot, 1, __ATOMIC_RELAXED) % WEFT_SLOW_FLUSH_SLOTS];
}

__attribute__((constructor)) static void start(void) {
  const char* path = getenv("WEFT_SLOW_FLUSH_COUNTERS");
  const char* delay = getenv("WEFT_SLOW_FLUSH_US");
  if (path != NULL && *path != 0) {
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
      struct stat status;
      if (fstat(fd, &status) == 0 &&
          ((size_t)status.st_size >= sizeof(*block) || ftruncate(fd, (off_t)sizeof(*block)) == 0)) {
        void* mapped = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED) block = mapped;
      }
      syscall(SYS_close, fd);
    }
  }
  if (delay != NULL && *delay != 0) {
    __atomic_store_n(&block->delay_us, (uint32_t)strtoul(delay, NULL, 10), __ATOMIC_RELAXED);
  }
  take_slot();
  pthread_atfork(NULL, NULL, take_slot);
}

EXPORT struct weft_flush_block* weft_slow_flush_block(void) { return block; }

static void add(uint64_t* counter, uint64_t n) { __atomic_fetch_add(counter, n, __ATOMIC_RELAXED); }

static void sleep_in_flush(void) {
  const uint32_t delay_us = __atomic_load_n(&block->delay_us, __ATOMIC_RELAXED);
  if (delay_us == 0) return;
  const int kept = errno;
  struct timespec now, until;
  clock_gettime(CLOCK_MONOTONIC, &now);
  until = now;
  until.tv_nsec += (long)(delay_us % 1000000) * 1000;
  until.tv_sec += delay_us / 1000000 + until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
  add(&slot->delayed_ns, (uint64_t)delay_us * 1000);
  errno = kept;
}

static int flushed(long result) {
  add(&slot->flushes, 1);
  sleep_in_flush();
  return (int)result;
}

static ssize_t wrote(int fd, long result, int durable) {
  add(&slot->writes, 1);
  if (result > 0) add(&slot->write_bytes, (uint64_t)result);
  if (durable || (fd >= 0 && fd < MAX_FDS && durable_fd[fd])) {
    add(&slot->flushes, 1);
    sleep_in_flush();
  }
  return result;
}

EXPORT int fsync(int fd) { return flushed(syscall(SYS_fsync, fd)); }
EXPORT int fdatasync(int fd) { return flushed(syscall(SYS_fdatasync, fd)); }
EXPORT int syncfs(int fd) { return flushed(syscall(SYS_syncfs, fd)); }
EXPORT void sync(void) { (void)flushed(syscall(SYS_sync)); }
EXPORT int msync(void* address, size_t length, int flags) {
  const long result = syscall(SYS_msync, address, length, flags);
  return (flags & MS_SYNC) ? flushed(result) : (int)result;
}
EXPORT int sync_file_range(int fd, off_t offset, off_t count, unsigned flags) {
  const long result = syscall(SYS_sync_file_range, fd, offset, count, flags);
  add(&slot->range_syncs, 1);
  sleep_in_flush();
  return (int)result;
}

EXPORT ssize_t write(int fd, const void* data, size_t size) { return wrote(fd, syscall(SYS_write, fd, data, size), 0); }
EXPORT ssize_t writev(int fd, const struct iovec* parts, int count) {
  return wrote(fd, syscall(SYS_writev, fd, parts, count), 0);
}
EXPORT ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return wrote(fd, syscall(SYS_pwrite64, fd, data, size, offset), 0);
}
EXPORT ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }
EXPORT ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t offset) {
  return wrote(fd, syscall(SYS_pwritev, fd, parts, count, offset, 0), 0);
}
EXPORT ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  return pwritev64(fd, parts, count, offset);
}
EXPORT ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, off64_t offset, int flags) {
  return wrote(fd, syscall(SYS_pwritev2, fd, parts, count, offset, 0, flags), flags & (RWF_DSYNC | RWF_SYNC));
}
EXPORT ssize_t pwritev2(int fd, const struct iovec* parts, int count, off_t offset, int flags) {
  return pwritev64v2(fd, parts, count, offset, flags);
}

static int opened(long fd, int flags) {
  if (fd >= 0 && fd < MAX_FDS) durable_fd[fd] = (flags & O_DSYNC) != 0; /* O_SYNC contains O_DSYNC */
  return (int)fd;
}
static int open_any(int directory, const char* path, int flags, mode_t mode) {
  return opened(syscall(SYS_openat, directory, path, flags, mode), flags);
}
static mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}
#define OPEN(NAME, DECLARATION, DIRECTORY)         \
  EXPORT int NAME DECLARATION {                    \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    return open_any(DIRECTORY, path, flags, mode); \
  }
OPEN(open, (const char* path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char* path, int flags, ...), AT_FDCWD)
OPEN(openat, (int directory, const char* path, int flags, ...), directory)
OPEN(openat64, (int directory, const char* path, int flags, ...), directory)
/* What _FORTIFY_SOURCE turns calls without a mode into. */
EXPORT int __open_2(const char* path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
EXPORT int __open64_2(const char* path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
EXPORT int __openat_2(int directory, const char* path, int flags) { return open_any(directory, path, flags, 0); }
EXPORT int __openat64_2(int directory, const char* path, int flags) { return open_any(directory, path, flags, 0); }
EXPORT int close(int fd) {
  if (fd >= 0 && fd < MAX_FDS) durable_fd[fd] = 0;
  return (int)syscall(SYS_close, fd);
}
