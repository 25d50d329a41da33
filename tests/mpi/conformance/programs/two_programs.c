/* Built twice, with PROGRAM 0 and 1: two programs of one job, with static data of the same names. Even ranks run one,
   odd ranks the other. They exchange it, also large; nobody's own changes. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { length = 1 << 18 };
static int here[length]; /* zero at the start: shared by the drop-in where it can be */
static int there[length];
int same_name = 1000 + PROGRAM; /* with a value in the file */

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank % 2 != PROGRAM) ++wrong;
#if PROGRAM == 1
  static int only_here[5000]; /* so that nothing else lies at the same address in both */
  only_here[rank] = rank;
  if (only_here[rank] != rank) ++wrong;
#endif
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < length; ++i) here[i] = rank * 1000 + round + i;
    int name_there = 0;
    MPI_Sendrecv(here, length, MPI_INT, next, 1, there, length, MPI_INT, previous, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&same_name, 1, MPI_INT, next, 2, &name_there, 1, MPI_INT, previous, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < length; ++i) {
      if (here[i] != rank * 1000 + round + i) ++wrong;
      if (there[i] != previous * 1000 + round + i) ++wrong;
    }
    if (name_there != 1000 + previous % 2 || same_name != 1000 + PROGRAM) ++wrong;
  }
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("two programs: %d wrong\n", all);
  MPI_Finalize();
  return wrong != 0;
}
