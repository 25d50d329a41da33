/* All-to-all exchanges in place: what a rank sends to another one is where it then receives from it. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kinds = 3 }; /* alltoall, alltoallv, alltoallw */

struct exchange {
  int kind;
  int gap; /* ints behind each element */
  int counts[64], places[64], byte_places[64];
  MPI_Datatype type, types[64];
  int total; /* elements */
  int* data;
};

/* The same on both sides; some pairs have nothing, and alltoall has one count for all. */
static int count_of(int kind, int base, int one, int other) { return kind == 0 ? base : base * ((one + other) % 3); }
static int value_of(int round, int from, int to, int i) { return round * 7 + from * 1000003 + to * 10007 + i; }

static void make(struct exchange* e, int kind, int gap, int base) {
  e->kind = kind;
  e->gap = gap;
  e->total = 0;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)((size_t)(1 + gap) * sizeof(int)), &e->type);
  MPI_Type_commit(&e->type);
  for (int rank = 0; rank < rank_count; ++rank) {
    e->counts[rank] = count_of(kind, base, my_rank, rank);
    e->places[rank] = e->total;
    e->byte_places[rank] = e->total * (1 + gap) * (int)sizeof(int);
    e->types[rank] = e->type;
    e->total += e->counts[rank];
  }
  e->data = allocate((size_t)(e->total * (1 + gap)) * sizeof(int));
}

static void set(struct exchange* e, int round) {
  for (int i = 0; i < e->total * (1 + e->gap); ++i) e->data[i] = -5;
  for (int rank = 0; rank < rank_count; ++rank)
    for (int i = 0; i < e->counts[rank]; ++i)
      e->data[(e->places[rank] + i) * (1 + e->gap)] = value_of(round, my_rank, rank, i);
}

static int wrong_in(const struct exchange* e, int round) {
  int wrong = 0;
  for (int rank = 0; rank < rank_count; ++rank)
    for (int i = 0; i < e->counts[rank]; ++i) {
      const int* const element = e->data + (e->places[rank] + i) * (1 + e->gap);
      wrong += element[0] != value_of(round, rank, my_rank, i);
      for (int k = 0; k < e->gap; ++k) wrong += element[1 + k] != -5;
    }
  return wrong;
}

static void call(struct exchange* e, MPI_Comm comm) {
  if (e->kind == 0)
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, e->data, e->counts[0], e->type, comm);
  else if (e->kind == 1)
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, e->data, e->counts, e->places, e->type, comm);
  else
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, e->data, e->counts, e->byte_places, e->types, comm);
}
static void begin(struct exchange* e, MPI_Comm comm, MPI_Request* request) {
  if (e->kind == 0)
    MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, e->data, e->counts[0], e->type, comm, request);
  else if (e->kind == 1)
    MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, e->data, e->counts, e->places, e->type, comm, request);
  else
    MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, e->data, e->counts, e->byte_places, e->types, comm, request);
}
static void prepare(struct exchange* e, MPI_Comm comm, MPI_Request* request) {
  if (e->kind == 0)
    MPI_Alltoall_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, e->data, e->counts[0], e->type, comm, MPI_INFO_NULL, request);
  else if (e->kind == 1)
    MPI_Alltoallv_init(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, e->data, e->counts, e->places, e->type, comm,
                       MPI_INFO_NULL, request);
  else
    MPI_Alltoallw_init(MPI_IN_PLACE, NULL, NULL, NULL, e->data, e->counts, e->byte_places, e->types, comm,
                       MPI_INFO_NULL, request);
}

static void blocking_exchange(struct exchange* e) {
  set(e, 0);
  call(e, MPI_COMM_WORLD);
  CHECK_EQUAL(wrong_in(e, 0), 0);
}
/* Two at a time, of which the program waits for the second one first. */
static void nonblocking_exchange(struct exchange* e) {
  struct exchange other;
  MPI_Request requests[2];
  make(&other, e->kind, e->gap, 50);
  set(e, 1);
  set(&other, 2);
  begin(e, MPI_COMM_WORLD, &requests[0]);
  begin(&other, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  CHECK_EQUAL(wrong_in(&other, 2), 0);
  wait_by_test(&requests[0], MPI_STATUS_IGNORE);
  CHECK_EQUAL(wrong_in(e, 1), 0);
  MPI_Type_free(&other.type);
  free(other.data);
}
static void persistent_exchange(struct exchange* e) {
  MPI_Request request;
  prepare(e, MPI_COMM_WORLD, &request);
  for (int round = 0; round < 3; ++round) {
    set(e, round);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(wrong_in(e, round), 0);
  }
  MPI_Request_free(&request);
}

/* The largest ones are more than a rank copies at a time. */
static void every_exchange(void (*run)(struct exchange*)) {
  static const int bases[] = {0, 1, 300, 20000, 600000};
  for (int which = 0; which < 5; ++which)
    for (int kind = 0; kind < kinds; ++kind)
      for (int gap = 0; gap < 2; ++gap) {
        struct exchange e;
        make(&e, kind, gap, bases[which] / (gap * 4 + 1));
        run(&e);
        MPI_Type_free(&e.type);
        free(e.data);
      }
}
static void blocking(void) { every_exchange(blocking_exchange); }
static void nonblocking(void) { every_exchange(nonblocking_exchange); }
static void persistent(void) { every_exchange(persistent_exchange); }

/* The last rank has more for each of the others than they for it: an error on all, nothing is written behind the parts,
   and the communicator works afterwards. */
static void of_different_counts(void) {
  enum { most = 40000 };
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* where some libraries report those of requests */
  char* const all = allocate((size_t)(rank_count + 1) * 2 * most);
  for (int bytes = 100; bytes <= most; bytes *= 400) {
    for (int way = 0; way < 2; ++way) {
      int counts[64], places[64], error = MPI_SUCCESS;
      const int last = rank_count - 1;
      for (int i = 0; i < rank_count; ++i) counts[i] = bytes, places[i] = i * 2 * bytes;
      for (int i = 0; i < last && my_rank == last; ++i) counts[i] = bytes + bytes / 2;
      memset(all, 0x55, (size_t)(rank_count + 1) * 2 * most);
      if (way == 0) {
        error = MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, counts, places, MPI_BYTE, comm);
      } else {
        MPI_Request request;
        MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, counts, places, MPI_BYTE, comm, &request);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      CHECK(error != MPI_SUCCESS);
      for (int i = 0; i < rank_count; ++i)
        VERIFY_ALL(all + places[i] + counts[i], (size_t)(2 * bytes - counts[i]), 0x55);
      int sum = 0;
      MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
      CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
  free(all);
}

const struct conformance_case in_place_cases[] = {
    {"blocking", 1, blocking},
    {"nonblocking", 1, nonblocking},
    {"persistent", 1, persistent},
    {"of_different_counts", 2, of_different_counts},
    {NULL, 0, NULL},
};
