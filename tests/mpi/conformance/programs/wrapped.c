/* A program with a profiling layer of its own, as the standard's PMPI interface has it: its MPI_Send counts and calls
   PMPI_Send, its other calls are the library's. Whoever carries the messages, PMPI_Send and MPI_Recv must meet. Prints
   how many messages it counted. */
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, target, tag, comm);
}

int main(int argument_count, char** arguments) {
  int rank = 0, size = 0, token = 0, all = 0;
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 20; ++round) {
    if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++token;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Reduce(&sends, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("token %d, %d messages\n", token, all);
  MPI_Finalize();
  return 0;
}
