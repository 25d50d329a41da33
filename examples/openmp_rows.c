/* A plain OpenMP program, which knows nothing of Trireme: the product of a lower triangular matrix and a vector, again and
   again. Row i has i + 1 elements, so the author asked for dynamic. `trireme exec --omp` runs it as it is:

     ./example_openmp_rows [sweeps]
     trireme exec --omp ./example_openmp_rows [sweeps]

   Prints a number that every schedule must reach (each row is summed in one order), and the time of the sweeps. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 2000 };

static double element(int row, int column) { return 1.0 / (1 + ((row * 31 + column * 17) & 255)); }

int main(int argc, char** argv) {
  const int sweeps = argc > 1 ? atoi(argv[1]) : 300;
  static double x[rows];
  static double y[rows];
  if (sweeps < 1) {
    fprintf(stderr, "usage: %s [sweeps], at least 1; got '%s'\n", argv[0], argv[1]);
    return 2;
  }
  for (int i = 0; i < rows; ++i) x[i] = 1.0;
  const double began = omp_get_wtime();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < rows; ++i) {
      double sum = 0.0;
      for (int j = 0; j <= i; ++j) sum += element(i, j) * x[j];
      y[i] = sum / (i + 1);
    }
    for (int i = 0; i < rows; ++i) x[i] = 0.5 + 0.5 * y[i];
  }
  const double seconds = omp_get_wtime() - began;
  double norm = 0.0;
  for (int i = 0; i < rows; ++i) norm += x[i];
  printf("norm %.12f\n", norm);
  printf("%d sweeps in %.4f s\n", sweeps, seconds);
  return 0;
}
