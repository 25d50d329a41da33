/* Two threads meet at a barrier and then wait for each other by reading variables: they need a thread each. The program
   knows errno, so that virtual threads which have begun stay where they are. Argument: repetitions. */
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int flag[2][32];

int main(int argc, char** argv) {
  errno = 0;
  int repetitions = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 1; i <= repetitions; ++i) {
#pragma omp parallel num_threads(2)
    {
      int me = omp_get_thread_num();
#pragma omp barrier
      flag[me][0] = i;
#pragma omp flush
      while (flag[1 - me][0] < i) {
#pragma omp flush
      }
    }
  }
  printf("met %d times\n", repetitions);
  return errno == 12345;
}
