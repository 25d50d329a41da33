/* A small MPI+OpenMP program as people write them: every rank has its part of the work, then all meet in a reduction. The
   work of rank 1 takes ten times as long, 100 ms on two threads, so rank 0 waits in the reduction, and rank 1 hardly does.
   Iterations sleep instead of computing: that takes about as long on a busy machine as on an idle one. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct timespec work = {0, rank == 1 ? 5000000 : 500000};
  enum { items = 40, steps = 5 };
  long total = 0;
  for (int step = 0; step < steps; ++step) {
    long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < items; ++i) {
      nanosleep(&work, NULL);
      sum += i;
    }
    long all = 0;
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    total += all;
  }
  if (rank == 0) printf("%d ranks: %ld\n", ranks, total);
  MPI_Finalize();
  return total != (long)steps * ranks * (items * (items - 1) / 2);
}
