/* MPI windows: passive target, lock_all and flush. MPI_Win_allocate; with the environment variable
   TRIREME_BENCH_WINDOW=shared MPI_Win_allocate_shared, whose memory process 0 accesses through the same calls. */
#include "peer.h"

#include <mpi.h>

static MPI_Win table, matrix;
static uint64_t* own_table;
static double* own_matrix;
static MPI_Datatype tile_type, column_type;
static void* buffer;

static void make_window(MPI_Aint bytes, int unit, void* memory, MPI_Win* window) {
  const char* const kind = getenv("TRIREME_BENCH_WINDOW");
  if (kind != NULL && strcmp(kind, "shared") == 0)
    MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, memory, window);
  else
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, memory, window);
}

static uint64_t get_word(long at) {
  uint64_t value;
  MPI_Get(&value, 1, MPI_UINT64_T, 1, at, 1, MPI_UINT64_T, table);
  MPI_Win_flush(1, table);
  return value;
}
static void gets_of_one(long count) {
  for (long i = 0; i < count; ++i) keep(get_word(near_word(i)));
}
static void puts_of_one(long count) {
  static uint64_t values[in_flight];
  for (long i = 0; i < count; ++i) {
    values[i % in_flight] = (uint64_t)i;
    MPI_Put(&values[i % in_flight], 1, MPI_UINT64_T, 1, near_word(i), 1, MPI_UINT64_T, table);
    if (i % in_flight == in_flight - 1) MPI_Win_flush(1, table);
  }
  MPI_Win_flush(1, table);
}
static void additions(long count) {
  const uint64_t zero = 0;
  for (long i = 0; i < count; ++i) {
    uint64_t before;
    MPI_Fetch_and_op(&zero, &before, MPI_UINT64_T, 1, near_word(i), MPI_SUM, table);
    MPI_Win_flush(1, table);
    keep(before);
  }
}
static void dependent_gets(long count) {
  static uint64_t at = 0;
  MPI_Aint first = table_words; /* the second half of the window has the walk */
  for (long i = 0; i < count; ++i) at = get_word((long)(first + (MPI_Aint)at));
}
static void random_gets(long count) {
  static uint64_t values[in_flight];
  begin_random();
  for (long i = 0; i < count; ++i) {
    MPI_Get(&values[i % in_flight], 1, MPI_UINT64_T, 1, random_word(), 1, MPI_UINT64_T, table);
    if (i % in_flight == in_flight - 1) MPI_Win_flush(1, table);
  }
  MPI_Win_flush(1, table);
}
static void random_puts(long count) {
  static uint64_t values[in_flight];
  begin_random();
  for (long i = 0; i < count; ++i) {
    const long at = random_word();
    values[i % in_flight] = (uint64_t)at;
    MPI_Put(&values[i % in_flight], 1, MPI_UINT64_T, 1, at, 1, MPI_UINT64_T, table);
    if (i % in_flight == in_flight - 1) MPI_Win_flush(1, table);
  }
  MPI_Win_flush(1, table);
}
static void updates(long count) {
  static uint64_t values[in_flight];
  begin_random();
  for (long i = 0; i < count; ++i) {
    values[i % in_flight] = (uint64_t)i;
    MPI_Accumulate(&values[i % in_flight], 1, MPI_UINT64_T, 1, random_word(), 1, MPI_UINT64_T, MPI_BXOR, table);
    if (i % in_flight == in_flight - 1) MPI_Win_flush(1, table);
  }
  MPI_Win_flush(1, table);
}
static void large_gets(long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Get(buffer, words_of_mebibyte, MPI_UINT64_T, 1, 0, words_of_mebibyte, MPI_UINT64_T, table);
    MPI_Win_flush(1, table);
  }
}
static void large_puts(long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Put(buffer, words_of_mebibyte, MPI_UINT64_T, 1, 0, words_of_mebibyte, MPI_UINT64_T, table);
    MPI_Win_flush(1, table);
  }
}
static void blocks(long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Get(buffer, tile_extent * tile_extent, MPI_DOUBLE, 1, tile_first * matrix_rows + tile_first, 1, tile_type,
            matrix);
    MPI_Win_flush(1, matrix);
  }
}
static void columns(long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Get(buffer, matrix_rows, MPI_DOUBLE, 1, i % 1024, 1, column_type, matrix);
    MPI_Win_flush(1, matrix);
  }
}
static void gets_of_size(long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Get(buffer, (int)size_of_access / 8, MPI_UINT64_T, 1, 0, (int)size_of_access / 8, MPI_UINT64_T, table);
    MPI_Win_flush(1, table);
  }
}
static void puts_of_size(long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Put(buffer, (int)size_of_access / 8, MPI_UINT64_T, 1, 0, (int)size_of_access / 8, MPI_UINT64_T, table);
    MPI_Win_flush(1, table);
  }
}

/* Process 1 computes for a while, again and again; a get is timed meanwhile. */
static void busy(int process) {
  const double end = now_ns() + (seconds + 0.02) * 1e9;
  int goes_on = 1;
  if (process == 0) printf("busy_target");
  for (int round = 0; goes_on; ++round) {
    if (process == 1) {
      MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
      compute_until(now_ns() + compute_ms * 1e6);
      MPI_Recv(&goes_on, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      continue;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double start = now_ns();
    keep(get_word(near_word(round)));
    if (round > 0) printf(" %.2f", now_ns() - start);
    goes_on = now_ns() < end || round < 4;
    MPI_Send(&goes_on, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  }
  if (process == 0) printf("\n");
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
  MPI_Init(&argc, &argv);
  int process, processes;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const group = read_arguments(argc, argv, process);
  const long words = process == 1 ? table_words : 0;
  make_window(2 * words * 8, 8, &own_table, &table);
  make_window(process == 1 ? (MPI_Aint)matrix_rows * matrix_rows * 8 : 0, 8, &own_matrix, &matrix);
  for (long i = 0; i < words; ++i) {
    own_table[i] = 0;
    own_table[table_words + i] = next_word((uint64_t)i);
  }
  for (long i = 0; process == 1 && i < (long)matrix_rows * matrix_rows; ++i) own_matrix[i] = 1;
  buffer = aligned_alloc(4096, 1 << 20);
  memset(buffer, 0, 1 << 20);
  MPI_Type_vector(tile_extent, tile_extent, matrix_rows, MPI_DOUBLE, &tile_type);
  MPI_Type_vector(matrix_rows, 1, matrix_rows, MPI_DOUBLE, &column_type);
  MPI_Type_commit(&tile_type);
  MPI_Type_commit(&column_type);
  MPI_Win_lock_all(0, table);
  MPI_Win_lock_all(0, matrix);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(group, "busy") == 0)
    busy(process);
  else if (process == 0)
    run_group(group, &operations);
  MPI_Barrier(MPI_COMM_WORLD);
  if (process == 0) printf("done\n");
  fflush(stdout);
  MPI_Win_unlock_all(matrix);
  MPI_Win_unlock_all(table);
  MPI_Type_free(&tile_type);
  MPI_Type_free(&column_type);
  MPI_Win_free(&matrix);
  MPI_Win_free(&table);
  free(buffer);
  MPI_Finalize();
  return 0;
}
