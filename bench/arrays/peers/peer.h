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

/* What a peer has. Each does `count` operations on what process 1 has; NULL: the library has no such operation. */
struct peer_operations {
  void (*get8)(long count);
  void (*put8)(long count);
  void (*fetch_add)(long count);
  void (*random_dependent)(long count); /* gets, each of where the one before says */
  void (*random_get)(long count);
  void (*random_put)(long count);
  void (*xor_word)(long count); /* of random words */
  void (*get_1MiB)(long count);
  void (*put_1MiB)(long count);
  void (*tile256)(long count);
  void (*column2048)(long count);
  void (*get_of_size)(long count); /* size_of_access bytes */
  void (*put_of_size)(long count);
};
static long size_of_access;

static void measure_sizes(const struct peer_operations* can) {
  for (size_t i = 0; i < sizeof access_sizes / sizeof access_sizes[0]; ++i) {
    char name[32];
    size_of_access = access_sizes[i];
    snprintf(name, sizeof name, "get/%ld", size_of_access);
    measure(name, can->get_of_size);
    snprintf(name, sizeof name, "put/%ld", size_of_access);
    measure(name, can->put_of_size);
  }
}

/* On process 0. Of the group `busy`, which needs process 1, nothing: a peer that has it measures it itself. */
static void run_group(const char* group, const struct peer_operations* can) {
  const struct {
    const char *group, *series;
    void (*operation)(long count);
  } rows[] = {{"singles", "get8", can->get8},
              {"singles", "put8", can->put8},
              {"singles", "fetch_add", can->fetch_add},
              {"random", "random_dependent", can->random_dependent},
              {"random", "random_get", can->random_get},
              {"random", "random_put", can->random_put},
              {"random", "xor", can->xor_word},
              {"sections", "get_1MiB", can->get_1MiB},
              {"sections", "put_1MiB", can->put_1MiB},
              {"sections", "tile256", can->tile256},
              {"sections", "column2048", can->column2048}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (strcmp(group, rows[i].group) == 0 && rows[i].operation != NULL) measure(rows[i].series, rows[i].operation);
  if (strcmp(group, "sizes") == 0) measure_sizes(can);
}

static int is_group(const char* name) {
  static const char* const groups[] = {"singles", "random", "sections", "sizes", "busy"};
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i)
    if (strcmp(name, groups[i]) == 0) return 1;
  return 0;
}

/* The first word of the arguments; binds this process. */
static const char* read_arguments(int argc, char** argv, int process) {
  if (argc < 2 || !is_group(argv[1])) {
    if (process == 0) fprintf(stderr, "peer: the first argument must be singles, random, sections, sizes or busy\n");
    exit(2);
  }
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
  return argv[1];
}

#endif
