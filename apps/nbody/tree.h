/* The octree of all bodies and the forces from it (Barnes and Hut, Nature 324, 1986). A function of positions, opening
   angle and leaf size alone, so that every rank builds the same tree and a body gets the same bits on any of them. */
#pragma once

#include "bodies.h"
#include "pull.h"

struct tree;

/* Memory for that many bodies, used again by every build. NULL: there is not enough. `theta`: a cell whose edge is seen
   under a smaller angle counts as one body; 0: none does. `leaf`: so many bodies at most are not divided further. */
struct tree* make_tree(long count, double theta, double softening, int leaf);
void free_tree(struct tree* it);

void build_tree(struct tree* it, const struct bodies* all);

/* For the bodies `first` to `end`, whose own results begin at pulls[0]. Returns how many bodies and cells were added
   up. */
long pulls_of_tree(const struct tree* it, long first, long end, struct pull* pulls);
