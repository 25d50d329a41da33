/* The first half of the threads waits for the second half by reading a variable, which virtual threads cannot stand. */
#include <omp.h>
#include <stdio.h>

int main(void) {
  int told = 0;
#pragma omp parallel
  {
    int half = omp_get_num_threads() / 2;
    if (omp_get_thread_num() < half) {
      int seen;
      do {
#pragma omp atomic read
        seen = told;
      } while (seen < half);
    } else {
#pragma omp atomic
      ++told;
    }
  }
  printf("told by %d\n", told);
  return 0;
}
