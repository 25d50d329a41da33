/* Calls that wait for other ranks inside an MPI library, beside a large message that one side has only begun: the other
   side ends it before it makes the call. The first half of the ranks begins; each rank's partner is in the other half.
   With two hosts of equal size the halves are on different ones, so no rank is left on the first host who could move
   the messages meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance.h"

enum { bytes = 2 << 20, window_ints = 1024 /* MPICH 4.0.2 takes windows of 4 bytes for one */ };

static int is_first(void) { return my_rank < rank_count / 2; }
static int partner(void) {
  const int half = rank_count / 2;
  return my_rank < half ? my_rank + half : my_rank < 2 * half ? my_rank - half : MPI_PROC_NULL;
}

/* The first half sends (`sends`) or receives. */
struct exchange {
  int sends;
  uint64_t seed;
  char* buffer;
  MPI_Request begun;
};
static struct exchange begin_exchange(int sends, int number) {
  struct exchange made = {sends, (uint64_t)number, allocate(bytes), MPI_REQUEST_NULL};
  const int receives = is_first() != sends;
  if (receives)
    memset(made.buffer, 0x55, bytes);
  else
    fill(made.buffer, bytes, made.seed);
  if (is_first() && sends) MPI_Isend(made.buffer, bytes, MPI_BYTE, partner(), 6, MPI_COMM_WORLD, &made.begun);
  if (is_first() && !sends) MPI_Irecv(made.buffer, bytes, MPI_BYTE, partner(), 6, MPI_COMM_WORLD, &made.begun);
  return made;
}
/* Blocks. */
static void second_side(struct exchange* of) {
  if (is_first()) return;
  if (of->sends)
    MPI_Recv(of->buffer, bytes, MPI_BYTE, partner(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(of->buffer, bytes, MPI_BYTE, partner(), 6, MPI_COMM_WORLD);
}
static void end_exchange(struct exchange* of) {
  MPI_Wait(&of->begun, MPI_STATUS_IGNORE);
  if (is_first() != of->sends && partner() != MPI_PROC_NULL) VERIFY(of->buffer, bytes, of->seed);
  free(of->buffer);
}

/* `call` is made by all, between the beginning and the end of the exchange. */
static int exchanges;
#define BESIDE_AN_EXCHANGE(call)                                   \
  do {                                                             \
    for (int sends = 0; sends < 2; ++sends) {                      \
      struct exchange beside = begin_exchange(sends, ++exchanges); \
      second_side(&beside);                                        \
      call;                                                        \
      end_exchange(&beside);                                       \
    }                                                              \
  } while (0)

/* MPICH leaves an attribute of its own on a communicator with a file, which then is on all duplicates. */
static MPI_Comm files;
static void name_of_file(char* name, size_t size) {
  int number = (int)getpid();
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, size, "conformance_shared_file_%d", number);
  MPI_Comm_dup(MPI_COMM_WORLD, &files);
}
static MPI_File open_file(const char* name, MPI_Comm comm) {
  MPI_File file = MPI_FILE_NULL;
  CHECK_EQUAL(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
  return file;
}
static void delete_file(const char* name) {
  MPI_Comm_free(&files);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void files_are_opened_and_closed(void) {
  char name[64];
  name_of_file(name, sizeof name);
  MPI_File file;
  BESIDE_AN_EXCHANGE(file = open_file(name, files); MPI_File_close(&file));
  file = open_file(name, files);
  for (int sends = 0; sends < 2; ++sends) {
    struct exchange beside = begin_exchange(sends, 90 + sends);
    second_side(&beside);
    MPI_File_close(&file);
    end_exchange(&beside);
    if (sends == 0) file = open_file(name, files);
  }
  delete_file(name);
}

static void files_are_set_up(void) {
  char name[64];
  name_of_file(name, sizeof name);
  MPI_File file = open_file(name, files);
  MPI_Offset size = -1;
  BESIDE_AN_EXCHANGE(MPI_File_set_size(file, 4096 * rank_count));
  MPI_File_get_size(file, &size);
  CHECK_EQUAL(size, 4096 * rank_count);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Not MPI_File_preallocate: the first rank of Open MPI 4.1.4 broadcasts once too often there. */
  BESIDE_AN_EXCHANGE(MPI_File_set_view(file, 4096 * my_rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  BESIDE_AN_EXCHANGE(MPI_File_set_info(file, MPI_INFO_NULL));
  BESIDE_AN_EXCHANGE(MPI_File_set_atomicity(file, 0));
  BESIDE_AN_EXCHANGE(MPI_File_sync(file));
  MPI_File_close(&file);
  delete_file(name);
}

static void files_are_written_and_read_by_all(void) {
  enum { part = 5000 };
  char name[64];
  name_of_file(name, sizeof name);
  MPI_File file = open_file(name, files);
  char* const out = allocate(part);
  char* const in = allocate(part);
  const MPI_Offset place = (MPI_Offset)part * my_rank;
  fill(out, part, (uint64_t)my_rank);
  for (int split = 0; split < 2; ++split) {
    memset(in, 0, part);
    if (split) {
      BESIDE_AN_EXCHANGE(MPI_File_write_at_all_begin(file, place, out, part, MPI_BYTE);
                         MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE));
      MPI_File_sync(file);
      MPI_File_read_at_all_begin(file, place, in, part, MPI_BYTE);
      BESIDE_AN_EXCHANGE(if (sends == 0) MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE));
    } else {
      BESIDE_AN_EXCHANGE(MPI_File_write_at_all(file, place, out, part, MPI_BYTE, MPI_STATUS_IGNORE));
      MPI_File_sync(file);
      BESIDE_AN_EXCHANGE(MPI_File_read_at_all(file, place, in, part, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    VERIFY(in, part, (uint64_t)my_rank);
    memset(in, 0, part);
    MPI_File_seek(file, place, MPI_SEEK_SET);
    BESIDE_AN_EXCHANGE(
        MPI_File_seek(file, place, MPI_SEEK_SET); if (split) {
          MPI_File_write_all_begin(file, out, part, MPI_BYTE);
          MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
        } else { MPI_File_write_all(file, out, part, MPI_BYTE, MPI_STATUS_IGNORE); });
    MPI_File_sync(file);
    BESIDE_AN_EXCHANGE(
        MPI_File_seek(file, place, MPI_SEEK_SET); if (split) {
          MPI_File_read_all_begin(file, in, part, MPI_BYTE);
          MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE);
        } else { MPI_File_read_all(file, in, part, MPI_BYTE, MPI_STATUS_IGNORE); });
    VERIFY(in, part, (uint64_t)my_rank);
  }
  free(in);
  free(out);
  MPI_File_close(&file);
  delete_file(name);
}

static void files_are_read_in_order(void) {
  enum { part = 3000 };
  char name[64];
  name_of_file(name, sizeof name);
  MPI_File file = open_file(name, files);
  char* const out = allocate(part);
  char* const in = allocate(part);
  fill(out, part, (uint64_t)my_rank);
  for (int split = 0; split < 2; ++split) {
    memset(in, 0, part);
    BESIDE_AN_EXCHANGE(
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET); if (split) {
          MPI_File_write_ordered_begin(file, out, part, MPI_BYTE);
          MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
        } else { MPI_File_write_ordered(file, out, part, MPI_BYTE, MPI_STATUS_IGNORE); });
    MPI_File_sync(file);
    BESIDE_AN_EXCHANGE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    BESIDE_AN_EXCHANGE(
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET); if (split) {
          MPI_File_read_ordered_begin(file, in, part, MPI_BYTE);
          MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE);
        } else { MPI_File_read_ordered(file, in, part, MPI_BYTE, MPI_STATUS_IGNORE); });
    VERIFY(in, part, (uint64_t)my_rank);
  }
  free(in);
  free(out);
  MPI_File_close(&file);
  delete_file(name);
}

/* Calls on a file and operations on its communicator have no common order. */
static void files_beside_operations_of_their_communicator(void) {
  char name[64];
  name_of_file(name, sizeof name);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_File file = open_file(name, comm);
  MPI_File other = open_file(name, comm);
  for (int i = 0; i < 4; ++i) {
    MPI_Request barrier;
    if (is_first()) MPI_Ibarrier(comm, &barrier);
    MPI_File_set_size(file, 100 * i);
    if (!is_first()) MPI_Ibarrier(comm, &barrier);
    MPI_File_set_size(other, 200 * i);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm);
  MPI_File_close(&file);
  BESIDE_AN_EXCHANGE(MPI_File_set_size(other, 1000)); /* files outlive their communicators */
  MPI_File_close(&other);
  delete_file(name);
}

/* The members of a group alone make the call. */
static void communicators_of_groups(void) {
  MPI_Group world, group;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  BESIDE_AN_EXCHANGE(MPI_Comm_create_group(MPI_COMM_WORLD, world, 3, &made); MPI_Comm_free(&made));
  const int two[] = {is_first() ? partner() : my_rank, is_first() ? my_rank : partner()}; /* each pair by itself */
  if (partner() != MPI_PROC_NULL) MPI_Group_incl(world, 2, two, &group);
  for (int i = 0; i < 3; ++i)
    BESIDE_AN_EXCHANGE(if (partner() != MPI_PROC_NULL) {
      MPI_Comm_create_group(MPI_COMM_WORLD, group, 4, &made);
      int rank = -1;
      MPI_Comm_rank(made, &rank);
      CHECK_EQUAL(rank, is_first() ? 1 : 0);
      MPI_Comm_free(&made);
    });
  if (partner() != MPI_PROC_NULL) MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* The leaders of both sides wait for each other, and their groups for them. */
static void inter_communicators(void) {
  MPI_Comm side, between, both;
  MPI_Comm_split(MPI_COMM_WORLD, is_first(), 0, &side);
  const int remote = is_first() ? rank_count / 2 : 0;
  BESIDE_AN_EXCHANGE(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, remote, 8, &between); MPI_Comm_free(&between));
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, remote, 8, &between);
  BESIDE_AN_EXCHANGE(MPI_Intercomm_merge(between, is_first(), &both); MPI_Comm_free(&both));
  MPI_Comm_free(&between);
  MPI_Comm_free(&side);
}

/* The second half is a target of the first half, and exposes its memory after it has got its message. */
static void posts_and_starts(void) {
  int memory[window_ints] = {-1};
  const int value = 100 + my_rank;
  const int pair = partner();
  MPI_Group world, other;
  MPI_Win window;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  if (pair != MPI_PROC_NULL) MPI_Group_incl(world, 1, &pair, &other);
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int i = 0; i < 3; ++i)
    BESIDE_AN_EXCHANGE(if (pair != MPI_PROC_NULL) {
      memory[0] = -1;
      if (is_first()) {
        MPI_Win_start(other, 0, window);
        MPI_Put(&value, 1, MPI_INT, pair, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
      } else {
        MPI_Win_post(other, 0, window);
        MPI_Win_wait(window);
        CHECK_EQUAL(memory[0], 100 + pair);
      }
    });
  /* The other way round: the first half waits for the end of accesses. */
  BESIDE_AN_EXCHANGE(if (pair != MPI_PROC_NULL) {
    memory[0] = -1;
    if (is_first()) {
      MPI_Win_post(other, 0, window);
      MPI_Win_wait(window);
      CHECK_EQUAL(memory[0], 100 + pair);
    } else {
      MPI_Win_start(other, 0, window);
      MPI_Put(&value, 1, MPI_INT, pair, 0, 1, MPI_INT, window);
      MPI_Win_complete(window);
    }
  });
  MPI_Win_free(&window);
  if (pair != MPI_PROC_NULL) MPI_Group_free(&other);
  MPI_Group_free(&world);
}

/* The second half holds the locks that the first half waits for. */
static void contended_locks(void) {
  int* memory = NULL;
  const int pair = partner();
  MPI_Win window;
  MPI_Win_allocate(window_ints * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int target_is_first = 0; target_is_first < 2; ++target_is_first) {
    const int target = target_is_first == is_first() ? my_rank : pair;
    for (int sends = 0; sends < 2 && pair != MPI_PROC_NULL; ++sends) {
      const int one = 1;
      int sum = 0;
      if (!is_first()) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
        MPI_Get(&sum, 1, MPI_INT, target, 0, 1, MPI_INT, window); /* whoever locks late has it now */
        MPI_Win_flush(target, window);
        MPI_Send(NULL, 0, MPI_BYTE, pair, 7, MPI_COMM_WORLD);
      } else {
        MPI_Recv(NULL, 0, MPI_BYTE, pair, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      struct exchange beside = begin_exchange(sends, 80 + sends);
      second_side(&beside);
      if (is_first()) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
      MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window);
      MPI_Win_unlock(target, window);
      end_exchange(&beside);
      /* Before the second half takes the next lock: otherwise it may have that while its partner waits for this one. */
      MPI_Sendrecv(NULL, 0, MPI_BYTE, pair, 8, NULL, 0, MPI_BYTE, pair, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, window);
  CHECK_EQUAL(*memory, pair == MPI_PROC_NULL ? 0 : 4);
  MPI_Win_unlock(my_rank, window);
  MPI_Win_free(&window);
}

/* A file of each rank. Of Open MPI only one thread may be in the progress of files, whatever MPI_Init_thread has said.
 */
static void files_of_one_rank(void) {
  enum { rounds = 20, most = 40 };
  char name[64];
  int out[most], in[most];
  snprintf(name, sizeof name, "conformance_file_of_one_%d", (int)getpid());
  for (int round = 0; round < rounds; ++round) {
    MPI_File file = MPI_FILE_NULL;
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK_EQUAL(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file), MPI_SUCCESS);
    int wrong = 0;
    for (int count = 1; count <= most; ++count) {
      for (int i = 0; i < count; ++i) out[i] = round * 100 + count + i, in[i] = -1;
      MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
      MPI_File_write_all_begin(file, out, count, MPI_INT);
      MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
      MPI_File_sync(file);
      MPI_File_seek(file, 0, MPI_SEEK_SET);
      MPI_File_read_all_begin(file, in, count, MPI_INT);
      MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE);
      wrong += memcmp(out, in, (size_t)count * sizeof(int)) != 0;
    }
    CHECK_EQUAL(wrong, 0);
    MPI_File_close(&file);
  }
}

const struct conformance_case blocking_call_cases[] = {
    {"files_are_opened_and_closed", 2, files_are_opened_and_closed},
    {"files_are_set_up", 2, files_are_set_up},
    {"files_are_written_and_read_by_all", 2, files_are_written_and_read_by_all},
    {"files_are_read_in_order", 2, files_are_read_in_order},
    {"files_beside_operations_of_their_communicator", 2, files_beside_operations_of_their_communicator},
    {"files_of_one_rank", 1, files_of_one_rank},
    {"communicators_of_groups", 2, communicators_of_groups},
    {"inter_communicators", 2, inter_communicators},
    {"posts_and_starts", 2, posts_and_starts},
    {"contended_locks", 2, contended_locks},
    {NULL, 0, NULL}};
