/* What a blocking MPI call takes that waits for nobody: an all-reduce of four bytes in a communicator of one process.
 * Prints the time of one in nanoseconds, the median of many batches. For the rows mpi/interception of `trireme bench`,
 * which run it alone and under the layer that measures slack. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { batches = 41, calls = 4000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double times[batches];
  int sum = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const double began = now_ns();
    for (int call = 0; call < calls; ++call) {
      int one = call;
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    }
    times[batch] = (now_ns() - began) / calls;
  }
  MPI_Finalize();
  qsort(times, batches, sizeof *times, by_value);
  printf("%.3f ns, last sum %d\n", times[batches / 2], sum);
  return 0;
}
