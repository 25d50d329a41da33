/* How long each rank took for each phase of the steps. One clock per rank. */
#pragma once

#include <mpi.h>

enum phase { exchange_phase, tree_phase, forces_phase, motion_phase, phase_count };

struct phases {
  double seconds[phase_count];
  double last; /* when the phase that runs began */
};

void start_phases(struct phases* it);
/* What went on since the last call, or since the start, was this. */
void end_phase(struct phases* it, enum phase which);
/* Called by all ranks; rank 0 prints least, mean and most of them, in milliseconds per step. */
void report_phases(const struct phases* it, int steps, MPI_Comm ranks);
