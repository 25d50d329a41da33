/* Elements with gaps before, between and behind their numbers: maps x -> a x + b, modulo a prime, and their
   composition, which does not commute. */
#ifndef GAPPED_MAPS_H
#define GAPPED_MAPS_H

#include <mpi.h>
#include <stddef.h>

struct gapped_map {
  char before[4];
  int a;
  char between[8];
  long b;
  char behind[8];
};

static void compose_gapped(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  (void)type;
  const struct gapped_map* const first = in;
  struct gapped_map* const second = in_and_out;
  for (int i = 0; i < *count; ++i) {
    const long a = second[i].a;
    second[i].a = (int)(a * first[i].a % 10007);
    second[i].b = (a * first[i].b + second[i].b) % 10007;
  }
}

static void make_gapped_type(MPI_Datatype* type) {
  MPI_Datatype numbers;
  const int ones[2] = {1, 1};
  const MPI_Aint places[2] = {offsetof(struct gapped_map, a), offsetof(struct gapped_map, b)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_LONG};
  MPI_Type_create_struct(2, ones, places, types, &numbers);
  MPI_Type_create_resized(numbers, 0, sizeof(struct gapped_map), type);
  MPI_Type_commit(type);
  MPI_Type_free(&numbers);
}

/* How many bytes of its gaps are not `marker`. */
static int wrong_gaps(const struct gapped_map* in, char marker) {
  int wrong = 0;
  for (int k = 0; k < 4; ++k) wrong += in->before[k] != marker;
  for (int k = 0; k < 8; ++k) wrong += in->between[k] != marker || in->behind[k] != marker;
  return wrong;
}

#endif
