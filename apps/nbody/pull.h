/* What one mass does to a body: softened gravitation, the same for the tree and for direct summation. */
#pragma once

#include <math.h>

#include "bodies.h"

/* Acceleration and potential of one body. */
struct pull {
  struct vector acceleration;
  double potential;
};

/* The mass lies at a distance of (x, y, z) from the body. */
static inline void add_pull(struct pull* to, double x, double y, double z, double mass, double softening_squared) {
  const double inverse = 1 / sqrt(x * x + y * y + z * z + softening_squared);
  const double potential = mass * inverse, force = potential * inverse * inverse;
  to->acceleration.x += force * x;
  to->acceleration.y += force * y;
  to->acceleration.z += force * z;
  to->potential -= potential;
}
