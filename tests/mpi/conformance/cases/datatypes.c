/* Derived datatypes on both sides. Most cases use a layout: a type that is built together with the list of bytes that
   it means, so that what arrives can be compared with what the list says. Random layouts nest all constructors. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* ---- Layouts ---- */

struct piece {
  ptrdiff_t at;
  size_t bytes;
};
struct layout {
  MPI_Datatype type;
  struct piece* pieces; /* in the order of the type map */
  size_t piece_total;
  MPI_Aint lower, extent;
  size_t size;
};

static struct layout layout_without_pieces(size_t room) {
  struct layout made = {.type = MPI_DATATYPE_NULL};
  made.pieces = allocate((room + 1) * sizeof *made.pieces);
  return made;
}
static void add_copy(struct layout* to, const struct layout* of, ptrdiff_t at) {
  for (size_t i = 0; i < of->piece_total; ++i) {
    const struct piece piece = {of->pieces[i].at + at, of->pieces[i].bytes};
    struct piece* const last = to->piece_total > 0 ? &to->pieces[to->piece_total - 1] : NULL;
    if (last != NULL && last->at + (ptrdiff_t)last->bytes == piece.at) {
      last->bytes += piece.bytes;
    } else {
      to->pieces[to->piece_total++] = piece;
    }
    to->size += piece.bytes;
  }
}
static struct layout finished(struct layout made) {
  MPI_Type_get_extent(made.type, &made.lower, &made.extent);
  int size = -1;
  MPI_Type_size(made.type, &size);
  CHECK_EQUAL(size, made.size);
  return made;
}
static void free_layout(struct layout* of) {
  MPI_Type_free(&of->type);
  free(of->pieces);
}

static struct layout basic(MPI_Datatype type, size_t bytes) {
  struct layout made = layout_without_pieces(1);
  MPI_Type_dup(type, &made.type);
  made.pieces[0] = (struct piece){0, bytes};
  made.piece_total = 1;
  made.size = bytes;
  return finished(made);
}
static struct layout hvector_of(const struct layout* of, int count, int length, MPI_Aint stride) {
  struct layout made = layout_without_pieces((size_t)count * (size_t)length * of->piece_total);
  MPI_Type_create_hvector(count, length, stride, of->type, &made.type);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < length; ++k) add_copy(&made, of, i * stride + k * of->extent);
  }
  return finished(made);
}
static struct layout vector_of(const struct layout* of, int count, int length, int stride) {
  struct layout made = layout_without_pieces((size_t)count * (size_t)length * of->piece_total);
  MPI_Type_vector(count, length, stride, of->type, &made.type);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < length; ++k) add_copy(&made, of, ((ptrdiff_t)i * stride + k) * of->extent);
  }
  return finished(made);
}
static struct layout indexed_of(const struct layout* of, int count, const int* lengths, const int* places) {
  size_t room = 0;
  for (int i = 0; i < count; ++i) room += (size_t)lengths[i];
  struct layout made = layout_without_pieces(room * of->piece_total);
  MPI_Type_indexed(count, lengths, places, of->type, &made.type);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < lengths[i]; ++k) add_copy(&made, of, ((ptrdiff_t)places[i] + k) * of->extent);
  }
  return finished(made);
}
static struct layout hindexed_block_of(const struct layout* of, int count, int length, const MPI_Aint* places) {
  struct layout made = layout_without_pieces((size_t)count * (size_t)length * of->piece_total);
  MPI_Type_create_hindexed_block(count, length, places, of->type, &made.type);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < length; ++k) add_copy(&made, of, places[i] + k * of->extent);
  }
  return finished(made);
}
static struct layout struct_of(int count, const struct layout* const* of, const int* lengths, const MPI_Aint* places) {
  size_t room = 0;
  MPI_Datatype types[8];
  for (int i = 0; i < count; ++i) {
    room += (size_t)lengths[i] * of[i]->piece_total;
    types[i] = of[i]->type;
  }
  struct layout made = layout_without_pieces(room);
  MPI_Type_create_struct(count, lengths, places, types, &made.type);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < lengths[i]; ++k) add_copy(&made, of[i], places[i] + k * of[i]->extent);
  }
  return finished(made);
}
static struct layout resized(struct layout of, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype type;
  MPI_Type_create_resized(of.type, lower, extent, &type);
  MPI_Type_free(&of.type);
  of.type = type;
  return finished(of);
}
/* A box inside an array of three dimensions, last index fastest. */
static struct layout box_of(const struct layout* of, const int* whole, const int* part, const int* start, int order) {
  struct layout made = layout_without_pieces((size_t)part[0] * (size_t)part[1] * (size_t)part[2] * of->piece_total);
  MPI_Type_create_subarray(3, whole, part, start, order, of->type, &made.type);
  const int slow = order == MPI_ORDER_C ? 0 : 2, fast = 2 - slow;
  for (int i = 0; i < part[slow]; ++i) {
    for (int j = 0; j < part[1]; ++j) {
      for (int k = 0; k < part[fast]; ++k) {
        const ptrdiff_t row = (ptrdiff_t)(start[slow] + i) * whole[1] + start[1] + j;
        add_copy(&made, of, (row * whole[fast] + start[fast] + k) * of->extent);
      }
    }
  }
  return finished(made);
}

/* Where the bytes of `count` elements begin and end, relative to the address that is given to MPI. */
static void span_of(const struct layout* of, int count, ptrdiff_t* from, ptrdiff_t* to) {
  *from = 0;
  *to = 0;
  for (int element = 0; element < count; ++element) {
    for (size_t i = 0; i < of->piece_total; ++i) {
      const ptrdiff_t at = of->pieces[i].at + element * of->extent;
      if (at < *from) *from = at;
      if (at + (ptrdiff_t)of->pieces[i].bytes > *to) *to = at + (ptrdiff_t)of->pieces[i].bytes;
    }
  }
}
/* The packed stream of a buffer, and back; at most `limit` bytes. */
static size_t gather(char* packed, const char* base, const struct layout* of, int count, size_t limit) {
  size_t done = 0;
  for (int element = 0; element < count; ++element) {
    for (size_t i = 0; i < of->piece_total && done < limit; ++i) {
      const size_t bytes = of->pieces[i].bytes < limit - done ? of->pieces[i].bytes : limit - done;
      memcpy(packed + done, base + of->pieces[i].at + element * of->extent, bytes);
      done += bytes;
    }
  }
  return done;
}
static void scatter(char* base, const char* packed, const struct layout* of, int count, size_t limit) {
  size_t done = 0;
  for (int element = 0; element < count; ++element) {
    for (size_t i = 0; i < of->piece_total && done < limit; ++i) {
      const size_t bytes = of->pieces[i].bytes < limit - done ? of->pieces[i].bytes : limit - done;
      memcpy(base + of->pieces[i].at + element * of->extent, packed + done, bytes);
      done += bytes;
    }
  }
}

struct place {
  char* memory;
  char* base;
  size_t bytes;
};
static struct place place_for(const struct layout* of, int count) {
  ptrdiff_t from = 0, to = 0;
  span_of(of, count, &from, &to);
  struct place made = {.bytes = (size_t)(to - from) + 32};
  made.memory = allocate(made.bytes);
  made.base = made.memory - from + 16;
  return made;
}

/* Whether a byte belongs to several pieces: such data may be sent, but not received (MPI 4.0, section 4.1.11). */
static int overlaps(const struct layout* of, int count) {
  const struct place all = place_for(of, count);
  memset(all.memory, 0, all.bytes);
  int found = 0;
  for (int element = 0; element < count; ++element) {
    for (size_t i = 0; i < of->piece_total; ++i) {
      char* const piece = all.base + of->pieces[i].at + element * of->extent;
      for (size_t k = 0; k < of->pieces[i].bytes; ++k) {
        found = found || piece[k] != 0;
        piece[k] = 1;
      }
    }
  }
  free(all.memory);
  return found;
}

enum { send_posted_first, receive_posted_first, ways };

/* Every rank sends one layout and receives another one of its pair; both sides are compared with the lists. The lists
   of the two must have the same size in all, unless the receiver's is the longer one. */
static void exchange(const struct layout* out_layout, int out_count, const struct layout* in_layout, int in_count,
                     uint64_t seed, int way) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  const struct place out = place_for(out_layout, out_count), in = place_for(in_layout, in_count);
  const size_t total = out_layout->size * (size_t)out_count;
  char* const expected = allocate(in.bytes);
  char* const packed = allocate(total);
  MPI_Request request;
  MPI_Status status;
  fill(out.memory, out.bytes, seed + (uint64_t)my_rank);
  memset(in.memory, 0x21, in.bytes);
  if (way == receive_posted_first) {
    MPI_Irecv(in.base, in_count, in_layout->type, peer, 1, MPI_COMM_WORLD, &request);
    signal_to(peer);
    wait_for_signal_of(peer);
    MPI_Send(out.base, out_count, out_layout->type, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
  } else {
    MPI_Isend(out.base, out_count, out_layout->type, peer, 1, MPI_COMM_WORLD, &request);
    signal_to(peer);
    wait_for_signal_of(peer);
    MPI_Recv(in.base, in_count, in_layout->type, peer, 1, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  /* The peer's buffer was filled in the same way with its number, and its layouts are ours. */
  fill(out.memory, out.bytes, seed + (uint64_t)peer);
  gather(packed, out.base, out_layout, out_count, total);
  memset(expected, 0x21, in.bytes);
  scatter(expected + (in.base - in.memory), packed, in_layout, in_count, total);
  CHECK(memcmp(expected, in.memory, in.bytes) == 0);
  int count = -1;
  MPI_Get_count(&status, in_layout->type, &count);
  if (in_layout->size > 0) {
    CHECK_EQUAL(count, total % in_layout->size == 0 ? (int)(total / in_layout->size) : MPI_UNDEFINED);
  }
  free(packed);
  free(expected);
  free(out.memory);
  free(in.memory);
}

/* The same layout against contiguous bytes and against itself, in both orders of posting. */
static void exchange_all_ways(const struct layout* of, int count, const struct layout* unit, uint64_t seed) {
  const int units = (int)(of->size * (size_t)count / unit->size);
  for (int way = 0; way < ways; ++way) {
    exchange(of, count, unit, units, seed, way);
    exchange(unit, units, of, count, seed + 100, way);
    exchange(of, count, of, count, seed + 200, way);
  }
}

/* ---- Cases ---- */

static void predefined_types(void) {
  static const size_t bytes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 4, 8, 16, 1, 2, 4, 8, 1, 2, 4, 8, 4, 1, 8, 16, 8, 8};
  const MPI_Datatype types[] = {MPI_CHAR,
                                MPI_SIGNED_CHAR,
                                MPI_UNSIGNED_CHAR,
                                MPI_SHORT,
                                MPI_UNSIGNED_SHORT,
                                MPI_INT,
                                MPI_UNSIGNED,
                                MPI_LONG,
                                MPI_UNSIGNED_LONG,
                                MPI_LONG_LONG,
                                MPI_UNSIGNED_LONG_LONG,
                                MPI_FLOAT,
                                MPI_DOUBLE,
                                MPI_LONG_DOUBLE,
                                MPI_INT8_T,
                                MPI_INT16_T,
                                MPI_INT32_T,
                                MPI_INT64_T,
                                MPI_UINT8_T,
                                MPI_UINT16_T,
                                MPI_UINT32_T,
                                MPI_UINT64_T,
                                MPI_WCHAR,
                                MPI_C_BOOL,
                                MPI_C_FLOAT_COMPLEX,
                                MPI_C_DOUBLE_COMPLEX,
                                MPI_AINT,
                                MPI_OFFSET};
  const struct layout byte = basic(MPI_BYTE, 1);
  (void)byte;
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    struct layout of = basic(types[i], bytes[i]);
    exchange(&of, 37, &of, 40, i, receive_posted_first);
    exchange(&of, 5000, &of, 5000, i, send_posted_first);
    free_layout(&of);
  }
  MPI_Datatype last = byte.type;
  free(byte.pieces);
  MPI_Type_free(&last);
}

static void pairs_of_value_and_place(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  struct {
    double value;
    int place;
  } out[3] = {{1.5, my_rank}, {2.5, my_rank + 1}, {3.5, my_rank + 2}}, in[3];
  struct {
    int value, place;
  } two_out[2] = {{my_rank, 1}, {2, my_rank}}, two_in[2];
  MPI_Sendrecv(out, 3, MPI_DOUBLE_INT, peer, 1, in, 3, MPI_DOUBLE_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; ++i) {
    CHECK(in[i].value == i + 1.5);
    CHECK_EQUAL(in[i].place, peer + i);
  }
  MPI_Sendrecv(two_out, 2, MPI_2INT, peer, 1, two_in, 2, MPI_2INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(two_in[0].value, peer);
  CHECK_EQUAL(two_in[1].place, peer);
}

static void vectors(void) {
  struct layout real = basic(MPI_DOUBLE, 8);
  static const struct {
    int count, length, stride;
  } shapes[] = {{1, 1, 1},   {7, 1, 3},    {5, 3, 3},       {4, 2, 9}, {64, 1, 64}, {1024, 1, 17},
                {600, 3, 7}, {4096, 4, 8}, {200, 100, 129}, {0, 3, 5}, {3, 0, 5}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    struct layout of = vector_of(&real, shapes[i].count, shapes[i].length, shapes[i].stride);
    MPI_Type_commit(&of.type);
    exchange_all_ways(&of, 1, &real, i);
    exchange_all_ways(&of, 3, &real, i + 50);
    free_layout(&of);
  }
  free_layout(&real);
}

/* 1 MiB in pieces of a byte with steps of 64, of 8 bytes, and of 3 KiB. */
static void large_vectors(void) {
  struct layout byte = basic(MPI_BYTE, 1), real = basic(MPI_DOUBLE, 8);
  struct layout bytes = vector_of(&byte, 1 << 18, 1, 64);
  struct layout reals = vector_of(&real, 1 << 17, 1, 2);
  struct layout rows = vector_of(&real, 341, 384, 500);
  MPI_Type_commit(&bytes.type);
  MPI_Type_commit(&reals.type);
  MPI_Type_commit(&rows.type);
  for (int way = 0; way < ways; ++way) {
    exchange(&bytes, 1, &byte, 1 << 18, 1, way);
    exchange(&byte, 1 << 18, &bytes, 1, 2, way);
    exchange(&reals, 1, &reals, 1, 3, way);
    exchange(&rows, 1, &real, 341 * 384, 4, way);
    exchange(&real, 341 * 384, &rows, 1, 5, way);
  }
  free_layout(&rows);
  free_layout(&reals);
  free_layout(&bytes);
  free_layout(&real);
  free_layout(&byte);
}

/* Different layouts of the same basic types on the two sides: no piece of one is a piece of the other. */
static void different_layouts_meet(void) {
  struct layout whole = basic(MPI_INT, 4);
  struct layout threes = vector_of(&whole, 700, 3, 5), sevens = vector_of(&whole, 300, 7, 8);
  static const int lengths[] = {1, 2, 3, 4, 5, 6, 9}, places[] = {100, 3, 50, 10, 200, 60, 70};
  struct layout mixed = indexed_of(&whole, 7, lengths, places);
  MPI_Type_commit(&threes.type);
  MPI_Type_commit(&sevens.type);
  MPI_Type_commit(&mixed.type);
  for (int way = 0; way < ways; ++way) {
    exchange(&threes, 1, &sevens, 1, 1, way); /* 2100 integers each */
    exchange(&sevens, 1, &threes, 1, 2, way);
    exchange(&mixed, 70, &threes, 1, 3, way);
    exchange(&sevens, 1, &mixed, 70, 4, way);
  }
  free_layout(&mixed);
  free_layout(&sevens);
  free_layout(&threes);
  free_layout(&whole);
}

static void indexed_and_blocks(void) {
  struct layout whole = basic(MPI_INT, 4), byte = basic(MPI_BYTE, 1);
  static const int lengths[] = {3, 0, 1, 10, 2}, places[] = {40, 7, 0, 10, 4};
  struct layout indexed = indexed_of(&whole, 5, lengths, places);
  MPI_Aint at[300];
  for (int i = 0; i < 300; ++i) at[i] = (MPI_Aint)(((i * 77) % 300) * 31); /* 77 and 300 have no common divisor */
  struct layout blocks = hindexed_block_of(&byte, 300, 13, at);
  MPI_Type_commit(&indexed.type);
  MPI_Type_commit(&blocks.type);
  exchange_all_ways(&indexed, 1, &whole, 1);
  exchange_all_ways(&indexed, 200, &whole, 2);
  exchange_all_ways(&blocks, 1, &byte, 3);
  exchange_all_ways(&blocks, 11, &byte, 4);
  free_layout(&blocks);
  free_layout(&indexed);
  free_layout(&byte);
  free_layout(&whole);
}

/* A struct as compilers lay it out, in arrays. */
static void structs_with_padding(void) {
  struct record {
    char kind;
    double value[2];
    short length;
    int numbers[3];
    char tail;
  };
  const struct layout byte = basic(MPI_CHAR, 1), real = basic(MPI_DOUBLE, 8), half = basic(MPI_SHORT, 2),
                      whole = basic(MPI_INT, 4);
  const struct layout* const parts[] = {&byte, &real, &half, &whole, &byte};
  static const int lengths[] = {1, 2, 1, 3, 1};
  static const MPI_Aint places[] = {offsetof(struct record, kind), offsetof(struct record, value),
                                    offsetof(struct record, length), offsetof(struct record, numbers),
                                    offsetof(struct record, tail)};
  struct layout of = resized(struct_of(5, parts, lengths, places), 0, sizeof(struct record));
  MPI_Type_commit(&of.type);
  static const int counts[] = {1, 2, 100, 3000, 30000};
  for (int i = 0; i < 5; ++i) {
    for (int way = 0; way < ways; ++way) exchange(&of, counts[i], &of, counts[i], (uint64_t)i, way);
  }
  exchange(&of, 10, &of, 15, 9, send_posted_first); /* fewer than allowed */
  free_layout(&of);
  struct layout used[] = {byte, real, half, whole};
  for (int i = 0; i < 4; ++i) free_layout(&used[i]);
}

static void boxes(void) {
  struct layout real = basic(MPI_DOUBLE, 8);
  static const int whole[] = {20, 24, 28};
  static const int parts[][3] = {{20, 24, 1}, {20, 1, 28}, {1, 24, 28}, {3, 4, 5}, {20, 24, 28}, {18, 22, 26}};
  static const int starts[][3] = {{0, 0, 27}, {0, 5, 0}, {19, 0, 0}, {2, 3, 4}, {0, 0, 0}, {1, 1, 1}};
  for (int i = 0; i < 6; ++i) {
    for (int order = 0; order < 2; ++order) {
      struct layout of = box_of(&real, whole, parts[i], starts[i], order ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
      MPI_Type_commit(&of.type);
      exchange_all_ways(&of, 1, &real, (uint64_t)(2 * i + order));
      exchange_all_ways(&of, 2, &real, (uint64_t)(2 * i + order + 30));
      free_layout(&of);
    }
  }
  free_layout(&real);
}

/* Elements that begin before, or lie within, their neighbours: resized extents, negative strides. */
static void unusual_extents(void) {
  struct layout whole = basic(MPI_INT, 4);
  struct layout column = resized(vector_of(&whole, 50, 1, 60), 0, 4); /* consecutive columns of a matrix */
  struct layout backwards = hvector_of(&whole, 100, 2, -16);
  struct layout shifted = resized(vector_of(&whole, 3, 1, 2), -8, 32);
  static const int lengths[] = {1, 1}, places[] = {5, 0};
  struct layout crossed = resized(indexed_of(&whole, 2, lengths, places), 0, 4); /* elements interleave */
  struct layout* const all[] = {&column, &backwards, &shifted};
  for (int i = 0; i < 3; ++i) {
    MPI_Type_commit(&all[i]->type);
    exchange_all_ways(all[i], 1, &whole, (uint64_t)i);
    exchange_all_ways(all[i], i == 0 ? 60 : 40, &whole, (uint64_t)i + 10);
  }
  MPI_Type_commit(&crossed.type);
  for (int way = 0; way < ways; ++way) { /* what is sent may overlap, what is received may not */
    exchange(&crossed, 4, &whole, 8, 50, way);
    exchange(&crossed, 2000, &whole, 4000, 51, way);
  }
  free_layout(&crossed);
  free_layout(&shifted);
  free_layout(&backwards);
  free_layout(&column);
  free_layout(&whole);
}

/* A matrix that is turned on the way: sent by rows, received by columns. */
static void transposition(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { rows = 150, columns = 110 };
  double* const out = allocate(sizeof(double) * rows * columns);
  double* const in = allocate(sizeof(double) * rows * columns);
  MPI_Datatype column, turned;
  for (int i = 0; i < rows * columns; ++i) out[i] = my_rank * 1e6 + i;
  MPI_Type_vector(columns, 1, rows, MPI_DOUBLE, &column);
  MPI_Type_create_hvector(rows, 1, sizeof(double), column, &turned);
  MPI_Type_commit(&turned);
  MPI_Type_free(&column);
  MPI_Sendrecv(out, rows * columns, MPI_DOUBLE, peer, 1, in, 1, turned, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    for (int at = 0; at < columns; ++at) wrong += in[at * rows + row] != peer * 1e6 + row * columns + at;
  }
  CHECK_EQUAL(wrong, 0);
  MPI_Type_free(&turned);
  free(in);
  free(out);
}

static void absolute_addresses(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static double in_static[40];
  int on_stack[10];
  char* const on_heap = allocate(50000);
  const int lengths[] = {40, 10, 50000};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_BYTE};
  MPI_Aint places[3];
  MPI_Get_address(in_static, &places[0]);
  MPI_Get_address(on_stack, &places[1]);
  MPI_Get_address(on_heap, &places[2]);
  MPI_Datatype all;
  MPI_Type_create_struct(3, lengths, places, types, &all);
  MPI_Type_commit(&all);
  for (int turn = 0; turn < 2; ++turn) {
    if ((my_rank & 1) == turn) {
      fill(in_static, sizeof in_static, 1);
      fill(on_stack, sizeof on_stack, 2);
      fill(on_heap, 50000, 3);
      MPI_Send(MPI_BOTTOM, 1, all, peer, 1, MPI_COMM_WORLD);
    } else {
      memset(in_static, 0, sizeof in_static);
      memset(on_stack, 0, sizeof on_stack);
      memset(on_heap, 0, 50000);
      MPI_Recv(MPI_BOTTOM, 1, all, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(in_static, sizeof in_static, 1);
      VERIFY(on_stack, sizeof on_stack, 2);
      VERIFY(on_heap, 50000, 3);
    }
  }
  MPI_Type_free(&all);
  free(on_heap);
}

/* Received elements and basic parts when the message ends inside an element. */
static void messages_that_end_inside_an_element(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  MPI_Datatype pair, gaps;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_vector(3, 2, 4, MPI_INT, &gaps); /* 6 integers */
  MPI_Type_commit(&pair);
  MPI_Type_commit(&gaps);
  static const struct {
    int sent, pairs, gap_types;
  } expected[] = {{0, 0, 0},
                  {1, MPI_UNDEFINED, MPI_UNDEFINED},
                  {2, 1, MPI_UNDEFINED},
                  {5, MPI_UNDEFINED, MPI_UNDEFINED},
                  {6, 3, 1},
                  {7, MPI_UNDEFINED, MPI_UNDEFINED},
                  {12, 6, 2},
                  {20, 10, MPI_UNDEFINED}};
  for (int i = 0; i < 8; ++i) {
    for (int probing = 0; probing < 2; ++probing) {
      int out[40], in[100], count = 0, elements = -1;
      MPI_Count many = -1;
      MPI_Status status;
      MPI_Request request;
      for (int k = 0; k < 40; ++k) out[k] = my_rank * 100 + k;
      for (int k = 0; k < 100; ++k) in[k] = -5;
      MPI_Isend(out, expected[i].sent, MPI_INT, peer, i, MPI_COMM_WORLD, &request);
      if (probing) MPI_Probe(peer, i, MPI_COMM_WORLD, &status);
      if (!probing) MPI_Recv(in, 20, pair, peer, i, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, pair, &count);
      CHECK_EQUAL(count, expected[i].pairs);
      MPI_Get_elements(&status, pair, &elements);
      CHECK_EQUAL(elements, expected[i].sent);
      MPI_Get_elements_x(&status, pair, &many);
      CHECK_EQUAL(many, expected[i].sent);
      if (probing) MPI_Recv(in, 4, gaps, peer, i, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, gaps, &count);
      CHECK_EQUAL(count, expected[i].gap_types);
      MPI_Get_elements(&status, gaps, &elements);
      CHECK_EQUAL(elements, expected[i].sent);
      /* Integer k is in block k / 2 of the vectors; a vector's extent is 10. */
      int wrong = 0;
      for (int k = 0; k < expected[i].sent; ++k) {
        const int at = probing ? k / 6 * 10 + k % 6 / 2 * 4 + k % 2 : k;
        wrong += in[at] != peer * 100 + k;
        in[at] = -5;
      }
      for (int k = 0; k < 100; ++k) wrong += in[k] != -5;
      CHECK_EQUAL(wrong, 0);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  MPI_Type_free(&gaps);
  MPI_Type_free(&pair);
}

/* A type may be freed as soon as it is in use. */
static void types_freed_in_use(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { count = 60000 };
  short* const out = allocate(2 * count * sizeof(short));
  short* const in = allocate(2 * count * sizeof(short));
  for (int round = 0; round < 3; ++round) {
    MPI_Request requests[2];
    MPI_Datatype every_second;
    fill(out, 2 * count * sizeof(short), (uint64_t)(my_rank + 10 * round));
    memset(in, 0, 2 * count * sizeof(short));
    MPI_Type_vector(count, 1, 2, MPI_SHORT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Irecv(in, 1, every_second, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, every_second, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&every_second);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    fill(out, 2 * count * sizeof(short), (uint64_t)(peer + 10 * round));
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += in[2 * i] != out[2 * i] || in[2 * i + 1] != 0;
    CHECK_EQUAL(wrong, 0);
  }
  free(in);
  free(out);
}

/* What MPI_Pack wrote can be received as what it was, and the other way round. */
static void packed_messages(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  enum { count = 3000 };
  MPI_Datatype gaps;
  MPI_Type_vector(count, 1, 3, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  int* const numbers = allocate(3 * count * sizeof(int));
  int room = 0, more = 0, position = 0;
  MPI_Pack_size(1, gaps, MPI_COMM_WORLD, &room);
  MPI_Pack_size(2, MPI_DOUBLE, MPI_COMM_WORLD, &more);
  char* const packed = allocate((size_t)(room + more));
  double ends[2] = {1.25, my_rank}, ends_in[2] = {0, 0};
  for (int i = 0; i < 3 * count; ++i) numbers[i] = my_rank * 100000 + i;
  MPI_Pack(numbers, 1, gaps, packed, room + more, &position, MPI_COMM_WORLD);
  MPI_Pack(ends, 2, MPI_DOUBLE, packed, room + more, &position, MPI_COMM_WORLD);
  MPI_Sendrecv_replace(packed, position, MPI_PACKED, peer, 1, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  memset(numbers, 0, 3 * count * sizeof(int));
  const int total = position;
  position = 0;
  MPI_Unpack(packed, total, &position, numbers, 1, gaps, MPI_COMM_WORLD);
  MPI_Unpack(packed, total, &position, ends_in, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  CHECK_EQUAL(position, total);
  int wrong = 0;
  for (int i = 0; i < 3 * count; ++i) wrong += numbers[i] != (i % 3 == 0 ? peer * 100000 + i : 0);
  CHECK_EQUAL(wrong, 0);
  CHECK(ends_in[0] == 1.25 && ends_in[1] == peer);
  /* Packed on one side only. */
  position = 0;
  MPI_Pack(numbers, 1, gaps, packed, room + more, &position, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Isend(packed, position, MPI_PACKED, peer, 2, MPI_COMM_WORLD, &request);
  int* const plain = allocate(count * sizeof(int));
  MPI_Recv(plain, count, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  wrong = 0;
  for (int i = 0; i < count; ++i) wrong += plain[i] != my_rank * 100000 + 3 * i; /* it came from us, and goes back */
  CHECK_EQUAL(wrong, 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(plain, count, MPI_INT, peer, 3, MPI_COMM_WORLD, &request);
  MPI_Recv(packed, room, MPI_PACKED, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  position = 0;
  memset(numbers, 0, 3 * count * sizeof(int));
  MPI_Unpack(packed, room, &position, numbers, 1, gaps, MPI_COMM_WORLD);
  wrong = 0;
  for (int i = 0; i < count; ++i) wrong += numbers[3 * i] != peer * 100000 + 3 * i;
  CHECK_EQUAL(wrong, 0);
  MPI_Type_free(&gaps);
  free(plain);
  free(packed);
  free(numbers);
}

static void replaced_in_place(void) {
  const int next = (my_rank + 1) % rank_count, previous = (my_rank + rank_count - 1) % rank_count;
  enum { rows = 200, columns = 90 };
  MPI_Datatype column;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  double* const matrix = allocate(sizeof(double) * rows * columns);
  for (int i = 0; i < rows * columns; ++i) matrix[i] = my_rank * 1e6 + i;
  MPI_Sendrecv_replace(matrix + 4, 1, column, next, 1, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int wrong = 0;
  for (int i = 0; i < rows * columns; ++i) wrong += matrix[i] != (i % columns == 4 ? previous : my_rank) * 1e6 + i;
  CHECK_EQUAL(wrong, 0);
  MPI_Type_free(&column);
  free(matrix);
}

static void nothing_in_derived_types(void) {
  struct layout byte = basic(MPI_BYTE, 1);
  struct layout nothing = vector_of(&byte, 0, 1, 1);
  MPI_Type_commit(&nothing.type);
  exchange(&nothing, 5, &nothing, 5, 1, send_posted_first);
  exchange(&nothing, 5, &byte, 10, 2, receive_posted_first);
  exchange(&byte, 0, &nothing, 3, 3, send_posted_first);
  free_layout(&nothing);
  free_layout(&byte);
}

/* ---- Random layouts ---- */

static struct layout random_layout(struct random_numbers* numbers, const struct layout* leaf, int depth);

/* Parts that do not overlap: places at increasing distances, then shuffled. */
static void random_places(struct random_numbers* numbers, int count, MPI_Aint length, MPI_Aint align, MPI_Aint lower,
                          MPI_Aint* places) {
  MPI_Aint next = -lower;
  for (int i = 0; i < count; ++i) {
    next += align * (MPI_Aint)number_below(numbers, 4);
    places[i] = next;
    next += (length + align - 1) / align * align;
  }
  for (int i = count - 1; i > 0; --i) {
    const int other = (int)number_below(numbers, (uint64_t)i + 1);
    const MPI_Aint kept = places[i];
    places[i] = places[other];
    places[other] = kept;
  }
}

static struct layout random_layout(struct random_numbers* numbers, const struct layout* leaf, int depth) {
  if (depth == 0) {
    struct layout copy = layout_without_pieces(1);
    MPI_Type_dup(leaf->type, &copy.type);
    add_copy(&copy, leaf, 0);
    return finished(copy);
  }
  struct layout inner = random_layout(numbers, leaf, depth - 1);
  struct layout made;
  const int count = 1 + (int)number_below(numbers, 5), length = 1 + (int)number_below(numbers, 3);
  MPI_Aint true_lower = 0, true_extent = 0, places[8];
  const MPI_Aint align = (MPI_Aint)leaf->size;
  switch (number_below(numbers, 6)) {
    case 0:
      made = vector_of(&inner, count, length, length + (int)number_below(numbers, 4));
      break;
    case 1:
      made = hvector_of(&inner, count, length, length * inner.extent + align * (MPI_Aint)number_below(numbers, 5));
      break;
    case 2: {
      int lengths[5], at[5], next = 0;
      for (int i = 0; i < count; ++i) {
        lengths[i] = (int)number_below(numbers, 4);
        next += (int)number_below(numbers, 3);
        at[i] = next;
        next += lengths[i];
      }
      made = indexed_of(&inner, count, lengths, at);
      break;
    }
    case 3:
      random_places(numbers, count, length * inner.extent, align, 0, places);
      made = hindexed_block_of(&inner, count, length, places);
      break;
    case 4: {
      const struct layout* parts[5];
      int lengths[5];
      for (int i = 0; i < count; ++i) {
        parts[i] = i % 2 ? leaf : &inner;
        lengths[i] = i % 2 ? 1 : length;
      }
      const MPI_Aint longest = length * inner.extent;
      random_places(numbers, count, longest > align ? longest : align, align, 0, places);
      made = struct_of(count, parts, lengths, places);
      break;
    }
    default: {
      struct layout flat = vector_of(&inner, count, length, length + 1);
      if (flat.size > 0) MPI_Type_get_true_extent(flat.type, &true_lower, &true_extent); /* nothing has no bounds */
      made = resized(flat, 0, true_lower + true_extent + align * (MPI_Aint)number_below(numbers, 4));
      break;
    }
  }
  free_layout(&inner);
  return made;
}

static void random_layouts(void) {
  struct layout leaves[] = {basic(MPI_BYTE, 1), basic(MPI_SHORT, 2), basic(MPI_INT, 4), basic(MPI_DOUBLE, 8)};
  const int trials = size_total > 10 ? 400 : 80;
  int received = 0;
  for (int trial = 0; trial < trials; ++trial) {
    struct random_numbers numbers = {mix(1000 + (uint64_t)trial)};
    const struct layout* const leaf = &leaves[trial % 4];
    struct layout first = random_layout(&numbers, leaf, 1 + trial % 4),
                  second = random_layout(&numbers, leaf, 1 + trial / 4 % 4);
    MPI_Type_commit(&first.type);
    MPI_Type_commit(&second.type);
    if (first.size > 0 && second.size > 0) {
      /* As much as makes the message small, middling or large; the receiver has room for it, and perhaps for more. */
      static const size_t wanted[] = {50, 3000, 9000, 70000, 300000};
      const int out_count = (int)(wanted[trial % 5] / first.size) + 1;
      const size_t bytes = (size_t)out_count * first.size;
      const int in_count = (int)((bytes + second.size - 1) / second.size) + (int)number_below(&numbers, 2);
      const int leaves_in = (int)(bytes / leaf->size);
      if (overlaps(&second, in_count)) {
        exchange(&first, out_count, leaf, leaves_in, (uint64_t)trial, trial % ways);
      } else {
        exchange(&first, out_count, &second, in_count, (uint64_t)trial, trial % ways);
        ++received;
      }
      exchange(&first, out_count, leaf, leaves_in, (uint64_t)trial, (trial / 2) % ways);
    }
    free_layout(&second);
    free_layout(&first);
  }
  CHECK(received > trials / 2);
  for (int i = 0; i < 4; ++i) free_layout(&leaves[i]);
}

const struct conformance_case datatype_cases[] = {
    {"predefined_types", 2, predefined_types},
    {"pairs_of_value_and_place", 2, pairs_of_value_and_place},
    {"vectors", 2, vectors},
    {"large_vectors", 2, large_vectors},
    {"different_layouts_meet", 2, different_layouts_meet},
    {"indexed_and_blocks", 2, indexed_and_blocks},
    {"structs_with_padding", 2, structs_with_padding},
    {"boxes", 2, boxes},
    {"unusual_extents", 2, unusual_extents},
    {"transposition", 2, transposition},
    {"absolute_addresses", 2, absolute_addresses},
    {"messages_that_end_inside_an_element", 2, messages_that_end_inside_an_element},
    {"types_freed_in_use", 2, types_freed_in_use},
    {"packed_messages", 2, packed_messages},
    {"replaced_in_place", 1, replaced_in_place},
    {"nothing_in_derived_types", 2, nothing_in_derived_types},
    {"random_layouts", 2, random_layouts},
    {NULL, 0, NULL},
};
