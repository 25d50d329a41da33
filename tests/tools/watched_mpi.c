/* What top_command_test.cpp watches: watched_mpi FOLDER. Rank 0 sends 100 short messages and a large one to each other
   rank, then computes (outside of MPI) until FOLDER/go is there; the others wait for its message meanwhile. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE_BYTES = 4 << 20 };

static void path_of(char* to, size_t room, const char* folder, const char* file) {
  snprintf(to, room, "%s/%s", folder, file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int value = 0;
  for (int round = 0; round < 100; ++round) {
    if (rank == 0)
      for (int other = 1; other < size; ++other) MPI_Send(&round, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  char* const large = calloc(LARGE_BYTES, 1);
  if (rank == 0)
    for (int other = 1; other < size; ++other) MPI_Send(large, LARGE_BYTES, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(large, LARGE_BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(large);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    char ready[1024], go[1024];
    path_of(ready, sizeof ready, argv[1], "ready");
    path_of(go, sizeof go, argv[1], "go");
    fclose(fopen(ready, "w"));
    while (access(go, F_OK) != 0) usleep(2000);
    for (int other = 1; other < size; ++other) MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
