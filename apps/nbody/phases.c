#include "phases.h"

#include <stdio.h>
#include <string.h>

void start_phases(struct phases* it) {
  memset(it, 0, sizeof *it);
  it->last = MPI_Wtime();
}

void end_phase(struct phases* it, enum phase which) {
  const double now = MPI_Wtime();
  it->seconds[which] += now - it->last;
  it->last = now;
}

void report_phases(const struct phases* it, int steps, MPI_Comm ranks) {
  static const char* const names[phase_count + 1] = {"exchange", "tree", "forces", "motion", "in all"};
  double mine[phase_count + 1] = {0}, least[phase_count + 1], most[phase_count + 1], sum[phase_count + 1];
  for (int i = 0; i < phase_count; ++i) {
    mine[i] = it->seconds[i] * 1e3 / (steps > 0 ? steps : 1);
    mine[phase_count] += mine[i];
  }
  int rank, count;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &count);
  MPI_Reduce(mine, least, phase_count + 1, MPI_DOUBLE, MPI_MIN, 0, ranks);
  MPI_Reduce(mine, most, phase_count + 1, MPI_DOUBLE, MPI_MAX, 0, ranks);
  MPI_Reduce(mine, sum, phase_count + 1, MPI_DOUBLE, MPI_SUM, 0, ranks);
  if (rank != 0) return;
  printf("%-11s %10s %10s %10s  of %d ranks\n", "ms per step", "least", "mean", "most", count);
  for (int i = 0; i <= phase_count; ++i)
    printf("%-11s %10.4f %10.4f %10.4f\n", names[i], least[i], sum[i] / count, most[i]);
}
