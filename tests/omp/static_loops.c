/* Static loops as clang compiles them, each iteration checked; and what programs rely on without a barrier: two static
   loops of equally many iterations in one region give every thread the same ones, and chunks are dealt out in turn. One
   thread is slow all the time, so that shares by weights move. The last lines are for the test: loops that a drop-in
   with weights takes, and whether the slow thread was given less in the end. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST 1000
static int hits[MOST];
static int failures = 0;
static long shared = 0;

static void hit(uint64_t iteration) {
  if (iteration < MOST) __atomic_fetch_add(&hits[iteration], 1, __ATOMIC_RELAXED);
}
static void verify(const char* name, uint64_t count) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < MOST; ++i) wrong += hits[i] != (i < count ? 1 : 0);
  memset(hits, 0, sizeof hits);
  if (wrong > 0) ++failures;
  printf("%s %llu: %llu wrong\n", name, (unsigned long long)count, (unsigned long long)wrong);
}
static void rest(long us) {
  const struct timespec time = {0, us * 1000};
  nanosleep(&time, NULL);
}
/* Loops without iterations do not reach the runtime, and one thread alone shares nothing. */
static void count(long loops, int iterations) {
  if (iterations > 0 && omp_get_max_threads() > 1) shared += loops;
}

static void kinds(int n) {
  count(6, n);
#pragma omp parallel for
  for (int i = 0; i < n; ++i) hit((uint64_t)i);
  verify("int", (uint64_t)n);
#pragma omp parallel for schedule(static)
  for (unsigned i = (unsigned)n; i > 0; --i) hit(i - 1);
  verify("unsigned, downwards", (uint64_t)n);
#pragma omp parallel for
  for (int64_t i = 7 * (int64_t)n; i > 0; i -= 7) hit((uint64_t)(i / 7 - 1));
  verify("long, downwards by 7", (uint64_t)n);
#pragma omp parallel for
  for (uint64_t i = UINT64_MAX - 3 * (uint64_t)n; i < UINT64_MAX; i += 3) hit((i - (UINT64_MAX - 3 * (uint64_t)n)) / 3);
  verify("unsigned long, to the end of the type", (uint64_t)n);
  int last = -1;
#pragma omp parallel for lastprivate(last)
  for (int i = 0; i < n; ++i) {
    hit((uint64_t)i);
    last = i;
  }
  verify("lastprivate", (uint64_t)n);
  if (n > 0 && last != n - 1) ++failures;
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  if (sum != (long)n * (n - 1) / 2) ++failures;
}

static void in_turn(int n, int chunk) {
  int wrong = 0;
#pragma omp parallel for schedule(static, chunk) reduction(+ : wrong)
  for (int i = 0; i < n; ++i) {
    hit((uint64_t)i);
    wrong += omp_get_thread_num() != i / chunk % omp_get_num_threads();
  }
  if (wrong > 0) ++failures;
  verify("chunks in turn", (uint64_t)n);
}

/* Many lengths in one region: more than are remembered. */
static void many_lengths(void) {
  static int owner[MOST];
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  for (int n = 1; n <= 20; ++n) {
#pragma omp for nowait
    for (int i = 0; i < n; ++i) owner[100 * (n % 5) + i] = omp_get_thread_num();
#pragma omp for
    for (int i = 0; i < n; ++i) wrong += owner[100 * (n % 5) + i] != omp_get_thread_num();
  }
  count(16, 1); /* eight lengths, twice */
  if (wrong > 0) ++failures;
  printf("many lengths: %d wrong\n", wrong);
}

int main(void) {
  const int sizes[] = {0, 1, 2, 3, 7, 100, 999};
  for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    kinds(sizes[s]);
    in_turn(sizes[s], 4);
  }
  enum { n = 24, regions = 7 };
  static int owner[n];
  int wrong = 0;
  int of_slow = 0;
  for (int region = 0; region < regions; ++region) {
    count(2, n);
    of_slow = 0;
#pragma omp parallel reduction(+ : wrong, of_slow)
    {
#pragma omp for schedule(static) nowait
      for (int i = 0; i < n; ++i) {
        owner[i] = omp_get_thread_num();
        of_slow += omp_get_thread_num() == 0;
        rest(omp_get_thread_num() == 0 ? 4000 : 500);
      }
#pragma omp for schedule(static) nowait
      for (int i = 0; i < n; ++i) wrong += owner[i] != omp_get_thread_num();
    }
  }
  if (wrong > 0) ++failures;
  printf("loops without a barrier between them: %d wrong\n", wrong);
  many_lengths();
  printf("failures: %d\n", failures);
  fprintf(stderr, "expected: static loops by weights %ld\n", shared);
  fprintf(stderr, "the slow thread has %s\n", of_slow * omp_get_max_threads() < n ? "less" : "its equal share");
  return failures > 0;
}
