/* The toolkit Global Arrays: patches of arrays that are spread over both processes; NGA_Get, NGA_Put, NGA_Acc. */
#include "peer.h"

#include <ga.h>
#include <macdecls.h>
#include <mpi.h>

static int table, walk, matrix; /* the second half of each is of process 1 */
static void* buffer;

static long get_word(int array, long at) {
  long value, place = table_words + at, stride = 1;
  NGA_Get64(array, (int64_t[]){place}, (int64_t[]){place}, &value, (int64_t[]){stride});
  return value;
}
static void put_words(long at, long count, long* from) {
  int64_t first = table_words + at, last = first + count - 1, stride = 1;
  NGA_Put64(table, &first, &last, from, &stride);
}
static void gets_of_one(long count) {
  for (long i = 0; i < count; ++i) keep((uint64_t)get_word(table, near_word(i)));
}
static void puts_of_one(long count) {
  for (long i = 0; i < count; ++i) put_words(near_word(i), 1, &i);
  GA_Init_fence();
  GA_Fence();
}
static void additions(long count) {
  for (long i = 0; i < count; ++i) {
    int64_t at = table_words + near_word(i);
    keep((uint64_t)NGA_Read_inc64(table, &at, 0));
  }
}
static void dependent_gets(long count) {
  static long at = 0;
  for (long i = 0; i < count; ++i) at = get_word(walk, at);
}
static void random_gets(long count) {
  static long values[64];
  static ga_nbhdl_t handles[64]; /* the toolkit has few handles */
  int64_t stride = 1;
  begin_random();
  for (long i = 0; i < count; ++i) {
    const int place = (int)(i % 64);
    if (i >= 64) NGA_NbWait(&handles[place]);
    int64_t at = table_words + random_word();
    NGA_NbGet64(table, &at, &at, &values[place], &stride, &handles[place]);
  }
  for (long i = 0; i < 64 && i < count; ++i) NGA_NbWait(&handles[i]);
}
static void random_puts(long count) {
  begin_random();
  for (long i = 0; i < count; ++i) {
    long at = random_word();
    put_words(at, 1, &at);
  }
  GA_Init_fence();
  GA_Fence();
}
static void large_gets(long count) {
  int64_t first = table_words, last = first + words_of_mebibyte - 1, stride = 1;
  for (long i = 0; i < count; ++i) NGA_Get64(table, &first, &last, buffer, &stride);
}
static void large_puts(long count) {
  for (long i = 0; i < count; ++i) put_words(0, words_of_mebibyte, buffer);
}
static void blocks(long count) {
  int64_t first[] = {tile_first, matrix_rows + tile_first}, stride = tile_extent;
  int64_t last[] = {first[0] + tile_extent - 1, first[1] + tile_extent - 1};
  for (long i = 0; i < count; ++i) NGA_Get64(matrix, first, last, buffer, &stride);
}
static void columns(long count) {
  int64_t stride = 1;
  for (long i = 0; i < count; ++i) {
    int64_t first[] = {0, matrix_rows + i % 1024}, last[] = {matrix_rows - 1, matrix_rows + i % 1024};
    NGA_Get64(matrix, first, last, buffer, &stride);
  }
}
static void gets_of_size(long count) {
  int64_t first = table_words, last = first + size_of_access / 8 - 1, stride = 1;
  for (long i = 0; i < count; ++i) NGA_Get64(table, &first, &last, buffer, &stride);
}
static void puts_of_size(long count) {
  for (long i = 0; i < count; ++i) put_words(0, size_of_access / 8, buffer);
}

static const struct peer_operations operations = {
    .get8 = gets_of_one,
    .put8 = puts_of_one,
    .fetch_add = additions,
    .random_dependent = dependent_gets,
    .random_get = random_gets,
    .random_put = random_puts,
    /* there is no exclusive or */
    .get_1MiB = large_gets,
    .put_1MiB = large_puts,
    .tile256 = blocks,
    .column2048 = columns,
    .get_of_size = gets_of_size,
    .put_of_size = puts_of_size,
};

static int array_of(int type, const char* name, int dimensions, int64_t rows, int64_t columns) {
  int64_t extents[] = {rows, columns}, blocks[] = {dimensions == 1 ? 2 : 1, 2},
          map[] = {0, dimensions == 1 ? rows / 2 : 0, columns / 2};
  char title[32];
  snprintf(title, sizeof title, "%s", name);
  const int made = NGA_Create_irreg64(type, dimensions, extents, title, blocks, map);
  if (made == 0) GA_Error("peer: an array could not be made", 2);
  return made;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  GA_Initialize();
  const int process = GA_Nodeid();
  if (GA_Nnodes() != 2) GA_Error("peer: two processes are needed", 2);
  const char* const group = read_arguments(argc, argv, process);
  if (!MA_init(MT_C_DBL, 1 << 20, 1 << 20)) GA_Error("peer: no memory", 2);
  table = array_of(C_LONG, "table", 1, 2 * table_words, 0);
  walk = array_of(C_LONG, "walk", 1, 2 * table_words, 0);
  matrix = array_of(C_DBL, "matrix", 2, matrix_rows, 2 * matrix_rows);
  GA_Zero(table);
  GA_Zero(matrix);
  int64_t first, last, leading;
  long* own;
  NGA_Distribution64(walk, process, &first, &last);
  NGA_Access64(walk, &first, &last, &own, &leading);
  for (long i = 0; i <= last - first; ++i) own[i] = (long)next_word((uint64_t)i);
  NGA_Release_update64(walk, &first, &last);
  buffer = aligned_alloc(4096, 1 << 20);
  memset(buffer, 0, 1 << 20);
  GA_Sync();
  if (process == 0) run_group(group, &operations);
  GA_Sync();
  if (process == 0) printf("done\n");
  fflush(stdout);
  GA_Terminate();
  free(buffer);
  MPI_Finalize();
  return 0;
}
