/* Inter-communicators: the first half of the ranks and the others, so that groups of different sizes talk. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

static int first_is_alone; /* in its group, else half of the ranks are */
static int low_size(void) { return first_is_alone ? 1 : rank_count / 2; }
static int is_high(void) { return my_rank >= low_size(); }
static int first_there(void) { return is_high() ? 0 : low_size(); }
static int first_here(void) { return is_high() ? low_size() : 0; }
static int size_there(void) { return is_high() ? low_size() : rank_count - low_size(); }
static int size_here(void) { return rank_count - size_there(); }
static int rank_here(void) { return my_rank - first_here(); }

static MPI_Comm make_between(void) {
  MPI_Comm side, made;
  MPI_Comm_split(MPI_COMM_WORLD, is_high(), my_rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, first_there(), 17, &made);
  MPI_Comm_free(&side);
  return made;
}

/* Everybody sends to everybody on the other side. */
static void exchange_on(MPI_Comm between, int bytes, int salt) {
  const int there = size_there();
  const size_t block = (size_t)bytes;
  MPI_Request* const requests = allocate(2 * (size_t)there * sizeof *requests);
  MPI_Status* const statuses = allocate(2 * (size_t)there * sizeof *statuses);
  char* const in = allocate((size_t)there * block + 1);
  char* const out = allocate((size_t)there * block + 1);
  for (int i = 0; i < there; ++i) {
    fill(out + (size_t)i * block, block, mix((uint64_t)(my_rank * 1000 + first_there() + i)) + (uint64_t)salt);
    MPI_Irecv(in + (size_t)i * block, bytes, MPI_BYTE, i, salt, between, &requests[i]);
    MPI_Isend(out + (size_t)i * block, bytes, MPI_BYTE, i, salt, between, &requests[there + i]);
  }
  MPI_Waitall(2 * there, requests, statuses);
  for (int i = 0; i < there; ++i) {
    CHECK_STATUS(&statuses[i], i, salt, bytes);
    VERIFY(in + (size_t)i * block, block, mix((uint64_t)((first_there() + i) * 1000 + my_rank)) + (uint64_t)salt);
  }
  free(out);
  free(in);
  free(statuses);
  free(requests);
}

static void messages_of_every_size(void) {
  MPI_Comm between = make_between();
  for (int i = 0; i < size_total; ++i) exchange_on(between, sizes[i] < 1 << 20 ? sizes[i] : 1 << 20, i);
  MPI_Comm_free(&between);
}

/* Messages of the own number, of the own group and of the other one, on two communicators with one tag. */
static void one_number_in_two_groups(void) {
  MPI_Comm between = make_between(), side;
  MPI_Comm_split(MPI_COMM_WORLD, is_high(), my_rank, &side);
  int in = -1, in_there = -1;
  MPI_Request requests[2];
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, side, &requests[0]);
  MPI_Send(&my_rank, 1, MPI_INT, rank_here(), 5, side);
  const int talks = rank_here() < size_there(); /* with the same number there */
  requests[1] = MPI_REQUEST_NULL;
  const int across = 100 + my_rank;
  if (talks) {
    MPI_Irecv(&in_there, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, between, &requests[1]);
    MPI_Send(&across, 1, MPI_INT, rank_here(), 5, between);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(in, my_rank);
  CHECK_EQUAL(in_there, talks ? 100 + first_there() + rank_here() : -1);
  MPI_Comm_free(&side);
  MPI_Comm_free(&between);
}

/* The first ranks of both groups; the others only make and free the communicator. */
static void every_kind_of_call(MPI_Comm between) {
  enum { most = 200000 };
  char* const in = allocate(most);
  char* const out = allocate(most);
  char* const space = allocate(most + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(space, most + MPI_BSEND_OVERHEAD);
  for (int bytes = 8; bytes <= most && rank_here() == 0; bytes = bytes == 8 ? 5000 : bytes == 5000 ? most : most + 1) {
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    fill(out, (size_t)bytes, (uint64_t)is_high());
    for (int kind = 0; kind < 5; ++kind) {
      memset(in, 0x33, most);
      if (is_high()) {
        if (kind == 0) MPI_Ssend(out, bytes, MPI_BYTE, 0, kind, between);
        if (kind == 1) MPI_Bsend(out, bytes, MPI_BYTE, 0, kind, between);
        if (kind == 2) MPI_Send(out, bytes, MPI_BYTE, 0, kind, between);
        if (kind == 3) MPI_Send(out, bytes, MPI_BYTE, 0, kind, between);
        if (kind == 4) {
          MPI_Issend(out, bytes, MPI_BYTE, 0, kind, between, &request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Sendrecv_replace(out, bytes, MPI_BYTE, 0, 9, 0, 9, between, &status);
        CHECK_STATUS(&status, 0, 9, bytes);
        VERIFY(out, (size_t)bytes, 0);
        fill(out, (size_t)bytes, 1);
        continue;
      }
      if (kind == 1) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, between, &status);
        CHECK_STATUS(&status, 0, kind, bytes);
      }
      if (kind == 2) {
        for (int found = 0; !found;) MPI_Iprobe(0, kind, between, &found, &status);
        CHECK_STATUS(&status, 0, kind, bytes);
      }
      if (kind == 3) {
        MPI_Mprobe(MPI_ANY_SOURCE, kind, between, &message, &status);
        CHECK_STATUS(&status, 0, kind, bytes);
        MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status);
      } else {
        MPI_Recv(in, bytes, MPI_BYTE, kind == 4 ? MPI_ANY_SOURCE : 0, MPI_ANY_TAG, between, &status);
      }
      CHECK_STATUS(&status, 0, kind, bytes);
      VERIFY(in, (size_t)bytes, 1);
      MPI_Sendrecv(out, bytes, MPI_BYTE, 0, 9, in, bytes, MPI_BYTE, 0, 9, between, &status);
      VERIFY(in, (size_t)bytes, 1);
    }
  }
  void* old = NULL;
  int length = 0;
  MPI_Buffer_detach(&old, &length);
  free(space);
  free(out);
  free(in);
}
static void calls_of_every_kind(void) {
  MPI_Comm between = make_between();
  every_kind_of_call(between);
  MPI_Comm_free(&between);
}
/* Whoever stands between the program and its MPI may not know this one. */
static void calls_on_one_made_without_waiting(void) {
  MPI_Comm between = make_between(), copy;
  MPI_Request request;
  MPI_Comm_idup(between, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  every_kind_of_call(copy);
  MPI_Barrier(MPI_COMM_WORLD); /* wildcards of others take no message of the exchange */
  exchange_on(copy, 20000, 3);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&between);
}

static void persistent_requests(void) {
  MPI_Comm between = make_between();
  const int there = size_there();
  enum { bytes = 30000, rounds = 3 };
  MPI_Request* const requests = allocate(2 * (size_t)there * sizeof *requests);
  char* const in = allocate((size_t)there * bytes);
  char* const out = allocate((size_t)there * bytes);
  for (int i = 0; i < there; ++i) {
    MPI_Recv_init(in + i * bytes, bytes, MPI_BYTE, i, 2, between, &requests[i]);
    MPI_Send_init(out + i * bytes, bytes, MPI_BYTE, i, 2, between, &requests[there + i]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < there; ++i) fill(out + i * bytes, bytes, mix((uint64_t)(my_rank + 100 * i)) + (uint64_t)round);
    MPI_Startall(2 * there, requests);
    MPI_Waitall(2 * there, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < there; ++i)
      VERIFY(in + i * bytes, bytes, mix((uint64_t)(first_there() + i + 100 * rank_here())) + (uint64_t)round);
  }
  for (int i = 0; i < 2 * there; ++i) MPI_Request_free(&requests[i]);
  free(out);
  free(in);
  free(requests);
  MPI_Comm_free(&between);
}

/* Each of these has two groups again; some ranks are in none. */
static void made_in_every_way(void) {
  MPI_Comm between = make_between(), made;
  MPI_Comm_dup(between, &made);
  exchange_on(made, 100, 1);
  exchange_on(between, 100, 1);
  MPI_Comm_free(&made);
  MPI_Comm_dup_with_info(between, MPI_INFO_NULL, &made);
  exchange_on(made, 9000, 2);
  MPI_Comm_disconnect(&made);
  /* The first of each group alone, then in one order and in the other. */
  MPI_Comm_split(between, rank_here() == 0 ? 1 : MPI_UNDEFINED, 0, &made);
  CHECK_EQUAL(made != MPI_COMM_NULL, rank_here() == 0);
  if (made != MPI_COMM_NULL) {
    int in = -1;
    MPI_Sendrecv(&my_rank, 1, MPI_INT, 0, 4, &in, 1, MPI_INT, MPI_ANY_SOURCE, 4, made, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in, first_there());
    MPI_Comm_free(&made);
  }
  MPI_Comm_split(between, 0, -my_rank, &made);
  int number = -1, in = -1;
  MPI_Comm_rank(made, &number);
  CHECK_EQUAL(number, size_here() - 1 - rank_here());
  MPI_Request request = MPI_REQUEST_NULL;
  if (number < size_there()) MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 4, made, &request);
  if (number < size_there()) MPI_Send(&my_rank, 1, MPI_INT, number, 4, made);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, number < size_there() ? first_there() + size_there() - 1 - number : -1);
  MPI_Comm_free(&made);
  MPI_Group own, first;
  const int zero = 0;
  MPI_Comm_group(between, &own);
  MPI_Group_incl(own, 1, &zero, &first);
  MPI_Comm_create(between, first, &made);
  CHECK_EQUAL(made != MPI_COMM_NULL, rank_here() == 0);
  if (made != MPI_COMM_NULL) {
    in = -1;
    MPI_Sendrecv(&my_rank, 1, MPI_INT, 0, 4, &in, 1, MPI_INT, 0, 4, made, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in, first_there());
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&first);
  MPI_Group_free(&own);
  MPI_Comm_free(&between);
}

/* Freed at once, while messages are pending on it. */
static void freed_before_the_messages(void) {
  const int there = size_there();
  enum { bytes = 100000 };
  MPI_Request* const requests = allocate(2 * (size_t)there * sizeof *requests);
  char* const in = allocate((size_t)there * bytes);
  char* const out = allocate(bytes);
  fill(out, bytes, (uint64_t)my_rank);
  for (int round = 0; round < 3; ++round) {
    MPI_Comm between = make_between();
    memset(in, 0x77, (size_t)there * bytes);
    for (int i = 0; i < there; ++i) MPI_Irecv(in + i * bytes, bytes, MPI_BYTE, i, 3, between, &requests[i]);
    for (int i = 0; i < there; ++i) MPI_Isend(out, bytes, MPI_BYTE, i, 3, between, &requests[there + i]);
    MPI_Comm_free(&between);
    MPI_Waitall(2 * there, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < there; ++i) VERIFY(in + i * bytes, bytes, (uint64_t)(first_there() + i));
  }
  free(out);
  free(in);
  free(requests);
}

/* ---- collective operations: each has one of this communicator's groups as its source and the other as its target */

/* What the caller names as the root: a rank of the high group if `of_high`. */
static int root_of(int of_high, int rank) {
  if (is_high() != of_high) return rank;
  return rank_here() == rank ? MPI_ROOT : MPI_PROC_NULL;
}
static int value_of(int rank, int i) { return 1000 * rank + i; }

enum { roots = 2 };

/* A collective operation in one of the ways in which MPI has it. */
enum { waits, does_not_wait, is_persistent };
static void start_twice(MPI_Request* request) {
  for (int start = 0; start < 2; ++start) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(request);
}
#define RUN(way, name, nonblocking_name, ...)                         \
  do {                                                                \
    MPI_Request request_of_run;                                       \
    if ((way) == waits) MPI_##name(__VA_ARGS__);                      \
    if ((way) == does_not_wait) {                                     \
      MPI_I##nonblocking_name(__VA_ARGS__, &request_of_run);          \
      MPI_Wait(&request_of_run, MPI_STATUS_IGNORE);                   \
    }                                                                 \
    if ((way) == is_persistent) {                                     \
      MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_of_run); \
      start_twice(&request_of_run);                                   \
    }                                                                 \
  } while (0)

static void broadcasts(MPI_Comm between, int count, int way) {
  int* const data = allocate((size_t)count * sizeof *data);
  for (int of_high = 0; of_high < 2; ++of_high) {
    const int group = of_high == is_high() ? size_here() : size_there();
    const int base = of_high == is_high() ? first_here() : first_there();
    for (int rank = 0; rank < group && rank < roots; ++rank) {
      const int root = root_of(of_high, rank);
      for (int i = 0; i < count; ++i) data[i] = root == MPI_ROOT ? value_of(my_rank, i) : -1;
      RUN(way, Bcast, bcast, data, count, MPI_INT, root, between);
      int bad = 0;
      for (int i = 0; i < count; ++i) bad += data[i] != (root == MPI_PROC_NULL ? -1 : value_of(base + rank, i));
      CHECK_EQUAL(bad, 0);
    }
  }
  free(data);
}

/* `uneven`: rank r has r + 1 parts of `each` elements, with gaps between them where they are together. */
static void gathers(MPI_Comm between, int each, int uneven, int way, int scatters) {
  const int there = size_there();
  const int mine = uneven ? each * (rank_here() + 1) : each;
  int* const counts = allocate((size_t)there * sizeof *counts);
  int* const places = allocate((size_t)there * sizeof *places);
  int total = 0;
  for (int rank = 0; rank < there; ++rank) {
    counts[rank] = uneven ? each * (rank + 1) : each;
    places[rank] = total;
    total += counts[rank] + (uneven ? 2 : 0);
  }
  int* const own = allocate((size_t)mine * sizeof *own);
  int* const all = allocate((size_t)total * sizeof *all);
  for (int of_high = 0; of_high < 2; ++of_high) {
    const int root = root_of(of_high, 0);
    for (int i = 0; i < mine; ++i) own[i] = scatters ? -1 : value_of(my_rank, i);
    for (int i = 0; i < total; ++i) all[i] = scatters ? -2 : -1;
    for (int rank = 0; scatters && rank < there; ++rank)
      for (int i = 0; i < counts[rank]; ++i) all[places[rank] + i] = value_of(first_there() + rank, i);
    if (scatters && uneven)
      RUN(way, Scatterv, scatterv, all, counts, places, MPI_INT, own, mine, MPI_INT, root, between);
    else if (scatters)
      RUN(way, Scatter, scatter, all, each, MPI_INT, own, mine, MPI_INT, root, between);
    else if (uneven)
      RUN(way, Gatherv, gatherv, own, mine, MPI_INT, all, counts, places, MPI_INT, root, between);
    else
      RUN(way, Gather, gather, own, mine, MPI_INT, all, each, MPI_INT, root, between);
    int bad = 0;
    if (scatters)
      for (int i = 0; i < mine; ++i) bad += own[i] != (root >= 0 ? value_of(my_rank, i) : -1);
    for (int rank = 0; !scatters && rank < there; ++rank)
      for (int i = 0; i < counts[rank] + (uneven ? 2 : 0); ++i)
        bad += all[places[rank] + i] != (root == MPI_ROOT && i < counts[rank] ? value_of(first_there() + rank, i) : -1);
    CHECK_EQUAL(bad, 0);
  }
  free(all);
  free(own);
  free(places);
  free(counts);
}

/* Rank r sends r + 1 elements more than `each` in the uneven ones. */
static void allgathers(MPI_Comm between, int each, int uneven, int way) {
  const int there = size_there(), mine = each + (uneven ? rank_here() + 1 : 0);
  int* const counts = allocate((size_t)there * sizeof *counts);
  int* const places = allocate((size_t)there * sizeof *places);
  int total = 0;
  for (int rank = 0; rank < there; ++rank) {
    places[rank] = total;
    total += counts[rank] = each + (uneven ? rank + 1 : 0);
  }
  int* const own = allocate((size_t)mine * sizeof *own);
  int* const all = allocate((size_t)total * sizeof *all);
  for (int i = 0; i < mine; ++i) own[i] = value_of(my_rank, i);
  for (int i = 0; i < total; ++i) all[i] = -1;
  if (uneven)
    RUN(way, Allgatherv, allgatherv, own, mine, MPI_INT, all, counts, places, MPI_INT, between);
  else
    RUN(way, Allgather, allgather, own, mine, MPI_INT, all, each, MPI_INT, between);
  int bad = 0;
  for (int rank = 0; rank < there; ++rank)
    for (int i = 0; i < counts[rank]; ++i) bad += all[places[rank] + i] != value_of(first_there() + rank, i);
  CHECK_EQUAL(bad, 0);
  free(all);
  free(own);
  free(places);
  free(counts);
}

/* To rank r go `each` elements; kind 1 is the one with counts, kind 2 that with types. */
static void alltoalls(MPI_Comm between, int each, int kind, int way) {
  const int there = size_there();
  const size_t total = (size_t)(there * each);
  int* const counts = allocate((size_t)there * sizeof *counts);
  int* const places = allocate((size_t)there * sizeof *places);
  MPI_Datatype* const types = allocate((size_t)there * sizeof *types);
  int* const out = allocate(total * sizeof *out);
  int* const in = allocate(total * sizeof *in);
  for (int rank = 0; rank < there; ++rank) {
    counts[rank] = each;
    places[rank] = rank * each * (kind == 2 ? (int)sizeof(int) : 1);
    types[rank] = MPI_INT;
    for (int i = 0; i < each; ++i) out[rank * each + i] = value_of(my_rank, 7 * (first_there() + rank) + i);
  }
  memset(in, 0xff, total * sizeof *in);
  if (kind == 0) RUN(way, Alltoall, alltoall, out, each, MPI_INT, in, each, MPI_INT, between);
  if (kind == 1) RUN(way, Alltoallv, alltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT, between);
  if (kind == 2) RUN(way, Alltoallw, alltoallw, out, counts, places, types, in, counts, places, types, between);
  int bad = 0;
  for (int rank = 0; rank < there; ++rank)
    for (int i = 0; i < each; ++i) bad += in[rank * each + i] != value_of(first_there() + rank, 7 * my_rank + i);
  CHECK_EQUAL(bad, 0);
  free(in);
  free(out);
  free(types);
  free(places);
  free(counts);
}

/* The product of 2 x 2 matrices: not commutative. */
struct matrix {
  unsigned cell[4];
};
static void multiply(void* left_matrices, void* right_matrices, int* count, MPI_Datatype* type) {
  (void)type;
  const struct matrix* left = left_matrices;
  struct matrix* right = right_matrices;
  for (int i = 0; i < *count; ++i) {
    const struct matrix l = left[i], r = right[i];
    for (int cell = 0; cell < 4; ++cell)
      right[i].cell[cell] = l.cell[cell / 2 * 2] * r.cell[cell % 2] + l.cell[cell / 2 * 2 + 1] * r.cell[cell % 2 + 2];
  }
}
static struct matrix matrix_of(int rank, int i) {
  return (struct matrix){{(unsigned)rank + 2, (unsigned)i + 1, 3, (unsigned)rank * 5 + 1}};
}
static struct matrix product_there(int i) {
  struct matrix product = matrix_of(first_there() + size_there() - 1, i);
  for (int rank = size_there() - 2; rank >= 0; --rank) {
    struct matrix left = matrix_of(first_there() + rank, i);
    int one = 1;
    multiply(&left, &product, &one, NULL);
  }
  return product;
}
static int sum_there(int i) {
  int sum = 0;
  for (int rank = 0; rank < size_there(); ++rank) sum += value_of(first_there() + rank, i);
  return sum;
}

static void reductions(MPI_Comm between, int count, int way, int of_all) {
  int* const out = allocate((size_t)count * sizeof *out);
  int* const in = allocate((size_t)count * sizeof *in);
  for (int i = 0; i < count; ++i) out[i] = value_of(my_rank, i);
  for (int of_high = 0; of_high < (of_all ? 1 : 2); ++of_high) {
    const int root = root_of(of_high, 0);
    for (int i = 0; i < count; ++i) in[i] = -1;
    if (of_all)
      RUN(way, Allreduce, allreduce, out, in, count, MPI_INT, MPI_SUM, between);
    else
      RUN(way, Reduce, reduce, out, in, count, MPI_INT, MPI_SUM, root, between);
    int bad = 0;
    for (int i = 0; i < count; ++i) bad += in[i] != (of_all || root == MPI_ROOT ? sum_there(i) : -1);
    CHECK_EQUAL(bad, 0);
  }
  free(in);
  free(out);
}

/* What does not wait is of a type and an operation that are freed before it ends. */
static void products(MPI_Comm between, int count, int way) {
  struct matrix* const out = allocate((size_t)count * sizeof *out);
  struct matrix* const in = allocate((size_t)count * sizeof *in);
  for (int i = 0; i < count; ++i) out[i] = matrix_of(my_rank, i);
  for (int kind = 0; kind < 3; ++kind) { /* to all, to the first of the low group, of the high group */
    const int root = root_of(kind == 2, 0);
    MPI_Request request;
    MPI_Datatype type;
    MPI_Op product;
    MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &product);
    memset(in, 0, (size_t)count * sizeof *in);
    if (way == waits && kind == 0) MPI_Allreduce(out, in, count, type, product, between);
    if (way == waits && kind > 0) MPI_Reduce(out, in, count, type, product, root, between);
    if (way == does_not_wait && kind == 0) MPI_Iallreduce(out, in, count, type, product, between, &request);
    if (way == does_not_wait && kind > 0) MPI_Ireduce(out, in, count, type, product, root, between, &request);
    if (way == is_persistent && kind == 0)
      MPI_Allreduce_init(out, in, count, type, product, between, MPI_INFO_NULL, &request);
    if (way == is_persistent && kind > 0)
      MPI_Reduce_init(out, in, count, type, product, root, between, MPI_INFO_NULL, &request);
    MPI_Op_free(&product);
    MPI_Type_free(&type);
    if (way == does_not_wait) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (way == is_persistent) start_twice(&request);
    int bad = 0;
    for (int i = 0; i < count && (kind == 0 || root == MPI_ROOT); ++i) {
      const struct matrix right = product_there(i);
      bad += memcmp(&in[i], &right, sizeof right) != 0;
    }
    CHECK_EQUAL(bad, 0);
  }
  free(in);
  free(out);
}

/* Both groups have as many elements in all; each divides them among its ranks. */
static void scattered_sums(MPI_Comm between, int each, int uneven, int way) {
  const int here = size_here(), total = here * size_there() * each;
  int* const counts = allocate((size_t)here * sizeof *counts);
  for (int rank = 0; rank < here; ++rank) counts[rank] = total / here;
  if (uneven) counts[0] -= here > 1 ? 1 : 0;
  if (uneven) counts[here - 1] += here > 1 ? 1 : 0;
  int first = 0;
  for (int rank = 0; rank < rank_here(); ++rank) first += counts[rank];
  const int mine = counts[rank_here()];
  int* const out = allocate((size_t)total * sizeof *out);
  int* const in = allocate((size_t)mine * sizeof *in + 1);
  for (int i = 0; i < total; ++i) out[i] = value_of(my_rank, i);
  if (uneven)
    RUN(way, Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, between);
  else
    RUN(way, Reduce_scatter_block, reduce_scatter_block, out, in, mine, MPI_INT, MPI_SUM, between);
  int bad = 0;
  for (int i = 0; i < mine; ++i) bad += in[i] != sum_there(first + i);
  CHECK_EQUAL(bad, 0);
  free(in);
  free(out);
  free(counts);
}

enum { few = 3, many = 30000 };
static void collective_of_parts(int way) {
  MPI_Comm between = make_between();
  for (int each = few; each <= many; each += many - few) {
    for (int uneven = 0; uneven < 2; ++uneven) {
      gathers(between, each, uneven, way, 0);
      gathers(between, each, uneven, way, 1);
      allgathers(between, each, uneven, way);
    }
    for (int kind = 0; kind < 3; ++kind) alltoalls(between, each, kind, way);
  }
  MPI_Comm_free(&between);
}
static void every_broadcast(int way) {
  MPI_Comm between = make_between();
  for (int count = few; count <= many; count += many - few) broadcasts(between, count, way);
  MPI_Comm_free(&between);
}
static void from_each_root(void) { every_broadcast(waits); }
static void nonblocking_from_each_root(void) { every_broadcast(does_not_wait); }
static void persistent_from_each_root(void) { every_broadcast(is_persistent); }
static void parts(void) { collective_of_parts(waits); }
static void nonblocking_parts(void) { collective_of_parts(does_not_wait); }
static void persistent_parts(void) { collective_of_parts(is_persistent); }

static void every_sum(int way) {
  MPI_Comm between = make_between();
  for (int count = few; count <= many; count += many - few) {
    reductions(between, count, way, 0);
    reductions(between, count, way, 1);
    products(between, count, way);
    scattered_sums(between, count, 0, way);
    scattered_sums(between, count, 1, way);
  }
  MPI_Comm_free(&between);
}
static void sums(void) { every_sum(waits); }
static void nonblocking_sums(void) { every_sum(does_not_wait); }
static void persistent_sums(void) { every_sum(is_persistent); }

/* More bytes than a rank receives side by side, of three ranks and more to one. */
static void large_sums(void) {
  enum { large = 800000 };
  first_is_alone = 1;
  MPI_Comm between = make_between();
  for (int way = waits; way <= does_not_wait; ++way) {
    reductions(between, large, way, 0);
    reductions(between, large, way, 1);
    products(between, large / 4, way);
    scattered_sums(between, large / size_here() / size_there(), 1, way);
  }
  MPI_Comm_free(&between);
  first_is_alone = 0;
}

/* The root waits for messages that the others send when their part is over. Together their parts are more than it
   receives side by side, in calls that do not wait. */
static void large_sums_while_the_root_waits_for_others(void) {
  enum { large = 6 << 20 };
  first_is_alone = 1;
  MPI_Comm between = make_between();
  int* const out = allocate(large * sizeof *out);
  int* const in = allocate(large * sizeof *in);
  for (int i = 0; i < large; ++i) out[i] = value_of(my_rank, i), in[i] = -1;
  MPI_Request request;
  MPI_Ireduce(out, in, large, MPI_INT, MPI_SUM, is_high() ? 0 : MPI_ROOT, between, &request);
  if (is_high()) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&my_rank, 1, MPI_INT, 0, 8, between);
  } else {
    for (int rank = 0; rank < size_there(); ++rank) {
      int told = -1;
      MPI_Recv(&told, 1, MPI_INT, rank, 8, between, MPI_STATUS_IGNORE);
      CHECK_EQUAL(told, first_there() + rank);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int bad = 0;
    for (int i = 0; i < large; ++i) bad += in[i] != sum_there(i);
    CHECK_EQUAL(bad, 0);
  }
  free(in);
  free(out);
  MPI_Comm_free(&between);
  first_is_alone = 0;
}

/* Nobody leaves a barrier before all of the other group have entered it: the last one to come finds no message that
   they send after it. */
static void barriers(void) {
  MPI_Comm between = make_between();
  const int there = size_there();
  for (int round = 0; round < 8; ++round) {
    const int late = round % 2 == is_high() && rank_here() == 0;
    MPI_Request request;
    int flag = 0, in = -1;
    if (late && round < 4) usleep(10000);
    for (int rank = 0; rank < there && late; ++rank) {
      MPI_Iprobe(rank, 6, between, &flag, MPI_STATUS_IGNORE);
      CHECK_EQUAL(flag, 0);
    }
    if (round / 2 % 2) {
      MPI_Ibarrier(between, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Barrier(between);
    }
    if (round % 2 != is_high()) MPI_Send(&round, 1, MPI_INT, 0, 6, between);
    for (int rank = 0; rank < there && late; ++rank) {
      MPI_Recv(&in, 1, MPI_INT, rank, 6, between, MPI_STATUS_IGNORE);
      CHECK_EQUAL(in, round);
    }
  }
  MPI_Comm_free(&between);
}

/* Several operations at the same time, and messages of the program beside them. */
static void operations_beside_each_other(void) {
  MPI_Comm between = make_between();
  const int there = size_there();
  enum { length = 5000 };
  int* const all = allocate((size_t)there * length * sizeof *all);
  int* const own = allocate(length * sizeof *own);
  int* const told = allocate(length * sizeof *told);
  int sum = -1;
  for (int i = 0; i < length; ++i) {
    own[i] = value_of(my_rank, i);
    told[i] = is_high() ? -1 : i;
  }
  MPI_Request requests[4];
  MPI_Iallgather(own, length, MPI_INT, all, length, MPI_INT, between, &requests[0]);
  MPI_Ibcast(told, length, MPI_INT, root_of(0, 0), between, &requests[1]);
  MPI_Iallreduce(own, &sum, 1, MPI_INT, MPI_SUM, between, &requests[2]);
  MPI_Ibarrier(between, &requests[3]);
  exchange_on(between, 70000, 4);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(sum, sum_there(0));
  int bad = 0;
  for (int rank = 0; rank < there; ++rank)
    for (int i = 0; i < length; ++i) bad += all[rank * length + i] != value_of(first_there() + rank, i);
  for (int i = 0; i < length; ++i) bad += told[i] != i;
  CHECK_EQUAL(bad, 0);
  free(told);
  free(own);
  free(all);
  MPI_Comm_free(&between);
}

/* Ranks that are neither root nor in the other group may name anything. */
static void arguments_that_do_not_matter(void) {
  MPI_Comm between = make_between();
  for (int way = waits; way <= is_persistent; ++way) {
    const int root = root_of(0, 0);
    const int takes_part = root != MPI_PROC_NULL, is_root = root == MPI_ROOT, is_other = root >= 0;
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    int* const all = allocate((size_t)rank_count * sizeof *all);
    int value = is_root ? 7 : -1, sum = -1;
    for (int i = 0; i < rank_count; ++i) all[i] = is_root ? 50 + i : -1;
    RUN(way, Bcast, bcast, takes_part ? &value : NULL, takes_part, takes_part ? MPI_INT : none, root, between);
    CHECK_EQUAL(value, takes_part ? 7 : -1);
    RUN(way, Reduce, reduce, takes_part ? &value : NULL, is_root ? &sum : NULL, takes_part, takes_part ? MPI_INT : none,
        takes_part ? MPI_SUM : MPI_OP_NULL, root, between);
    CHECK_EQUAL(sum, is_root ? 7 * size_there() : -1);
    RUN(way, Scatter, scatter, is_root ? all : NULL, is_root, is_root ? MPI_INT : none, is_other ? &value : NULL,
        is_other, is_other ? MPI_INT : none, root, between);
    CHECK_EQUAL(value, is_other ? 50 + rank_here() : is_root ? 7 : -1);
    RUN(way, Gather, gather, is_other ? &value : NULL, is_other, is_other ? MPI_INT : none, is_root ? all : NULL,
        is_root, is_root ? MPI_INT : none, root, between);
    for (int rank = 0; rank < size_there(); ++rank) CHECK_EQUAL(all[rank], is_root ? 50 + rank : -1);
    free(all);
  }
  MPI_Comm_free(&between);
}

/* Each rank starts them in another order, with operations that are not persistent between them. */
static void persistent_in_any_order(void) {
  MPI_Comm between = make_between();
  enum { length = 5000, rounds = 5 };
  const int there = size_there();
  int* const all = allocate((size_t)there * length * sizeof *all);
  int* const own = allocate(length * sizeof *own);
  int* const told = allocate(length * sizeof *told);
  int* const sums_here = allocate(length * sizeof *sums_here);
  MPI_Request requests[4];
  MPI_Allgather_init(own, length, MPI_INT, all, length, MPI_INT, between, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(told, length, MPI_INT, root_of(0, 0), between, MPI_INFO_NULL, &requests[1]);
  MPI_Allreduce_init(own, sums_here, length, MPI_INT, MPI_SUM, between, MPI_INFO_NULL, &requests[2]);
  MPI_Barrier_init(between, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < length; ++i) {
      own[i] = value_of(my_rank, i) + round;
      told[i] = is_high() ? -1 : i - round;
    }
    for (int i = 0; i < 4; ++i) MPI_Start(&requests[(i + my_rank) % 4]);
    int largest = -1;
    MPI_Allreduce(&round, &largest, 1, MPI_INT, MPI_MAX, between);
    CHECK_EQUAL(largest, round);
    for (int i = 0; i < 4; ++i) MPI_Wait(&requests[(i + 2 * my_rank) % 4], MPI_STATUS_IGNORE);
    int bad = 0;
    for (int rank = 0; rank < there; ++rank)
      for (int i = 0; i < length; ++i) bad += all[rank * length + i] != value_of(first_there() + rank, i) + round;
    for (int i = 0; i < length; ++i) bad += told[i] != i - round || sums_here[i] != sum_there(i) + there * round;
    CHECK_EQUAL(bad, 0);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
  free(sums_here);
  free(told);
  free(own);
  free(all);
  MPI_Comm_free(&between);
}

const struct conformance_case between_groups_cases[] = {
    {"messages_of_every_size", 2, messages_of_every_size},
    {"one_number_in_two_groups", 2, one_number_in_two_groups},
    {"calls_of_every_kind", 2, calls_of_every_kind},
    {"calls_on_one_made_without_waiting", 2, calls_on_one_made_without_waiting},
    {"persistent_requests", 2, persistent_requests},
    {"made_in_every_way", 2, made_in_every_way},
    {"freed_before_the_messages", 2, freed_before_the_messages},
    {"barriers", 2, barriers},
    {"broadcasts", 2, from_each_root},
    {"nonblocking_broadcasts", 2, nonblocking_from_each_root},
    {"parts", 2, parts},
    {"nonblocking_parts", 2, nonblocking_parts},
    {"sums", 2, sums},
    {"nonblocking_sums", 2, nonblocking_sums},
    {"persistent_broadcasts", 2, persistent_from_each_root},
    {"persistent_parts", 2, persistent_parts},
    {"persistent_sums", 2, persistent_sums},
    {"persistent_in_any_order", 2, persistent_in_any_order},
    {"arguments_that_do_not_matter", 2, arguments_that_do_not_matter},
    {"large_sums", 4, large_sums},
    {"large_sums_while_the_root_waits_for_others", 4, large_sums_while_the_root_waits_for_others},
    {"operations_beside_each_other", 2, operations_beside_each_other},
    {NULL, 0, NULL},
};
