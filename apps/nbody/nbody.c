/* A star cluster that moves under its own gravitation, by a Barnes-Hut tree. Each rank moves its part of the bodies; in
   each step all ranks exchange all positions (MPI_Allgather), and each builds the whole tree. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bodies.h"
#include "options.h"
#include "parts.h"
#include "phases.h"
#include "state.h"
#include "tree.h"

static struct options asked;
static struct parts part;
static struct bodies all; /* velocities are those at the start */
static struct tree* tree;
static struct vector *position, *velocity; /* of the bodies of this rank */
static struct pull *pulls, *exact;
static long added; /* to accelerations, in all steps */

static void prepare(void) {
  const size_t count = (size_t)asked.bodies;
  part = divide(asked.bodies, MPI_COMM_WORLD);
  const size_t mine = (size_t)(part.end - part.first);
  all.count = asked.bodies;
  all.position = allocate(count * sizeof *all.position);
  all.velocity = allocate(count * sizeof *all.velocity);
  make_plummer_sphere(&all, (uint64_t)asked.seed);
  position = allocate(mine * sizeof *position);
  velocity = allocate(mine * sizeof *velocity);
  for (size_t i = 0; i < mine; ++i) {
    position[i] = all.position[(size_t)part.first + i];
    velocity[i] = all.velocity[(size_t)part.first + i];
  }
  pulls = allocate(mine * sizeof *pulls);
  exact = allocate(mine * sizeof *exact);
  tree = make_tree(asked.bodies, asked.theta, asked.softening, asked.leaf);
  if (tree == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void clean_up(void) {
  free_tree(tree);
  free(exact);
  free(pulls);
  free(velocity);
  free(position);
  free(all.velocity);
  free(all.position);
  free_parts(&part);
}

static void find_pulls(struct phases* clock) {
  tell_all(&part, position, all.position);
  end_phase(clock, exchange_phase);
  build_tree(tree, &all);
  end_phase(clock, tree_phase);
  added += pulls_of_tree(tree, part.first, part.end, pulls);
  end_phase(clock, forces_phase);
}

static void change_velocities(double time) {
  for (long i = 0; i < part.end - part.first; ++i) {
    velocity[i].x += pulls[i].acceleration.x * time;
    velocity[i].y += pulls[i].acceleration.y * time;
    velocity[i].z += pulls[i].acceleration.z * time;
  }
}
static void change_positions(double time) {
  for (long i = 0; i < part.end - part.first; ++i) {
    position[i].x += velocity[i].x * time;
    position[i].y += velocity[i].y * time;
    position[i].z += velocity[i].z * time;
  }
}

/* The leapfrog: half of the change of velocities before the motion, half behind it. */
static void make_step(struct phases* clock) {
  change_velocities(asked.time_step / 2);
  change_positions(asked.time_step);
  end_phase(clock, motion_phase);
  find_pulls(clock);
  change_velocities(asked.time_step / 2);
  end_phase(clock, motion_phase);
}

static void show_progress(int step) {
  if (part.rank != 0 || !isatty(STDERR_FILENO)) return;
  fprintf(stderr, step < asked.steps ? "\rstep %d of %d" : "\r\033[K", step, asked.steps);
}

/* By direct summation where that is made anyway: then it is the energy itself. */
static struct state state_now(struct force_errors* errors) {
  if (asked.verify) *errors = find_force_errors(&part, &all, asked.softening, velocity, pulls, exact);
  return take_state(&part, all.mass, velocity, asked.verify ? exact : pulls);
}

/* Whether all ranks have the same positions in the end: nothing that follows would show it. */
static int all_have_the_same(uint64_t sum) {
  uint64_t least, most;
  MPI_Allreduce(&sum, &least, 1, MPI_UINT64_T, MPI_MIN, part.ranks);
  MPI_Allreduce(&sum, &most, 1, MPI_UINT64_T, MPI_MAX, part.ranks);
  return least == most;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Rank 0. Bounds: README.md. */
static int verify(const struct force_errors* begin, const struct force_errors* end, double energy, double momentum,
                  const struct state* first, const struct state* last) {
  const double time = asked.steps * asked.time_step, rounding = 1e-11, square = asked.theta * asked.theta;
  const double median = larger(begin->median, end->median), most = larger(begin->percentile_99, end->percentile_99);
  const double median_bound = 0.05 * square + rounding, most_bound = 0.25 * square + rounding;
  const double power = larger(begin->power, end->power), mean = larger(begin->mean, end->mean);
  /* What errors of forces could do if they all had one direction, and for the energy the steps themselves. */
  const double steps_share = 2e-3 * (asked.time_step / 0.01) * (asked.time_step / 0.01);
  const double energy_bound = time * power / fabs(first->energy) + steps_share;
  const double momentum_bound = time * mean / last->momentum_of_all + rounding;
  const int good = median <= median_bound && most <= most_bound && energy <= energy_bound && momentum <= momentum_bound;
  printf("%s: force errors: median %.2e (at most %.2e), 99 %% of bodies %.2e (%.2e); ",
         good ? "verified" : "NOT VERIFIED", median, median_bound, most, most_bound);
  printf("energy %.2e (%.2e), momentum %.2e (%.2e)\n", energy, energy_bound, momentum, momentum_bound);
  return good;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  asked = read_options(argc, argv);
  prepare();
  struct phases clock;
  struct force_errors at_begin = {0, 0, 0, 0}, at_end = at_begin;
  start_phases(&clock);
  find_pulls(&clock);
  const struct state first = state_now(&at_begin);
  added = 0;
  MPI_Barrier(part.ranks);
  start_phases(&clock);
  for (int step = 0; step < asked.steps; ++step) {
    show_progress(step);
    make_step(&clock);
  }
  show_progress(asked.steps);
  const struct state last = state_now(&at_end);
  report_phases(&clock, asked.steps, part.ranks);
  long added_by_all = 0;
  MPI_Reduce(&added, &added_by_all, 1, MPI_LONG, MPI_SUM, 0, part.ranks);
  tell_all(&part, velocity, all.velocity);
  const uint64_t sum = checksum_of(checksum_of(checksum_begin(), all.position, all.count), all.velocity, all.count);
  int good = all_have_the_same(sum);
  if (part.rank == 0) {
    if (!good) printf("NOT VERIFIED: ranks have received different positions or velocities\n");
    const double energy = fabs((last.energy - first.energy) / first.energy);
    const struct vector a = first.momentum, b = last.momentum;
    const double momentum =
        sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y) + (b.z - a.z) * (b.z - a.z)) / last.momentum_of_all;
    if (asked.verify) good = verify(&at_begin, &at_end, energy, momentum, &first, &last) && good;
    printf(
        "nbody: %ld bodies, %d steps, theta %g, %.1f terms per body, energy %+.6f changed by %.2e, momentum by %.2e, "
        "checksum %016" PRIx64 "\n",
        asked.bodies, asked.steps, asked.theta,
        asked.steps > 0 ? (double)added_by_all / (double)asked.bodies / asked.steps : 0, last.energy, energy, momentum,
        sum);
  }
  clean_up();
  MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return !good;
}
