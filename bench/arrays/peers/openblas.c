/* OpenBLAS's threads as a peer of the dense programs on global arrays: dgetrf or dpotrf of a random matrix, timed.
 * Prints the seconds of each run, one to a line.
 *   OPENBLAS_NUM_THREADS=2 openblas getrf|potrf N RUNS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void dgetrf_(const int* m, const int* n, double* a, const int* leading, int* pivots, int* info);
void dpotrf_(const char* triangle, const int* n, double* a, const int* leading, int* info);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s getrf|potrf N RUNS\n", argv[0]);
    return 2;
  }
  const int is_cholesky = strcmp(argv[1], "potrf") == 0, n = atoi(argv[2]), runs = atoi(argv[3]);
  double* const a = malloc(sizeof(double) * (size_t)n * (size_t)n);
  int* const pivots = malloc(sizeof(int) * (size_t)n);
  for (int run = 0; run < runs; ++run) {
    srand48(run);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        a[(size_t)j * (size_t)n + (size_t)i] = drand48() - 0.5 + (is_cholesky && i == j ? n : 0);
    const double begin = now();
    int info = 0;
    if (is_cholesky)
      dpotrf_("L", &n, a, &n, &info);
    else
      dgetrf_(&n, &n, a, &n, pivots, &info);
    if (info != 0) return 1;
    printf("%.6f\n", now() - begin);
  }
  free(a);
  free(pivots);
  return 0;
}
