/* The bodies of the cluster: gravitational constant 1, total mass 1, total energy -1/4 (Henon's units). */
#pragma once

#include <stdint.h>

struct vector {
  double x, y, z;
};

struct bodies {
  long count;
  double mass; /* of each */
  struct vector* position;
  struct vector* velocity;
};

/* Allocated by the caller, for all bodies. The same bits on every rank: each body is drawn from the seed and its own
   number. Centre of mass and momentum are zero but for rounding. */
void make_plummer_sphere(struct bodies* all, uint64_t seed);

/* FNV-1a over the bits, continued from `sum`. */
uint64_t checksum_begin(void);
uint64_t checksum_of(uint64_t sum, const struct vector* values, long count);
