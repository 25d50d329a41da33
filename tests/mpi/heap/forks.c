/* An unmodified MPI program whose ranks have a heap of so many MiB: they fork children that begin another program, and
   then exchange what they have. Rank 0 prints how many children and messages were wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0, wrong_of_all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t bytes = (size_t)atol(argv[1]) << 20;
  char* const heap = malloc(bytes);
  memset(heap, rank + 1, bytes);
  for (int round = 0; round < 5; ++round) {
    MPI_Barrier(MPI_COMM_WORLD); /* all at the same time */
    const pid_t child = fork();
    if (child == 0) {
      heap[0] = 99;
      execl("/bin/sh", "sh", "-c", "exit 6", (char*)NULL);
      _exit(1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 6 << 8 || heap[0] != rank + 1) ++wrong;
  }
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, count = 4 << 20;
  char* const in = malloc((size_t)count);
  MPI_Sendrecv(heap, count, MPI_CHAR, right, 0, in, count, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int index = 0; index < count; ++index) wrong += in[index] != left + 1;
  MPI_Reduce(&wrong, &wrong_of_all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong\n", ranks, wrong_of_all);
  MPI_Finalize();
  return 0;
}
