// Sums of the same numbers, dealt out to the ranks in another way for each element: prints whether all elements of
// all ranks have the same bits, and whether these are the true sum's. Sums that are rounded on the way differ: one
// number is 1, most others cancel each other and are so large that it is lost beside them.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ranks, rank;

static double value_of(int index, double large, double small) {
  if (index == 0) return 1.0;
  if (index == 1) return small;
  const double sign = index % 2 == 0 ? 1.0 : -1.0;
  return index % 2 == 0 && index + 1 == ranks ? 0.0 : sign * large * (index / 2);
}

#define CHECKED(name, number, type, large, small)                                                                  \
  static long name(int count) {                                                                                    \
    number* from = malloc(sizeof(number) * (count + 1));                                                           \
    number* to = malloc(sizeof(number) * (count + 1));                                                             \
    long wrong = 0;                                                                                                \
    for (int i = 0; i < count; ++i) from[i] = (number)value_of((rank + i) % ranks, large, small);                  \
    const number one = 1;                                                                                          \
    for (int call = 0; call < 2 + 2 * ranks; ++call) {                                                             \
      const int root = (call - 2) / 2;                                                                             \
      const int in_place = call % 2;                                                                               \
      memset(to, 0, sizeof(number) * count);                                                                       \
      if (in_place) memcpy(to, from, sizeof(number) * count);                                                      \
      if (call < 2)                                                                                                \
        MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, count, type, MPI_SUM, MPI_COMM_WORLD);                   \
      else                                                                                                         \
        MPI_Reduce(in_place&& rank == root ? MPI_IN_PLACE : from, to, count, type, MPI_SUM, root, MPI_COMM_WORLD); \
      if (call >= 2 && rank != root) continue;                                                                     \
      for (int i = 0; i < count; ++i) wrong += memcmp(&to[i], &one, sizeof one) != 0;                              \
    }                                                                                                              \
    free(from);                                                                                                    \
    free(to);                                                                                                      \
    return wrong;                                                                                                  \
  }
CHECKED(doubles, double, MPI_DOUBLE, 1e200, 1e-20)
CHECKED(floats, float, MPI_FLOAT, 1e30, 1e-20)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int counts[] = {0, 1, 7, 60, 1000, 4096, 10000};
  long wrong = 0;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) wrong += doubles(counts[i]) + floats(counts[i]);
  long all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld sums differ from the true one\n", all);
  MPI_Finalize();
  return 0;
}
