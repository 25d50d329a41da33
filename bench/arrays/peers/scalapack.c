/* ScaLAPACK as a peer of the dense programs on global arrays: pdgetrf or pdpotrf of a random matrix over a grid of MPI
 * processes, timed. Prints the seconds of each run, the longest of all processes, one to a line.
 *   mpirun -n P*Q scalapack getrf|potrf N NB P Q RUNS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* nb, const int* process, const int* first, const int* processes);
void descinit_(int* descriptor, const int* m, const int* n, const int* mb, const int* nb, const int* first_row,
               const int* first_column, const int* context, const int* leading, int* info);
void pdgetrf_(const int* m, const int* n, double* a, const int* ia, const int* ja, const int* descriptor, int* pivots,
              int* info);
void pdpotrf_(const char* triangle, const int* n, double* a, const int* ia, const int* ja, const int* descriptor,
              int* info);

static double element(int n, int i, int j, int is_symmetric) {
  if (is_symmetric && i < j) {
    const int other = i;
    i = j;
    j = other;
  }
  unsigned long long x = (unsigned long long)i * (unsigned long long)n + (unsigned long long)j + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return (double)(x >> 11) / 9007199254740992.0 - 0.5 + (is_symmetric && i == j ? n : 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 7) {
    fprintf(stderr, "usage: %s getrf|potrf N NB P Q RUNS\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int is_cholesky = strcmp(argv[1], "potrf") == 0;
  const int n = atoi(argv[2]), nb = atoi(argv[3]), runs = atoi(argv[6]), zero = 0, one = 1;
  int rows = atoi(argv[4]), columns = atoi(argv[5]), row, column, context, info;
  Cblacs_get(0, 0, &context);
  Cblacs_gridinit(&context, "Row", rows, columns);
  Cblacs_gridinfo(context, &rows, &columns, &row, &column);
  const int own_rows = numroc_(&n, &nb, &row, &zero, &rows), own_columns = numroc_(&n, &nb, &column, &zero, &columns);
  const int leading = own_rows > 1 ? own_rows : 1;
  int descriptor[9];
  descinit_(descriptor, &n, &n, &nb, &nb, &zero, &zero, &context, &leading, &info);
  double* const a = malloc(sizeof(double) * ((size_t)own_rows * (size_t)own_columns + 1));
  int* const pivots = malloc(sizeof(int) * (size_t)(own_rows + nb));
  for (int run = 0; run < runs; ++run) {
    for (int j = 0; j < own_columns; ++j)
      for (int i = 0; i < own_rows; ++i)
        a[(size_t)j * (size_t)leading + (size_t)i] =
            element(n, (i / nb * rows + row) * nb + i % nb, (j / nb * columns + column) * nb + j % nb, is_cholesky);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (is_cholesky)
      pdpotrf_("L", &n, a, &one, &one, descriptor, &info);
    else
      pdgetrf_(&n, &n, a, &one, &one, descriptor, pivots, &info);
    const double own = MPI_Wtime() - begin;
    double longest;
    MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (info != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    if (row == 0 && column == 0) printf("%.6f\n", longest);
  }
  free(a);
  free(pivots);
  Cblacs_gridexit(context);
  MPI_Finalize();
  return 0;
}
