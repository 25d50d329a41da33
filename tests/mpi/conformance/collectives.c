/* Collective operations, and messages of the same communicator that are under way at the same time. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

/* A wildcard receive is open during all of them, and must not see any of their messages. */
static void wildcards_do_not_see_collectives(void) {
  const int peer = pair_peer();
  int in = -1, out = my_rank + 5, flag = 9;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  if (peer != MPI_PROC_NULL) MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  int value = my_rank == 0 ? 42 : 0, sum = -1, all[64], exchanged[64];
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK_EQUAL(value, 42);
  MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
  MPI_Allgather(&my_rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(all, 1, MPI_INT, exchanged, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < rank_count; ++i) CHECK_EQUAL(exchanged[i], my_rank);
  int found = 9;
  if (peer != MPI_PROC_NULL) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK_EQUAL(found, 0);
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    CHECK_EQUAL(flag, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (peer == MPI_PROC_NULL) return;
  MPI_Send(&out, 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  CHECK_STATUS(&status, peer, 9, 4);
  CHECK_EQUAL(in, peer + 5);
}

/* Sends before, receives after, collectives in between; large ones too. */
static void messages_across_collectives(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  static const int lengths[] = {8, 6000, 200000};
  char* const in = allocate(200000);
  char* const out = allocate(200000);
  for (int kind = 0; kind < 3; ++kind) {
    const int bytes = lengths[kind];
    MPI_Request request;
    long sum = -1, mine = my_rank;
    fill(out, (size_t)bytes, seed_of(my_rank, kind));
    MPI_Isend(out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, rank_count - 1);
    MPI_Recv(in, bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)bytes, seed_of(previous, kind));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
}

static void every_size_of_the_common_ones(void) {
  const int step = rank_count > 2 ? 2 : 1;
  for (int i = 0; i < size_total; i += step) {
    const int count = sizes[i] / 8;
    long* const mine = allocate((size_t)count * 8);
    long* const all = allocate((size_t)count * 8);
    for (int k = 0; k < count; ++k) mine[k] = my_rank + k;
    MPI_Allreduce(mine, all, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int wrong = 0;
    for (int k = 0; k < count; ++k) wrong += all[k] != (long)rank_count * (rank_count - 1) / 2 + (long)k * rank_count;
    CHECK_EQUAL(wrong, 0);
    MPI_Reduce(mine, all, count, MPI_LONG, MPI_MIN, rank_count - 1, MPI_COMM_WORLD);
    if (my_rank == rank_count - 1) {
      wrong = 0;
      for (int k = 0; k < count; ++k) wrong += all[k] != k;
      CHECK_EQUAL(wrong, 0);
    }
    MPI_Allreduce(MPI_IN_PLACE, mine, count, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    wrong = 0;
    for (int k = 0; k < count; ++k) wrong += mine[k] != rank_count - 1 + k;
    CHECK_EQUAL(wrong, 0);
    if (my_rank == i % rank_count) fill(mine, (size_t)count * 8, (uint64_t)i);
    MPI_Bcast(mine, count, MPI_LONG, i % rank_count, MPI_COMM_WORLD);
    VERIFY(mine, (size_t)count * 8, (uint64_t)i);
    free(all);
    free(mine);
  }
}

/* Pieces of different sizes, with gaps between them. */
static void gathers_and_scatters(void) {
  int counts[64], places[64], total = 0;
  for (int scale = 1; scale <= 1000; scale *= 1000) {
    total = 0;
    for (int i = 0; i < rank_count; ++i) {
      counts[i] = (i + 1) * scale;
      places[i] = total + 3;
      total = places[i] + counts[i];
    }
    int* const whole = allocate((size_t)total * sizeof(int));
    int* const part = allocate((size_t)counts[my_rank] * sizeof(int));
    for (int k = 0; k < counts[my_rank]; ++k) part[k] = my_rank * 100000 + k;
    for (int kind = 0; kind < 2; ++kind) {
      for (int k = 0; k < total; ++k) whole[k] = -1;
      if (kind == 0) MPI_Gatherv(part, counts[my_rank], MPI_INT, whole, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
      if (kind == 1) MPI_Allgatherv(part, counts[my_rank], MPI_INT, whole, counts, places, MPI_INT, MPI_COMM_WORLD);
      int wrong = 0;
      for (int i = 0; i < rank_count && (kind == 1 || my_rank == 0); ++i) {
        for (int k = 0; k < counts[i]; ++k) wrong += whole[places[i] + k] != i * 100000 + k;
        wrong += whole[places[i] - 1] != -1;
      }
      CHECK_EQUAL(wrong, 0);
    }
    memset(part, 0, (size_t)counts[my_rank] * sizeof(int));
    MPI_Scatterv(whole, counts, places, MPI_INT, part, counts[my_rank], MPI_INT, 0, MPI_COMM_WORLD);
    int wrong = 0;
    for (int k = 0; k < counts[my_rank]; ++k) wrong += part[k] != my_rank * 100000 + k;
    CHECK_EQUAL(wrong, 0);
    free(part);
    free(whole);
  }
}

static void all_to_all_with_sizes_and_types(void) {
  int out_counts[64], out_places[64], in_counts[64], in_places[64], out_total = 0, in_total = 0;
  MPI_Datatype types[64];
  for (int i = 0; i < rank_count; ++i) {
    out_counts[i] = 10 * my_rank + i + 1; /* to rank i */
    in_counts[i] = 10 * i + my_rank + 1;  /* from rank i */
    out_places[i] = out_total;
    in_places[i] = in_total;
    out_total += out_counts[i];
    in_total += in_counts[i];
    types[i] = MPI_INT;
  }
  int* const out = allocate((size_t)out_total * sizeof(int));
  int* const in = allocate((size_t)in_total * sizeof(int));
  for (int i = 0; i < rank_count; ++i) {
    for (int k = 0; k < out_counts[i]; ++k) out[out_places[i] + k] = my_rank * 10000 + i * 100 + k;
  }
  for (int kind = 0; kind < 2; ++kind) {
    memset(in, 0, (size_t)in_total * sizeof(int));
    if (kind == 0) {
      MPI_Alltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, MPI_COMM_WORLD);
    } else {
      for (int i = 0; i < rank_count; ++i) {
        out_places[i] *= 4;
        in_places[i] *= 4;
      }
      MPI_Alltoallw(out, out_counts, out_places, types, in, in_counts, in_places, types, MPI_COMM_WORLD);
    }
    int wrong = 0, at = 0;
    for (int i = 0; i < rank_count; ++i) {
      for (int k = 0; k < in_counts[i]; ++k) wrong += in[at++] != i * 10000 + my_rank * 100 + k;
    }
    CHECK_EQUAL(wrong, 0);
  }
  free(in);
  free(out);
}

/* An operation that does not commute: what comes out tells the order of the ranks. */
static void compose(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  (void)type; /* the maps x -> a x + b, modulo a prime */
  long* const first = in;
  long* const second = in_and_out;
  for (int i = 0; i < *count; ++i) {
    const long a = second[2 * i] * first[2 * i] % 10007,
               b = (second[2 * i] * first[2 * i + 1] + second[2 * i + 1]) % 10007;
    second[2 * i] = a;
    second[2 * i + 1] = b;
  }
}
static void operations_of_our_own(void) {
  MPI_Datatype map;
  MPI_Op composition;
  MPI_Type_contiguous(2, MPI_LONG, &map);
  MPI_Type_commit(&map);
  MPI_Op_create(compose, 0, &composition);
  for (int count = 1; count <= 10000; count *= 100) {
    long* const mine = allocate((size_t)count * 16);
    long* const result = allocate((size_t)count * 16);
    long a = 1, b = 0, until_a = 1, until_b = 0;
    for (int rank = 0; rank < rank_count; ++rank) {
      const long next_a = rank + 2, next_b = 3 * rank + 1;
      a = a * next_a % 10007;
      b = (next_a * b + next_b) % 10007;
      if (rank == my_rank) until_a = a, until_b = b;
    }
    for (int i = 0; i < count; ++i) {
      mine[2 * i] = my_rank + 2;
      mine[2 * i + 1] = 3 * my_rank + 1;
    }
    MPI_Allreduce(mine, result, count, map, composition, MPI_COMM_WORLD);
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += result[2 * i] != a || result[2 * i + 1] != b;
    CHECK_EQUAL(wrong, 0);
    MPI_Scan(mine, result, count, map, composition, MPI_COMM_WORLD);
    wrong = 0;
    for (int i = 0; i < count; ++i) wrong += result[2 * i] != until_a || result[2 * i + 1] != until_b;
    CHECK_EQUAL(wrong, 0);
    free(result);
    free(mine);
  }
  MPI_Op_free(&composition);
  MPI_Type_free(&map);
}

static void scans_and_scattered_sums(void) {
  int mine[64], result[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  for (int i = 0; i < rank_count; ++i) mine[i] = my_rank + i;
  MPI_Exscan(&mine[0], result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank > 0) CHECK_EQUAL(result[0], my_rank * (my_rank - 1) / 2);
  MPI_Reduce_scatter_block(mine, result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(result[0], rank_count * (rank_count - 1) / 2 + rank_count * my_rank);
  int counts[64];
  for (int i = 0; i < rank_count; ++i) counts[i] = i == rank_count - 1 ? rank_count : 0;
  MPI_Reduce_scatter(mine, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == rank_count - 1) {
    for (int i = 0; i < rank_count; ++i) CHECK_EQUAL(result[i], rank_count * (rank_count - 1) / 2 + rank_count * i);
  }
  struct {
    double value;
    int rank;
  } best = {(double)((my_rank * 5) % rank_count), my_rank}, found;
  MPI_Allreduce(&best, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  double highest = -1;
  int at = -1;
  for (int i = 0; i < rank_count; ++i) {
    if ((i * 5) % rank_count > highest) highest = (i * 5) % rank_count, at = i;
  }
  CHECK(found.value == highest);
  CHECK_EQUAL(found.rank, at);
}

/* Many nonblocking operations at once, finished in another order, with messages between. */
static void many_nonblocking_at_once(void) {
  enum { total = 12 };
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Request requests[total];
  int values[total], sums[total], in = -1;
  for (int i = 0; i < total; ++i) {
    values[i] = i % 3 == 1 && my_rank != i % rank_count ? -1 : my_rank + i;
    if (i % 3 == 0) MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 1) MPI_Ibcast(&values[i], 1, MPI_INT, i % rank_count, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 2) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Sendrecv(&my_rank, 1, MPI_INT, next, 1, &in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, previous);
  for (int i = total - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < total; ++i) {
    if (i % 3 == 0) CHECK_EQUAL(sums[i], rank_count * (rank_count - 1) / 2 + rank_count * i);
    if (i % 3 == 1) CHECK_EQUAL(values[i], i % rank_count + i);
  }
}

/* A barrier holds everybody until the last one is there. */
static void nobody_leaves_a_barrier_early(void) {
  for (int round = 0; round < 10; ++round) {
    int flag = 0, in = -1;
    if (my_rank == 0) {
      for (int i = 1; i < rank_count; ++i) {
        MPI_Iprobe(i, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQUAL(flag, 0); /* they send after the barrier */
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank != 0) MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    for (int i = 1; i < rank_count && my_rank == 0; ++i) {
      MPI_Recv(&in, 1, MPI_INT, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQUAL(in, round);
    }
  }
}

const struct conformance_case collective_cases[] = {
    {"wildcards_do_not_see_collectives", 1, wildcards_do_not_see_collectives},
    {"messages_across_collectives", 1, messages_across_collectives},
    {"every_size_of_the_common_ones", 1, every_size_of_the_common_ones},
    {"gathers_and_scatters", 1, gathers_and_scatters},
    {"all_to_all_with_sizes_and_types", 1, all_to_all_with_sizes_and_types},
    {"operations_of_our_own", 1, operations_of_our_own},
    {"scans_and_scattered_sums", 1, scans_and_scattered_sums},
    {"many_nonblocking_at_once", 1, many_nonblocking_at_once},
    {"nobody_leaves_a_barrier_early", 1, nobody_leaves_a_barrier_early},
    {NULL, 0, NULL},
};
