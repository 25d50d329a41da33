#include "state.h"

#include <stdlib.h>

static double length(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }

static long bodies_of(const struct parts* all) {
  return (all->begin[all->rank_count - 1] + all->count[all->rank_count - 1]) / 3;
}

struct state take_state(const struct parts* of, double mass, const struct vector* velocity, const struct pull* pulls) {
  const long mine = of->end - of->first, count = bodies_of(of);
  double* const own = allocate((size_t)mine * 4 * sizeof *own);
  double* const all = allocate(of->rank == 0 ? (size_t)count * 4 * sizeof *all : 0);
  for (long i = 0; i < mine; ++i) {
    own[4 * i] = velocity[i].x;
    own[4 * i + 1] = velocity[i].y;
    own[4 * i + 2] = velocity[i].z;
    own[4 * i + 3] = pulls[i].potential;
  }
  tell_first(of, 4, own, all);
  struct state made = {.energy = 0};
  for (const double* at = all; of->rank == 0 && at < all + 4 * count; at += 4) {
    const double speed = length(at[0], at[1], at[2]);
    made.energy += mass * (speed * speed + at[3]) / 2;
    made.momentum.x += mass * at[0];
    made.momentum.y += mass * at[1];
    made.momentum.z += mass * at[2];
    made.momentum_of_all += mass * speed;
  }
  free(all);
  free(own);
  return made;
}

static void sum_directly(const struct parts* of, const struct bodies* all, double softening, struct pull* exact) {
  for (long i = of->first; i < of->end; ++i) {
    const struct vector at = all->position[i];
    struct pull* const sum = &exact[i - of->first];
    *sum = (struct pull){{0, 0, 0}, 0};
    for (long k = 0; k < all->count; ++k)
      if (k != i)
        add_pull(sum, all->position[k].x - at.x, all->position[k].y - at.y, all->position[k].z - at.z, all->mass,
                 softening * softening);
  }
}

static int by_size(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}

struct force_errors find_force_errors(const struct parts* of, const struct bodies* all, double softening,
                                      const struct vector* velocity, const struct pull* pulls, struct pull* exact) {
  const long mine = of->end - of->first, count = all->count;
  sum_directly(of, all, softening, exact);
  double* const own = allocate((size_t)mine * 3 * sizeof *own);
  double* const gathered = allocate(of->rank == 0 ? (size_t)count * 4 * sizeof *gathered : 0);
  for (long i = 0; i < mine; ++i) {
    const struct vector found = pulls[i].acceleration, right = exact[i].acceleration, speed = velocity[i];
    const double error = length(found.x - right.x, found.y - right.y, found.z - right.z);
    own[3 * i] = error / length(right.x, right.y, right.z);
    own[3 * i + 1] = error;
    own[3 * i + 2] = error * length(speed.x, speed.y, speed.z);
  }
  tell_first(of, 3, own, gathered);
  struct force_errors made = {0, 0, 0, 0};
  if (of->rank == 0) {
    double* const relative = gathered + 3 * count;
    for (long i = 0; i < count; ++i) {
      relative[i] = gathered[3 * i];
      made.mean += gathered[3 * i + 1] / (double)count;
      made.power += gathered[3 * i + 2] / (double)count;
    }
    qsort(relative, (size_t)count, sizeof *relative, by_size);
    made.median = relative[count / 2];
    made.percentile_99 = relative[(count - 1) * 99 / 100];
  }
  free(gathered);
  free(own);
  return made;
}
