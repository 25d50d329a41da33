/* Nonblocking duplications as the first calls of a program: whatever a drop-in looks up by the library then must have
   been there before. */
#include <mpi.h>
#include <stdio.h>

enum { duplicates = 10 };

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm made[duplicates];
  MPI_Request requests[duplicates];
  for (int i = 0; i < duplicates; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &made[i], &requests[i]);
  MPI_Waitall(duplicates, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < duplicates; ++i) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made[i]);
    wrong += sum != size * (size - 1) / 2;
    MPI_Comm_free(&made[i]);
  }
  if (rank == 0) printf("first calls: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong;
}
