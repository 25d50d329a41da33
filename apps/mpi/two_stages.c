/* Get, compute, update in two stages, after the two-stage product of Daps (Ouyang 2022, chapter 3): in the first stage
   the even ranks compute and the odd ones have the blocks, in the second stage it is the other way round. The first one
   mostly computes, the second one mostly communicates. Who has blocks waits inside MPI and answers; who computes has
   the receive of its next block open meanwhile, and calls nothing. So whoever shall receive for the computing ranks has
   to change with the stage.

   A block is a cube of doubles inside a larger one (a subarray type); it arrives contiguous, is multiplied from slice
   to slice by a matrix, and is added to the owner's block of results (one-sided, into a subarray). Numbers are small
   and whole, so the order of additions does not matter and each rank checks its own results. */
#include <time.h>

#include "idle_time.h"

enum { ask = 1, answer = 2 };

static int edge = 24, check = 1, sleep_us = 0;
static int steps[2] = {8, 32}, repeats[2] = {8, 1};
static int my_rank, rank_count;

static size_t volume(void) { return (size_t)edge * (size_t)edge * (size_t)edge; }
static size_t room(void) { return (size_t)(edge + 2) * (size_t)(edge + 2) * (size_t)(edge + 2); }
/* Where an element of the inner cube lies in the larger one. */
static size_t inside(int i, int j, int k) {
  return ((size_t)(i + 1) * (size_t)(edge + 2) + (size_t)(j + 1)) * (size_t)(edge + 2) + (size_t)(k + 1);
}
static double value_of(int owner, int i, int j, int k) { return (owner * 5 + i * 3 + j * 7 + k) % 11 - 5; }

/* A rank alone has its blocks itself. */
static int computes(int rank, int stage) { return rank_count == 1 || rank % 2 == stage; }
/* Of the ranks that do not compute, in turn. */
static int owner_of(int worker, int stage, int step) {
  if (rank_count == 1) return 0;
  const int first = 1 - stage, owners = (rank_count - first + 1) / 2;
  return first + 2 * ((worker / 2 + step) % owners);
}

static double* allocate(size_t count) {
  double* const made = calloc(count, sizeof(double));
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return made;
}

/* Each slice times a matrix with two ones in a row: elements at most double. */
static void multiply(double* block, double* space) {
  for (int slice = 0; slice < edge; ++slice) {
    double* const rows = block + (size_t)slice * (size_t)edge * (size_t)edge;
    for (int i = 0; i < edge; ++i) {
      for (int j = 0; j < edge; ++j) space[j] = 0;
      for (int k = 0; k < edge; ++k) {
        for (int j = 0; j < edge; ++j) space[j] += rows[i * edge + k] * (j == k || j == (k + 1) % edge);
      }
      memcpy(rows + i * edge, space, sizeof(double) * (size_t)edge);
    }
  }
}

static void compute(double* block, double* space, int stage) {
  for (int i = 0; i < repeats[stage]; ++i) multiply(block, space);
  if (sleep_us > 0) {
    const struct timespec time = {sleep_us / 1000000, sleep_us % 1000000 * 1000L};
    nanosleep(&time, NULL);
  }
}

/* Asks for the next block before it computes with this one. */
static void work(int stage, MPI_Win results, MPI_Datatype cube, double* blocks, double* space) {
  MPI_Request next = MPI_REQUEST_NULL;
  for (int step = -1; step < steps[stage]; ++step) {
    if (step >= 0) IN_MPI(MPI_Wait(&next, MPI_STATUS_IGNORE));
    if (step + 1 < steps[stage]) {
      const int from = owner_of(my_rank, stage, step + 1);
      double* const to = blocks + (size_t)((step + 1) % 2) * volume();
      IN_MPI(MPI_Irecv(to, (int)volume(), MPI_DOUBLE, from, answer, MPI_COMM_WORLD, &next));
      IN_MPI(MPI_Send(NULL, 0, MPI_BYTE, from, ask, MPI_COMM_WORLD));
    }
    if (step < 0) continue;
    double* const mine = blocks + (size_t)(step % 2) * volume();
    compute(mine, space, stage);
    const int owner = owner_of(my_rank, stage, step);
    IN_MPI(MPI_Accumulate(mine, (int)volume(), MPI_DOUBLE, owner, 0, 1, cube, MPI_SUM, results));
    IN_MPI(MPI_Win_flush(owner, results));
  }
}

/* How often the ranks that compute use the blocks of this one. */
static long uses_of(int owner, int stage) {
  long count = 0;
  for (int worker = 0; worker < rank_count; ++worker) {
    for (int step = 0; step < steps[stage] && computes(worker, stage); ++step)
      count += owner_of(worker, stage, step) == owner;
  }
  return count;
}

static void serve(int stage, const double* own, MPI_Datatype cube) {
  for (long left = uses_of(my_rank, stage); left > 0; --left) {
    MPI_Status status;
    IN_MPI(MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, ask, MPI_COMM_WORLD, &status));
    IN_MPI(MPI_Send(own, 1, cube, status.MPI_SOURCE, answer, MPI_COMM_WORLD));
  }
}

/* What the use of the own block by the ranks that compute adds to the results, so many times. */
static void add_product(int stage, double uses, const double* own, double* results, double* block, double* space) {
  for (int i = 0; i < edge; ++i)
    for (int j = 0; j < edge; ++j)
      memcpy(block + (i * edge + j) * edge, own + inside(i, j, 0), sizeof(double) * (size_t)edge);
  compute(block, space, stage);
  for (int i = 0; i < edge; ++i)
    for (int j = 0; j < edge; ++j)
      for (int k = 0; k < edge; ++k) results[inside(i, j, k)] += uses * block[(i * edge + j) * edge + k];
}

static long differences(const double* own, const double* results, double* block, double* space) {
  double* const expected = allocate(room());
  sleep_us = 0;
  for (int stage = 0; stage < 2; ++stage)
    add_product(stage, (double)uses_of(my_rank, stage), own, expected, block, space);
  long wrong = 0;
  for (size_t i = 0; i < room(); ++i) wrong += results[i] != expected[i];
  free(expected);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct number_option options[] = {
      {"--edge", &edge, 2, "of the cubes"},
      {"--steps-1", &steps[0], 0, "blocks that a rank computes with in the first stage"},
      {"--steps-2", &steps[1], 0, "and in the second one"},
      {"--repeats-1", &repeats[0], 0, "products with each of them; results are exact up to 40"},
      {"--repeats-2", &repeats[1], 0, "and in the second stage"},
      {"--sleep-us", &sleep_us, 0, "computation that needs no core, for each block"},
      {"--check", &check, 0, "0: without comparison"},
  };
  read_numbers(argc, argv, options, 7);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  double* results = NULL;
  MPI_Win window;
  MPI_Win_allocate((MPI_Aint)(room() * sizeof(double)), (int)sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &results,
                   &window);
  memset(results, 0, room() * sizeof(double));
  double* const own = allocate(room());
  for (int i = 0; i < edge; ++i)
    for (int j = 0; j < edge; ++j)
      for (int k = 0; k < edge; ++k) own[inside(i, j, k)] = value_of(my_rank, i, j, k);
  double *const blocks = allocate(2 * volume()), *const space = allocate((size_t)edge);
  MPI_Datatype cube;
  const int whole[3] = {edge + 2, edge + 2, edge + 2}, part[3] = {edge, edge, edge}, start[3] = {1, 1, 1};
  MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &cube);
  MPI_Type_commit(&cube);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  double total = 0;
  for (int stage = 0; stage < 2; ++stage) {
    start_clock(MPI_COMM_WORLD);
    if (rank_count == 1) /* it asks itself nothing */
      for (int step = 0; step < steps[stage]; ++step) add_product(stage, 1, own, results, blocks, space);
    else if (computes(my_rank, stage))
      work(stage, window, cube, blocks, space);
    else
      serve(stage, own, cube);
    IN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    const double took = MPI_Wtime() - time_of_start;
    if (my_rank == 0)
      printf("stage %d: ranks with %s numbers compute, %.4f s\n", stage + 1, stage == 0 ? "even" : "odd", took);
    total += took;
    report_idle_time(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  long wrong = 0, all = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, window);
  if (check) wrong = differences(own, results, blocks, space);
  MPI_Win_unlock(my_rank, window);
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0)
    printf("two_stages: %.4f s, %s\n", total, !check ? "not checked" : all == 0 ? "all sums are right" : "sums DIFFER");
  MPI_Type_free(&cube);
  MPI_Win_free(&window);
  free(space);
  free(blocks);
  free(own);
  MPI_Finalize();
  return all != 0;
}
