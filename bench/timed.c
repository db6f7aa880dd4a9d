// timed RESULT COMMAND...: runs COMMAND and writes what it cost to the file RESULT, one line of numbers:
//   status wall_ns user_us sys_us peak_kib written_blocks voluntary_switches involuntary_switches
// status is the exit code, or 128 + the signal. COMMAND's children count as far as it waited for them.
//
// A program of its own, static and small, because a process inherits the peak memory of the one that started it (Linux
// notes the old image's peak at exec): started from Python, nothing would ever show less than Python's own 30 MB.
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000ll + time.tv_usec; }

int main(int argc, char** argv, char** environment) {
  if (argc < 3) {
    fputs("usage: timed RESULT COMMAND...\n", stderr);
    return 125;
  }
  pid_t child = 0;
  const long long start = now_ns();
  const int error = posix_spawn(&child, argv[2], NULL, NULL, argv + 2, environment);
  if (error != 0) {
    fprintf(stderr, "timed: cannot start %s: %s\n", argv[2], strerror(error));
    return 125;
  }
  int status = 0;
  struct rusage used;
  while (wait4(child, &status, 0, &used) < 0) {
    if (errno != EINTR) return 125;
  }
  const long long wall = now_ns() - start;
  FILE* result = fopen(argv[1], "w");
  if (result == NULL) {
    fprintf(stderr, "timed: cannot write %s\n", argv[1]);
    return 125;
  }
  fprintf(result, "%d %lld %lld %lld %ld %ld %ld %ld\n",
          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), wall, microseconds(used.ru_utime),
          microseconds(used.ru_stime), used.ru_maxrss, used.ru_oublock, used.ru_nvcsw, used.ru_nivcsw);
  return fclose(result) == 0 ? 0 : 125;
}
