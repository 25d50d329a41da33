/* Who gives the core away, of many ranks on fewer cores. A wait of the drop-in sleeps; when it asks the MPI library for
   progress, the library must not give the core away: where others compute, that costs a slice of the scheduler's for each
   synchronisation. A wait in the library itself must do it: whoever is waited for may need the core. Prints how often a library
   other than the drop-in called sched_yield while the ranks met, and whether it did on all ranks that waited in it for
   one that was late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long by_library;

int sched_yield(void) {
  Dl_info caller;
  /* What the drop-in puts before MPICH's progress counts as the library's. */
  if (dladdr(__builtin_return_address(0), &caller) == 0 || strstr(caller.dli_fname, "libtrireme") == NULL ||
      (caller.dli_sname != NULL && strcmp(caller.dli_sname, "ucp_worker_progress") == 0))
    atomic_fetch_add(&by_library, 1);
  return (int)syscall(SYS_sched_yield);
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
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

  MPI_Scan(&first, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); /* which is left to the library */
  const long before_scan = atomic_load(&by_library);
  if (rank == 0) usleep(100000);
  MPI_Scan(&first, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  yields = rank == 0 || atomic_load(&by_library) > before_scan;
  MPI_Allreduce(&yields, &all, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("waits in the library give the core away: %s\n", all == 1 ? "yes" : "no");
  MPI_Finalize();
  return 0;
}
