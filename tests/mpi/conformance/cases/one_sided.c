/* One-sided communication: windows of every kind, every way to synchronize, and the accumulate family. */
#include <stdio.h>
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
  struct window window = open_window(allocated);
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

/* What an accumulate makes of elements, by the library's own reduction: operands of all ranks, in any order. */
struct element {
  const char* name;
  MPI_Datatype type;
  int bytes;
  void (*write)(void* at, int value);
};
#define WRITER(name, c_type) \
  static void write_##name(void* at, int value) { *(c_type*)at = (c_type)value; }
WRITER(int, int)
WRITER(unsigned, unsigned)
WRITER(long, long)
WRITER(unsigned_long, unsigned long)
WRITER(short, short)
WRITER(signed_char, signed char)
WRITER(unsigned_char, unsigned char)
WRITER(float, float)
WRITER(double, double)
WRITER(long_double, long double)
struct double_int {
  double value;
  int place;
};
struct two_int {
  int value, place;
};
static void write_double_int(void* at, int value) { *(struct double_int*)at = (struct double_int){value, -value}; }
static void write_two_int(void* at, int value) { *(struct two_int*)at = (struct two_int){value, -value}; }
static void write_complex(void* at, int value) { *(double*)at = value, *((double*)at + 1) = 0; }

enum { whole_numbers = 7, numbers = 10, bytes_and_characters = 13, kinds_of_elements = 16 };
static struct element element_of(int kind) {
  const struct element all[kinds_of_elements] = {
      {"int", MPI_INT, sizeof(int), write_int},
      {"unsigned", MPI_UNSIGNED, sizeof(unsigned), write_unsigned},
      {"long", MPI_LONG, sizeof(long), write_long},
      {"unsigned long", MPI_UNSIGNED_LONG, sizeof(unsigned long), write_unsigned_long},
      {"short", MPI_SHORT, sizeof(short), write_short},
      {"signed char", MPI_SIGNED_CHAR, sizeof(signed char), write_signed_char},
      {"unsigned char", MPI_UNSIGNED_CHAR, sizeof(unsigned char), write_unsigned_char},
      {"float", MPI_FLOAT, sizeof(float), write_float},
      {"double", MPI_DOUBLE, sizeof(double), write_double},
      {"long double", MPI_LONG_DOUBLE, sizeof(long double), write_long_double},
      {"complex", MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double), write_complex},
      {"double and int", MPI_DOUBLE_INT, sizeof(struct double_int), write_double_int},
      {"two ints", MPI_2INT, sizeof(struct two_int), write_two_int},
      {"byte", MPI_BYTE, 1, write_unsigned_char},
      {"char", MPI_CHAR, 1, write_signed_char},
      {"character", MPI_CHARACTER, 1, write_signed_char},
  };
  return all[kind];
}
enum { kinds_of_operations = 12 };
static MPI_Op operation_of(int which) {
  const MPI_Op all[kinds_of_operations] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                                           MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return all[which];
}
static int is_defined(int kind, int operation) {
  if (operation >= 10) return kind == 11 || kind == 12;
  if (kind == 11 || kind == 12) return 0;
  if (kind == 10) return operation < 2;
  return operation < 4 || kind < whole_numbers || kind >= bytes_and_characters;
}
/* MPI defines no arithmetic on bytes and characters, and not all reductions take them; but both libraries accumulate
   them as small integers. */
static MPI_Datatype reduced_as(int kind) {
  return kind >= bytes_and_characters ? MPI_SIGNED_CHAR : element_of(kind).type;
}
/* Small numbers: their products are exact in every type, but for characters, which go round. */
static int operand_of(int rank, int k) { return (rank * 5 + k * 3) % 4 + (rank + k) % 2; }
static int initial_value(int k) { return k % 3 + 1; }

static int same_elements(const struct element* of, const void* one, const void* other, int count) {
  if (of->type == MPI_DOUBLE_INT) {
    const struct double_int *a = one, *b = other;
    for (int k = 0; k < count; ++k) {
      if (a[k].value != b[k].value || a[k].place != b[k].place) return 0;
    }
    return 1;
  }
  if (of->type == MPI_LONG_DOUBLE) {
    const long double *a = one, *b = other;
    for (int k = 0; k < count; ++k) {
      if (a[k] != b[k]) return 0;
    }
    return 1;
  }
  return memcmp(one, other, (size_t)count * (size_t)of->bytes) == 0;
}

/* Every operation on every type, by all ranks at once, as one of four calls. */
/* Long accumulates, short ones and single elements, all at once on the same integers and doubles: none is lost. */
static void long_and_short_accumulates(void) {
  enum { length = 40000, rounds = 6, stride = 3, strided = length / stride };
  struct window window = open_window(allocated);
  int* const ones = allocate(length * sizeof(int));
  int* const found = allocate(length * sizeof(int));
  double* const halves = allocate(length * sizeof(double));
  for (int i = 0; i < length; ++i) ones[i] = 1, halves[i] = 0.5;
  MPI_Datatype every_third;
  MPI_Type_vector(strided, 1, stride, MPI_INT, &every_third);
  MPI_Type_commit(&every_third);
  const MPI_Aint doubles = length * sizeof(int);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window.handle);
  int unordered = 0, previous = -1;
  for (int round = 0; round < rounds; ++round) {
    MPI_Accumulate(ones, length, MPI_INT, 0, 0, length, MPI_INT, MPI_SUM, window.handle);
    MPI_Accumulate(halves, length, MPI_DOUBLE, 0, doubles, length, MPI_DOUBLE, MPI_SUM, window.handle);
    MPI_Accumulate(ones, strided, MPI_INT, 0, 0, 1, every_third, MPI_SUM, window.handle);
    for (int i = 0; i < 200; ++i) { /* every third of these has more */
      int one = 1, was = -1;
      MPI_Fetch_and_op(&one, &was, MPI_INT, 0, (MPI_Aint)(i * sizeof(int)), MPI_SUM, window.handle);
      MPI_Accumulate(&one, 1, MPI_INT, 0, (MPI_Aint)((length - 1 - i) * sizeof(int)), 1, MPI_INT, MPI_SUM,
                     window.handle);
    }
    MPI_Get_accumulate(ones, length, MPI_INT, found, length, MPI_INT, 0, 0, length, MPI_INT, MPI_SUM, window.handle);
    MPI_Win_flush(0, window.handle);
    unordered += found[0] <= previous; /* each of us has added to it since */
    previous = found[0];
  }
  MPI_Win_unlock_all(window.handle);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(unordered, 0);
  if (my_rank == 0) {
    int wrong = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.handle);
    const int* const sums = (const int*)window.base;
    const double* const totals = (const double*)(window.base + doubles);
    for (int i = 0; i < length; ++i) {
      const int each = 2 + (i % stride == 0 && i < strided * stride) + (i < 200) + (i >= length - 200);
      wrong += sums[i] != rank_count * rounds * each || totals[i] != 0.5 * rank_count * rounds;
    }
    MPI_Win_unlock(0, window.handle);
    CHECK_EQUAL(wrong, 0);
  }
  MPI_Type_free(&every_third);
  free(halves);
  free(found);
  free(ones);
  close_window(&window);
}

static void accumulates_of_all_kinds(void) {
  enum { count = 20, room = count * 16 };
  struct window window = open_window(allocated);
  char* const operands = allocate(room);
  char* const expected = calloc(kinds_of_operations, room);
  char* const found = allocate(room);
  for (int kind = 0; kind < kinds_of_elements; ++kind) {
    const struct element of = element_of(kind);
    const size_t bytes = (size_t)of.bytes;
    memset(window.base, 0, kinds_of_operations * room);
    memset(expected, 0, kinds_of_operations * room);
    memset(operands, 0, room);
    for (int operation = 0; operation < kinds_of_operations; ++operation) {
      if (!is_defined(kind, operation)) continue;
      char* const wanted = expected + operation * room;
      for (int k = 0; k < count; ++k) {
        of.write(window.base + operation * room + (size_t)k * bytes, initial_value(k));
        of.write(wanted + (size_t)k * bytes, initial_value(k));
      }
      for (int rank = 0; rank < rank_count; ++rank) {
        for (int k = 0; k < count; ++k) of.write(operands + (size_t)k * bytes, operand_of(rank, k));
        MPI_Reduce_local(operands, wanted, count, reduced_as(kind), operation_of(operation));
      }
    }
    for (int k = 0; k < count; ++k) of.write(operands + (size_t)k * bytes, operand_of(my_rank, k));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window.handle);
    for (int target = 0; target < rank_count; ++target) {
      for (int operation = 0; operation < kinds_of_operations; ++operation) {
        if (!is_defined(kind, operation)) continue;
        const MPI_Op op = operation_of(operation);
        const MPI_Aint place = operation * room;
        MPI_Request request = MPI_REQUEST_NULL;
        switch ((kind + operation + my_rank) % 4) {
          case 0:
            MPI_Accumulate(operands, count, of.type, target, place, count, of.type, op, window.handle);
            break;
          case 1:
            MPI_Get_accumulate(operands, count, of.type, found, count, of.type, target, place, count, of.type, op,
                               window.handle);
            MPI_Win_flush_local(target, window.handle);
            break;
          case 2:
            MPI_Raccumulate(operands, count, of.type, target, place, count, of.type, op, window.handle, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
          default:
            for (size_t k = 0; k < count; ++k)
              MPI_Fetch_and_op(operands + k * bytes, found + k * bytes, of.type, target, place + (MPI_Aint)(k * bytes),
                               op, window.handle);
            MPI_Win_flush_local(target, window.handle);
        }
      }
    }
    MPI_Win_unlock_all(window.handle);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, window.handle);
    for (int operation = 0; operation < kinds_of_operations; ++operation) {
      if (!is_defined(kind, operation)) continue;
      const int is_right = same_elements(&of, window.base + operation * room, expected + operation * room, count);
      if (!is_right) fprintf(stderr, "operation %d on elements of type %s:\n", operation, of.name);
      CHECK(is_right);
    }
    MPI_Win_unlock(my_rank, window.handle);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(found);
  free(expected);
  free(operands);
  close_window(&window);
}

/* Whether the top bit of a byte or a character is a sign, as each library has it. */
static void signs_of_bytes_and_characters(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(library, &length);
  const int open_mpi = strstr(library, "Open MPI") != NULL;
  const int is_signed[] = {!open_mpi, 1, !open_mpi};
  const MPI_Datatype types[] = {MPI_BYTE, MPI_CHAR, MPI_CHARACTER};
  struct window window = open_window(allocated);
  const int next = (my_rank + 1) % rank_count;
  for (int k = 0; k < 3; ++k) {
    const signed char less = -120, more = 3;
    signed char found[2] = {0, 0};
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window.handle);
    MPI_Put(&less, 1, MPI_BYTE, next, 0, 1, MPI_BYTE, window.handle);
    MPI_Put(&less, 1, MPI_BYTE, next, 1, 1, MPI_BYTE, window.handle);
    MPI_Win_flush(next, window.handle);
    MPI_Accumulate(&more, 1, types[k], next, 0, 1, types[k], MPI_MAX, window.handle);
    MPI_Accumulate(&more, 1, types[k], next, 1, 1, types[k], MPI_MIN, window.handle);
    MPI_Win_flush(next, window.handle);
    MPI_Get(found, 2, MPI_BYTE, next, 0, 2, MPI_BYTE, window.handle);
    MPI_Win_unlock(next, window.handle);
    CHECK_EQUAL(found[0], is_signed[k] ? more : less);
    CHECK_EQUAL(found[1], is_signed[k] ? less : more);
  }
  close_window(&window);
}

/* What was there before, of an operation that changes it and of one that does not. */
static void fetched_values(void) {
  struct window window = open_window(allocated);
  const int next = (my_rank + 1) % rank_count;
  for (int kind = 0; kind < kinds_of_elements; ++kind) {
    const struct element of = element_of(kind);
    char value[16], before[16], wanted[16];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window.handle);
    memset(wanted, 0, sizeof wanted);
    for (int i = 1; i <= 3; ++i) {
      memset(value, 0, sizeof value);
      memset(before, 0, sizeof before);
      of.write(value, i);
      MPI_Fetch_and_op(value, before, of.type, next, kind * 16, MPI_REPLACE, window.handle);
      MPI_Win_flush(next, window.handle);
      CHECK(same_elements(&of, before, wanted, 1));
      memset(before, 0, sizeof before);
      MPI_Fetch_and_op(NULL, before, of.type, next, kind * 16, MPI_NO_OP, window.handle);
      MPI_Win_flush(next, window.handle);
      CHECK(same_elements(&of, before, value, 1));
      memcpy(wanted, value, sizeof value);
    }
    MPI_Win_unlock(next, window.handle);
  }
  close_window(&window);
}

/* One element, from what it is to something else, by every type of integers of 8 bytes, or of less. */
static void swaps(int of_8_bytes) {
  struct window window = open_window(allocated);
  const int next = (my_rank + 1) % rank_count;
  for (int kind = 0; kind < whole_numbers; ++kind) {
    const struct element of = element_of(kind);
    if ((of.bytes == 8) != of_8_bytes) continue;
    char three[16] = {0}, five[16] = {0}, zero[16] = {0}, before[16] = {0};
    of.write(three, 3);
    of.write(five, 5);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window.handle);
    MPI_Compare_and_swap(five, three, before, of.type, next, kind * 16, window.handle);
    MPI_Win_flush(next, window.handle);
    CHECK(memcmp(before, zero, (size_t)of.bytes) == 0); /* it was not three */
    MPI_Compare_and_swap(five, zero, before, of.type, next, kind * 16, window.handle);
    MPI_Win_flush(next, window.handle);
    CHECK(memcmp(before, zero, (size_t)of.bytes) == 0);
    MPI_Compare_and_swap(three, five, before, of.type, next, kind * 16, window.handle);
    MPI_Win_unlock(next, window.handle);
    CHECK(memcmp(before, five, (size_t)of.bytes) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int kind = 0; kind < whole_numbers; ++kind) {
    char three[16] = {0};
    if ((element_of(kind).bytes == 8) != of_8_bytes) continue;
    element_of(kind).write(three, 3);
    CHECK(memcmp(window.base + kind * 16, three, (size_t)element_of(kind).bytes) == 0);
  }
  close_window(&window);
}
static void swaps_of_8_bytes(void) { swaps(1); }
static void swaps_of_less_than_8_bytes(void) { swaps(0); }

/* Every second element here, blocks of three with gaps there, between all kinds of accesses. */
static void derived_types_on_both_sides(void) {
  enum { count = 600 };
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  for (int kind = 0; kind < 2; ++kind) {
    const MPI_Datatype basic = kind ? MPI_DOUBLE : MPI_INT;
    const struct element of = element_of(kind ? 8 : 0);
    const size_t bytes = (size_t)of.bytes;
    struct window window = open_window(kind ? created : allocated);
    MPI_Datatype second, blocks;
    MPI_Type_vector(count, 1, 2, basic, &second);
    MPI_Type_vector(count / 3, 3, 5, basic, &blocks);
    MPI_Type_commit(&second);
    MPI_Type_commit(&blocks);
    char* const out = calloc(2 * count, bytes);
    char* const in = calloc(2 * count, bytes);
    char* const wanted = calloc(1, window_bytes);
    for (int k = 0; k < count; ++k) of.write(out + 2 * (size_t)k * bytes, my_rank * 10000 + k);
    /* Put, then twice added: three times what the previous rank has. */
    MPI_Win_fence(0, window.handle);
    MPI_Put(out, 1, second, next, (MPI_Aint)(10 * bytes), 1, blocks, window.handle);
    MPI_Win_fence(0, window.handle);
    MPI_Accumulate(out, 1, second, next, (MPI_Aint)(10 * bytes), 1, blocks, MPI_SUM, window.handle);
    MPI_Win_fence(0, window.handle);
    MPI_Get_accumulate(out, 1, second, in, 1, second, next, (MPI_Aint)(10 * bytes), 1, blocks, MPI_SUM, window.handle);
    MPI_Win_fence(0, window.handle);
    int wrong = 0;
    char number[16];
    for (int k = 0; k < count; ++k) {
      of.write(wanted + (size_t)(10 + k / 3 * 5 + k % 3) * bytes, 3 * (previous * 10000 + k));
      of.write(number, 2 * (my_rank * 10000 + k));
      wrong += memcmp(number, in + 2 * (size_t)k * bytes, bytes) != 0;
    }
    CHECK_EQUAL(wrong, 0);
    CHECK(memcmp(window.base, wanted, window_bytes) == 0);
    memset(in, 0, 2 * count * bytes);
    MPI_Win_fence(0, window.handle);
    MPI_Get(in, 1, second, next, (MPI_Aint)(10 * bytes), 1, blocks, window.handle);
    MPI_Win_fence(0, window.handle);
    wrong = 0;
    for (int k = 0; k < count; ++k) {
      of.write(number, 3 * (my_rank * 10000 + k));
      wrong += memcmp(number, in + 2 * (size_t)k * bytes, bytes) != 0;
    }
    CHECK_EQUAL(wrong, 0);
    MPI_Type_free(&blocks);
    MPI_Type_free(&second);
    free(wanted);
    free(in);
    free(out);
    close_window(&window);
  }
}

/* Readers and writers of one target; two halves that differ would tell that a lock let both in. */
static void locks_of_both_kinds_and_of_all(void) {
  enum { words = 64 };
  struct window window = open_window(created);
  const int rounds = rank_count <= 2 ? 100 : 15;
  long mine[words];
  int torn = 0;
  for (int i = 0; i < rounds; ++i) {
    if ((i + my_rank) % 3 == 0) {
      for (int k = 0; k < words; ++k) mine[k] = my_rank * 1000 + i;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.handle);
      MPI_Put(mine, words, MPI_LONG, 0, 0, words, MPI_LONG, window.handle);
      MPI_Win_unlock(0, window.handle);
    } else {
      if (i % 2) {
        MPI_Win_lock_all(0, window.handle);
      } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle);
      }
      MPI_Get(mine, words, MPI_LONG, 0, 0, words, MPI_LONG, window.handle);
      if (i % 2) {
        MPI_Win_unlock_all(window.handle);
      } else {
        MPI_Win_unlock(0, window.handle);
      }
      for (int k = 1; k < words; ++k) torn += mine[k] != mine[0];
    }
  }
  CHECK_EQUAL(torn, 0);
  close_window(&window);
}

/* Everybody exposes to all others at once; empty groups are groups. */
static void posts_to_all(void) {
  struct window window = open_window(allocated);
  MPI_Group all, others;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &my_rank, &others);
  for (int i = 0; i < 20; ++i) {
    const int value = my_rank * 100 + i;
    MPI_Win_post(others, 0, window.handle);
    MPI_Win_start(others, 0, window.handle);
    for (int target = 0; target < rank_count; ++target) {
      if (target != my_rank)
        MPI_Put(&value, 1, MPI_INT, target, my_rank * (MPI_Aint)sizeof(int), 1, MPI_INT, window.handle);
    }
    MPI_Win_complete(window.handle);
    MPI_Win_wait(window.handle);
    int wrong = 0;
    for (int rank = 0; rank < rank_count; ++rank)
      wrong += rank != my_rank && ((int*)window.base)[rank] != rank * 100 + i;
    CHECK_EQUAL(wrong, 0);
  }
  MPI_Group_free(&others);
  MPI_Group_free(&all);
  close_window(&window);
}

/* Units, sizes and memory that differ from rank to rank; nobody; oneself. */
static void uneven_windows(void) {
  enum { elements = 1000 };
  const int unit = 1 << (my_rank % 4);
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  for (int last_is_empty = 0; last_is_empty < 2; ++last_is_empty) {
    const int is_empty = last_is_empty && my_rank == rank_count - 1;
    char* const memory = calloc(elements, 8);
    MPI_Win window;
    MPI_Win_create(is_empty ? NULL : memory, is_empty ? 0 : elements * 8, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    long value = my_rank + 1, back = -1;
    MPI_Win_fence(0, window);
    if (!last_is_empty || next != rank_count - 1)
      MPI_Put(&value, 1, MPI_LONG, next, 80 / (1 << (next % 4)), 1, MPI_LONG, window);
    MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 123456789, 1, MPI_LONG, window);
    MPI_Put(NULL, 0, MPI_LONG, next, 0, 0, MPI_LONG, window);
    MPI_Win_fence(0, window);
    CHECK_EQUAL(*(long*)(memory + 80), is_empty ? 0 : previous + 1);
    if (!is_empty) MPI_Get(&back, 1, MPI_LONG, my_rank, 80 / unit, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    CHECK_EQUAL(back, is_empty ? -1 : previous + 1);
    MPI_Win_free(&window);
    free(memory);
  }
}

/* Memory of every kind in one window. */
static void windows_on_any_memory(void) {
  static char is_static[100000];
  char on_stack[1000];
  for (int way = 0; way < 3; ++way) {
    char* const memory = way == 0 ? is_static : way == 1 ? on_stack : my_rank == 0 ? on_stack : is_static;
    const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
    memset(memory, 0, sizeof on_stack);
    char out[500], in[500];
    fill(out, sizeof out, seed_of(my_rank, way));
    MPI_Win window;
    MPI_Win_create(memory, sizeof on_stack, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, sizeof out, MPI_BYTE, next, 300, sizeof out, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    VERIFY(memory + 300, sizeof out, seed_of(previous, way));
    MPI_Get(in, sizeof in, MPI_BYTE, next, 300, sizeof in, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    VERIFY(in, sizeof in, seed_of(my_rank, way));
    MPI_Win_free(&window);
  }
}

/* Heap, static data and stack attached to one window, and detached; all kinds of accesses to each. */
static void pieces_of_dynamic_windows(void) {
  enum { pieces = 12, bytes = 4000, columns = 20 };
  static char is_static[100000];
  char on_stack[2 * bytes];
  char* memory[pieces];
  MPI_Aint mine[pieces];
  MPI_Aint* const all = allocate(sizeof mine * (size_t)rank_count);
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  MPI_Win window;
  MPI_Datatype column;
  MPI_Type_vector(columns, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < pieces; ++i) {
      memory[i] = i < 2 ? on_stack + i * bytes : i < 4 ? is_static + i * 10000 : allocate(bytes);
      memset(memory[i], 0, bytes);
      MPI_Win_attach(window, memory[i], bytes);
      MPI_Get_address(memory[i], &mine[i]);
    }
    MPI_Allgather(mine, pieces, MPI_AINT, all, pieces, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    char out[1000], in[1000];
    for (int i = 0; i < pieces; ++i) {
      const MPI_Aint there = all[next * pieces + i];
      fill(out, sizeof out, seed_of(my_rank, i));
      MPI_Put(out, sizeof out, MPI_BYTE, next, MPI_Aint_add(there, 2000), sizeof out, MPI_BYTE, window);
      MPI_Win_flush(next, window);
      MPI_Get(in, sizeof in, MPI_BYTE, next, MPI_Aint_add(there, 2000), sizeof in, MPI_BYTE, window);
      MPI_Win_flush(next, window);
      VERIFY(in, sizeof in, seed_of(my_rank, i));
      int values[columns], before[columns];
      for (int k = 0; k < columns; ++k) values[k] = my_rank + k;
      MPI_Accumulate(values, columns, MPI_INT, next, there, 1, column, MPI_SUM, window);
      MPI_Win_flush(next, window);
      /* Open MPI 4.1.4 gives nonsense back from MPI_Get_accumulate here. */
      MPI_Get(before, columns, MPI_INT, next, there, 1, column, window);
      MPI_Win_flush(next, window);
      CHECK(memcmp(values, before, sizeof values) == 0);
      MPI_Accumulate(values, columns, MPI_INT, next, there, 1, column, MPI_SUM, window);
      MPI_Put(values, columns, MPI_INT, next, MPI_Aint_add(there, 4), 1, column, window);
      /* All ranks add to the same element, and hand one through swaps. */
      const double half = 0.5;
      MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, MPI_Aint_add(all[i], 3800), 1, MPI_DOUBLE, MPI_SUM, window);
      for (int expected = 0, found = -1; found != expected;) {
        const int wanted = expected + 1;
        MPI_Compare_and_swap(&wanted, &expected, &found, MPI_INT, 0, MPI_Aint_add(all[i], 3900), window);
        MPI_Win_flush(0, window);
        if (found != expected) {
          expected = found;
          found = -1;
        }
      }
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < pieces; ++i) {
      const int* const found = (const int*)memory[i];
      int wrong = 0;
      for (int k = 0; k < columns; ++k)
        wrong += found[3 * k] != 2 * (previous + k) || found[3 * k + 1] != previous + k || found[3 * k + 2] != 0;
      CHECK_EQUAL(wrong, 0);
      VERIFY(memory[i] + 2000, sizeof out, seed_of(previous, i));
      if (my_rank == 0) {
        CHECK(*(double*)(memory[i] + 3800) == rank_count * 0.5);
        CHECK_EQUAL(*(int*)(memory[i] + 3900), rank_count);
      }
      MPI_Win_detach(window, memory[i]);
      if (i >= 4) free(memory[i]);
    }
  }
  MPI_Type_free(&column);
  MPI_Win_free(&window);
  free(all);
}

/* A communicator may go before its window; other windows and communicators do not mind. */
static void windows_outlive_their_communicators(void) {
  MPI_Comm halves;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &halves);
  int rank, size;
  MPI_Comm_rank(halves, &rank);
  MPI_Comm_size(halves, &size);
  int* base[2];
  MPI_Win windows[2];
  for (int i = 0; i < 2; ++i)
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, halves, &base[i], &windows[i]);
  MPI_Comm_free(&halves);
  for (int i = 0; i < 2; ++i) {
    base[i][0] = -1;
    const int value = my_rank * 2 + i;
    MPI_Win_fence(0, windows[i]);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, windows[i]);
    MPI_Win_fence(0, windows[i]);
  }
  /* The keys turn the order round: the neighbour before is the one with the next higher rank, cyclically. */
  MPI_Group group, world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < 2; ++i) {
    MPI_Win_get_group(windows[i], &group);
    const int before = (rank + size - 1) % size;
    int in_world = -1;
    MPI_Group_translate_ranks(group, 1, &before, world, &in_world);
    CHECK_EQUAL(base[i][0], in_world * 2 + i);
    MPI_Group_free(&group);
    MPI_Win_free(&windows[i]);
  }
  MPI_Group_free(&world);
}

static void attributes_of_windows(void) {
  static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED,
                                MPI_WIN_FLAVOR_DYNAMIC};
  for (int kind = 0; kind < window_kinds; ++kind) {
    struct window window = open_window(kind);
    void* value = NULL;
    int is_known = 0;
    MPI_Win_get_attr(window.handle, MPI_WIN_CREATE_FLAVOR, &value, &is_known);
    CHECK(is_known && *(int*)value == flavors[kind]);
    if (kind != dynamic) {
      MPI_Win_get_attr(window.handle, MPI_WIN_BASE, &value, &is_known);
      CHECK(is_known && value == window.base);
      MPI_Win_get_attr(window.handle, MPI_WIN_SIZE, &value, &is_known);
      CHECK(is_known && *(MPI_Aint*)value == window_bytes);
      MPI_Win_get_attr(window.handle, MPI_WIN_DISP_UNIT, &value, &is_known);
      CHECK(is_known && *(int*)value == 1);
    }
    close_window(&window);
  }
}

static void wrong_arguments_of_windows(void) {
  struct window window = open_window(allocated);
  MPI_Win_set_errhandler(window.handle, MPI_ERRORS_RETURN);
  int value = 0;
  const MPI_Win handle = window.handle;
  CHECK_EQUAL(error_class(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, handle)), MPI_ERR_RMA_SYNC);
  CHECK_EQUAL(error_class(MPI_Win_unlock(0, handle)), MPI_ERR_RMA_SYNC);
  CHECK_EQUAL(error_class(MPI_Win_lock(MPI_LOCK_SHARED, rank_count, 0, handle)), MPI_ERR_RANK);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, handle);
  CHECK_EQUAL(error_class(MPI_Put(&value, 1, MPI_INT, rank_count, 0, 1, MPI_INT, handle)), MPI_ERR_RANK);
  CHECK_EQUAL(error_class(MPI_Put(&value, -1, MPI_INT, my_rank, 0, 1, MPI_INT, handle)), MPI_ERR_COUNT);
  CHECK_EQUAL(error_class(MPI_Get(&value, 1, MPI_DATATYPE_NULL, my_rank, 0, 1, MPI_INT, handle)), MPI_ERR_TYPE);
  CHECK_EQUAL(error_class(MPI_Accumulate(&value, 1, MPI_INT, my_rank, 0, 1, MPI_INT, MPI_OP_NULL, handle)), MPI_ERR_OP);
  value = 7;
  CHECK_EQUAL(MPI_Put(&value, 1, MPI_INT, my_rank, 0, 1, MPI_INT, handle), MPI_SUCCESS);
  MPI_Win_unlock(my_rank, handle);
  CHECK_EQUAL(*(int*)window.base, 7);
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

static int refuses_deletion;
static int delete_or_refuse(MPI_Win window, int key, void* value, void* extra) {
  (void)window, (void)key, (void)value, (void)extra;
  return refuses_deletion ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* A delete function refuses on all ranks: the window and its memory stay. Open MPI frees it all the same. */
static void freed_in_vain(void) {
  MPI_Win first = MPI_WIN_NULL, second = MPI_WIN_NULL;
  int *of_first = NULL, *of_second = NULL, key = MPI_KEYVAL_INVALID, found = my_rank;
  const int next = (my_rank + 1) % rank_count;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &of_first, &first);
  MPI_Win_set_errhandler(first, MPI_ERRORS_RETURN);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_or_refuse, &key, NULL);
  MPI_Win_set_attr(first, key, &found);
  *of_first = 1000 + my_rank;
  MPI_Barrier(MPI_COMM_WORLD);
  refuses_deletion = 1;
  MPI_Win handle = first;
  const int refused = MPI_Win_free(&handle) != MPI_SUCCESS;
  refuses_deletion = 0;
  MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &of_second, &second);
  *of_second = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(!refused || of_first != of_second);
  found = 1000 + next;
  if (refused) {
    MPI_Win_fence(0, first);
    MPI_Get(&found, 1, MPI_INT, next, 0, 1, MPI_INT, first);
    MPI_Win_fence(0, first);
  }
  CHECK_EQUAL(found, 1000 + next);
  if (refused) MPI_Win_free(&first);
  MPI_Win_free(&second);
  MPI_Win_free_keyval(&key);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
}

/* Only the first rank's refuses, once: the others wait in the call until it comes again. */
static void freed_by_all_but_one(void) {
  for (int created = 0; created < 2; ++created) {
    MPI_Win window = MPI_WIN_NULL;
    int memory[4] = {0}, *allocated = NULL, key = MPI_KEYVAL_INVALID, tries = 0;
    if (created)
      MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    else
      MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_or_refuse, &key, NULL);
    MPI_Win_set_attr(window, key, &tries);
    refuses_deletion = my_rank == 0;
    int error = MPI_SUCCESS;
    do {
      error = MPI_Win_free(&window);
      refuses_deletion = 0;
    } while (error != MPI_SUCCESS && ++tries < 3);
    CHECK_EQUAL(error, MPI_SUCCESS);
    CHECK(window == MPI_WIN_NULL);
    MPI_Win_free_keyval(&key);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
  }
}

const struct conformance_case one_sided_cases[] = {
    {"freed_in_vain", 1, freed_in_vain},
    {"freed_by_all_but_one", 1, freed_by_all_but_one},
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
    {"long_and_short_accumulates", 1, long_and_short_accumulates},
    {"accumulates_of_all_kinds", 1, accumulates_of_all_kinds},
    {"signs_of_bytes_and_characters", 1, signs_of_bytes_and_characters},
    {"fetched_values", 1, fetched_values},
    {"swaps_of_8_bytes", 1, swaps_of_8_bytes},
    {"swaps_of_less_than_8_bytes", 1, swaps_of_less_than_8_bytes},
    {"derived_types_on_both_sides", 1, derived_types_on_both_sides},
    {"locks_of_both_kinds_and_of_all", 1, locks_of_both_kinds_and_of_all},
    {"posts_to_all", 1, posts_to_all},
    {"uneven_windows", 1, uneven_windows},
    {"windows_on_any_memory", 1, windows_on_any_memory},
    {"pieces_of_dynamic_windows", 1, pieces_of_dynamic_windows},
    {"windows_outlive_their_communicators", 1, windows_outlive_their_communicators},
    {"attributes_of_windows", 1, attributes_of_windows},
    {"wrong_arguments_of_windows", 1, wrong_arguments_of_windows},
    {"loads_and_stores_in_shared_windows", 1, loads_and_stores_in_shared_windows},
    {NULL, 0, NULL},
};
