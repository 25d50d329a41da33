/* Which rank moves which bodies, and how ranks exchange their positions. */
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "bodies.h"

struct parts {
  MPI_Comm ranks;
  int rank, rank_count;
  long first, end;    /* the bodies of this rank */
  int *count, *begin; /* of all ranks, in doubles of vectors */
};

/* Aborts without memory. */
struct parts divide(long bodies, MPI_Comm ranks);
void free_parts(struct parts* it);

/* Own vectors to all ranks: MPI_Allgather when all have the same number of bodies, else MPI_Allgatherv. */
void tell_all(const struct parts* it, const struct vector* own, struct vector* all);

/* Own values to rank 0, `width` of each body. */
void tell_first(const struct parts* it, int width, const double* own, double* all);

/* Memory, or the end of the program. */
void* allocate(size_t bytes);
