/* A seven-point stencil in three dimensions with several variables, in the manner of miniGhost: in each step one
   message per face carries all variables, described by derived types, and then every point becomes a mean of itself and
   its six neighbours. The domain is periodic. Checked against the same computation done by one rank for the whole
   domain. */
#include "idle_time.h"

static int extent = 24, variables = 4, steps = 10, imbalance = 0, check = 1;
static int side; /* extent with ghosts */
static int grid[3], place[3];

static size_t at(int variable, int x, int y, int z) {
  return (((size_t)variable * (size_t)side + (size_t)z) * (size_t)side + (size_t)y) * (size_t)side + (size_t)x;
}
static double initial(int variable, int x, int y, int z) { return (x * 7 + y * 13 + z * 29 + variable * 31) % 101; }
static double mean(double middle, double a, double b, double c, double d, double e, double f) {
  return (middle + a + b + c + d + e + f) * (1.0 / 7);
}

/* Faces of all variables in one type: x fastest, then y, z and the variable. */
static MPI_Datatype face_type(int dimension) {
  MPI_Datatype line, face, all;
  const MPI_Aint row = (MPI_Aint)side * (MPI_Aint)sizeof(double), plane = row * side;
  if (dimension == 0) MPI_Type_create_hvector(extent, 1, row, MPI_DOUBLE, &line);
  if (dimension != 0) MPI_Type_contiguous(extent, MPI_DOUBLE, &line);
  MPI_Type_create_hvector(extent, 1, dimension == 2 ? row : plane, line, &face);
  MPI_Type_create_hvector(variables, 1, plane * side, face, &all);
  MPI_Type_commit(&all);
  MPI_Type_free(&face);
  MPI_Type_free(&line);
  return all;
}

static void exchange(double* field, MPI_Comm cartesian, const MPI_Datatype* faces) {
  MPI_Request requests[12];
  int count = 0;
  for (int dimension = 0; dimension < 3; ++dimension) {
    int lower, upper;
    MPI_Cart_shift(cartesian, dimension, 1, &lower, &upper);
    int first[3] = {1, 1, 1}, last[3] = {1, 1, 1}, ghost_low[3] = {1, 1, 1}, ghost_high[3] = {1, 1, 1};
    last[dimension] = extent;
    ghost_low[dimension] = 0;
    ghost_high[dimension] = extent + 1;
    double* const from_low = &field[at(0, ghost_low[0], ghost_low[1], ghost_low[2])];
    double* const from_high = &field[at(0, ghost_high[0], ghost_high[1], ghost_high[2])];
    IN_MPI(MPI_Irecv(from_low, 1, faces[dimension], lower, 2 * dimension, cartesian, &requests[count++]));
    IN_MPI(MPI_Irecv(from_high, 1, faces[dimension], upper, 2 * dimension + 1, cartesian, &requests[count++]));
    double* const to_high = &field[at(0, last[0], last[1], last[2])];
    double* const to_low = &field[at(0, first[0], first[1], first[2])];
    IN_MPI(MPI_Isend(to_high, 1, faces[dimension], upper, 2 * dimension, cartesian, &requests[count++]));
    IN_MPI(MPI_Isend(to_low, 1, faces[dimension], lower, 2 * dimension + 1, cartesian, &requests[count++]));
  }
  IN_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

static void sweep(const double* from, double* to) {
  for (int v = 0; v < variables; ++v) {
    for (int z = 1; z <= extent; ++z) {
      for (int y = 1; y <= extent; ++y) {
        for (int x = 1; x <= extent; ++x)
          to[at(v, x, y, z)] =
              mean(from[at(v, x, y, z)], from[at(v, x - 1, y, z)], from[at(v, x + 1, y, z)], from[at(v, x, y - 1, z)],
                   from[at(v, x, y + 1, z)], from[at(v, x, y, z - 1)], from[at(v, x, y, z + 1)]);
      }
    }
  }
}

/* The whole domain of one variable, computed here alone; how many of our points differ from it. */
static long differences(const double* field, int variable) {
  const int nx = extent * grid[0], ny = extent * grid[1], nz = extent * grid[2];
  const size_t points = (size_t)nx * (size_t)ny * (size_t)nz;
  double* from = malloc(points * sizeof *from);
  double* to = malloc(points * sizeof *to);
  if (from == NULL || to == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
#define WHOLE(x, y, z) (((size_t)(z) * (size_t)ny + (size_t)(y)) * (size_t)nx + (size_t)(x))
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) from[WHOLE(x, y, z)] = initial(variable, x, y, z);
    }
  }
  for (int step = 0; step < steps; ++step) {
    for (int z = 0; z < nz; ++z) {
      const int below = (z + nz - 1) % nz, above = (z + 1) % nz;
      for (int y = 0; y < ny; ++y) {
        const int before = (y + ny - 1) % ny, behind = (y + 1) % ny;
        for (int x = 0; x < nx; ++x)
          to[WHOLE(x, y, z)] = mean(from[WHOLE(x, y, z)], from[WHOLE((x + nx - 1) % nx, y, z)],
                                    from[WHOLE((x + 1) % nx, y, z)], from[WHOLE(x, before, z)],
                                    from[WHOLE(x, behind, z)], from[WHOLE(x, y, below)], from[WHOLE(x, y, above)]);
      }
    }
    double* const other = from;
    from = to;
    to = other;
  }
  long wrong = 0;
  for (int z = 0; z < extent; ++z) {
    for (int y = 0; y < extent; ++y) {
      for (int x = 0; x < extent; ++x)
        wrong += field[at(variable, x + 1, y + 1, z + 1)] !=
                 from[WHOLE(place[0] * extent + x, place[1] * extent + y, place[2] * extent + z)];
    }
  }
#undef WHOLE
  free(from);
  free(to);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct number_option options[] = {
      {"--extent", &extent, 1, "points of a rank in each dimension"},
      {"--variables", &variables, 1, "variables of a point"},
      {"--steps", &steps, 0, "steps"},
      {"--imbalance", &imbalance, 0, "further sweeps of every third rank in each step"},
      {"--check", &check, 0, "0: without comparison with one rank's computation"},
  };
  read_numbers(argc, argv, options, 5);
  int rank, ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, grid);
  const int periods[3] = {1, 1, 1};
  MPI_Comm cartesian;
  MPI_Cart_create(MPI_COMM_WORLD, 3, grid, periods, 1, &cartesian);
  MPI_Comm_rank(cartesian, &rank);
  MPI_Cart_coords(cartesian, rank, 3, place);
  side = extent + 2;
  const size_t points = (size_t)variables * (size_t)side * (size_t)side * (size_t)side;
  double* from = calloc(points, sizeof *from);
  double* to = calloc(points, sizeof *to);
  if (from == NULL || to == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int v = 0; v < variables; ++v) {
    for (int z = 0; z < extent; ++z) {
      for (int y = 0; y < extent; ++y) {
        for (int x = 0; x < extent; ++x)
          from[at(v, x + 1, y + 1, z + 1)] =
              initial(v, place[0] * extent + x, place[1] * extent + y, place[2] * extent + z);
      }
    }
  }
  MPI_Datatype faces[3];
  for (int i = 0; i < 3; ++i) faces[i] = face_type(i);
  start_clock(cartesian);
  for (int step = 0; step < steps; ++step) {
    exchange(from, cartesian, faces);
    for (int again = 0; again <= (rank % 3 == 0 ? imbalance : 0); ++again) sweep(from, to);
    double* const other = from;
    from = to;
    to = other;
  }
  IN_MPI(MPI_Barrier(cartesian));
  report_idle_time(cartesian);
  long wrong = 0, all = 0;
  if (check) wrong = differences(from, rank % variables);
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, cartesian);
  if (rank == 0) {
    printf("halo_exchange: %d x %d x %d ranks, %s\n", grid[0], grid[1], grid[2],
           !check     ? "not checked"
           : all == 0 ? "as computed by one"
                      : "DIFFERS from one");
  }
  for (int i = 0; i < 3; ++i) MPI_Type_free(&faces[i]);
  MPI_Comm_free(&cartesian);
  free(to);
  free(from);
  MPI_Finalize();
  return all != 0;
}
