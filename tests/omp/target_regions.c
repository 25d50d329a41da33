/* Target regions without a device run in a team of their own, of the thread that meets them: a loop in one belongs to that
   thread alone (gcc; clang's host code shares it in the enclosing team). */
#include <omp.h>
#include <stdio.h>

static int failures = 0;
static long taken = 0, left = 0;
static void add(long* counter, long value) { __atomic_fetch_add(counter, value, __ATOMIC_RELAXED); }

int main(void) {
  for (int round = 0; round < 20; ++round) {
    int in_region = 0, in_target = 0, behind = 0, threads = 0;
#pragma omp parallel
    {
      if (omp_get_thread_num() == 0) threads = omp_get_num_threads(), add(&taken, 2);
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 40; ++i) __atomic_fetch_add(&in_region, 1, __ATOMIC_RELAXED);
      add(&left, 1);
#pragma omp target map(tofrom : in_target)
      {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; ++i) __atomic_fetch_add(&in_target, 1, __ATOMIC_RELAXED);
      }
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 60; ++i) __atomic_fetch_add(&behind, 1, __ATOMIC_RELAXED);
    }
    failures += in_region != 40 || in_target != 100 * threads || behind != 60;
  }
  printf("%s\n", failures == 0 ? "all well" : "FAILED");
  fprintf(stderr, "expected: loops intercepted %ld, passed through to the OpenMP runtime %ld\n", taken, left);
  return failures == 0 ? 0 : 1;
}
