/* How the ranks agree while they start: counts the collective operations of the library that MPI_Init brings with it.
   The drop-in calls them by these names, so what a program defines comes first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int calls;

#define COUNTED(name, parameters, arguments)                                     \
  int name parameters {                                                          \
    ++calls;                                                                     \
    int(*const library) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    return library arguments;                                                    \
  }
COUNTED(PMPI_Allreduce, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op with, MPI_Comm in),
        (from, to, count, type, with, in))
COUNTED(PMPI_Allgather,
        (const void* from, int count, MPI_Datatype type, void* to, int each, MPI_Datatype as, MPI_Comm in),
        (from, count, type, to, each, as, in))
COUNTED(PMPI_Bcast, (void* what, int count, MPI_Datatype type, int root, MPI_Comm in), (what, count, type, root, in))
COUNTED(PMPI_Barrier, (MPI_Comm in), (in))
COUNTED(PMPI_Comm_split_type, (MPI_Comm of, int kind, int key, MPI_Info info, MPI_Comm* made),
        (of, kind, key, info, made))

/* The drop-in's part of MPI_Init begins at the same time everywhere: ranks wait for each other for 5 s only. Where
   BOOTSTRAP_WAITS_FOR names a file, the last rank begins when the file is there. */
int PMPI_Init(int* count, char*** arguments) {
  int (*const init)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_NEXT, "PMPI_Init");
  int (*const barrier)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_NEXT, "PMPI_Barrier");
  const int error = init(count, arguments);
  if (error != MPI_SUCCESS || barrier(MPI_COMM_WORLD) != MPI_SUCCESS) return MPI_ERR_OTHER;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const file = getenv("BOOTSTRAP_WAITS_FOR");
  if (file != NULL && rank == size - 1)
    while (access(file, F_OK) != 0) usleep(100);
  return MPI_SUCCESS;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const int at_start = calls;
  int rank, size, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  static int large[1 << 16];
  int wrong = sum != size * (size + 1) / 2;
  for (int i = 0; i < 1 << 16; ++i) large[i] = rank + i;
  MPI_Sendrecv_replace(large, 1 << 16, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  for (int i = 0; i < 1 << 16; ++i) wrong += large[i] != (rank + size - 1) % size + i;
  if (rank == 0) printf("%s, %d wrong\n", at_start == 0 ? "no collective operations" : "collective operations", wrong);
  MPI_Finalize();
  return wrong != 0;
}
