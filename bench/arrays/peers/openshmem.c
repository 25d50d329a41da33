/* OpenSHMEM: the symmetric heap; get_nbi, put_nbi and quiet, iget for strided sections. */
#include "peer.h"

#include <shmem.h>
#include <unistd.h>

static uint64_t *table, *walk;
static double* matrix;
static void* buffer;

static void gets_of_one(long count) {
  for (long i = 0; i < count; ++i) keep(shmem_uint64_g(&table[near_word(i)], 1));
}
static void puts_of_one(long count) {
  for (long i = 0; i < count; ++i) shmem_uint64_p(&table[near_word(i)], (uint64_t)i, 1);
  shmem_quiet();
}
static void additions(long count) {
  for (long i = 0; i < count; ++i) keep((uint64_t)shmem_long_atomic_fetch_add((long*)&table[near_word(i)], 0, 1));
}
static void dependent_gets(long count) {
  static uint64_t at = 0;
  for (long i = 0; i < count; ++i) at = shmem_uint64_g(&walk[at], 1);
}
static void random_gets(long count) {
  static uint64_t values[in_flight];
  begin_random();
  for (long i = 0; i < count; ++i) {
    shmem_uint64_get_nbi(&values[i % in_flight], &table[random_word()], 1, 1);
    if (i % in_flight == in_flight - 1) shmem_quiet();
  }
  shmem_quiet();
}
static void random_puts(long count) {
  begin_random();
  for (long i = 0; i < count; ++i) {
    const long at = random_word();
    shmem_uint64_p(&table[at], (uint64_t)at, 1);
  }
  shmem_quiet();
}
static void updates(long count) {
  begin_random();
  for (long i = 0; i < count; ++i) shmem_uint64_atomic_xor(&table[random_word()], (uint64_t)i, 1);
  shmem_quiet();
}
static void large_gets(long count) {
  for (long i = 0; i < count; ++i) shmem_getmem(buffer, table, 1 << 20, 1);
}
static void large_puts(long count) {
  for (long i = 0; i < count; ++i) {
    shmem_putmem(table, buffer, 1 << 20, 1);
    shmem_quiet();
  }
}
static void blocks(long count) {
  double* const to = buffer;
  for (long i = 0; i < count; ++i) {
    for (long row = 0; row < tile_extent; ++row)
      shmem_double_get_nbi(to + row * tile_extent, matrix + (tile_first + row) * matrix_rows + tile_first, tile_extent,
                           1);
    shmem_quiet();
  }
}
static void columns(long count) {
  for (long i = 0; i < count; ++i) shmem_double_iget(buffer, matrix + i % 1024, 1, matrix_rows, matrix_rows, 1);
}
static void gets_of_size(long count) {
  for (long i = 0; i < count; ++i) shmem_getmem(buffer, table, (size_t)size_of_access, 1);
}
static void puts_of_size(long count) {
  for (long i = 0; i < count; ++i) {
    shmem_putmem(table, buffer, (size_t)size_of_access, 1);
    shmem_quiet();
  }
}

static const struct peer_operations operations = {
    .get8 = gets_of_one,
    .put8 = puts_of_one,
    .fetch_add = additions,
    .random_dependent = dependent_gets,
    .random_get = random_gets,
    .random_put = random_puts,
    .xor_word = updates,
    .get_1MiB = large_gets,
    .put_1MiB = large_puts,
    .tile256 = blocks,
    .column2048 = columns,
    .get_of_size = gets_of_size,
    .put_of_size = puts_of_size,
};

int main(int argc, char** argv) {
  shmem_init();
  const int process = shmem_my_pe();
  const char* const group = read_arguments(argc, argv, process);
  table = shmem_malloc((size_t)table_words * 8);
  walk = shmem_malloc((size_t)table_words * 8);
  matrix = shmem_malloc((size_t)matrix_rows * matrix_rows * 8);
  if (table == NULL || walk == NULL || matrix == NULL) {
    fprintf(stderr, "peer: the symmetric heap is too small; SHMEM_SYMMETRIC_SIZE=256M is enough\n");
    shmem_global_exit(2);
  }
  for (long i = 0; i < table_words; ++i) {
    table[i] = 0;
    walk[i] = next_word((uint64_t)i);
  }
  for (long i = 0; i < (long)matrix_rows * matrix_rows; ++i) matrix[i] = 1;
  buffer = aligned_alloc(4096, 1 << 20);
  memset(buffer, 0, 1 << 20);
  shmem_barrier_all();
  if (process == 0) run_group(group, &operations);
  shmem_barrier_all();
  if (process == 0) printf("done\n");
  fflush(stdout);
  _exit(0); /* that of Open MPI 4.1 crashes when it finalizes, after all is measured */
}
