/* Collective operations among neighbours: grids, graphs, distributed graphs. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* Open MPI 4 has them as an extension. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#define MPI_Neighbor_allgatherv_init MPIX_Neighbor_allgatherv_init
#define MPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#define MPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init
#endif

enum { most_neighbors = 16, operations = 5 };

/* What a rank expects: for the edge that it receives part i from, which rank sends it and as which of its parts.
   MPI_PROC_NULL: nothing comes. */
struct expectation {
  int sources, destinations;
  int from[most_neighbors], part[most_neighbors];
};

/* Element k of part `part` of what `rank` sends. */
static int value(int rank, int part, int round, int k) { return rank * 1000003 + part * 10007 + round * 101 + k % 89; }

struct buffers {
  int count; /* of each part */
  int* from;
  int* to;
  int counts[most_neighbors], places[most_neighbors];
  MPI_Aint byte_places[most_neighbors];
  MPI_Datatype types[most_neighbors];
};

static void set(struct buffers* b, const struct expectation* e, int round) {
  for (int part = 0; part < e->destinations; ++part)
    for (int k = 0; k < b->count; ++k) b->from[part * b->count + k] = value(my_rank, part, round, k);
  memset(b->to, -1, (size_t)(e->sources * b->count) * sizeof(int));
}

static void check_parts(const struct buffers* b, const struct expectation* e, int round, int is_gather) {
  int wrong = 0;
  for (int part = 0; part < e->sources; ++part) {
    for (int k = 0; k < b->count; ++k) {
      const int found = b->to[part * b->count + k];
      wrong += found !=
               (e->from[part] == MPI_PROC_NULL ? -1 : value(e->from[part], is_gather ? 0 : e->part[part], round, k));
    }
  }
  CHECK_EQUAL(wrong, 0);
}

static void blocking(struct buffers* b, int operation, MPI_Comm comm) {
  const int n = b->count;
  if (operation == 0) MPI_Neighbor_allgather(b->from, n, MPI_INT, b->to, n, MPI_INT, comm);
  if (operation == 1) MPI_Neighbor_allgatherv(b->from, n, MPI_INT, b->to, b->counts, b->places, MPI_INT, comm);
  if (operation == 2) MPI_Neighbor_alltoall(b->from, n, MPI_INT, b->to, n, MPI_INT, comm);
  if (operation == 3)
    MPI_Neighbor_alltoallv(b->from, b->counts, b->places, MPI_INT, b->to, b->counts, b->places, MPI_INT, comm);
  if (operation == 4)
    MPI_Neighbor_alltoallw(b->from, b->counts, b->byte_places, b->types, b->to, b->counts, b->byte_places, b->types,
                           comm);
}
static void nonblocking(struct buffers* b, int operation, MPI_Comm comm, MPI_Request* request) {
  const int n = b->count;
  if (operation == 0) MPI_Ineighbor_allgather(b->from, n, MPI_INT, b->to, n, MPI_INT, comm, request);
  if (operation == 1)
    MPI_Ineighbor_allgatherv(b->from, n, MPI_INT, b->to, b->counts, b->places, MPI_INT, comm, request);
  if (operation == 2) MPI_Ineighbor_alltoall(b->from, n, MPI_INT, b->to, n, MPI_INT, comm, request);
  if (operation == 3)
    MPI_Ineighbor_alltoallv(b->from, b->counts, b->places, MPI_INT, b->to, b->counts, b->places, MPI_INT, comm,
                            request);
  if (operation == 4)
    MPI_Ineighbor_alltoallw(b->from, b->counts, b->byte_places, b->types, b->to, b->counts, b->byte_places, b->types,
                            comm, request);
}
static void persistent(struct buffers* b, int operation, MPI_Comm comm, MPI_Request* request) {
  const int n = b->count;
  if (operation == 0) MPI_Neighbor_allgather_init(b->from, n, MPI_INT, b->to, n, MPI_INT, comm, MPI_INFO_NULL, request);
  if (operation == 1)
    MPI_Neighbor_allgatherv_init(b->from, n, MPI_INT, b->to, b->counts, b->places, MPI_INT, comm, MPI_INFO_NULL,
                                 request);
  if (operation == 2) MPI_Neighbor_alltoall_init(b->from, n, MPI_INT, b->to, n, MPI_INT, comm, MPI_INFO_NULL, request);
  if (operation == 3)
    MPI_Neighbor_alltoallv_init(b->from, b->counts, b->places, MPI_INT, b->to, b->counts, b->places, MPI_INT, comm,
                                MPI_INFO_NULL, request);
  if (operation == 4)
    MPI_Neighbor_alltoallw_init(b->from, b->counts, b->byte_places, b->types, b->to, b->counts, b->byte_places,
                                b->types, comm, MPI_INFO_NULL, request);
}

/* Every operation in every form, with three sizes. */
static void exchange_in_all_ways(MPI_Comm comm, const struct expectation* e) {
  static const int counts[] = {1, 1500, 30000};
  for (int size = 0; size < 3; ++size) {
    struct buffers b = {.count = counts[size]};
    b.from = allocate((size_t)(most_neighbors * b.count) * sizeof(int));
    b.to = allocate((size_t)(most_neighbors * b.count) * sizeof(int));
    for (int part = 0; part < most_neighbors; ++part) {
      b.counts[part] = b.count;
      b.places[part] = part * b.count;
      b.byte_places[part] = (MPI_Aint)part * b.count * (MPI_Aint)sizeof(int);
      b.types[part] = MPI_INT;
    }
    for (int operation = 0; operation < operations; ++operation) {
      MPI_Request request;
      set(&b, e, 1);
      blocking(&b, operation, comm);
      check_parts(&b, e, 1, operation < 2);
      set(&b, e, 2);
      nonblocking(&b, operation, comm, &request);
      wait_by_test(&request, MPI_STATUS_IGNORE);
      check_parts(&b, e, 2, operation < 2);
      persistent(&b, operation, comm, &request);
      for (int round = 3; round < 6; ++round) {
        set(&b, e, round);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_parts(&b, e, round, operation < 2);
      }
      MPI_Request_free(&request);
    }
    free(b.to);
    free(b.from);
  }
}

/* Part 2d goes to the rank below in dimension d, whose part 2d + 1 it is there. */
static void in_grid(int dimensions, const int* sizes_of, const int* periods) {
  MPI_Comm grid;
  struct expectation e = {.sources = 2 * dimensions, .destinations = 2 * dimensions};
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes_of, periods, 0, &grid);
  for (int d = 0; d < dimensions; ++d) {
    MPI_Cart_shift(grid, d, 1, &e.from[2 * d], &e.from[2 * d + 1]);
    e.part[2 * d] = 2 * d + 1;
    e.part[2 * d + 1] = 2 * d;
  }
  exchange_in_all_ways(grid, &e);
  MPI_Comm_free(&grid);
}
static void grids(void) {
  int sizes_of[2] = {0, 0};
  MPI_Dims_create(rank_count, 2, sizes_of);
  for (int closed = 0; closed < 2; ++closed) {
    /* circles of one or two ranks are a case of their own */
    const int periods[2] = {closed && sizes_of[0] > 2, closed && sizes_of[1] > 2};
    in_grid(2, sizes_of, periods);
  }
}
/* One and two ranks in a circle: the same one is on both sides. */
static void small_circles(void) {
  const int closed[3] = {1, 1, 1};
  const int line[3] = {1, rank_count, 1};
  in_grid(1, line + 1, closed);
  in_grid(3, line, closed);
}

/* A ring, by the old calls. */
static void graphs(void) {
  int last[64], edges[128];
  for (int rank = 0; rank < rank_count; ++rank) {
    last[rank] = 2 * (rank + 1);
    edges[2 * rank] = (rank + rank_count - 1) % rank_count;
    edges[2 * rank + 1] = (rank + 1) % rank_count;
  }
  MPI_Comm ring;
  MPI_Graph_create(MPI_COMM_WORLD, rank_count, last, edges, 0, &ring);
  const struct expectation e = {2, 2, {edges[2 * my_rank], edges[2 * my_rank + 1]}, {1, 0}};
  exchange_in_all_ways(ring, &e);
  MPI_Comm_free(&ring);
}

/* To the next rank and the one behind it; the last one of all ranks sends nothing. */
static void distributed_graphs(void) {
  struct expectation e = {0, 0, {0}, {0}};
  int destinations[2];
  for (int step = 1; step <= 2; ++step) {
    const int source = (my_rank + 2 * rank_count - step) % rank_count;
    if (my_rank != rank_count - 1) destinations[e.destinations++] = (my_rank + step) % rank_count;
    if (source == rank_count - 1) continue;
    e.from[e.sources] = source;
    e.part[e.sources++] = step - 1;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, e.sources, e.from, MPI_UNWEIGHTED, e.destinations, destinations,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  exchange_in_all_ways(graph, &e);
  MPI_Comm_free(&graph);
}

/* Two edges to the next rank, and one to oneself between them. */
static void repeated_edges_and_loops(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  const struct expectation e = {3, 3, {previous, my_rank, previous}, {0, 1, 2}};
  const int destinations[] = {next, my_rank, next}, weights[] = {3, 1, 2};
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, e.from, weights, 3, destinations, weights, MPI_INFO_NULL, 0,
                                 &graph);
  exchange_in_all_ways(graph, &e);
  MPI_Comm_free(&graph);
}

/* Columns of a matrix go to rows; messages and other operations of the same communicator are under way. */
static void types_with_gaps(void) {
  enum { side = 40 };
  const int line[1] = {rank_count}, closed[1] = {1};
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Comm grid;
  MPI_Datatype column;
  MPI_Request requests[3];
  int in = -1;
  double matrix[side][side], rows[2][side];
  MPI_Cart_create(MPI_COMM_WORLD, 1, line, closed, 0, &grid);
  MPI_Type_vector(side, 1, side, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) matrix[i][j] = my_rank * 10000 + i * 100 + j;
  const int ones[2] = {1, 1}, many[2] = {side, side};
  const MPI_Aint columns[2] = {0, (side - 1) * sizeof(double)}, places[2] = {0, side * sizeof(double)};
  const MPI_Datatype sent[2] = {column, column}, received[2] = {MPI_DOUBLE, MPI_DOUBLE};
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, grid, &requests[0]);
  MPI_Ineighbor_alltoallw(matrix, ones, columns, sent, rows, many, places, received, grid, &requests[1]);
  MPI_Type_free(&column);
  MPI_Isend(&my_rank, 1, MPI_INT, next, 3, grid, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(in, previous);
  int wrong = 0;
  for (int i = 0; i < side; ++i) {
    wrong += rows[0][i] != previous * 10000 + i * 100 + side - 1;
    wrong += rows[1][i] != next * 10000 + i * 100;
  }
  CHECK_EQUAL(wrong, 0);
  MPI_Comm_free(&grid);
}

const struct conformance_case neighborhood_cases[] = {
    {"grids", 1, grids},
    {"small_circles", 1, small_circles},
    {"graphs", 3, graphs},
    {"distributed_graphs", 3, distributed_graphs},
    {"repeated_edges_and_loops", 3, repeated_edges_and_loops},
    {"types_with_gaps", 3, types_with_gaps},
    {NULL, 0, NULL},
};
