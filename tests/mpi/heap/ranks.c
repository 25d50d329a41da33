/* An unmodified MPI program: messages of all sizes around a ring, from blocks that come and go. Rank 0 prints in how many windows the
   blocks of the ranks lie; it knows nothing of windows but their size. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  int wrong = 0;
  for (int bytes = 1; bytes <= 4 << 20; bytes *= 4) {
    char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    memset(out, rank + 1, (size_t)bytes);
    MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int index = 0; index < bytes; ++index) wrong += in[index] != left + 1;
    free(out);
    free(in);
  }
  void* block = malloc(100000);
  uint64_t mine = (uint64_t)(uintptr_t)block >> 36, all[64];
  MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  int wrong_of_all = 0;
  MPI_Reduce(&wrong, &wrong_of_all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    int windows = 0;
    for (int one = 0; one < ranks; ++one) {
      int seen = all[one] < 0x300 || all[one] >= 0x400;
      for (int other = 0; other < one; ++other) seen |= all[other] == all[one];
      windows += !seen;
    }
    printf("%d ranks, %d windows, %d wrong\n", ranks, windows, wrong_of_all);
  }
  free(block);
  MPI_Finalize();
  return 0;
}
