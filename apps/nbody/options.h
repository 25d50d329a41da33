/* The command line. */
#pragma once

struct options {
  long bodies, seed;
  int steps, leaf, verify;
  double time_step, theta, softening;
};

/* Called by all ranks, on the same command line, while MPI runs. For --help and what cannot be used rank 0 says so and
   the program ends, with status 0 and 2. */
struct options read_options(int argc, char** argv);
