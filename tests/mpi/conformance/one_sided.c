/* One-sided communication: windows of every kind, every way to synchronize, and the accumulate family. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

enum { window_bytes = 1 << 20 };

/* How the memory of a window comes about. */
enum { created, allocated, shared_, dynamic, window_kinds };
struct window {
  MPI_Win handle;
  char* base;
  MPI_Aint* places; /* of each rank, for dynamic windows; else zeros */
  int kind;
};

static struct window open_window(int kind) {
  struct window made = {.kind = kind};
  made.places = calloc((size_t)rank_count, sizeof *made.places);
  if (kind == created) {
    made.base = allocate(window_bytes);
    MPI_Win_create(made.base, window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made.handle);
  } else if (kind == allocated) {
    MPI_Win_allocate(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made.base, &made.handle);
  } else if (kind == shared_) {
    MPI_Win_allocate_shared(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made.base, &made.handle);
  } else {
    made.base = allocate(window_bytes);
    MPI_Aint mine;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made.handle);
    MPI_Win_attach(made.handle, made.base, window_bytes);
    MPI_Get_address(made.base, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, made.places, 1, MPI_AINT, MPI_COMM_WORLD);
  }
  memset(made.base, 0, window_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return made;
}
static void close_window(struct window* of) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (of->kind == dynamic) MPI_Win_detach(of->handle, of->base);
  MPI_Win_free(&of->handle);
  CHECK(of->handle == MPI_WIN_NULL);
  if (of->kind == created || of->kind == dynamic) free(of->base);
  free(of->places);
}

static void put_and_get_between_fences(int kind) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  struct window window = open_window(kind);
  char* const out = allocate(window_bytes);
  char* const in = allocate(window_bytes);
  for (int i = 0; i < size_total; ++i) {
    if (sizes[i] > window_bytes) continue;
    const size_t bytes = (size_t)sizes[i];
    fill(out, bytes, seed_of(my_rank, i));
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window.handle);
    MPI_Put(out, sizes[i], MPI_BYTE, next, window.places[next], sizes[i], MPI_BYTE, window.handle);
    MPI_Win_fence(0, window.handle);
    VERIFY(window.base, bytes, seed_of(previous, i));
    MPI_Win_fence(0, window.handle);
    MPI_Get(in, sizes[i], MPI_BYTE, next, window.places[next], sizes[i], MPI_BYTE, window.handle);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.handle);
    VERIFY(in, bytes, seed_of(my_rank, i));
  }
  free(in);
  free(out);
  close_window(&window);
}
static void fences_created(void) { put_and_get_between_fences(created); }
static void fences_allocated(void) { put_and_get_between_fences(allocated); }
static void fences_shared(void) { put_and_get_between_fences(shared_); }
static void fences_dynamic(void) { put_and_get_between_fences(dynamic); }

static void under_locks(int kind) {
  const int next = (my_rank + 1) % rank_count;
  struct window window = open_window(kind);
  char* const out = allocate(window_bytes);
  char* const in = allocate(window_bytes);
  for (int i = 0; i < size_total; ++i) {
    if (sizes[i] > window_bytes) continue;
    const size_t bytes = (size_t)sizes[i];
    fill(out, bytes, seed_of(my_rank, i));
    MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, next, 0, window.handle);
    MPI_Put(out, sizes[i], MPI_BYTE, next, window.places[next], sizes[i], MPI_BYTE, window.handle);
    MPI_Win_flush(next, window.handle);
    memset(out, 0, bytes);
    MPI_Get(in, sizes[i], MPI_BYTE, next, window.places[next], sizes[i], MPI_BYTE, window.handle);
    MPI_Win_unlock(next, window.handle);
    VERIFY(in, bytes, seed_of(my_rank, i));
  }
  free(in);
  free(out);
  close_window(&window);
}
static void locks_created(void) { under_locks(created); }
static void locks_allocated(void) { under_locks(allocated); }
static void locks_shared(void) { under_locks(shared_); }
static void locks_dynamic(void) { under_locks(dynamic); }

/* An exclusive lock lets several steps of one rank pass for one. */
static void exclusive_locks_exclude(void) {
  struct window window = open_window(allocated);
  const int rounds = rank_count <= 2 ? 200 : 30;
  for (int i = 0; i < rounds; ++i) {
    long value = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.handle);
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window.handle);
    MPI_Win_flush(0, window.handle);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window.handle);
    MPI_Win_unlock(0, window.handle);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  long total = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle);
  MPI_Get(&total, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window.handle);
  MPI_Win_unlock(0, window.handle);
  CHECK_EQUAL(total, (long)rounds * rank_count);
  close_window(&window);
}

/* Post, start, complete, wait between neighbours. */
static void posts_and_starts(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  struct window window = open_window(created);
  MPI_Group all, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &next, &to);
  MPI_Group_incl(all, 1, &previous, &from);
  char* const out = allocate(window_bytes);
  for (int i = 0; i < size_total; ++i) {
    if (sizes[i] > window_bytes) continue;
    fill(out, (size_t)sizes[i], seed_of(my_rank, i));
    MPI_Win_post(from, 0, window.handle);
    MPI_Win_start(to, 0, window.handle);
    MPI_Put(out, sizes[i], MPI_BYTE, next, 0, sizes[i], MPI_BYTE, window.handle);
    MPI_Win_complete(window.handle);
    if (i % 2) {
      MPI_Win_wait(window.handle);
    } else {
      for (int flag = 0; !flag;) MPI_Win_test(window.handle, &flag);
    }
    VERIFY(window.base, (size_t)sizes[i], seed_of(previous, i));
  }
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  MPI_Group_free(&all);
  free(out);
  close_window(&window);
}

/* All add to the same places at once. */
static void accumulated_sums(void) {
  static const int counts[] = {1, 100, 5000, 100000};
  for (int kind = 0; kind < 2; ++kind) {
    struct window window = open_window(kind ? shared_ : allocated);
    for (int i = 0; i < 4; ++i) {
      const int count = counts[i];
      double* const mine = allocate((size_t)count * sizeof *mine);
      for (int k = 0; k < count; ++k) mine[k] = my_rank + k;
      memset(window.base, 0, window_bytes);
      MPI_Win_fence(0, window.handle);
      for (int target = 0; target < rank_count; ++target)
        MPI_Accumulate(mine, count, MPI_DOUBLE, target, 0, count, MPI_DOUBLE, MPI_SUM, window.handle);
      MPI_Win_fence(0, window.handle);
      int wrong = 0;
      const double* const found = (const double*)window.base;
      for (int k = 0; k < count; ++k) wrong += found[k] != rank_count * (rank_count - 1) / 2 + (double)k * rank_count;
      CHECK_EQUAL(wrong, 0);
      free(mine);
    }
    close_window(&window);
  }
}

/* A counter that hands out numbers: each is given once. */
static void shared_counters(void) {
  struct window window = open_window(allocated);
  const int rounds = rank_count <= 2 ? 300 : 40;
  char* const mine = calloc((size_t)rounds * (size_t)rank_count, 1);
  char* const all = calloc((size_t)rounds * (size_t)rank_count, 1);
  const int one = 1;
  int bad = 0;
  MPI_Win_lock_all(0, window.handle);
  for (int i = 0; i < rounds; ++i) {
    int ticket = -1;
    if (i % 2) {
      MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, window.handle);
    } else {
      MPI_Get_accumulate(&one, 1, MPI_INT, &ticket, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window.handle);
    }
    MPI_Win_flush(0, window.handle);
    if (ticket < 0 || ticket >= rounds * rank_count) {
      ++bad;
    } else {
      ++mine[ticket];
    }
  }
  MPI_Win_unlock_all(window.handle);
  MPI_Allreduce(mine, all, rounds * rank_count, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < rounds * rank_count; ++i) bad += all[i] != 1;
  CHECK_EQUAL(bad, 0);
  free(all);
  free(mine);
  close_window(&window);
}

/* A lock made of compare-and-swap guards a counter that is not atomic. */
static void compare_and_swap(void) {
  struct window window = open_window(allocated);
  const int rounds = rank_count <= 2 ? 50 : 8, zero = 0, one = 1;
  MPI_Win_lock_all(0, window.handle);
  for (int i = 0; i < rounds; ++i) {
    int before = 1, value = -1;
    do {
      MPI_Compare_and_swap(&one, &zero, &before, MPI_INT, 0, 0, window.handle);
      MPI_Win_flush(0, window.handle);
    } while (before != 0);
    MPI_Get(&value, 1, MPI_INT, 0, 64, 1, MPI_INT, window.handle);
    MPI_Win_flush(0, window.handle);
    ++value;
    MPI_Put(&value, 1, MPI_INT, 0, 64, 1, MPI_INT, window.handle);
    MPI_Win_flush(0, window.handle);
    MPI_Fetch_and_op(&zero, &before, MPI_INT, 0, 0, MPI_REPLACE, window.handle);
    MPI_Win_flush(0, window.handle);
    CHECK_EQUAL(before, 1);
  }
  MPI_Win_unlock_all(window.handle);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle);
    CHECK_EQUAL(*(int*)(window.base + 64), rounds * rank_count);
    MPI_Win_unlock(0, window.handle);
  }
  close_window(&window);
}

static void operations_with_requests(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  struct window window = open_window(allocated);
  enum { bytes = 200000 };
  char* const out = allocate(bytes);
  char* const in = allocate(bytes);
  char* const message = allocate(bytes);
  MPI_Request requests[3];
  fill(out, bytes, seed_of(my_rank, 1));
  MPI_Win_lock_all(0, window.handle);
  MPI_Irecv(message, bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Rput(out, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, window.handle, &requests[1]);
  MPI_Isend(out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE); /* requests of windows and of messages together */
  VERIFY(message, bytes, seed_of(previous, 1));
  MPI_Win_flush(next, window.handle);
  MPI_Rget(in, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, window.handle, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  VERIFY(in, bytes, seed_of(my_rank, 1));
  MPI_Win_unlock_all(window.handle);
  free(message);
  free(in);
  free(out);
  close_window(&window);
}

/* Columns of a matrix on the other side. */
static void derived_types_at_the_target(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  struct window window = open_window(created);
  enum { rows = 100, columns = 200 };
  double* const mine = allocate(rows * sizeof *mine);
  MPI_Datatype column;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < rows; ++i) mine[i] = my_rank * 1000 + i;
  MPI_Win_fence(0, window.handle);
  MPI_Put(mine, rows, MPI_DOUBLE, next, 7 * sizeof(double), 1, column, window.handle);
  MPI_Accumulate(mine, rows, MPI_DOUBLE, next, 9 * sizeof(double), 1, column, MPI_SUM, window.handle);
  MPI_Win_fence(0, window.handle);
  const double* const matrix = (const double*)window.base;
  int wrong = 0;
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < columns; ++k) wrong += matrix[i * columns + k] != (k == 7 || k == 9 ? previous * 1000 + i : 0);
  }
  CHECK_EQUAL(wrong, 0);
  MPI_Win_fence(0, window.handle);
  memset(mine, 0, rows * sizeof *mine);
  MPI_Get(mine, rows, MPI_DOUBLE, next, 7 * sizeof(double), 1, column, window.handle);
  MPI_Win_fence(0, window.handle);
  wrong = 0;
  for (int i = 0; i < rows; ++i) wrong += mine[i] != my_rank * 1000 + i;
  CHECK_EQUAL(wrong, 0);
  MPI_Type_free(&column);
  free(mine);
  close_window(&window);
}

/* Memory that all ranks see: written by one, read by the others with plain loads. */
static void loads_and_stores_in_shared_windows(void) {
  struct window window = open_window(shared_);
  MPI_Win_lock_all(0, window.handle);
  fill(window.base, 5000, seed_of(my_rank, 3));
  MPI_Win_sync(window.handle);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window.handle);
  for (int rank = 0; rank < rank_count; ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    char* base = NULL;
    MPI_Win_shared_query(window.handle, rank, &size, &unit, &base);
    CHECK_EQUAL(size, window_bytes);
    CHECK_EQUAL(unit, 1);
    VERIFY(base, 5000, seed_of(rank, 3));
  }
  MPI_Win_unlock_all(window.handle);
  close_window(&window);
}

const struct conformance_case one_sided_cases[] = {
    {"fences_created", 1, fences_created},
    {"fences_allocated", 1, fences_allocated},
    {"fences_shared", 1, fences_shared},
    {"fences_dynamic", 1, fences_dynamic},
    {"locks_created", 1, locks_created},
    {"locks_allocated", 1, locks_allocated},
    {"locks_shared", 1, locks_shared},
    {"locks_dynamic", 1, locks_dynamic},
    {"exclusive_locks_exclude", 1, exclusive_locks_exclude},
    {"posts_and_starts", 1, posts_and_starts},
    {"accumulated_sums", 1, accumulated_sums},
    {"shared_counters", 1, shared_counters},
    {"compare_and_swap", 1, compare_and_swap},
    {"operations_with_requests", 1, operations_with_requests},
    {"derived_types_at_the_target", 1, derived_types_at_the_target},
    {"loads_and_stores_in_shared_windows", 1, loads_and_stores_in_shared_windows},
    {NULL, 0, NULL},
};
