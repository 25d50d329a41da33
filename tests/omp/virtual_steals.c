/* The first threads of each half cannot go on before all others are through: a team whose threads are virtual ends only
   if those of a carrier that is stuck are taken by another. Every thread is a real one or one of several on a carrier; the
   others of the same carrier have not begun (first region) or wait at a barrier (second; only with `started`). */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#ifdef WITH_ERRNO
#include <errno.h>
#endif

int main(int count, char** arguments) {
  const int started = count > 1 && strcmp(arguments[1], "started") == 0;
  int through = 0;
#pragma omp parallel
  {
    const int threads = omp_get_num_threads();
    if (omp_get_thread_num() != 0) {
      __atomic_fetch_add(&through, 1, __ATOMIC_RELAXED);
    } else {
      while (__atomic_load_n(&through, __ATOMIC_RELAXED) < threads - 1) continue;
    }
#pragma omp barrier
    if (started) {
      if (omp_get_thread_num() != 0) {
        __atomic_fetch_add(&through, 1, __ATOMIC_RELAXED);
      } else {
        while (__atomic_load_n(&through, __ATOMIC_RELAXED) < 2 * (threads - 1)) continue;
      }
    }
  }
#ifdef WITH_ERRNO
  /* Each thread has its own; the program's thread is the first of the region. */
  int wrong = 0;
  errno = 1000;
#pragma omp parallel reduction(+ : wrong)
  {
    if (omp_get_thread_num() == 0) wrong += errno != 1000;
    errno = 2000 + omp_get_thread_num();
#pragma omp barrier
    wrong += errno != 2000 + omp_get_thread_num();
  }
  if (wrong != 0 || errno != 2000) printf("%d threads had a wrong errno, %d after the region\n", wrong, errno);
#endif
  printf("all through\n");
  return 0;
}
