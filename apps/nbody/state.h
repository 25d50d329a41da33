/* What is known of all bodies together: energy, momentum, and how exact the forces are. Sums are made by rank 0 in the
   order of bodies, so that their bits do not depend on the number of ranks. */
#pragma once

#include "bodies.h"
#include "parts.h"
#include "pull.h"

struct state {
  double energy;
  struct vector momentum;
  double momentum_of_all; /* the sum of the lengths of all bodies' momenta */
};
/* Valid on rank 0. */
struct state take_state(const struct parts* of, double mass, const struct vector* velocity, const struct pull* pulls);

/* Errors of forces, those of direct summation being right. */
struct force_errors {
  double median, percentile_99; /* of the relative errors of all bodies */
  double mean;                  /* of the absolute ones */
  double power;                 /* the mean of speed times absolute error, which changes the energy */
};
/* `exact`: own bodies, by direct summation; made here. Valid on rank 0. */
struct force_errors find_force_errors(const struct parts* of, const struct bodies* all, double softening,
                                      const struct vector* velocity, const struct pull* pulls, struct pull* exact);
