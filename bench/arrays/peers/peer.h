/* What the peers of `trireme bench arrays` have in common: how they are called, and the batches. A peer is an ordinary
   program of two processes; the first reads and writes what the second has.

     PEER GROUP --cpus 0,1 --seconds S

   GROUP: singles, random, sections, sizes, busy. Process i binds itself to the i-th of the CPUs. Process 0 prints lines
   that begin with the name of a series and go on with its samples, nanoseconds for each operation, and at the end
   `done`. The same operations, in the same order of addresses, as bench/arrays/access_rows.cpp. */
#ifndef TRIREME_BENCH_ARRAYS_PEER_H
#define TRIREME_BENCH_ARRAYS_PEER_H
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  table_words = 8 << 20, /* of process 1: 64 MiB, more than any cache */
  matrix_rows = 2048,    /* of doubles, as many columns */
  tile_extent = 256,     /* a tile of the matrix begins at row and column `tile_first` */
  tile_first = 512,
  words_of_mebibyte = (1 << 20) / 8,
  in_flight = 512, /* accesses before one waits for them */
  largest_size = 65536,
  compute_ms = 2, /* busy: how long process 1 computes without a call */
};
static const long access_sizes[] = {8, 64, 512, 4096, 16384, 65536};

static double seconds = 0.3;

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static inline void keep(uint64_t value) { __asm__ volatile("" : : "r"(value)); }

/* A word that lies in the cache, as in a loop over few elements. */
static inline long near_word(long i) { return i % 512 * 8; }

/* Of Marsaglia 2003; each batch has the same words. */
static uint64_t random_state;
static inline void begin_random(void) { random_state = 88172645463325252u; }
static inline long random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (long)(random_state % table_words);
}
/* Each word names the next: a linear congruential sequence of full period, whose steps no prefetcher follows. */
static inline uint64_t next_word(uint64_t at) { return (at * 2862933555777941757u + 3037000493u) % table_words; }

static inline void compute_until(double end_ns) {
  volatile double value = 1;
  while (now_ns() < end_ns)
    for (int i = 0; i < 200; ++i) value = value * 0.999999 + 1e-6;
}

/* Calls operation(n), which does n operations, on process 0 alone: batches of about a millisecond. Of an operation that
   takes most of a second one is enough. */
static void measure(const char* name, void (*operation)(long count)) {
  const double batch_ns = 1e6, warm_up_ns = seconds < 0.2 ? 5e6 : 2e7;
  double least = 1e18;
  const double first = now_ns();
  operation(1);
  const double begin = now_ns();
  long count = 1;
  int samples = 0, warm = 0;
  printf("%s", name);
  if (begin - first > 3e8) {
    printf(" %.2f\n", begin - first);
    fflush(stdout);
    return;
  }
  for (double end = begin + warm_up_ns;;) {
    const double start = now_ns();
    operation(count);
    const double stop = now_ns(), each = (stop - start) / (double)count;
    if (warm) {
      printf(" %.2f", each);
      ++samples;
    }
    if (each < least) least = each;
    count = (long)(batch_ns / least) > 1 ? (long)(batch_ns / least) : 1;
    if (!warm && stop > end) {
      warm = 1;
      end = stop + seconds * 1e9;
    } else if (warm && stop > end && samples >= 3) {
      break;
    }
  }
  printf("\n");
  fflush(stdout);
}

/* The first word of the arguments; binds this process. */
static const char* read_arguments(int argc, char** argv, int process) {
  const char* cpus = "";
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--cpus") == 0) cpus = argv[i + 1];
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
  }
  int cpu[2] = {-1, -1};
  if (sscanf(cpus, "%d,%d", &cpu[0], &cpu[1]) == 2) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu[process % 2], &own);
    sched_setaffinity(0, sizeof own, &own);
  }
  return argc > 1 ? argv[1] : "";
}

#endif
