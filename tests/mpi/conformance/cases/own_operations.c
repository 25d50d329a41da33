/* Reductions of the program's own types and operations that do not wait, or are made once: both are freed before the
   reductions end, and other ones of the same kind are made, which would give other results. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "gapped_maps.h"

/* Maps x -> a x + b, modulo a prime, with gaps or without: composing them shows the order of the ranks. */
struct map {
  int a, b;
};

static void compose_plain(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  (void)type;
  const struct map* const first = in;
  struct map* const second = in_and_out;
  for (int i = 0; i < *count; ++i) {
    const int a = second[i].a;
    second[i] = (struct map){a * first[i].a % 10007, (a * first[i].b + second[i].b) % 10007};
  }
}
/* Whoever uses an operation that was freed, or its type, may get this one. */
static void nonsense(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  (void)in, (void)type;
  memset(in_and_out, 0x7f, (size_t)*count);
}

static size_t size_of(int gapped) { return gapped ? sizeof(struct gapped_map) : sizeof(struct map); }
static struct map map_of(int rank, int i) { return (struct map){(rank + i) % 100 + 2, 3 * rank + i % 1000 + 1}; }
static struct map composition(int first, int last, int i) {
  struct map all = {1, 0};
  for (int rank = first; rank < last; ++rank) {
    const struct map next = map_of(rank, i);
    all = (struct map){all.a * next.a % 10007, (next.a * all.b + next.b) % 10007};
  }
  return all;
}
static void set(char* maps, int gapped, int count, int rank, int marker) {
  memset(maps, marker, (size_t)count * size_of(gapped));
  for (int i = 0; i < count && rank >= 0; ++i) {
    const struct map value = map_of(rank, i);
    if (gapped) {
      ((struct gapped_map*)maps)[i].a = value.a;
      ((struct gapped_map*)maps)[i].b = value.b;
    } else {
      ((struct map*)maps)[i] = value;
    }
  }
}
/* Of those of the ranks before `last`, from element `begin` on. */
static int wrong_in(const char* maps, int gapped, int count, int last, int begin, int marker) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    const struct map expected = composition(0, last, begin + i);
    if (!gapped) {
      wrong += memcmp(&((const struct map*)maps)[i], &expected, sizeof expected) != 0;
      continue;
    }
    const struct gapped_map* const found = &((const struct gapped_map*)maps)[i];
    wrong += found->a != expected.a || found->b != expected.b;
    wrong += wrong_gaps(found, (char)marker);
  }
  return wrong;
}

static void make_type(int gapped, MPI_Datatype* type) {
  if (gapped) {
    make_gapped_type(type);
    return;
  }
  MPI_Type_contiguous(2, MPI_INT, type);
  MPI_Type_commit(type);
}

enum { kinds = 7 };
struct reductions {
  int gapped, count, root, counts[64];
  char* from;
  char* to[kinds];
  MPI_Datatype type;
  MPI_Op operation;
};

static void make(struct reductions* r, int gapped, int count) {
  const size_t bytes = (size_t)(count * rank_count) * size_of(gapped);
  r->gapped = gapped;
  r->count = count;
  r->root = rank_count / 2;
  for (int i = 0; i < rank_count; ++i) r->counts[i] = i % 2 == 0 ? count : count / 2;
  r->from = allocate(bytes);
  for (int kind = 0; kind < kinds; ++kind) r->to[kind] = allocate(bytes);
  make_type(gapped, &r->type);
  MPI_Op_create(gapped ? compose_gapped : compose_plain, 0, &r->operation);
}
static void end(struct reductions* r) {
  free(r->from);
  for (int kind = 0; kind < kinds; ++kind) free(r->to[kind]);
}
static void fill_all(struct reductions* r) {
  set(r->from, r->gapped, r->count * rank_count, my_rank, 0x11);
  for (int kind = 0; kind < kinds; ++kind) set(r->to[kind], r->gapped, r->count * rank_count, -1, 0x22);
  set(r->to[6], r->gapped, r->count, my_rank, 0x22);
}
static void check_all(const struct reductions* r) {
  int before = 0, wrong[kinds] = {0};
  for (int i = 0; i < my_rank; ++i) before += r->counts[i];
  const int n = r->count, g = r->gapped;
  wrong[0] = wrong_in(r->to[0], g, n, rank_count, 0, 0x22);
  if (my_rank == r->root) wrong[1] = wrong_in(r->to[1], g, n, rank_count, 0, 0x22);
  wrong[2] = wrong_in(r->to[2], g, n, my_rank + 1, 0, 0x22);
  if (my_rank > 0) wrong[3] = wrong_in(r->to[3], g, n, my_rank, 0, 0x22);
  wrong[4] = wrong_in(r->to[4], g, n, rank_count, my_rank * n, 0x22);
  wrong[5] = wrong_in(r->to[5], g, r->counts[my_rank], rank_count, before, 0x22);
  wrong[6] = wrong_in(r->to[6], g, n, rank_count, 0, 0x22);
  for (int kind = 0; kind < kinds; ++kind) CHECK_EQUAL(wrong[kind], 0);
}

/* Frees what the reductions are of, and makes what might be taken for it. */
static void free_and_make_others(struct reductions* r, MPI_Datatype* other_type, MPI_Op* other_operation) {
  MPI_Op_free(&r->operation);
  MPI_Type_free(&r->type);
  CHECK(r->operation == MPI_OP_NULL);
  CHECK(r->type == MPI_DATATYPE_NULL);
  MPI_Op_create(nonsense, 0, other_operation);
  MPI_Type_contiguous(1, MPI_CHAR, other_type);
  MPI_Type_commit(other_type);
}

static void begin_all(struct reductions* r, MPI_Request* requests) {
  const int n = r->count;
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Iallreduce(r->from, r->to[0], n, r->type, r->operation, comm, &requests[0]);
  MPI_Ireduce(r->from, r->to[1], n, r->type, r->operation, r->root, comm, &requests[1]);
  MPI_Iscan(r->from, r->to[2], n, r->type, r->operation, comm, &requests[2]);
  MPI_Iexscan(r->from, r->to[3], n, r->type, r->operation, comm, &requests[3]);
  MPI_Ireduce_scatter_block(r->from, r->to[4], n, r->type, r->operation, comm, &requests[4]);
  MPI_Ireduce_scatter(r->from, r->to[5], r->counts, r->type, r->operation, comm, &requests[5]);
  MPI_Iallreduce(MPI_IN_PLACE, r->to[6], n, r->type, r->operation, comm, &requests[6]);
}
static void make_all(struct reductions* r, MPI_Request* requests) {
  const int n = r->count;
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Allreduce_init(r->from, r->to[0], n, r->type, r->operation, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Reduce_init(r->from, r->to[1], n, r->type, r->operation, r->root, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Scan_init(r->from, r->to[2], n, r->type, r->operation, comm, MPI_INFO_NULL, &requests[2]);
  MPI_Exscan_init(r->from, r->to[3], n, r->type, r->operation, comm, MPI_INFO_NULL, &requests[3]);
  MPI_Reduce_scatter_block_init(r->from, r->to[4], n, r->type, r->operation, comm, MPI_INFO_NULL, &requests[4]);
  MPI_Reduce_scatter_init(r->from, r->to[5], r->counts, r->type, r->operation, comm, MPI_INFO_NULL, &requests[5]);
  MPI_Allreduce_init(MPI_IN_PLACE, r->to[6], n, r->type, r->operation, comm, MPI_INFO_NULL, &requests[6]);
}

static void all_of_size(int gapped, int count, int persistent) {
  struct reductions r;
  MPI_Request requests[kinds];
  MPI_Datatype other_type;
  MPI_Op other_operation;
  make(&r, gapped, count);
  fill_all(&r);
  (persistent ? make_all : begin_all)(&r, requests);
  free_and_make_others(&r, &other_type, &other_operation);
  for (int round = 0; round < (persistent ? 3 : 1); ++round) {
    if (persistent) {
      fill_all(&r);
      MPI_Startall(kinds, requests);
    }
    if (count % 2 == 0)
      MPI_Waitall(kinds, requests, MPI_STATUSES_IGNORE);
    else
      for (int i = kinds - 1; i >= 0; --i) wait_by_test(&requests[i], MPI_STATUS_IGNORE);
    check_all(&r);
  }
  for (int i = 0; i < kinds && persistent; ++i) MPI_Request_free(&requests[i]);
  MPI_Op_free(&other_operation);
  MPI_Type_free(&other_type);
  end(&r);
}
static void every_size(int gapped, int persistent) {
  static const int counts[] = {1, 100, 2001, 30000};
  for (int which = 0; which < 4; ++which) all_of_size(gapped, counts[which] / (1 + gapped), persistent);
}
static void nonblocking(void) { every_size(0, 0); }
static void nonblocking_with_gaps(void) { every_size(1, 0); }
static void persistent(void) { every_size(0, 1); }
static void persistent_with_gaps(void) { every_size(1, 1); }

/* Of predefined elements, by an operation that the program says commutes: as when the call waits, but for rounding. */
static void add(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((double*)in_and_out)[i] += ((const double*)in)[i];
}
static void sums_of_numbers(void) {
  MPI_Op addition;
  MPI_Op_create(add, 1, &addition);
  for (int count = 1; count <= 40000; count *= 200) {
    double* const mine = allocate((size_t)count * sizeof *mine);
    double* const sums = allocate(2 * (size_t)count * sizeof *sums);
    for (int i = 0; i < count; ++i) mine[i] = 1.0 / (1 + my_rank + i % 77);
    MPI_Request request;
    MPI_Allreduce(mine, sums, count, MPI_DOUBLE, addition, MPI_COMM_WORLD);
    MPI_Iallreduce(mine, sums + count, count, MPI_DOUBLE, addition, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    double worst = 0;
    for (int i = 0; i < count; ++i) {
      const double difference = sums[i] - sums[count + i];
      if (difference > worst || -difference > worst) worst = difference > 0 ? difference : -difference;
    }
    CHECK(worst < 1e-12);
    free(sums);
    free(mine);
  }
  MPI_Op_free(&addition);
}

const struct conformance_case own_operation_cases[] = {
    {"nonblocking", 1, nonblocking},         {"nonblocking_with_gaps", 1, nonblocking_with_gaps},
    {"persistent", 1, persistent},           {"persistent_with_gaps", 1, persistent_with_gaps},
    {"sums_of_numbers", 1, sums_of_numbers}, {NULL, 0, NULL},
};
