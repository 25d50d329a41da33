/* All accesses of a window whose owner computes and calls no MPI: rank 1 only looks at its own memory until rank 0 has
   written the last word there. Under an MPI whose targets have to call, it hangs, and says so after a minute.
   usage: busy_target created|allocated|shared */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { words = 50000, last = words - 1 };

static void access_all(MPI_Win window, long* here) {
  const long one = 1, three = 3, seven = 7;
  const double half = 0.5;
  long before = -1;
  for (long i = 0; i < words; ++i) here[i] = i;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  MPI_Put(here, words - 1, MPI_LONG, 1, 0, words - 1, MPI_LONG, window);
  MPI_Win_unlock(1, window);
  memset(here, 0, words * sizeof *here);
  MPI_Win_lock_all(0, window);
  MPI_Get(here, words - 1, MPI_LONG, 1, 0, words - 1, MPI_LONG, window);
  MPI_Win_flush(1, window);
  for (long i = 0; i < words - 1; ++i) {
    if (here[i] != i) printf("word %ld is %ld\n", i, here[i]);
  }
  MPI_Accumulate(&one, 1, MPI_LONG, 1, 10, 1, MPI_LONG, MPI_SUM, window);
  MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, 10, MPI_SUM, window);
  MPI_Win_flush(1, window);
  if (before != 11) printf("fetched %ld\n", before);
  MPI_Compare_and_swap(&seven, &three, &before, MPI_LONG, 1, 3, window);
  MPI_Win_flush(1, window);
  if (before != 3) printf("swapped %ld\n", before);
  MPI_Accumulate(&half, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, window); /* all bits of word 0 are 0: 0.0 */
  MPI_Win_flush(1, window);
  MPI_Put(&one, 1, MPI_LONG, 1, last, 1, MPI_LONG, window);
  MPI_Win_unlock_all(window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const kind = argc == 2 ? argv[1] : "";
  long* memory = NULL;
  MPI_Win window;
  if (strcmp(kind, "created") == 0) {
    memory = calloc(words, sizeof *memory);
    MPI_Win_create(memory, words * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  } else if (strcmp(kind, "allocated") == 0) {
    MPI_Win_allocate(words * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  } else if (strcmp(kind, "shared") == 0) {
    MPI_Win_allocate_shared(words * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  } else {
    if (rank == 0) fprintf(stderr, "usage: busy_target created|allocated|shared; '%s' is not one of these\n", kind);
    MPI_Finalize();
    return 2;
  }
  memset(memory, 0, words * sizeof *memory);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    long* const here = malloc(words * sizeof *here);
    access_all(window, here);
    free(here);
  } else if (rank == 1) {
    _Atomic long* const word = (_Atomic long*)&memory[last];
    for (int ms = 0; atomic_load(word) == 0; ++ms) {
      if (ms == 60000) {
        printf("rank 1 was not served while it computed\n");
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
      usleep(1000);
    }
    double half = 0;
    memcpy(&half, &memory[0], sizeof half);
    bad = half != 0.5 || memory[3] != 7 || memory[10] != 12 || memory[last - 1] != last - 1;
  }
  MPI_Win_free(&window);
  if (rank == 1) printf("busy_target %s\n", bad ? "FAILED" : "ok");
  if (strcmp(kind, "created") == 0) free(memory);
  MPI_Finalize();
  return bad;
}
