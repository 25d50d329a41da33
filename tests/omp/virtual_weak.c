/* Knows OpenMP only if somebody brings it. */
#include <stdio.h>

int omp_get_num_threads(void) __attribute__((weak));
int omp_get_max_threads(void) __attribute__((weak));
void omp_set_num_threads(int) __attribute__((weak));
int omp_get_thread_num(void) __attribute__((weak));

int main(void) {
  if (omp_set_num_threads) omp_set_num_threads(5);
  printf("%d %d\n", omp_get_num_threads ? omp_get_num_threads() : 1, omp_get_thread_num ? omp_get_thread_num() : 0);
  return omp_get_max_threads && omp_get_max_threads() < 1;
}
