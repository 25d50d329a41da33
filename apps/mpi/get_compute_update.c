/* C = A x B with matrices in blocks, many of which are zero, in the manner of the tensor contractions of NWChem: ranks
   take the next product of blocks from a counter, get the two blocks, multiply them, and add the result to the block of
   C. Matrices are windows; the rows of blocks are dealt out to the ranks, and a block is a strided part of its owner's
   rows. Values are small whole numbers, so that the order of additions does not matter. Checked block by block. */
#include "idle_time.h"

static int blocks = 8, edge = 24, fill_percent = 60, check = 1;
static int my_rank, rank_count;

struct matrix {
  MPI_Win window;
  double* mine; /* rows of blocks my_rank, my_rank + rank_count, ... */
};

static int width(void) { return blocks * edge; }
static int is_zero(int which, int row, int column) {
  return (row * 31 + column * 17 + which * 7 + row * column) % 100 >= fill_percent;
}
static double value_of(int which, int row, int column) {
  return is_zero(which, row / edge, column / edge) ? 0 : (row * 3 + column * 5 + which) % 7 - 3;
}

static struct matrix make_matrix(int which) {
  struct matrix made;
  const int block_rows = (blocks - my_rank + rank_count - 1) / rank_count;
  const MPI_Aint bytes = (MPI_Aint)sizeof(double) * block_rows * edge * width();
  MPI_Win_allocate(bytes, (int)sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &made.mine, &made.window);
  for (int i = 0; i < block_rows * edge; ++i) {
    const int row = (my_rank + i / edge * rank_count) * edge + i % edge;
    for (int column = 0; column < width(); ++column)
      made.mine[(size_t)i * (size_t)width() + (size_t)column] = which == 2 ? 0 : value_of(which, row, column);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return made;
}

/* Where the block begins in its owner's window, in doubles. */
static MPI_Aint place_of(int row, int column) { return (MPI_Aint)(row / rank_count) * edge * width() + column * edge; }

static void get_block(const struct matrix* from, int row, int column, double* block, MPI_Datatype type) {
  const int owner = row % rank_count;
  IN_MPI(MPI_Get(block, edge * edge, MPI_DOUBLE, owner, place_of(row, column), 1, type, from->window));
  IN_MPI(MPI_Win_flush(owner, from->window));
}

static void multiply(const double* a, const double* b, double* c) {
  memset(c, 0, sizeof(double) * (size_t)edge * (size_t)edge);
  for (int i = 0; i < edge; ++i) {
    for (int k = 0; k < edge; ++k) {
      for (int j = 0; j < edge; ++j) c[i * edge + j] += a[i * edge + k] * b[k * edge + j];
    }
  }
}

/* Our rows of C against sums over the whole. */
static long differences(const struct matrix* c) {
  long wrong = 0;
  const int block_rows = (blocks - my_rank + rank_count - 1) / rank_count;
  double* const expected = malloc(sizeof(double) * (size_t)width());
  if (expected == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < block_rows * edge; ++i) {
    const int row = (my_rank + i / edge * rank_count) * edge + i % edge;
    memset(expected, 0, sizeof(double) * (size_t)width());
    for (int k = 0; k < width(); ++k) {
      const double factor = value_of(0, row, k);
      if (factor == 0) continue;
      for (int column = 0; column < width(); ++column) expected[column] += factor * value_of(1, k, column);
    }
    for (int column = 0; column < width(); ++column)
      wrong += c->mine[(size_t)i * (size_t)width() + (size_t)column] != expected[column];
  }
  free(expected);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct number_option options[] = {
      {"--blocks", &blocks, 1, "rows and columns of blocks"},
      {"--edge", &edge, 1, "rows and columns of a block"},
      {"--fill", &fill_percent, 1, "percent of the blocks of A and B that are not zero, about"},
      {"--check", &check, 0, "0: without comparison"},
  };
  read_numbers(argc, argv, options, 4);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  struct matrix a = make_matrix(0), b = make_matrix(1), c = make_matrix(2);
  MPI_Win counter;
  long* tickets = NULL;
  MPI_Win_allocate(my_rank == 0 ? sizeof(long) : 0, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &tickets, &counter);
  if (my_rank == 0) *tickets = 0;
  MPI_Datatype block_type;
  const int whole[2] = {edge, width()}, part[2] = {edge, edge}, start[2] = {0, 0};
  MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &block_type);
  MPI_Type_commit(&block_type);
  double* const space = malloc(3 * sizeof(double) * (size_t)edge * (size_t)edge);
  if (space == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  double *const left = space, *const right = space + edge * edge, *const product = space + 2 * edge * edge;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, a.window);
  MPI_Win_lock_all(0, b.window);
  MPI_Win_lock_all(0, c.window);
  MPI_Win_lock_all(0, counter);
  start_clock(MPI_COMM_WORLD);
  const long one = 1, total = (long)blocks * blocks * blocks;
  long done = 0;
  for (;;) {
    long ticket = -1;
    IN_MPI(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, counter));
    IN_MPI(MPI_Win_flush(0, counter));
    if (ticket >= total) break;
    const int i = (int)(ticket / blocks / blocks), j = (int)(ticket / blocks % blocks), k = (int)(ticket % blocks);
    if (is_zero(0, i, k) || is_zero(1, k, j)) continue;
    get_block(&a, i, k, left, block_type);
    get_block(&b, k, j, right, block_type);
    multiply(left, right, product);
    IN_MPI(MPI_Accumulate(product, edge * edge, MPI_DOUBLE, i % rank_count, place_of(i, j), 1, block_type, MPI_SUM,
                          c.window));
    IN_MPI(MPI_Win_flush(i % rank_count, c.window));
    ++done;
  }
  MPI_Win_unlock_all(counter);
  MPI_Win_unlock_all(c.window);
  MPI_Win_unlock_all(b.window);
  MPI_Win_unlock_all(a.window);
  IN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  report_idle_time(MPI_COMM_WORLD);
  long mine[2] = {done, 0}, all[2] = {0, 0};
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, c.window);
  if (check) mine[1] = differences(&c);
  MPI_Win_unlock(my_rank, c.window);
  MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0) {
    printf("get_compute_update: %ld products of blocks, %s\n", all[0],
           !check        ? "not checked"
           : all[1] == 0 ? "all sums are right"
                         : "sums DIFFER");
  }
  MPI_Type_free(&block_type);
  MPI_Win_free(&counter);
  MPI_Win_free(&c.window);
  MPI_Win_free(&b.window);
  MPI_Win_free(&a.window);
  free(space);
  MPI_Finalize();
  return all[1] != 0;
}
