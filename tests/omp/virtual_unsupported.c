/* One of the things that virtual threads are impossible with. */
#include <omp.h>
#include <stdio.h>
#if defined(THREADPRIVATE)
static int mine = 1;
#pragma omp threadprivate(mine)
static int unsupported(void) { return ++mine > 0; }
#elif defined(PTHREADS)
#include <pthread.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int unsupported(void) { return pthread_mutex_lock(&guard) == 0 && pthread_mutex_unlock(&guard) == 0; }
#elif defined(IN_LIBRARY)
int unsupported(void);
#elif defined(CANCELS)
static int unsupported(void) { return omp_get_cancellation() >= 0; }
#else
static int unsupported(void) { return 1; }
#endif

int main(void) {
  int sum = 0;
  const int threads = omp_get_max_threads();
#pragma omp parallel reduction(+ : sum)
  {
    sum += unsupported() != 0;
#if defined(CANCELS)
#pragma omp cancel parallel if (0)
#endif
  }
  printf("%d threads\n", sum);
  return sum != threads;
}
