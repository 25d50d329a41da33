#include "options.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct options given = {
    .bodies = 10000, .seed = 1, .steps = 20, .leaf = 8, .time_step = 0.01, .theta = 0.5, .softening = 0.02};

/* One of the three places has it. */
static const struct option {
  const char* name;
  long* number;
  int* small;
  double* real;
  double least, most;
  const char* meaning;
} table[] = {
    {"--bodies", &given.bodies, NULL, NULL, 2, 1 << 26, "bodies of the cluster, a Plummer sphere"},
    {"--seed", &given.seed, NULL, NULL, 0, 9e15, "of the random numbers from which they are drawn"},
    {"--steps", NULL, &given.steps, NULL, 0, 1 << 30, "steps of the leapfrog"},
    {"--time-step", NULL, NULL, &given.time_step, 1e-9, 1, "in units in which the whole cluster has energy -1/4"},
    {"--theta", NULL, NULL, &given.theta, 0, 1.1, "opening angle: smaller is more exact; 0 sums up all pairs"},
    {"--softening", NULL, NULL, &given.softening, 0, 10, "length below which attraction ends"},
    {"--leaf", NULL, &given.leaf, NULL, 1, 1 << 20, "most bodies of a cell that is not divided further"},
};
enum { option_count = sizeof table / sizeof table[0] };

static void print_usage(FILE* to) {
  fprintf(to,
          "nbody: a star cluster by a Barnes-Hut tree; ranks exchange all positions in each step\n\n"
          "  mpirun -n 4 trireme exec --mpi -- nbody --bodies 100000 --theta 0.7\n\n");
  for (const struct option* each = table; each < table + option_count; ++each)
    fprintf(to, "  %-12s %s (%g; %g to %g)\n", each->name, each->meaning,
            each->real != NULL    ? *each->real
            : each->small != NULL ? *each->small
                                  : (double)*each->number,
            each->least, each->most);
  fprintf(to,
          "  %-12s compare forces with direct summation at the start and at the end, and what was conserved;\n"
          "  %-12s status 1 when errors are too large\n"
          "  %-12s this text\n",
          "--verify", "", "--help");
}

/* Whether the text is a value that this option may have. */
static int take(const struct option* of, const char* text) {
  char* end = NULL;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= of->least && value <= of->most)) return 0;
  if (of->real != NULL) {
    *of->real = value;
    return 1;
  }
  if (value != (double)(long)value) return 0;
  if (of->small != NULL)
    *of->small = (int)value;
  else
    *of->number = (long)value;
  return 1;
}

static void end_program(int status) {
  MPI_Finalize();
  exit(status);
}

struct options read_options(int argc, char** argv) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      if (rank == 0) print_usage(stdout);
      end_program(0);
    }
    if (strcmp(argv[i], "--verify") == 0) {
      given.verify = 1;
      continue;
    }
    const char* const text = i + 1 < argc ? argv[i + 1] : "";
    int used = 0;
    for (const struct option* each = table; each < table + option_count && !used; ++each)
      used = strcmp(argv[i], each->name) == 0 && take(each, text);
    if (used) {
      ++i;
      continue;
    }
    if (rank == 0) {
      fprintf(stderr, "nbody: cannot use '%s%s%s'\n\n", argv[i], *text != '\0' ? " " : "", text);
      print_usage(stderr);
    }
    end_program(2);
  }
  return given;
}
