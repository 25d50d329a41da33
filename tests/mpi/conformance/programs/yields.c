/* Which waits give the core away, of many ranks on fewer cores. A wait of the drop-in sleeps; when it asks the MPI
   library for progress, the library must not give the core away: where others compute, that costs a slice of the
   scheduler's for each synchronisation. A wait in the library itself must do it: the rank that is waited for may need
   the core. Prints how often a library other than the drop-in called sched_yield while the ranks met, and whether it
   did on all ranks that waited in it for rank 0. That one comes when all others have given their cores away, or when
   they have waited for so long.
   usage: yields LONGEST_MS */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long by_library;

/* A rank in its wait for rank 0. */
enum { not_there, waits, waits_and_has_yielded };
static atomic_int alone;
static atomic_int* _Atomic my_state = &alone; /* in memory that all ranks share, as soon as there is any */

static void count_yield(void) {
  int expected = waits;
  atomic_fetch_add(&by_library, 1);
  atomic_compare_exchange_strong(atomic_load(&my_state), &expected, waits_and_has_yielded);
}

int sched_yield(void) {
  Dl_info caller;
  /* What the drop-in puts before MPICH's progress counts as the library's. */
  if (dladdr(__builtin_return_address(0), &caller) == 0 || strstr(caller.dli_fname, "libtrireme") == NULL ||
      (caller.dli_sname != NULL && strcmp(caller.dli_sname, "ucp_worker_progress") == 0))
    count_yield();
  return (int)syscall(SYS_sched_yield);
}

/* The states of all ranks, in a file of rank 0 that has no name. */
static atomic_int* shared_states(int rank, int size) {
  int place[2] = {0, -1}; /* process, descriptor */
  char name[64];
  const size_t bytes = (size_t)size * sizeof(atomic_int);
  if (rank == 0) {
    place[0] = (int)getpid();
    place[1] = memfd_create("yields", 0);
    if (place[1] < 0 || ftruncate(place[1], (off_t)bytes) != 0) {
      perror("memfd_create");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Bcast(place, 2, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "/proc/%d/fd/%d", place[0], place[1]);
  const int file = open(name, O_RDWR | O_CLOEXEC);
  void* const memory = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    perror(name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return memory;
}

static int others_are(int state, atomic_int* states, int size) {
  int all = 1;
  for (int other = 1; other < size; ++other) all = all && atomic_load(&states[other]) >= state;
  return all;
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long longest_us = argument_count == 2 ? 1000 * atol(arguments[1]) : 0;
  if (longest_us <= 0) {
    if (rank == 0) fprintf(stderr, "usage: yields LONGEST_MS, such as 100\n");
    MPI_Finalize();
    return 2;
  }
  atomic_int* const states = shared_states(rank, size);
  atomic_store(&my_state, &states[rank]);
  const long first = 1;
  long sum = 0;
  MPI_Allreduce(&first, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); /* what is asked of the library only once */
  const long before = atomic_load(&by_library);
  for (int meeting = 0; meeting < 500; ++meeting) {
    const long mine = rank + meeting;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sum != (long)size * meeting + (long)size * (size - 1) / 2) {
      printf("meeting %d: %ld\n", meeting, sum);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  long yields = atomic_load(&by_library) - before, all = 0;
  MPI_Reduce(&yields, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("yields of the library: %ld\n", all);

  PMPI_Scan(&first, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); /* the library itself, past the drop-in */
  if (rank == 0) {
    while (!others_are(waits, states, size)) usleep(200);
    for (long us = 0; us < longest_us && !others_are(waits_and_has_yielded, states, size); us += 200) usleep(200);
  } else {
    atomic_store(&states[rank], waits);
  }
  PMPI_Scan(&first, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  yields = rank == 0 || atomic_load(&states[rank]) == waits_and_has_yielded;
  MPI_Allreduce(&yields, &all, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("waits in the library give the core away: %s\n", all == 1 ? "yes" : "no");
  MPI_Finalize();
  return 0;
}
