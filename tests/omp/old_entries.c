/* What compilers before gcc 4.9 emitted: a region in two calls, and its body called by the program itself in between.
   The drop-in does not follow such regions, and leaves their loops to libgomp. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int hits[100];
static int failures = 0;
static long taken = 0;
static long left = 0;

static void add(long* counter, long value) { __atomic_fetch_add(counter, value, __ATOMIC_RELAXED); }
static void hit(uint64_t iteration) { __atomic_fetch_add(&hits[iteration], 1, __ATOMIC_RELAXED); }
static void count_loop(long* counter) {
  if (omp_get_thread_num() == 0) add(counter, 1);
}
static void verify_times(const char* name, int times) {
  int wrong = 0;
  for (int i = 0; i < 100; ++i) wrong += hits[i] != times;
  memset(hits, 0, sizeof hits);
  printf("%s: %d wrong\n", name, wrong);
  failures += wrong > 0;
}

void GOMP_parallel_start(void (*)(void*), void*, unsigned);
void GOMP_parallel_end(void);
_Bool GOMP_loop_dynamic_start(long, long, long, long, long*, long*);
_Bool GOMP_loop_dynamic_next(long*, long*);
void GOMP_loop_end_nowait(void);
void GOMP_parallel_loop_dynamic_start(void (*)(void*), void*, unsigned, long, long, long, long);

static void old_body(void* unused) {
  (void)unused;
  long first, end;
  add(&left, 1);
  if (GOMP_loop_dynamic_start(0, 100, 1, 3, &first, &end)) do {
      for (long i = first; i < end; ++i) hit((uint64_t)i);
    } while (GOMP_loop_dynamic_next(&first, &end));
  GOMP_loop_end_nowait();
}
static void old_loop_body(void* unused) {
  (void)unused;
  long first, end;
  while (GOMP_loop_dynamic_next(&first, &end))
    for (long i = first; i < end; ++i) hit((uint64_t)i);
  GOMP_loop_end_nowait();
}
int main(void) {
  GOMP_parallel_start(old_body, NULL, 3);
  old_body(NULL);
  GOMP_parallel_end();
  verify_times("region in two calls", 1);
  left += 1;
  GOMP_parallel_loop_dynamic_start(old_loop_body, NULL, 3, 0, 100, 1, 3);
  old_loop_body(NULL);
  GOMP_parallel_end();
  verify_times("loop region in two calls", 1);
#pragma omp parallel num_threads(2)
  {
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 4; ++i) {
      GOMP_parallel_start(old_body, NULL, 1);
      old_body(NULL);
      GOMP_parallel_end();
    }
    count_loop(&taken);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 100; ++i) hit((uint64_t)i);
  }
  verify_times("region in two calls inside a loop", 5);
  printf("%s\n", failures == 0 ? "all well" : "FAILED");
  fprintf(stderr, "expected: loops intercepted %ld, passed through to the OpenMP runtime %ld\n", taken, left);
  return failures == 0 ? 0 : 1;
}
