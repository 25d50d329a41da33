// Sums of the same numbers, dealt out to the ranks in another way for each element: prints whether all elements of
// all ranks have the same bits, and whether these are the true sum's. Sums that are rounded on the way differ: one
// number is 1, most others cancel each other and are so large that it is lost beside them. Scans have to agree with
// sums over the ranks up to each; with the argument `no-scans` they are left out.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ranks, rank, with_scans;

static double value_of(int index, double large, double small) {
  if (index == 0) return 1.0;
  if (index == 1) return small;
  const double sign = index % 2 == 0 ? 1.0 : -1.0;
  return index % 2 == 0 && index + 1 == ranks ? 0.0 : sign * large * (index / 2);
}

#define SCANS(name, number, type)                                                                              \
  static long name##_in_scans(const number* from, number* to, int count) {                                     \
    number* sums = malloc(2 * sizeof(number) * (count + 1)); /* up to this rank, and up to the one before */   \
    long wrong = 0;                                                                                            \
    for (int last = 0; last < ranks; ++last) {                                                                 \
      MPI_Comm first_ones;                                                                                     \
      MPI_Comm_split(MPI_COMM_WORLD, rank <= last ? 0 : MPI_UNDEFINED, rank, &first_ones);                     \
      if (rank > last) {                                                                                       \
        if (rank == last + 1) MPI_Recv(sums + count, count, type, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
        continue;                                                                                              \
      }                                                                                                        \
      MPI_Allreduce(from, to, count, type, MPI_SUM, first_ones);                                               \
      if (rank == last) memcpy(sums, to, sizeof(number) * count);                                              \
      if (rank == last && last + 1 < ranks) MPI_Send(to, count, type, last + 1, 0, MPI_COMM_WORLD);            \
      MPI_Comm_free(&first_ones);                                                                              \
    }                                                                                                          \
    for (int call = 0; call < 8; ++call) {                                                                     \
      const int in_place = call % 2, waits = call / 2 % 2, is_exclusive = call / 4;                            \
      const void* const mine = in_place ? MPI_IN_PLACE : from;                                                 \
      MPI_Request request = MPI_REQUEST_NULL;                                                                  \
      memset(to, 0, sizeof(number) * count);                                                                   \
      if (in_place) memcpy(to, from, sizeof(number) * count);                                                  \
      if (waits && is_exclusive) MPI_Exscan(mine, to, count, type, MPI_SUM, MPI_COMM_WORLD);                   \
      if (waits && !is_exclusive) MPI_Scan(mine, to, count, type, MPI_SUM, MPI_COMM_WORLD);                    \
      if (!waits && is_exclusive) MPI_Iexscan(mine, to, count, type, MPI_SUM, MPI_COMM_WORLD, &request);       \
      if (!waits && !is_exclusive) MPI_Iscan(mine, to, count, type, MPI_SUM, MPI_COMM_WORLD, &request);        \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                   \
      if (is_exclusive && rank == 0) continue;                                                                 \
      wrong += memcmp(to, sums + (is_exclusive ? count : 0), sizeof(number) * count) != 0;                     \
    }                                                                                                          \
    free(sums);                                                                                                \
    return wrong;                                                                                              \
  }
SCANS(doubles, double, MPI_DOUBLE)
SCANS(floats, float, MPI_FLOAT)

#define CHECKED(name, number, type, large, small)                                                                  \
  static long name(int count) {                                                                                    \
    number* from = malloc(sizeof(number) * (count + 1));                                                           \
    number* to = malloc(sizeof(number) * (count + 1));                                                             \
    long wrong = 0;                                                                                                \
    for (int i = 0; i < count; ++i) from[i] = (number)value_of((rank + i) % ranks, large, small);                  \
    const number one = 1;                                                                                          \
    for (int call = 0; call < 4 + 4 * ranks; ++call) {                                                             \
      const int root = (call - 4) / 4;                                                                             \
      const int in_place = call % 2, waits = call / 2 % 2;                                                         \
      MPI_Request request = MPI_REQUEST_NULL;                                                                      \
      memset(to, 0, sizeof(number) * count);                                                                       \
      if (in_place) memcpy(to, from, sizeof(number) * count);                                                      \
      if (call < 4 && waits)                                                                                       \
        MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, count, type, MPI_SUM, MPI_COMM_WORLD);                   \
      else if (call < 4)                                                                                           \
        MPI_Iallreduce(in_place ? MPI_IN_PLACE : from, to, count, type, MPI_SUM, MPI_COMM_WORLD, &request);        \
      else if (waits)                                                                                              \
        MPI_Reduce(in_place&& rank == root ? MPI_IN_PLACE : from, to, count, type, MPI_SUM, root, MPI_COMM_WORLD); \
      else                                                                                                         \
        MPI_Ireduce(in_place&& rank == root ? MPI_IN_PLACE : from, to, count, type, MPI_SUM, root, MPI_COMM_WORLD, \
                    &request);                                                                                     \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                       \
      if (call >= 4 && rank != root) continue;                                                                     \
      for (int i = 0; i < count; ++i) wrong += memcmp(&to[i], &one, sizeof one) != 0;                              \
    }                                                                                                              \
    if (with_scans) wrong += name##_in_scans(from, to, count);                                                     \
    free(from);                                                                                                    \
    free(to);                                                                                                      \
    return wrong;                                                                                                  \
  }
CHECKED(doubles, double, MPI_DOUBLE, 1e200, 1e-20)
CHECKED(floats, float, MPI_FLOAT, 1e30, 1e-20)

/* Sums of several blocks go on while their ranks wait for something else: for another sum, or for a message that is
   sent after the sum. */
static long beside_each_other(void) {
  enum { count = 10000 };
  double* const from = calloc(count, sizeof *from);
  double* const to = calloc(2 * count, sizeof *to);
  long wrong = 0;
  for (int i = 0; i < count; ++i) from[i] = rank == i % ranks;
  MPI_Request sums[2];
  for (int i = 0; i < 2; ++i)
    MPI_Iallreduce(from, to + i * count, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sums[i]);
  for (int i = 0; i < 2; ++i) MPI_Wait(&sums[(i + rank) % 2], MPI_STATUS_IGNORE);
  for (int i = 0; i < 2 * count; ++i) wrong += to[i] != 1;
  MPI_Iallreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sums[0]);
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&sums[0], MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&sums[0], MPI_STATUS_IGNORE);
    if (rank == ranks - 1) MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  for (int i = 0; i < count; ++i) wrong += to[i] != 1;
  free(from);
  free(to);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  with_scans = argc < 2 || strcmp(argv[1], "no-scans") != 0;
  const int counts[] = {0, 1, 7, 60, 1000, 4096, 10000};
  long wrong = 0;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) wrong += doubles(counts[i]) + floats(counts[i]);
  wrong += beside_each_other();
  long all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld sums differ from the true one\n", all);
  MPI_Finalize();
  return 0;
}
