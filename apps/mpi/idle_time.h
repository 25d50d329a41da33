/* How long each rank computes and how long it is inside MPI, for the programs of this folder. One thread per rank. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double time_in_mpi, time_of_start;

/* The time of a call counts as spent in MPI: IN_MPI(MPI_Waitall(...)). */
#define IN_MPI(call)                      \
  do {                                    \
    const double entered = MPI_Wtime();   \
    call;                                 \
    time_in_mpi += MPI_Wtime() - entered; \
  } while (0)

static void start_clock(MPI_Comm of) {
  MPI_Barrier(of);
  time_in_mpi = 0;
  time_of_start = MPI_Wtime();
}

/* Called by all ranks; rank 0 prints least, mean and most of them. */
static void report_idle_time(MPI_Comm of) {
  const double total = MPI_Wtime() - time_of_start;
  double mine[3] = {total, total - time_in_mpi, time_in_mpi}, least[3], most[3], sum[3];
  int rank, ranks;
  MPI_Comm_rank(of, &rank);
  MPI_Comm_size(of, &ranks);
  MPI_Reduce(mine, least, 3, MPI_DOUBLE, MPI_MIN, 0, of);
  MPI_Reduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, 0, of);
  MPI_Reduce(mine, sum, 3, MPI_DOUBLE, MPI_SUM, 0, of);
  if (rank != 0) return;
  static const char* const names[] = {"in all", "computing", "in MPI"};
  printf("%-10s %10s %10s %10s  of %d ranks\n", "seconds", "least", "mean", "most", ranks);
  for (int i = 0; i < 3; ++i) printf("%-10s %10.4f %10.4f %10.4f\n", names[i], least[i], sum[i] / ranks, most[i]);
  printf("idle share %.1f %%\n", 100 * sum[2] / sum[0]);
}

/* The numbers of a program: `--name value`, each with a default and a least value. */
struct number_option {
  const char* name;
  int* value;
  int least;
  const char* meaning;
};
static void read_numbers(int argc, char** argv, const struct number_option* options, int count) {
  for (int i = 1; i < argc; i += 2) {
    int found = 0;
    for (int k = 0; k < count && i + 1 < argc; ++k) {
      char* end = NULL;
      const long given = strtol(argv[i + 1], &end, 10);
      if (strcmp(argv[i], options[k].name) != 0 || *end != '\0' || given < options[k].least || given > 1 << 24)
        continue;
      *options[k].value = (int)given;
      found = 1;
    }
    if (found) continue;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
      fprintf(stderr, "%s: cannot use '%s%s%s'. Options, each with a number:\n", argv[0], argv[i],
              i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "");
      for (int k = 0; k < count; ++k)
        fprintf(stderr, "  %-12s %s (%d; at least %d)\n", options[k].name, options[k].meaning, *options[k].value,
                options[k].least);
    }
    MPI_Finalize();
    exit(2);
  }
}
