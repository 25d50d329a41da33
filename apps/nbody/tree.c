#include "tree.h"

#include <stdlib.h>

enum { bits = 21 }; /* of a coordinate in a key; below that, bodies of one place stay in one leaf */

/* Nodes lie in the order of a walk that opens every cell: the first child behind its parent, `next` behind the last. */
struct node {
  struct vector centre; /* of mass */
  double mass;
  double open_within_squared; /* closer than that it is opened */
  long next;
  long first, end; /* of a leaf, in the tree's order of bodies; equal in cells */
};

struct key {
  uint64_t place; /* the bits of x, y and z in turn: Morton's order */
  long body;
};

struct tree {
  long count, nodes;
  double theta, softening_squared;
  int leaf;
  struct node* node;
  struct key *key, *other_key;
  struct vector* position; /* in the tree's order */
  double mass;
};

struct tree* make_tree(long count, double theta, double softening, int leaf) {
  struct tree* const it = calloc(1, sizeof *it);
  if (it == NULL) return NULL;
  const size_t room = (size_t)count;
  it->count = count;
  it->theta = theta;
  it->softening_squared = softening * softening;
  it->leaf = leaf;
  it->node = malloc(2 * room * sizeof *it->node); /* each cell has two children at least */
  it->key = malloc(room * sizeof *it->key);
  it->other_key = malloc(room * sizeof *it->other_key);
  it->position = malloc(room * sizeof *it->position);
  if (it->node != NULL && it->key != NULL && it->other_key != NULL && it->position != NULL) return it;
  free_tree(it);
  return NULL;
}

void free_tree(struct tree* it) {
  free(it->position);
  free(it->other_key);
  free(it->key);
  free(it->node);
  free(it);
}

/* Two more zeros between the bits of a number of 21. */
static uint64_t spread(uint64_t number) {
  number = (number | number << 32) & 0x001f00000000ffffu;
  number = (number | number << 16) & 0x001f0000ff0000ffu;
  number = (number | number << 8) & 0x100f00f00f00f00fu;
  number = (number | number << 4) & 0x10c30c30c30c30c3u;
  return (number | number << 2) & 0x1249249249249249u;
}
static uint64_t step_of(double from_corner, double steps) {
  const double step = from_corner * steps;
  return step < (1 << bits) - 1 ? (uint64_t)step : (1u << bits) - 1; /* the last body lies on the border */
}

/* By place, bodies of one place by their numbers: eight passes, each of which keeps the order of equals. */
static void sort_keys(struct tree* it) {
  for (int shift = 0; shift < 64; shift += 8) {
    long begin[257] = {0};
    for (long i = 0; i < it->count; ++i) ++begin[1 + (it->key[i].place >> shift & 255)];
    for (int digit = 0; digit < 256; ++digit) begin[digit + 1] += begin[digit];
    for (long i = 0; i < it->count; ++i) it->other_key[begin[it->key[i].place >> shift & 255]++] = it->key[i];
    struct key* const sorted = it->other_key;
    it->other_key = it->key;
    it->key = sorted;
  }
}

struct cube {
  struct vector middle;
  double edge;
};

static struct cube cube_around(const struct bodies* all) {
  struct vector low = all->position[0], high = low;
  for (long i = 1; i < all->count; ++i) {
    const struct vector at = all->position[i];
    low = (struct vector){fmin(low.x, at.x), fmin(low.y, at.y), fmin(low.z, at.z)};
    high = (struct vector){fmax(high.x, at.x), fmax(high.y, at.y), fmax(high.z, at.z)};
  }
  const double edge = fmax(high.x - low.x, fmax(high.y - low.y, high.z - low.z));
  return (struct cube){{(low.x + high.x) / 2, (low.y + high.y) / 2, (low.z + high.z) / 2}, edge > 0 ? edge : 1};
}

static int octant_at(const struct tree* it, long sorted, int level) {
  return (int)(it->key[sorted].place >> 3 * (bits - 1 - level) & 7);
}
static struct cube octant_of(struct cube of, int octant) {
  const double step = of.edge / 4;
  of.middle.x += octant & 1 ? step : -step;
  of.middle.y += octant & 2 ? step : -step;
  of.middle.z += octant & 4 ? step : -step;
  of.edge /= 2;
  return of;
}

/* Mass and its first moment: those of the children, or of the bodies. */
static void add_mass(struct node* to, double mass, struct vector at) {
  to->mass += mass;
  to->centre.x += mass * at.x;
  to->centre.y += mass * at.y;
  to->centre.z += mass * at.z;
}

/* A cell whose centre of mass lies aside is opened from farther away, by that distance (Barnes 1994): then no body is
   inside the cell, or near a part of it, that counts as one. */
static void finish_node(struct node* it, struct cube place, double theta) {
  it->centre = (struct vector){it->centre.x / it->mass, it->centre.y / it->mass, it->centre.z / it->mass};
  const double x = it->centre.x - place.middle.x, y = it->centre.y - place.middle.y, z = it->centre.z - place.middle.z;
  const double within = place.edge / theta + sqrt(x * x + y * y + z * z); /* infinity when theta is 0 */
  it->open_within_squared = within * within;
}

/* The bodies `first` to `end` of the tree's order, which are in the cube of that level. */
static long add_node(struct tree* it, long first, long end, int level, struct cube place) {
  const long number = it->nodes++;
  struct node* const made = &it->node[number];
  *made = (struct node){.mass = 0};
  const int divided = end - first > it->leaf;
  /* Cubes in which all bodies are in one octant are no cells. */
  while (divided && level < bits && octant_at(it, first, level) == octant_at(it, end - 1, level))
    place = octant_of(place, octant_at(it, first, level++));
  if (divided && level < bits) {
    for (long begin = first, behind; begin < end; begin = behind) {
      const int octant = octant_at(it, begin, level);
      for (behind = begin + 1; behind < end && octant_at(it, behind, level) == octant;) ++behind;
      const struct node* const child = &it->node[add_node(it, begin, behind, level + 1, octant_of(place, octant))];
      add_mass(made, child->mass, child->centre);
    }
  } else {
    made->first = first;
    made->end = end;
    for (long i = first; i < end; ++i) add_mass(made, it->mass, it->position[i]);
  }
  made->next = it->nodes;
  finish_node(made, place, it->theta);
  return number;
}

void build_tree(struct tree* it, const struct bodies* all) {
  const struct cube place = cube_around(all);
  const double steps = (1 << bits) / place.edge;
  const struct vector corner = {place.middle.x - place.edge / 2, place.middle.y - place.edge / 2,
                                place.middle.z - place.edge / 2};
  for (long i = 0; i < all->count; ++i) {
    const struct vector at = all->position[i];
    it->key[i] = (struct key){spread(step_of(fmax(at.x - corner.x, 0), steps)) |
                                  spread(step_of(fmax(at.y - corner.y, 0), steps)) << 1 |
                                  spread(step_of(fmax(at.z - corner.z, 0), steps)) << 2,
                              i};
  }
  sort_keys(it);
  it->mass = all->mass;
  for (long i = 0; i < all->count; ++i) it->position[i] = all->position[it->key[i].body];
  it->nodes = 0;
  add_node(it, 0, all->count, 0, place);
}

static long pull_of_tree(const struct tree* it, long sorted, struct pull* pull) {
  const struct vector at = it->position[sorted];
  long added = 0;
  *pull = (struct pull){{0, 0, 0}, 0};
  for (long i = 0; i < it->nodes;) {
    const struct node* const node = &it->node[i];
    const double x = node->centre.x - at.x, y = node->centre.y - at.y, z = node->centre.z - at.z;
    if (x * x + y * y + z * z > node->open_within_squared) {
      add_pull(pull, x, y, z, node->mass, it->softening_squared);
      ++added;
      i = node->next;
    } else if (node->first == node->end) {
      ++i;
    } else {
      for (long k = node->first; k < node->end; ++k) {
        if (k == sorted) continue;
        add_pull(pull, it->position[k].x - at.x, it->position[k].y - at.y, it->position[k].z - at.z, it->mass,
                 it->softening_squared);
        ++added;
      }
      i = node->next;
    }
  }
  return added;
}

long pulls_of_tree(const struct tree* it, long first, long end, struct pull* pulls) {
  long added = 0;
  /* In the tree's order: bodies that follow each other use the same nodes, which are in the cache then. */
  for (long sorted = 0; sorted < it->count; ++sorted) {
    const long body = it->key[sorted].body;
    if (body >= first && body < end) added += pull_of_tree(it, sorted, &pulls[body - first]);
  }
  return added;
}
