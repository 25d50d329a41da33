#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

void* allocate(size_t bytes) {
  void* const memory = malloc(bytes > 0 ? bytes : 1);
  if (memory != NULL) return memory;
  fprintf(stderr, "nbody: no memory for %zu bytes\n", bytes);
  MPI_Abort(MPI_COMM_WORLD, 3);
  abort();
}

static long begin_of(long bodies, int rank, int ranks) { return bodies * rank / ranks; }

struct parts divide(long bodies, MPI_Comm ranks) {
  struct parts made = {.ranks = ranks};
  MPI_Comm_rank(ranks, &made.rank);
  MPI_Comm_size(ranks, &made.rank_count);
  made.first = begin_of(bodies, made.rank, made.rank_count);
  made.end = begin_of(bodies, made.rank + 1, made.rank_count);
  made.count = allocate((size_t)made.rank_count * sizeof *made.count);
  made.begin = allocate((size_t)made.rank_count * sizeof *made.begin);
  for (int rank = 0; rank < made.rank_count; ++rank) {
    made.begin[rank] = (int)begin_of(bodies, rank, made.rank_count) * 3;
    made.count[rank] = (int)begin_of(bodies, rank + 1, made.rank_count) * 3 - made.begin[rank];
  }
  return made;
}

void free_parts(struct parts* it) {
  free(it->begin);
  free(it->count);
}

static int all_alike(const struct parts* it) {
  for (int rank = 1; rank < it->rank_count; ++rank)
    if (it->count[rank] != it->count[0]) return 0;
  return 1;
}

void tell_all(const struct parts* it, const struct vector* own, struct vector* all) {
  const int mine = it->count[it->rank];
  if (all_alike(it))
    MPI_Allgather(own, mine, MPI_DOUBLE, all, mine, MPI_DOUBLE, it->ranks);
  else
    MPI_Allgatherv(own, mine, MPI_DOUBLE, all, it->count, it->begin, MPI_DOUBLE, it->ranks);
}

void tell_first(const struct parts* it, int width, const double* own, double* all) {
  MPI_Datatype of_body;
  MPI_Type_contiguous(width, MPI_DOUBLE, &of_body);
  MPI_Type_commit(&of_body);
  int* const counts = allocate((size_t)it->rank_count * sizeof *counts);
  int* const begins = allocate((size_t)it->rank_count * sizeof *begins);
  for (int rank = 0; rank < it->rank_count; ++rank) {
    counts[rank] = it->count[rank] / 3;
    begins[rank] = it->begin[rank] / 3;
  }
  MPI_Gatherv(own, counts[it->rank], of_body, all, counts, begins, of_body, 0, it->ranks);
  free(begins);
  free(counts);
  MPI_Type_free(&of_body);
}
