/* Collective operations, and messages of the same communicator that are under way at the same time. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "gapped_maps.h"

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

/* From every root, also in place, of blocks with gaps at the root. */
static void scatters_from_every_root(void) {
  const int lengths[] = {1, 0, 3, 100, 3000, 20000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    const int length = lengths[i], room = 2 * length + 1;
    int* const whole = allocate((size_t)(rank_count * room) * sizeof(int));
    int* const part = allocate((size_t)room * sizeof(int));
    MPI_Datatype numbers, spread; /* every second number */
    MPI_Type_vector(length, 1, 2, MPI_INT, &numbers);
    MPI_Type_create_resized(numbers, 0, (MPI_Aint)((size_t)room * sizeof(int)), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&numbers);
    for (int root = 0; root < rank_count; ++root) {
      for (int kind = 0; kind < 3; ++kind) {
        const int is_spread = kind == 1, is_in_place = kind == 2 && my_rank == root, step = is_spread ? 2 : 1;
        const int between = is_spread ? room : length;
        for (int rank = 0; rank < rank_count; ++rank)
          for (int k = 0; k < length; ++k) whole[rank * between + k * step] = root * 1000003 + rank * 20011 + k;
        for (int k = 0; k < room; ++k) part[k] = -1;
        if (is_spread && length == 0) continue; /* MPICH 4.0.2 does not take one empty element for none */
        MPI_Scatter(whole, is_spread ? 1 : length, is_spread ? spread : MPI_INT, is_in_place ? MPI_IN_PLACE : part,
                    length, MPI_INT, root, MPI_COMM_WORLD);
        int wrong = part[length] != -1;
        for (int k = 0; k < length && !is_in_place; ++k) wrong += part[k] != root * 1000003 + my_rank * 20011 + k;
        CHECK_EQUAL(wrong, 0);
      }
    }
    MPI_Type_free(&spread);
    free(part);
    free(whole);
  }
}

/* Both buffers have one address, MPI_BOTTOM: the types say where the data lies. */
static void types_of_absolute_addresses(void) {
  int* const from = allocate((size_t)rank_count * sizeof(int));
  int* const to = allocate((size_t)rank_count * sizeof(int));
  MPI_Datatype from_one, to_one, from_all, to_all;
  MPI_Aint address;
  const struct {
    int* data;
    int length;
    MPI_Datatype* type;
  } made[] = {{from, 1, &from_one}, {to, 1, &to_one}, {from, rank_count, &from_all}, {to, rank_count, &to_all}};
  for (size_t i = 0; i < sizeof made / sizeof made[0]; ++i) {
    MPI_Datatype block;
    MPI_Get_address(made[i].data, &address);
    MPI_Type_create_hindexed_block(1, made[i].length, &address, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, sizeof(int), made[i].type); /* the next block is one number further on */
    MPI_Type_commit(made[i].type);
    MPI_Type_free(&block);
  }
  for (int kind = 0; kind < 6; ++kind) {
    const int root = kind % rank_count;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < rank_count; ++i) from[i] = 100 * my_rank + i, to[i] = -1;
    if (kind == 0) MPI_Alltoall(MPI_BOTTOM, 1, from_one, MPI_BOTTOM, 1, to_one, MPI_COMM_WORLD);
    if (kind == 1) MPI_Allgather(MPI_BOTTOM, 1, from_one, MPI_BOTTOM, 1, to_one, MPI_COMM_WORLD);
    if (kind == 2) MPI_Gather(MPI_BOTTOM, 1, from_one, MPI_BOTTOM, 1, to_one, root, MPI_COMM_WORLD);
    if (kind == 3) MPI_Scatter(MPI_BOTTOM, 1, from_one, MPI_BOTTOM, 1, to_one, root, MPI_COMM_WORLD);
    if (kind == 4) MPI_Ialltoall(MPI_BOTTOM, 1, from_one, MPI_BOTTOM, 1, to_one, MPI_COMM_WORLD, &request);
    if (kind == 5)
      MPI_Sendrecv(MPI_BOTTOM, 1, from_all, my_rank, 0, MPI_BOTTOM, 1, to_all, my_rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < rank_count; ++i) {
      int expected = 100 * i + my_rank; /* alltoall */
      if (kind == 1) expected = 100 * i;
      if (kind == 2) expected = my_rank == root ? 100 * i : -1;
      if (kind == 3) expected = i == 0 ? 100 * root + my_rank : -1;
      if (kind == 5) expected = 100 * my_rank + i;
      wrong += to[i] != expected;
    }
    CHECK_EQUAL(wrong, 0);
  }
  for (size_t i = 0; i < sizeof made / sizeof made[0]; ++i) MPI_Type_free(made[i].type);
  free(from);
  free(to);
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

/* The composition of the maps of ranks `first` to `last` - 1, of element i. */
static void map_of(int rank, int i, long* map) {
  map[0] = (rank + i) % 100 + 2;
  map[1] = 3 * rank + i % 1000 + 1;
}
static int is_composition(const long* found, int first, int last, int i) {
  long a = 1, b = 0;
  for (int rank = first; rank < last; ++rank) {
    long next[2];
    map_of(rank, i, next);
    a = a * next[0] % 10007;
    b = (next[0] * b + next[1]) % 10007;
  }
  return found[0] % 10007 == a && found[1] % 10007 == b;
}
static void fill_maps(long* maps, int count) {
  for (int i = 0; i < count; ++i) map_of(my_rank, i, maps + 2 * i);
}
static int wrong_maps(const long* found, int count, int last, int begin) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += !is_composition(found + 2 * i, 0, last, begin + i);
  return wrong;
}
/* Everything that keeps the order of ranks, of many sizes, in place and not, from a stack and from the heap. */
static void reductions_in_the_order_of_ranks(void) {
  static const int lengths[] = {0, 1, 2, 3, 7, 100, 5000, 70001};
  MPI_Datatype map;
  MPI_Op composition;
  MPI_Type_contiguous(2, MPI_LONG, &map);
  MPI_Type_commit(&map);
  MPI_Op_create(compose, 0, &composition);
  for (int which = 0; which < 8; ++which) {
    const int length = lengths[which], total = length * rank_count;
    long on_stack[200], result_on_stack[200];
    const int is_small = 2 * total <= 200;
    long* const mine = is_small ? on_stack : allocate((size_t)total * 16 + 16);
    long* const result = is_small ? result_on_stack : allocate((size_t)total * 16 + 16);
    int counts[64];
    for (int rank = 0; rank < rank_count; ++rank) counts[rank] = rank % 2 == 0 ? length : length / 2;
    int begin = 0, sum = 0;
    for (int rank = 0; rank < rank_count; sum += counts[rank++])
      if (rank == my_rank) begin = sum;
    const int root = which % rank_count;
    /* On none, on all, on some: what an allreduce needs on all ranks, and a reduce at the root only, the others may say
       each for itself. */
    for (int way = 0; way < 3; ++way) {
      const int in_place = way == 1 || (way == 2 && my_rank % 2 == 0);
      const void* const from = in_place ? MPI_IN_PLACE : mine;
      long* const to = in_place ? mine : result;
      fill_maps(mine, length);
      MPI_Scan(from, to, length, map, composition, MPI_COMM_WORLD);
      CHECK_EQUAL(wrong_maps(to, length, my_rank + 1, 0), 0);
      fill_maps(mine, length);
      MPI_Exscan(from, to, length, map, composition, MPI_COMM_WORLD);
      if (my_rank > 0) CHECK_EQUAL(wrong_maps(to, length, my_rank, 0), 0);
      if (way < 2) {
        fill_maps(mine, length);
        MPI_Allreduce(from, to, length, map, composition, MPI_COMM_WORLD);
        CHECK_EQUAL(wrong_maps(to, length, rank_count, 0), 0);
      }
      fill_maps(mine, length);
      MPI_Reduce(in_place && my_rank != root ? mine : from, to, length, map, composition, root, MPI_COMM_WORLD);
      if (my_rank == root) CHECK_EQUAL(wrong_maps(to, length, rank_count, 0), 0);
      fill_maps(mine, total);
      MPI_Reduce_scatter_block(from, to, length, map, composition, MPI_COMM_WORLD);
      CHECK_EQUAL(wrong_maps(to, length, rank_count, my_rank * length), 0);
      fill_maps(mine, total);
      MPI_Reduce_scatter(from, to, counts, map, composition, MPI_COMM_WORLD);
      CHECK_EQUAL(wrong_maps(to, counts[my_rank], rank_count, begin), 0);
    }
    if (!is_small) {
      free(mine);
      free(result);
    }
  }
  MPI_Op_free(&composition);
  MPI_Type_free(&map);
}

static struct gapped_map* gapped_maps(int count, int marker) {
  struct gapped_map* const made = allocate((size_t)count * sizeof(struct gapped_map));
  memset(made, marker, (size_t)count * sizeof(struct gapped_map));
  return made;
}
static void fill_gapped(struct gapped_map* maps, int count) {
  for (int i = 0; i < count; ++i) {
    long map[2];
    map_of(my_rank, i, map);
    maps[i].a = (int)map[0];
    maps[i].b = map[1];
  }
}
/* Whether each is the composition of the first ranks, for element `begin` and those behind it, and its gaps are marked.
 */
static int wrong_gapped(const struct gapped_map* found, int count, int last, int begin, char marker) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    const long map[2] = {found[i].a, found[i].b};
    wrong += !is_composition(map, 0, last, begin + i);
    wrong += wrong_gaps(&found[i], marker);
  }
  return wrong;
}

static void reductions_of_elements_with_gaps(void) {
  MPI_Datatype type;
  MPI_Op composition;
  const int root = rank_count / 2;
  make_gapped_type(&type);
  MPI_Op_create(compose_gapped, 0, &composition);
  for (int count = 1; count <= 2500; count *= 50) {
    const int all = count * rank_count;
    int counts[64], before = 0, wrong[7] = {0};
    for (int i = 0; i < rank_count; ++i) counts[i] = i % 2 == 0 ? count : count / 2;
    for (int i = 0; i < my_rank; ++i) before += counts[i];
    struct gapped_map* const mine = gapped_maps(all, 0x11);
    struct gapped_map* const result = gapped_maps(all, 0x22);
    fill_gapped(mine, all);
    MPI_Allreduce(mine, result, count, type, composition, MPI_COMM_WORLD);
    wrong[0] = wrong_gapped(result, count, rank_count, 0, 0x22);
    MPI_Reduce(mine, result, count, type, composition, root, MPI_COMM_WORLD);
    if (my_rank == root) wrong[1] = wrong_gapped(result, count, rank_count, 0, 0x22);
    MPI_Scan(mine, result, count, type, composition, MPI_COMM_WORLD);
    wrong[2] = wrong_gapped(result, count, my_rank + 1, 0, 0x22);
    MPI_Exscan(mine, result, count, type, composition, MPI_COMM_WORLD);
    if (my_rank > 0) wrong[3] = wrong_gapped(result, count, my_rank, 0, 0x22);
    MPI_Reduce_scatter_block(mine, result, count, type, composition, MPI_COMM_WORLD);
    wrong[4] = wrong_gapped(result, count, rank_count, my_rank * count, 0x22);
    MPI_Reduce_scatter(mine, result, counts, type, composition, MPI_COMM_WORLD);
    wrong[5] = wrong_gapped(result, counts[my_rank], rank_count, before, 0x22);
    MPI_Allreduce(MPI_IN_PLACE, mine, count, type, composition, MPI_COMM_WORLD);
    wrong[6] = wrong_gapped(mine, count, rank_count, 0, 0x11);
    for (int i = 0; i < 7; ++i) CHECK_EQUAL(wrong[i], 0);
    free(result);
    free(mine);
  }
  MPI_Op_free(&composition);
  MPI_Type_free(&type);
}

/* Pairs have a gap behind the second number; in calls that wait and that do not. */
static void extremes_of_many_pairs(void) {
  enum { count = 6000 };
  struct pair {
    double value;
    int rank;
  };
  struct pair* const mine = allocate(count * sizeof(struct pair));
  struct pair* const found = allocate(2 * count * sizeof(struct pair));
  MPI_Request requests[2];
  int wrong = 0;
  for (int i = 0; i < count; ++i) mine[i] = (struct pair){(my_rank * 7 + i) % 11, my_rank};
  MPI_Iallreduce(mine, found, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD, &requests[0]);
  MPI_Iscan(mine, found + count, count, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    struct pair most = {-1, -1}, least = {99, -1};
    for (int rank = 0; rank < rank_count; ++rank) {
      const int value = (rank * 7 + i) % 11;
      if (value > most.value) most = (struct pair){value, rank};
      if (rank <= my_rank && value < least.value) least = (struct pair){value, rank};
    }
    wrong += found[i].value != most.value || found[i].rank != most.rank;
    wrong += found[count + i].value != least.value || found[count + i].rank != least.rank;
  }
  CHECK_EQUAL(wrong, 0);
  free(found);
  free(mine);
}

/* More of them open than a communicator has room for at a time, waited for in the other order, with messages and
   another communicator's in between. */
static void many_scans_at_once(void) {
  enum { total = 15, length = 3000 };
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int round = 0; round < 3; ++round) {
    MPI_Request requests[total];
    int* const mine = allocate(total * length * (size_t)rank_count * sizeof(int));
    int* const out = allocate(total * length * sizeof(int));
    int in = -1;
    for (int i = 0; i < total * length * rank_count; ++i) mine[i] = my_rank + i;
    for (int i = 0; i < total; ++i) {
      int* const from = mine + i * length * rank_count;
      MPI_Comm where = i % 5 == 4 ? other : MPI_COMM_WORLD;
      if (i % 3 == 0) MPI_Iscan(from, out + i * length, length, MPI_INT, MPI_SUM, where, &requests[i]);
      if (i % 3 == 1) MPI_Iexscan(from, out + i * length, length, MPI_INT, MPI_MAX, where, &requests[i]);
      if (i % 3 == 2) MPI_Ireduce_scatter_block(from, out + i * length, length, MPI_INT, MPI_SUM, where, &requests[i]);
    }
    MPI_Sendrecv(&my_rank, 1, MPI_INT, next, 1, &in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in, previous);
    MPI_Barrier(other);
    for (int i = total - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < total; ++i) {
      for (int k = 0; k < length; ++k) {
        const int at = i * length * rank_count + k, found = out[i * length + k];
        const int all = rank_count * (rank_count - 1) / 2;
        if (i % 3 == 0) wrong += found != my_rank * (my_rank + 1) / 2 + (my_rank + 1) * at;
        if (i % 3 == 1 && my_rank > 0) wrong += found != my_rank - 1 + at;
        if (i % 3 == 2) wrong += found != all + rank_count * (at + my_rank * length);
      }
    }
    CHECK_EQUAL(wrong, 0);
    free(out);
    free(mine);
  }
  MPI_Comm_free(&other);
}

static void larger_of_two(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    if (((long*)in)[i] > ((long*)inout)[i]) ((long*)inout)[i] = ((long*)in)[i];
}

/* Around the size up to which ranks exchange lines instead of messages, with other collectives of the communicator in
   between, and on communicators that come and go. Ranks are late by turns. */
static void short_sums_one_after_the_other(void) {
  MPI_Op larger;
  MPI_Op_create(larger_of_two, 1, &larger);
  for (int round = 0; round < 40; ++round) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (round % rank_count == my_rank)
      for (const double end = MPI_Wtime() + 2e-4; MPI_Wtime() < end;) {
      }
    MPI_Ibarrier(comm, &request);
    for (int count = 0; count <= 9; ++count) {
      long mine[9], sums[9] = {0}, highest[9] = {0};
      long double precise = my_rank + 0.5L, total = -1;
      for (int i = 0; i < count; ++i) mine[i] = sums[i] = 100 * round + 10 * my_rank + i;
      MPI_Allreduce(MPI_IN_PLACE, sums, count, MPI_LONG, MPI_SUM, comm);
      MPI_Allreduce(mine, highest, count, MPI_LONG, larger, comm);
      for (int i = 0; i < count; ++i) {
        CHECK_EQUAL(sums[i], rank_count * (100L * round + i) + 5L * rank_count * (rank_count - 1));
        CHECK_EQUAL(highest[i], 100L * round + 10 * (rank_count - 1) + i);
      }
      MPI_Barrier(comm);
      MPI_Allreduce(&precise, &total, 1, MPI_LONG_DOUBLE, MPI_SUM, comm);
      CHECK(total == rank_count * (rank_count - 1) / 2 + 0.5L * rank_count);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
  }
  MPI_Op_free(&larger);
}

/* Blocking and nonblocking: the same additions in the same order on all ranks, so the same bits. */
static void sums_have_the_same_bits(void) {
  static const int counts[] = {1, 3, 17, 500};
  struct random_numbers numbers = {.state = (uint64_t)my_rank + 1};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    const int count = counts[i];
    double *mine = allocate((size_t)count * 8), *blocking = allocate((size_t)count * 8);
    double *nonblocking = allocate((size_t)count * 8), *of_root = allocate((size_t)count * 8);
    for (int k = 0; k < count; ++k)
      mine[k] = (double)next_number(&numbers) / (double)(1 + number_below(&numbers, 1000000));
    MPI_Request request;
    MPI_Allreduce(mine, blocking, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(mine, nonblocking, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(memcmp(blocking, nonblocking, (size_t)count * 8), 0);
    memcpy(of_root, blocking, (size_t)count * 8);
    MPI_Bcast(of_root, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK_EQUAL(memcmp(blocking, of_root, (size_t)count * 8), 0);
    free(mine), free(blocking), free(nonblocking), free(of_root);
  }
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

/* What is done is in its place before the request ends. */
static void results_of_what_is_done(void) {
  const int sum_of_all = rank_count * (rank_count - 1) / 2;
  int* const gathered = allocate((size_t)rank_count * sizeof(int));
  for (int root = 0; root < rank_count; ++root) {
    int everywhere = -1, at_root = -1, done = 0;
    MPI_Request requests[3];
    MPI_Iallreduce(&my_rank, &everywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ireduce(&my_rank, &at_root, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[1]);
    MPI_Igather(&my_rank, 1, MPI_INT, gathered, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[2]);
    for (int which = 2; which >= 0; --which) {
      MPI_Status status = marked_status();
      for (done = 0; !done;) MPI_Request_get_status(requests[which], &done, &status);
    }
    CHECK_EQUAL(everywhere, sum_of_all);
    if (my_rank == root) {
      CHECK_EQUAL(at_root, sum_of_all);
      for (int rank = 0; rank < rank_count; ++rank) CHECK_EQUAL(gathered[rank], rank);
    }
    everywhere = at_root = -2; /* nothing writes to them any more */
    MPI_Request_get_status(requests[0], &done, MPI_STATUS_IGNORE);
    CHECK_EQUAL(done, 1);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(everywhere, -2);
    CHECK_EQUAL(at_root, -2);
    for (int i = 0; i < 3; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  free(gathered);
}

/* Every kind, several of them open at a time, waited for in all ways; each argument may be used again afterwards. */
static void every_nonblocking_operation(void) {
  static const int lengths[] = {0, 1, 100, 5000, 60000};
  enum { longest = 60000, kinds = 10 };
  int* const in[kinds] = {allocate(longest * sizeof(int)),
                          allocate(longest * sizeof(int)),
                          allocate(longest * sizeof(int)),
                          allocate(longest * sizeof(int)),
                          allocate(longest * sizeof(int) * (size_t)rank_count),
                          allocate(longest * sizeof(int) * (size_t)rank_count),
                          allocate(longest * sizeof(int) * (size_t)rank_count),
                          allocate(longest * sizeof(int) * (size_t)rank_count),
                          allocate(longest * sizeof(int)),
                          allocate(longest * sizeof(int))};
  int* const out = allocate(longest * sizeof(int) * (size_t)rank_count);
  int counts[64], places[64];
  for (int which = 0; which < 5; ++which) {
    const int length = lengths[which];
    for (int root = 0; root < rank_count; root += which < 3 ? 1 : rank_count) {
      MPI_Request requests[kinds];
      for (int i = 0; i < length * rank_count; ++i) out[i] = 1000 * my_rank + i;
      for (int i = 0; i < length; ++i) in[0][i] = my_rank == root ? i - 7 : -1;
      for (int i = 0; i < length; ++i) in[8][i] = my_rank - i;
      for (int rank = 0; rank < rank_count; ++rank)
        counts[rank] = length, places[rank] = (rank_count - 1 - rank) * length;
      MPI_Ibcast(in[0], length, MPI_INT, root, MPI_COMM_WORLD, &requests[0]);
      MPI_Ireduce(out, in[1], length, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[1]);
      MPI_Iallreduce(out, in[2], length, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[2]);
      MPI_Iscatter(out, length, MPI_INT, in[3], length, MPI_INT, root, MPI_COMM_WORLD, &requests[3]);
      MPI_Igatherv(out, length, MPI_INT, in[4], counts, places, MPI_INT, root, MPI_COMM_WORLD, &requests[4]);
      MPI_Iallgather(out, length, MPI_INT, in[5], length, MPI_INT, MPI_COMM_WORLD, &requests[5]);
      MPI_Ialltoall(out, length, MPI_INT, in[6], length, MPI_INT, MPI_COMM_WORLD, &requests[6]);
      MPI_Ialltoallv(out, counts, places, MPI_INT, in[7], counts, places, MPI_INT, MPI_COMM_WORLD, &requests[7]);
      MPI_Iallreduce(MPI_IN_PLACE, in[8], length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[8]);
      MPI_Iscan(out, in[9], length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[9]);
      if (which % 3 == 0) {
        MPI_Waitall(kinds, requests, MPI_STATUSES_IGNORE);
      } else if (which % 3 == 1) {
        for (int left = kinds; left > 0; --left) {
          int at = -1;
          MPI_Waitany(kinds, requests, &at, MPI_STATUS_IGNORE);
          if (at < 0 || at >= kinds || requests[at] != MPI_REQUEST_NULL) break;
        }
      } else {
        for (int i = kinds - 1; i >= 0; --i) wait_by_test(&requests[i], MPI_STATUS_IGNORE);
      }
      int open = 0, wrong[kinds] = {0};
      for (int i = 0; i < kinds; ++i) open += requests[i] != MPI_REQUEST_NULL;
      CHECK_EQUAL(open, 0);
      const int all_ranks = rank_count * (rank_count - 1) / 2;
      for (int i = 0; i < length; ++i) {
        wrong[0] += in[0][i] != i - 7;
        if (my_rank == root) wrong[1] += in[1][i] != 1000 * all_ranks + rank_count * i;
        wrong[2] += in[2][i] != 1000 * (rank_count - 1) + i;
        wrong[3] += in[3][i] != 1000 * root + my_rank * length + i;
        for (int rank = 0; rank < rank_count; ++rank) {
          if (my_rank == root) wrong[4] += in[4][places[rank] + i] != 1000 * rank + i;
          wrong[5] += in[5][rank * length + i] != 1000 * rank + i;
          wrong[6] += in[6][rank * length + i] != 1000 * rank + my_rank * length + i;
          wrong[7] += in[7][places[rank] + i] != 1000 * rank + places[my_rank] + i;
        }
        wrong[8] += in[8][i] != all_ranks - rank_count * i;
        wrong[9] += in[9][i] != 1000 * (my_rank * (my_rank + 1) / 2) + (my_rank + 1) * i;
      }
      for (int i = 0; i < kinds; ++i) CHECK_EQUAL(wrong[i], 0);
    }
  }
  free(out);
  for (int i = 0; i < kinds; ++i) free(in[i]);
}

/* Elements with gaps, pairs, and communicators that are freed while something is open on them. */
static void nonblocking_with_types_and_freed_communicators(void) {
  enum { length = 700 };
  MPI_Comm copy;
  MPI_Datatype every_other;
  MPI_Request requests[4];
  double spread[2 * length];
  struct {
    double value;
    int rank;
  } mine = {(double)((my_rank * 5) % rank_count), my_rank}, lowest = {-1, -1};
  int none_early = 0, sum = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Type_vector(length, 1, 2, MPI_DOUBLE, &every_other);
  MPI_Type_commit(&every_other);
  for (int i = 0; i < 2 * length; ++i) spread[i] = my_rank == 0 ? i : -1;
  MPI_Ibcast(spread, 1, every_other, 0, copy, &requests[0]);
  MPI_Iallreduce(&mine, &lowest, 1, MPI_DOUBLE_INT, MPI_MINLOC, copy, &requests[1]);
  MPI_Ibarrier(copy, &requests[2]);
  MPI_Iallreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, copy, &requests[3]);
  MPI_Type_free(&every_other);
  MPI_Comm_free(&copy);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2 * length; ++i) none_early += spread[i] != (my_rank == 0 || i % 2 == 0 ? i : -1);
  CHECK_EQUAL(none_early, 0);
  CHECK(lowest.value == 0);
  CHECK_EQUAL(lowest.rank, 0);
  CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
}

/* Several barriers are open before anybody has come to the first one; each ends when all have begun it, not earlier. */
static void nonblocking_barriers(void) {
  enum { open = 4 };
  MPI_Request requests[open];
  int flags[open] = {9, 9, 9, 9};
  if (my_rank == 0) {
    for (int i = 0; i < open; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
    if (rank_count > 1) {
      for (int i = 0; i < open; ++i) MPI_Test(&requests[i], &flags[i], MPI_STATUS_IGNORE);
      for (int i = 0; i < open; ++i) CHECK_EQUAL(flags[i], 0);
    }
    for (int rank = 1; rank < rank_count; ++rank) signal_to(rank);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* the others have begun two */
    if (rank_count > 1) {
      for (int i = 2; i < open; ++i) MPI_Test(&requests[i], &flags[i], MPI_STATUS_IGNORE);
      for (int i = 2; i < open; ++i) CHECK_EQUAL(flags[i], 0);
    }
    for (int rank = 1; rank < rank_count; ++rank) signal_to(rank);
    MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
    return;
  }
  wait_for_signal_of(0);
  for (int i = 0; i < 2; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  wait_for_signal_of(0);
  for (int i = 2; i < open; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  for (int i = open - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
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
    {"scatters_from_every_root", 1, scatters_from_every_root},
    {"types_of_absolute_addresses", 1, types_of_absolute_addresses},
    {"all_to_all_with_sizes_and_types", 1, all_to_all_with_sizes_and_types},
    {"operations_of_our_own", 1, operations_of_our_own},
    {"scans_and_scattered_sums", 1, scans_and_scattered_sums},
    {"reductions_in_the_order_of_ranks", 1, reductions_in_the_order_of_ranks},
    {"reductions_of_elements_with_gaps", 1, reductions_of_elements_with_gaps},
    {"extremes_of_many_pairs", 1, extremes_of_many_pairs},
    {"many_scans_at_once", 1, many_scans_at_once},
    {"short_sums_one_after_the_other", 1, short_sums_one_after_the_other},
    {"sums_have_the_same_bits", 1, sums_have_the_same_bits},
    {"many_nonblocking_at_once", 1, many_nonblocking_at_once},
    {"every_nonblocking_operation", 1, every_nonblocking_operation},
    {"nonblocking_with_types_and_freed_communicators", 1, nonblocking_with_types_and_freed_communicators},
    {"nonblocking_barriers", 1, nonblocking_barriers},
    {"nobody_leaves_a_barrier_early", 1, nobody_leaves_a_barrier_early},
    {"results_of_what_is_done", 1, results_of_what_is_done},
    {NULL, 0, NULL},
};
