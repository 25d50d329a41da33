/* Three small programs after the NAS parallel benchmarks and the stencils that people time: pairs of Gaussian deviates
   (EP), conjugate gradients on a sparse matrix with rows of very different length (CG), and a relaxation of a 3-D grid
   (MG's smoother). Their results do not depend on the schedule: sums are of integers, or by row. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long taken = 0;

/* The generator of the NAS benchmarks: x' = 5^13 x mod 2^46. */
static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = base * base & ((1ull << 46) - 1))
    if (exponent & 1) result = result * base & ((1ull << 46) - 1);
  return result;
}
static double uniform(uint64_t* state) {
  *state = *state * 1220703125ull & ((1ull << 46) - 1);
  return (double)*state / (double)(1ull << 46);
}

static void pairs(void) {
  enum { blocks = 256, per_block = 512 };
  long counts[10] = {0};
  long accepted = 0;
  ++taken;
#pragma omp parallel for schedule(dynamic) reduction(+ : counts, accepted)
  for (int block = 0; block < blocks; ++block) {
    uint64_t state = 271828183ull * power(1220703125ull, 2ull * per_block * (uint64_t)block) & ((1ull << 46) - 1);
    for (int i = 0; i < per_block; ++i) {
      const double x = 2 * uniform(&state) - 1;
      const double y = 2 * uniform(&state) - 1;
      const double t = x * x + y * y;
      if (t > 1 || t == 0) continue;
      const double scale = sqrt(-2 * log(t) / t);
      const double larger = fmax(fabs(x * scale), fabs(y * scale));
      ++accepted;
      ++counts[larger < 9 ? (int)larger : 9];
    }
  }
  printf("pairs: %ld accepted;", accepted);
  for (int i = 0; i < 10; ++i) printf(" %ld", counts[i]);
  printf("\n");
}

enum { order = 600 };
static int row_begin[order + 1];
static int column[order * order];
static double value[order * order];

static void multiply(const double* x, double* y) {
  ++taken;
#pragma omp parallel for schedule(guided)
  for (int row = 0; row < order; ++row) {
    double sum = 0;
    for (int k = row_begin[row]; k < row_begin[row + 1]; ++k) sum += value[k] * x[column[k]];
    y[row] = sum;
  }
}
/* Sums by block, then in order: the same digits whoever adds which block. */
static double dot(const double* x, const double* y) {
  enum { block = 50 };
  double parts[order / block];
  ++taken;
#pragma omp parallel for schedule(runtime)
  for (int b = 0; b < order / block; ++b) {
    parts[b] = 0;
    for (int i = b * block; i < (b + 1) * block; ++i) parts[b] += x[i] * y[i];
  }
  double sum = 0;
  for (int b = 0; b < order / block; ++b) sum += parts[b];
  return sum;
}

static void conjugate_gradients(void) {
  uint64_t state = 314159265;
  int entries = 0;
  for (int row = 0; row < order; ++row) {
    row_begin[row] = entries;
    const int reach = 2 + row * row / (order * 4); /* later rows are longer */
    for (int c = 0; c < order; ++c) {
      const int distance = c > row ? c - row : row - c;
      const int both = distance <= reach && distance <= 2 + c * c / (order * 4);
      if (!both) continue;
      column[entries] = c;
      value[entries++] = c == row ? 400.0 : -1.0 / (1 + distance);
    }
  }
  row_begin[order] = entries;
  static double x[order], r[order], p[order], q[order];
  for (int i = 0; i < order; ++i) r[i] = p[i] = uniform(&state);
  double rho = dot(r, r);
  for (int step = 0; step < 25; ++step) {
    multiply(p, q);
    const double alpha = rho / dot(p, q);
#pragma omp parallel
    {
      if (omp_get_thread_num() == 0) ++taken;
#pragma omp for schedule(dynamic, 32) nowait
      for (int i = 0; i < order; ++i) x[i] += alpha * p[i];
      if (omp_get_thread_num() == 0) ++taken;
#pragma omp for schedule(dynamic, 32)
      for (int i = 0; i < order; ++i) r[i] -= alpha * q[i];
    }
    const double before = rho;
    rho = dot(r, r);
    const double beta = rho / before;
    ++taken;
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < order; ++i) p[i] = r[i] + beta * p[i];
  }
  printf("conjugate gradients: %d entries, residual %.17g, x.x %.17g\n", entries, sqrt(rho), dot(x, x));
}

enum { edge = 40 };
static double grid[2][edge][edge][edge];

static void relaxation(void) {
  for (int i = 0; i < edge; ++i)
    for (int j = 0; j < edge; ++j)
      for (int k = 0; k < edge; ++k) grid[0][i][j][k] = grid[1][i][j][k] = i == 0 ? 100 : (double)(j * k % 7);
  for (int sweep = 0; sweep < 40; ++sweep) {
    double(*from)[edge][edge] = grid[sweep % 2];
    double(*to)[edge][edge] = grid[1 - sweep % 2];
    ++taken;
#pragma omp parallel for collapse(2) schedule(runtime)
    for (int i = 1; i < edge - 1; ++i)
      for (int j = 1; j < edge - 1; ++j)
        for (int k = 1; k < edge - 1; ++k)
          to[i][j][k] = 0.25 * from[i][j][k] + 0.125 * (from[i - 1][j][k] + from[i + 1][j][k] + from[i][j - 1][k] +
                                                        from[i][j + 1][k] + from[i][j][k - 1] + from[i][j][k + 1]);
  }
  double sum = 0;
  for (int i = 0; i < edge; ++i)
    for (int j = 0; j < edge; ++j)
      for (int k = 0; k < edge; ++k) sum += grid[0][i][j][k] * (i + 2 * j + 3 * k);
  printf("relaxation: %.17g\n", sum);
}

int main(void) {
  pairs();
  conjugate_gradients();
  relaxation();
  fprintf(stderr, "expected: loops intercepted %ld, passed through to the OpenMP runtime 0\n", taken);
  return 0;
}
