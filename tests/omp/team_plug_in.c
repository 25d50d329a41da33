/* An OpenMP library whose result shows whether thread numbers, barriers and loops come from one runtime: the sum of the
   numbers below n, and a million for each thread of the team that had a number of its own. */
#include <omp.h>

enum { threads = 3 };
static int n, sum, seen[threads];

void plugged_work(void);
int plugged_sum(int below);

/* The region is the last thing, so its call returns to the caller of this function, which may be in another object. */
void plugged_work(void) {
  sum = 0;
  for (int i = 0; i < threads; ++i) seen[i] = 0;
#pragma omp parallel num_threads(threads)
  {
    seen[omp_get_thread_num() % threads] = 1;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < n; ++i) {
#pragma omp atomic
      sum += i;
    }
#pragma omp single
    for (int i = 0; i < omp_get_num_threads(); ++i) sum += 1000000 * seen[i];
  }
}

/* Of 0: what the last plugged_work() gave. */
int plugged_sum(int below) {
  if (below == 0) return sum;
  n = below;
  plugged_work();
  return sum;
}
