/* A five-point stencil in two dimensions on a Cartesian grid of ranks: halos of the left and right are strided, those
   above and below contiguous. Inner points are computed while the halos travel, several times over if asked to, so that
   the computation is heavy. Checked against the computation of one rank for the whole domain. */
#include "idle_time.h"

static int rows = 128, columns = 160, steps = 20, work = 1, check = 1;
static int grid[2], place[2];

static size_t at(int row, int column) { return (size_t)row * (size_t)(columns + 2) + (size_t)column; }
static double initial(int row, int column) { return (row * 17 + column * 5) % 97; }
static double next_value(double middle, double a, double b, double c, double d) {
  return 0.5 * middle + 0.125 * (a + b + c + d);
}
static void compute(const double* from, double* to, int first_row, int last_row, int first_column, int last_column) {
  for (int row = first_row; row <= last_row; ++row) {
    for (int column = first_column; column <= last_column; ++column)
      to[at(row, column)] = next_value(from[at(row, column)], from[at(row - 1, column)], from[at(row + 1, column)],
                                       from[at(row, column - 1)], from[at(row, column + 1)]);
  }
}

/* Zero around the domain. */
static long differences(const double* field) {
  const int all_rows = rows * grid[0], all_columns = columns * grid[1];
  const size_t width = (size_t)all_columns + 2, points = ((size_t)all_rows + 2) * width;
  double* from = calloc(points, sizeof *from);
  double* to = calloc(points, sizeof *to);
  if (from == NULL || to == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int row = 1; row <= all_rows; ++row) {
    for (int column = 1; column <= all_columns; ++column)
      from[(size_t)row * width + (size_t)column] = initial(row - 1, column - 1);
  }
  for (int step = 0; step < steps; ++step) {
    for (int row = 1; row <= all_rows; ++row) {
      for (int column = 1; column <= all_columns; ++column) {
        const size_t here = (size_t)row * width + (size_t)column;
        to[here] = next_value(from[here], from[here - width], from[here + width], from[here - 1], from[here + 1]);
      }
    }
    double* const other = from;
    from = to;
    to = other;
  }
  long wrong = 0;
  for (int row = 1; row <= rows; ++row) {
    for (int column = 1; column <= columns; ++column)
      wrong += field[at(row, column)] !=
               from[(size_t)(place[0] * rows + row) * width + (size_t)(place[1] * columns + column)];
  }
  free(from);
  free(to);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct number_option options[] = {
      {"--rows", &rows, 1, "rows of a rank"},
      {"--columns", &columns, 1, "columns of a rank"},
      {"--steps", &steps, 0, "steps"},
      {"--work", &work, 1, "times that the inner points are computed in each step"},
      {"--check", &check, 0, "0: without comparison with one rank's computation"},
  };
  read_numbers(argc, argv, options, 5);
  int rank, ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, grid);
  const int periods[2] = {0, 0};
  MPI_Comm cartesian;
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 1, &cartesian);
  MPI_Comm_rank(cartesian, &rank);
  MPI_Cart_coords(cartesian, rank, 2, place);
  const size_t points = (size_t)(rows + 2) * (size_t)(columns + 2);
  double* from = calloc(points, sizeof *from);
  double* to = calloc(points, sizeof *to);
  if (from == NULL || to == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int row = 1; row <= rows; ++row) {
    for (int column = 1; column <= columns; ++column)
      from[at(row, column)] = initial(place[0] * rows + row - 1, place[1] * columns + column - 1);
  }
  MPI_Datatype column_type;
  MPI_Type_vector(rows, 1, columns + 2, MPI_DOUBLE, &column_type);
  MPI_Type_commit(&column_type);
  int above, below, left, right;
  MPI_Cart_shift(cartesian, 0, 1, &above, &below);
  MPI_Cart_shift(cartesian, 1, 1, &left, &right);
  start_clock(cartesian);
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[8];
    IN_MPI(MPI_Irecv(&from[at(0, 1)], columns, MPI_DOUBLE, above, 1, cartesian, &requests[0]));
    IN_MPI(MPI_Irecv(&from[at(rows + 1, 1)], columns, MPI_DOUBLE, below, 2, cartesian, &requests[1]));
    IN_MPI(MPI_Irecv(&from[at(1, 0)], 1, column_type, left, 3, cartesian, &requests[2]));
    IN_MPI(MPI_Irecv(&from[at(1, columns + 1)], 1, column_type, right, 4, cartesian, &requests[3]));
    IN_MPI(MPI_Isend(&from[at(rows, 1)], columns, MPI_DOUBLE, below, 1, cartesian, &requests[4]));
    IN_MPI(MPI_Isend(&from[at(1, 1)], columns, MPI_DOUBLE, above, 2, cartesian, &requests[5]));
    IN_MPI(MPI_Isend(&from[at(1, columns)], 1, column_type, right, 3, cartesian, &requests[6]));
    IN_MPI(MPI_Isend(&from[at(1, 1)], 1, column_type, left, 4, cartesian, &requests[7]));
    for (int again = 0; again < work; ++again) compute(from, to, 2, rows - 1, 2, columns - 1);
    IN_MPI(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
    compute(from, to, 1, 1, 1, columns);
    compute(from, to, rows, rows, 1, columns);
    compute(from, to, 2, rows - 1, 1, 1);
    compute(from, to, 2, rows - 1, columns, columns);
    double* const other = from;
    from = to;
    to = other;
  }
  IN_MPI(MPI_Barrier(cartesian));
  report_idle_time(cartesian);
  long wrong = 0, all = 0;
  if (check) wrong = differences(from);
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, cartesian);
  if (rank == 0) {
    printf("five_point: %d x %d ranks, %s\n", grid[0], grid[1],
           !check     ? "not checked"
           : all == 0 ? "as computed by one"
                      : "DIFFERS from one");
  }
  MPI_Type_free(&column_type);
  MPI_Comm_free(&cartesian);
  free(to);
  free(from);
  MPI_Finalize();
  return all != 0;
}
