/* A Plummer sphere as Aarseth, Henon and Wielen draw it (Astronomy and Astrophysics 37, 1974): radii from the inverse
   of the enclosed mass, speeds by rejection. */
#include "bodies.h"

#include <math.h>
#include <stddef.h>

/* Random numbers of one body: splitmix64, begun at a place that depends on seed and body alone. */
struct stream {
  uint64_t state;
};
static uint64_t next_bits(struct stream* of) {
  uint64_t z = (of->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static double next_number(struct stream* of) { return (double)(next_bits(of) >> 11) * 0x1p-53; }

static struct vector in_random_direction(double length, struct stream* random) {
  const double z = 2 * next_number(random) - 1, angle = 2 * M_PI * next_number(random);
  const double across = sqrt(1 - z * z);
  return (struct vector){length * across * cos(angle), length * across * sin(angle), length * z};
}

static void subtract_mean(struct vector* values, long count) {
  struct vector sum = {0, 0, 0};
  for (long i = 0; i < count; ++i) {
    sum.x += values[i].x;
    sum.y += values[i].y;
    sum.z += values[i].z;
  }
  for (long i = 0; i < count; ++i) {
    values[i].x -= sum.x / (double)count;
    values[i].y -= sum.y / (double)count;
    values[i].z -= sum.z / (double)count;
  }
}

void make_plummer_sphere(struct bodies* all, uint64_t seed) {
  /* From the units of the model, whose scale radius is 1, to those of energy -1/4. */
  const double length = 3 * M_PI / 16, speed = sqrt(1 / length);
  /* The last thousandth of the mass lies between 38 and infinity. */
  const double largest_part = 0.999;
  all->mass = 1 / (double)all->count;
  for (long i = 0; i < all->count; ++i) {
    struct stream random = {seed};
    random.state = next_bits(&random) + (uint64_t)i * 0xd1342543de82ef95u;
    random.state = next_bits(&random);
    double part;
    do part = largest_part * next_number(&random);
    while (part == 0);
    const double radius = 1 / sqrt(pow(part, -2.0 / 3) - 1);
    double of_escape, chance;
    do {
      of_escape = next_number(&random);
      chance = 0.1 * next_number(&random); /* the greatest density is 0.092 */
    } while (chance > of_escape * of_escape * pow(1 - of_escape * of_escape, 3.5));
    all->position[i] = in_random_direction(length * radius, &random);
    all->velocity[i] = in_random_direction(speed * of_escape * M_SQRT2 * pow(1 + radius * radius, -0.25), &random);
  }
  subtract_mean(all->position, all->count);
  subtract_mean(all->velocity, all->count);
}

uint64_t checksum_begin(void) { return 0xcbf29ce484222325u; }

uint64_t checksum_of(uint64_t sum, const struct vector* values, long count) {
  const unsigned char* const bytes = (const unsigned char*)values;
  for (size_t i = 0; i < (size_t)count * sizeof *values; ++i) sum = (sum ^ bytes[i]) * 0x100000001b3u;
  return sum;
}
