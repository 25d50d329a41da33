/* Persistent collective operations: made once, started many times, in any order. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kinds = 17 };

/* Buffers of one kind each: `to` of one kind is not touched by another. */
struct buffers {
  int count; /* of longs, of each rank */
  long* from;
  long* to[kinds];
  int counts[64], places[64], byte_places[64];
  MPI_Datatype types[64];
};

static void make_all(struct buffers* b, MPI_Request* requests) {
  const int n = b->count, root = rank_count - 1;
  int i = 0;
  MPI_Bcast_init(b->to[i], n, MPI_LONG, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Reduce_init(b->from, b->to[i], n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Allreduce_init(b->from, b->to[i], n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Scan_init(b->from, b->to[i], n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Exscan_init(b->from, b->to[i], n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Reduce_scatter_block_init(b->from, b->to[i], n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]),
      ++i;
  MPI_Reduce_scatter_init(b->from, b->to[i], b->counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]),
      ++i;
  MPI_Gather_init(b->from, n, MPI_LONG, b->to[i], n, MPI_LONG, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Gatherv_init(b->from, n, MPI_LONG, b->to[i], b->counts, b->places, MPI_LONG, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[i]),
      ++i;
  MPI_Scatter_init(b->from, n, MPI_LONG, b->to[i], n, MPI_LONG, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Scatterv_init(b->from, b->counts, b->places, MPI_LONG, b->to[i], n, MPI_LONG, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[i]),
      ++i;
  MPI_Allgather_init(b->from, n, MPI_LONG, b->to[i], n, MPI_LONG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Allgatherv_init(b->from, n, MPI_LONG, b->to[i], b->counts, b->places, MPI_LONG, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[i]),
      ++i;
  MPI_Alltoall_init(b->from, n, MPI_LONG, b->to[i], n, MPI_LONG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]), ++i;
  MPI_Alltoallv_init(b->from, b->counts, b->places, MPI_LONG, b->to[i], b->counts, b->places, MPI_LONG, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &requests[i]),
      ++i;
  MPI_Alltoallw_init(b->from, b->counts, b->byte_places, b->types, b->to[i], b->counts, b->byte_places, b->types,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]),
      ++i;
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
}

/* Element k of the block for rank `to` of what `rank` contributes. */
static long value(int rank, int round, int to, int k) { return rank * 1000003L + round * 10007L + to * 101L + k % 97; }

static void set_all(struct buffers* b, int round) {
  for (int to = 0; to < rank_count; ++to)
    for (int k = 0; k < b->count; ++k) b->from[to * b->count + k] = value(my_rank, round, to, k);
  for (int kind = 0; kind < kinds; ++kind) memset(b->to[kind], -1, (size_t)(rank_count * b->count) * sizeof(long));
  if (my_rank == rank_count - 1) memcpy(b->to[0], b->from, (size_t)b->count * sizeof(long));
}

static long sum_of(int first, int last, int round, int to, int k) {
  long sum = 0;
  for (int rank = first; rank < last; ++rank) sum += value(rank, round, to, k);
  return sum;
}

static void check_all(const struct buffers* b, int round, const int* kinds_of, int total) {
  const int n = b->count, root = rank_count - 1;
  int wrong[kinds] = {0};
  for (int k = 0; k < n; ++k) {
    wrong[0] += b->to[0][k] != value(root, round, 0, k);
    if (my_rank == root) wrong[1] += b->to[1][k] != sum_of(0, rank_count, round, 0, k);
    wrong[2] += b->to[2][k] != sum_of(0, rank_count, round, 0, k);
    wrong[3] += b->to[3][k] != sum_of(0, my_rank + 1, round, 0, k);
    if (my_rank > 0) wrong[4] += b->to[4][k] != sum_of(0, my_rank, round, 0, k);
    for (int kind = 5; kind < 7; ++kind) wrong[kind] += b->to[kind][k] != sum_of(0, rank_count, round, my_rank, k);
    for (int rank = 0; rank < rank_count; ++rank) {
      for (int kind = 7; kind < 9 && my_rank == root; ++kind)
        wrong[kind] += b->to[kind][rank * n + k] != value(rank, round, 0, k);
      for (int kind = 11; kind < 13; ++kind) wrong[kind] += b->to[kind][rank * n + k] != value(rank, round, 0, k);
      for (int kind = 13; kind < 16; ++kind) wrong[kind] += b->to[kind][rank * n + k] != value(rank, round, my_rank, k);
    }
    for (int kind = 9; kind < 11; ++kind) wrong[kind] += b->to[kind][k] != value(root, round, my_rank, k);
  }
  for (int i = 0; i < total; ++i) CHECK_EQUAL(wrong[kinds_of[i]], 0);
}

/* `in_order`: those that keep the order of ranks, or the others. */
static int chosen_kinds(int in_order, int* kinds_of) {
  int total = 0;
  for (int kind = 0; kind < kinds; ++kind)
    if ((kind >= 3 && kind < 7) == in_order) kinds_of[total++] = kind;
  return total;
}

static void start_and_check(struct buffers* b, int in_order) {
  int kinds_of[kinds];
  const int total = chosen_kinds(in_order, kinds_of);
  MPI_Request all[kinds], chosen[kinds];
  make_all(b, all);
  for (int i = 0; i < total; ++i) chosen[i] = all[kinds_of[i]];
  for (int round = 0; round < 4; ++round) {
    set_all(b, round);
    if (round % 2 == 0) {
      MPI_Startall(total, chosen);
    } else {
      for (int i = 0; i < total; ++i) MPI_Start(&chosen[i]);
    }
    if (round < 2) {
      MPI_Waitall(total, chosen, MPI_STATUSES_IGNORE);
    } else {
      for (int i = total - 1; i >= 0; --i) wait_by_test(&chosen[i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < total; ++i) CHECK(chosen[i] == all[kinds_of[i]]);
    check_all(b, round, kinds_of, total);
  }
  for (int kind = 0; kind < kinds; ++kind) {
    MPI_Request_free(&all[kind]);
    CHECK(all[kind] == MPI_REQUEST_NULL);
  }
}

static void with_every_size(int in_order) {
  static const int counts[] = {1, 300, 20000};
  for (int size = 0; size < 3; ++size) {
    struct buffers b = {.count = counts[size]};
    const size_t bytes = (size_t)(rank_count * b.count) * sizeof(long);
    b.from = allocate(bytes);
    for (int kind = 0; kind < kinds; ++kind) b.to[kind] = allocate(bytes);
    for (int rank = 0; rank < rank_count; ++rank) {
      b.counts[rank] = b.count;
      b.places[rank] = rank * b.count;
      b.byte_places[rank] = rank * b.count * (int)sizeof(long);
      b.types[rank] = MPI_LONG;
    }
    start_and_check(&b, in_order);
    for (int kind = 0; kind < kinds; ++kind) free(b.to[kind]);
    free(b.from);
  }
}
static void every_operation(void) { with_every_size(0); }
static void in_the_order_of_ranks(void) { with_every_size(1); }

/* The ranks start them in different orders; other operations of the communicator come between. */
static void starts_in_any_order(void) {
  enum { count = 5000, rounds = 6 };
  MPI_Request requests[4];
  long* const sums = allocate(count * sizeof(long));
  long* const mine = allocate(count * sizeof(long));
  long* const data = allocate(count * sizeof(long));
  int all[64], one = -1;
  MPI_Allreduce_init(mine, sums, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(data, count, MPI_LONG, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Allgather_init(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < count; ++k) {
      mine[k] = my_rank + round + k;
      data[k] = my_rank == 0 ? round * 7L + k : -1;
    }
    one = my_rank + 100 * round;
    for (int i = 0; i < 4; ++i) MPI_Start(&requests[(i + my_rank) % 4]);
    long largest = -1, round_of_rank = round;
    MPI_Allreduce(&round_of_rank, &largest, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK_EQUAL(largest, round);
    for (int i = 0; i < 4; ++i) MPI_Wait(&requests[(i + 2 * my_rank) % 4], MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int k = 0; k < count; ++k) {
      wrong += sums[k] != (long)rank_count * (rank_count - 1) / 2 + (long)rank_count * (round + k);
      wrong += data[k] != round * 7L + k;
    }
    for (int rank = 0; rank < rank_count; ++rank) wrong += all[rank] != rank + 100 * round;
    CHECK_EQUAL(wrong, 0);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
  free(data);
  free(mine);
  free(sums);
}

/* The root of a broadcast does not wait for the others: its later starts must not get into earlier ones. */
static void roots_that_run_ahead(void) {
  enum { rounds = 200 };
  MPI_Request request;
  long data[16];
  MPI_Bcast_init(data, 16, MPI_LONG, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < 16; ++k) data[k] = my_rank == 0 ? round * 100L + k : -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < 16; ++k) wrong += data[k] != round * 100L + k;
  }
  CHECK_EQUAL(wrong, 0);
  MPI_Request_free(&request);
}

/* A barrier holds everybody until the last one has started it. */
static void nobody_leaves_early(void) {
  MPI_Request barrier;
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier);
  for (int round = 0; round < 10; ++round) {
    int flag = 0, in = -1;
    for (int i = 1; i < rank_count && my_rank == 0; ++i) {
      MPI_Iprobe(i, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      CHECK_EQUAL(flag, 0); /* they send after the barrier */
    }
    MPI_Start(&barrier);
    wait_by_test(&barrier, MPI_STATUS_IGNORE);
    if (my_rank != 0) MPI_Send(&round, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
    for (int i = 1; i < rank_count && my_rank == 0; ++i) {
      MPI_Recv(&in, 1, MPI_INT, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQUAL(in, round);
    }
  }
  MPI_Request_free(&barrier);
}

/* The program may free a type when the request is made. */
static void types_are_kept(void) {
  enum { count = 500 };
  MPI_Datatype every_second;
  MPI_Request requests[2];
  int* const row = allocate(2 * count * sizeof(int));
  int* const all = allocate((size_t)rank_count * count * sizeof(int));
  MPI_Type_vector(count, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Bcast_init(row, 1, every_second, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Allgather_init(row, 1, every_second, all, count, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Type_free(&every_second);
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 2 * count; ++k) row[k] = my_rank == 0 ? round * 1000 + k : -1;
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int k = 0; k < 2 * count; ++k) wrong += row[k] != (k % 2 == 0 || my_rank == 0 ? round * 1000 + k : -1);
    CHECK_EQUAL(wrong, 0);
    for (int k = 0; k < count; ++k) row[2 * k] = my_rank * 10000 + round * 1000 + k;
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    wrong = 0;
    for (int rank = 0; rank < rank_count; ++rank)
      for (int k = 0; k < count; ++k) wrong += all[rank * count + k] != rank * 10000 + round * 1000 + k;
    CHECK_EQUAL(wrong, 0);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  free(all);
  free(row);
}

/* Inactive ones among messages in every form of waiting; a status; one that is never started. */
static void among_other_requests(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Request requests[3], never;
  MPI_Status status = marked_status();
  int sum = -1, in = -1, flag = 0, index = -1;
  MPI_Allreduce_init(&my_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &never);
  MPI_Irecv(&in, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(&my_rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(in, previous);
  CHECK(requests[0] != MPI_REQUEST_NULL);
  MPI_Wait(&requests[0], &status);
  CHECK_EMPTY(&status);
  MPI_Waitany(3, requests, &index, &status);
  CHECK_EQUAL(index, MPI_UNDEFINED);
  for (int round = 0; round < 3; ++round) {
    sum = -1;
    MPI_Start(&requests[0]);
    while (!flag) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
    flag = 0;
    MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    CHECK_EQUAL(index, 0);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&never);
}

/* Many, more than one table of operations holds, freed in another order than made. */
static void many_requests(void) {
  enum { requests_total = 1500 };
  MPI_Request* const requests = allocate(requests_total * sizeof(MPI_Request));
  int* const sums = allocate(requests_total * sizeof(int));
  for (int i = 0; i < requests_total; ++i)
    MPI_Allreduce_init(&my_rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  int wrong = 0;
  for (int first = 0; first < requests_total; first += 100) {
    MPI_Startall(100, requests + first);
    MPI_Waitall(100, requests + first, MPI_STATUSES_IGNORE);
    for (int i = first; i < first + 100; ++i) wrong += sums[i] != rank_count * (rank_count - 1) / 2;
  }
  CHECK_EQUAL(wrong, 0);
  for (int i = 0; i < requests_total; ++i) MPI_Request_free(&requests[my_rank % 2 == 0 ? i : requests_total - 1 - i]);
  free(sums);
  free(requests);
}

/* On a duplicate that was made without waiting. */
static void on_duplicates(void) {
  MPI_Comm copy;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  long mine = 100 + my_rank;
  long* const all = allocate((size_t)rank_count * sizeof *all);
  MPI_Allgather_init(&mine, 1, MPI_LONG, all, 1, MPI_LONG, copy, MPI_INFO_NULL, &request);
  for (int start = 0; start < 3; ++start) {
    memset(all, 0, (size_t)rank_count * sizeof *all);
    mine = 100 * start + my_rank;
    MPI_Start(&request);
    MPI_Barrier(copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int rank = 0; rank < rank_count; ++rank) CHECK_EQUAL(all[rank], 100 * start + rank);
  }
  MPI_Request_free(&request);
  long sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, copy);
  CHECK_EQUAL(sum, 200L * rank_count + rank_count * (rank_count - 1) / 2);
  MPI_Comm_free(&copy);
  free(all);
}

const struct conformance_case persistent_collective_cases[] = {
    {"every_operation", 1, every_operation},
    {"in_the_order_of_ranks", 1, in_the_order_of_ranks},
    {"starts_in_any_order", 1, starts_in_any_order},
    {"on_duplicates", 1, on_duplicates},
    {"roots_that_run_ahead", 1, roots_that_run_ahead},
    {"nobody_leaves_early", 1, nobody_leaves_early},
    {"types_are_kept", 1, types_are_kept},
    {"among_other_requests", 1, among_other_requests},
    {"many_requests", 1, many_requests},
    {NULL, 0, NULL},
};
