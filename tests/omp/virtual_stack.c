/* Uses so many KiB of the stack of each thread; `first`: of the first thread only. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static long use(size_t size) {
  volatile char* const room = __builtin_alloca(size);
  long sum = 0;
  for (size_t from_top = 4096; from_top <= size; from_top += 4096) room[size - from_top] = 1;
  for (size_t from_top = 4096; from_top <= size; from_top += 4096) sum += room[size - from_top];
  return sum;
}

int main(int count, char** arguments) {
  const size_t size = strtoul(arguments[1], NULL, 10) << 10;
  const int first_only = count > 2 && strcmp(arguments[2], "first") == 0;
  long sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    if (!first_only || omp_get_thread_num() == 0) sum += use(size);
#pragma omp barrier
    if (!first_only || omp_get_thread_num() == 0) sum -= use(size);
  }
  printf("%ld\n", sum);
  return 0;
}
