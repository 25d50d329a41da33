/* Errors with MPI_ERRORS_RETURN: messages that are too long, arguments that are wrong, and that all goes on afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static uint64_t seed_of(int from, int what) { return ((uint64_t)from << 40) ^ (uint64_t)what; }

#define CHECK_CLASS(call, class) CHECK_EQUAL(error_class(call), class)

static void return_errors(void) { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
static void errors_are_fatal(void) { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); }

/* Ways to receive 60 % of a message. The next message comes as always, and what lies behind the buffer stays;
   the latter is a case of its own. */
enum { by_recv, by_irecv, by_sendrecv, by_mrecv, by_persistent, truncating_ways };

static int receive_part(int way, char* in, int bytes, int peer) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status = marked_status();
  int code = MPI_SUCCESS;
  if (way == by_recv) {
    code = MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
  } else if (way == by_irecv) {
    MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    code = MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL);
  } else if (way == by_sendrecv) {
    code = MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 1, in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
  } else if (way == by_mrecv) {
    MPI_Message message;
    MPI_Mprobe(peer, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    code = MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status);
  } else {
    MPI_Recv_init(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    code = MPI_Wait(&request, &status);
    MPI_Request_free(&request);
  }
  return code;
}

static void truncated(int first_way, int last_way, int look_behind) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {10, 100, 5000, 20000, 70000, 1000000};
  return_errors();
  char* const buffer = allocate(1000000);
  for (int i = 0; i < 6; ++i) {
    const int bytes = lengths[i], room = bytes * 6 / 10;
    for (int way = first_way; way <= last_way; ++way) {
      for (int early = 0; early < 2; ++early) { /* the message first, or the receive */
        if (my_rank & 1) {
          memset(buffer, 0x44, (size_t)bytes);
          if (!early) wait_for_signal_of(peer);
          if (early) signal_to(peer);
          CHECK_CLASS(receive_part(way, buffer, room, peer), MPI_ERR_TRUNCATE);
          if (look_behind) VERIFY_ALL(buffer + room, (size_t)(bytes - room), 0x44);
          CHECK_CLASS(MPI_Recv(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
          VERIFY(buffer, (size_t)bytes, seed_of(peer, i));
        } else {
          MPI_Request requests[2];
          fill(buffer, (size_t)bytes, seed_of(my_rank, i));
          if (early) wait_for_signal_of(peer);
          CHECK_CLASS(MPI_Isend(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
          CHECK_CLASS(MPI_Isend(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
          if (!early) signal_to(peer);
          CHECK_CLASS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        }
      }
    }
  }
  free(buffer);
  errors_are_fatal();
}
static void truncated_receives(void) { truncated(by_recv, by_irecv, 0); }
static void truncated_sendrecv(void) { truncated(by_sendrecv, by_sendrecv, 0); }
static void truncated_mrecv(void) { truncated(by_mrecv, by_mrecv, 0); }
static void truncated_persistent(void) { truncated(by_persistent, by_persistent, 0); }

static void nothing_is_written_behind_truncated_receives(void) { truncated(by_recv, by_persistent, 1); }

/* The statuses say which requests failed and which did not. */
static void truncated_among_others(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  static const int lengths[] = {40, 100000};
  return_errors();
  for (int kind = 0; kind < 2; ++kind) {
    const int bytes = lengths[kind];
    char* buffers[4];
    for (int i = 0; i < 4; ++i) buffers[i] = allocate((size_t)bytes);
    MPI_Request requests[4];
    MPI_Status statuses[4];
    if (my_rank & 1) {
      for (int i = 0; i < 4; ++i)
        MPI_Irecv(buffers[i], i == 2 ? bytes / 2 : bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
      for (int i = 0; i < 4; ++i) {
        statuses[i] = marked_status();
        statuses[i].MPI_ERROR = 12345;
      }
      signal_to(peer);
      int code = MPI_Waitall(4, requests, statuses);
      CHECK_CLASS(code, MPI_ERR_IN_STATUS);
      /* What was not finished when the error was found is marked as pending, and can be waited for. */
      for (int i = 0; i < 4; ++i) {
        const int class = error_class(statuses[i].MPI_ERROR);
        CHECK(class == (i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS) || (i != 2 && class == MPI_ERR_PENDING));
        if (i != 2 && class == MPI_ERR_PENDING) MPI_Wait(&requests[i], &statuses[i]);
        if (i == 2) continue;
        CHECK_STATUS(&statuses[i], peer, i, bytes);
        VERIFY(buffers[i], (size_t)bytes, seed_of(peer, i));
      }
    } else {
      wait_for_signal_of(peer);
      for (int i = 0; i < 4; ++i) {
        fill(buffers[i], (size_t)bytes, seed_of(my_rank, i));
        MPI_Isend(buffers[i], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
      }
      CHECK_CLASS(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
    for (int i = 0; i < 4; ++i) free(buffers[i]);
  }
  errors_are_fatal();
}

/* A receive with room for fewer elements of a derived type than were sent. */
static void truncated_in_derived_types(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  return_errors();
  MPI_Datatype gaps;
  MPI_Type_vector(100, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  int* const numbers = allocate(200 * 200 * sizeof(int));
  for (int count = 1; count <= 100; count *= 10) {
    for (int i = 0; i < 200 * 200; ++i) numbers[i] = -1;
    if (my_rank & 1) {
      MPI_Status status;
      CHECK_CLASS(MPI_Recv(numbers, count, gaps, peer, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
      int wrong = 0;
      for (int i = 1; i < 200 * 200; i += 2) wrong += numbers[i] != -1;
      CHECK_EQUAL(wrong, 0);
    } else {
      CHECK_CLASS(MPI_Send(numbers, count * 100 + 1, MPI_INT, peer, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    }
  }
  MPI_Type_free(&gaps);
  free(numbers);
  errors_are_fatal();
}

static void wrong_arguments(void) {
  return_errors();
  int number = 0;
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, rank_count, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, -77, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Isend(&number, 1, MPI_INT, rank_count + 5, 1, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Ssend(&number, 1, MPI_INT, rank_count, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv(&number, 1, MPI_INT, rank_count, 1, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Irecv(&number, 1, MPI_INT, -99, 1, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Probe(rank_count, 1, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Iprobe(rank_count, 1, MPI_COMM_WORLD, &flag, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, my_rank, -3, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, my_rank, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Isend(&number, 1, MPI_INT, my_rank, -3, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Recv(&number, 1, MPI_INT, my_rank, -3, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Irecv(&number, 1, MPI_INT, my_rank, -3, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&number, -1, MPI_INT, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Irecv(&number, -1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Recv(&number, -1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Send(&number, 1, MPI_DATATYPE_NULL, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Irecv(&number, 1, MPI_DATATYPE_NULL, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Sendrecv(&number, 1, MPI_INT, rank_count, 1, &number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status),
              MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send_init(&number, 1, MPI_INT, rank_count, 1, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv_init(&number, 1, MPI_INT, rank_count, 1, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  const int* largest = NULL;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void*)&largest, &flag);
  if (*largest < 0x7fffffff)
    CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, my_rank, *largest + 1, MPI_COMM_WORLD), MPI_ERR_TAG);
  else
    CHECK(1);
  /* All is well afterwards. */
  int in = -1;
  MPI_Sendrecv(&my_rank, 1, MPI_INT, my_rank, 1, &in, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, my_rank);
  errors_are_fatal();
}

/* A null buffer where there are elements. Not here: what Open MPI does not look at before it reads or writes. */
static void missing_buffers(void) {
  return_errors();
  int in[4] = {0};
  MPI_Request request, sent;
  MPI_Status status;
  MPI_Message message;
  MPI_Datatype gaps;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Send(NULL, 1, gaps, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Send(NULL, 100000, MPI_INT, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bsend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Ssend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Rsend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Isend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Ibsend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Issend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Irsend(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Send_init(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Recv(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &status), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Recv(NULL, 1, gaps, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Irecv(NULL, 1, MPI_INT, my_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Recv_init(NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Sendrecv(NULL, 1, MPI_INT, my_rank, 1, in, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &status),
              MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Sendrecv(in, 1, MPI_INT, my_rank, 1, NULL, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &status),
              MPI_ERR_BUFFER);
  /* A message that was taken is still there for a receive with a buffer. */
  MPI_Isend(&my_rank, 1, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &sent);
  MPI_Mprobe(my_rank, 1, MPI_COMM_WORLD, &message, &status);
  CHECK_CLASS(MPI_Mrecv(NULL, 1, MPI_INT, &message, &status), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Imrecv(NULL, 1, MPI_INT, &message, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Mrecv(in, 1, MPI_INT, &message, &status), MPI_SUCCESS);
  CHECK_EQUAL(in[0], my_rank);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Type_free(&gaps);
  errors_are_fatal();
}

/* Null is right for no elements, and for types of absolute addresses: there it is MPI_BOTTOM. */
static void null_buffers_that_are_right(void) {
  return_errors();
  static int out[2], in[2];
  out[0] = my_rank + 7;
  out[1] = my_rank + 8;
  MPI_Status status;
  MPI_Datatype types[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Aint address;
    const int two = 2;
    const MPI_Datatype number = MPI_INT;
    MPI_Get_address(i == 0 ? out : in, &address);
    MPI_Type_create_struct(1, &two, &address, &number, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  CHECK_CLASS(MPI_Sendrecv(NULL, 0, MPI_INT, my_rank, 1, NULL, 0, MPI_INT, my_rank, 1, MPI_COMM_WORLD, &status),
              MPI_SUCCESS);
  CHECK_CLASS(
      MPI_Sendrecv(MPI_BOTTOM, 1, types[0], my_rank, 1, MPI_BOTTOM, 1, types[1], my_rank, 1, MPI_COMM_WORLD, &status),
      MPI_SUCCESS);
  CHECK_EQUAL(in[0], my_rank + 7);
  CHECK_EQUAL(in[1], my_rank + 8);
  CHECK_CLASS(MPI_Bcast(MPI_BOTTOM, 1, types[0], 0, MPI_COMM_WORLD), MPI_SUCCESS);
  CHECK_EQUAL(out[1], 8);
  CHECK_CLASS(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  for (int i = 0; i < 2; ++i) MPI_Type_free(&types[i]);
  errors_are_fatal();
}

#ifdef MPICH_VERSION
/* MPICH looks at the buffers of collective calls, too; Open MPI ends there. All ranks make the same mistake, and the
   next operation comes as always. */
static void missing_buffers_of_collectives(void) {
  enum { most = 64 };
  return_errors();
  int part = my_rank, all[most] = {0}, counts[most], places[most];
  MPI_Request request;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int is_root = my_rank == 0;
  for (int i = 0; i < rank_count; ++i) {
    counts[i] = 1;
    places[i] = i;
  }
#define MISSES_BUFFER(call)                                   \
  do {                                                        \
    int sum = -1;                                             \
    CHECK_CLASS(call, MPI_ERR_BUFFER);                        \
    MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, comm); \
    CHECK_EQUAL(sum, rank_count*(rank_count - 1) / 2);        \
  } while (0)
  MISSES_BUFFER(MPI_Bcast(NULL, 1, MPI_INT, 0, comm));
  MISSES_BUFFER(MPI_Ibcast(NULL, 1, MPI_INT, 0, comm, &request));
  MISSES_BUFFER(MPI_Reduce(NULL, all, 1, MPI_INT, MPI_SUM, 0, comm));
  MISSES_BUFFER(MPI_Ireduce(NULL, all, 1, MPI_INT, MPI_SUM, 0, comm, &request));
  MISSES_BUFFER(MPI_Allreduce(NULL, all, 1, MPI_INT, MPI_SUM, comm));
  MISSES_BUFFER(MPI_Allreduce(&part, NULL, 1, MPI_INT, MPI_SUM, comm));
  MISSES_BUFFER(MPI_Allreduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, comm));
  MISSES_BUFFER(MPI_Iallreduce(NULL, all, 1, MPI_INT, MPI_SUM, comm, &request));
  MISSES_BUFFER(MPI_Iallreduce(&part, NULL, 1, MPI_INT, MPI_SUM, comm, &request));
  MISSES_BUFFER(MPI_Gather(NULL, 1, MPI_INT, all, 1, MPI_INT, 0, comm));
  MISSES_BUFFER(MPI_Gatherv(NULL, 1, MPI_INT, all, counts, places, MPI_INT, 0, comm));
  MISSES_BUFFER(MPI_Scatter(is_root ? NULL : all, 1, MPI_INT, is_root ? all : NULL, 1, MPI_INT, 0, comm));
  MISSES_BUFFER(MPI_Scatterv(all, counts, places, MPI_INT, NULL, 1, MPI_INT, 0, comm));
  MISSES_BUFFER(MPI_Allgather(NULL, 1, MPI_INT, all, 1, MPI_INT, comm));
  MISSES_BUFFER(MPI_Allgather(&part, 1, MPI_INT, NULL, 1, MPI_INT, comm));
  MISSES_BUFFER(MPI_Allgatherv(&part, 1, MPI_INT, NULL, counts, places, MPI_INT, comm));
  MISSES_BUFFER(MPI_Iallgather(NULL, 1, MPI_INT, all, 1, MPI_INT, comm, &request));
  MISSES_BUFFER(MPI_Alltoall(NULL, 1, MPI_INT, all, 1, MPI_INT, comm));
  MISSES_BUFFER(MPI_Alltoall(all, 1, MPI_INT, NULL, 1, MPI_INT, comm));
  MISSES_BUFFER(MPI_Alltoallv(NULL, counts, places, MPI_INT, all, counts, places, MPI_INT, comm));
  MISSES_BUFFER(MPI_Ialltoallv(all, counts, places, MPI_INT, NULL, counts, places, MPI_INT, comm, &request));
#undef MISSES_BUFFER
  errors_are_fatal();
}
#endif

#ifdef MPICH_VERSION
/* The last rank expects more than the root sends. Afterwards all goes on. */
static void broadcasts_of_other_lengths(void) {
  static const int lengths[] = {4, 100, 3000, 100000};
  return_errors();
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    const int is_last = my_rank == rank_count - 1;
    const int count = is_last ? lengths[i] + 2 : lengths[i];
    char* const data = allocate((size_t)count);
    memset(data, my_rank, (size_t)count);
    const int error = MPI_Bcast(data, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (is_last) CHECK(error != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
  }
  errors_are_fatal();
}
#endif

static void no_communicator(void) {
  return_errors(); /* without a communicator the handler of MPI_COMM_WORLD is asked */
  int number = 0;
  MPI_Request request;
  CHECK_CLASS(MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Irecv(&number, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &request), MPI_ERR_COMM);
  errors_are_fatal();
}

static void uncommitted_types(void) {
  return_errors();
  int numbers[4] = {0};
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  CHECK_CLASS(MPI_Send(numbers, 1, raw, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
  MPI_Type_free(&raw);
  errors_are_fatal();
}

static void buffered_sends_without_space(void) {
  return_errors();
  char bytes[2000] = {0};
  CHECK_CLASS(MPI_Bsend(bytes, 2000, MPI_BYTE, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  void* space = allocate(1500 + MPI_BSEND_OVERHEAD);
  int size = 0;
  MPI_Buffer_attach(space, 1500 + MPI_BSEND_OVERHEAD);
  CHECK_CLASS(MPI_Bsend(bytes, 2000, MPI_BYTE, my_rank, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bsend(bytes, 1400, MPI_BYTE, my_rank, 1, MPI_COMM_WORLD), MPI_SUCCESS);
  MPI_Recv(bytes, 2000, MPI_BYTE, my_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&space, &size);
  CHECK_EQUAL(size, 1500 + MPI_BSEND_OVERHEAD);
  free(space);
  errors_are_fatal();
}

/* A handler of our own is called with the communicator and the code; copies of the communicator have it too. */
static int handled;
static MPI_Comm handled_on;
static void note_error(MPI_Comm* communicator, int* code, ...) {
  handled_on = *communicator;
  handled = error_class(*code);
}
static void own_error_handlers(void) {
  MPI_Errhandler handler, found;
  MPI_Comm mine, copy;
  int number = 0;
  MPI_Comm_create_errhandler(note_error, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_set_errhandler(mine, handler);
  handled = 0;
  MPI_Send(&number, 1, MPI_INT, rank_count + 3, 1, mine);
  CHECK_EQUAL(handled, MPI_ERR_RANK);
  CHECK(handled_on == mine);
  MPI_Comm_dup(mine, &copy);
  handled = 0;
  MPI_Recv(&number, 1, MPI_INT, 0, -44, copy, MPI_STATUS_IGNORE);
  CHECK_EQUAL(handled, MPI_ERR_TAG);
  CHECK(handled_on == copy);
  MPI_Comm_get_errhandler(copy, &found);
  CHECK(found == handler);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
  handled = 0;
  MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
  CHECK_EQUAL(handled, MPI_ERR_OTHER);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&mine);
}

/* The handler of the communicator also hears of errors found while waiting. */
static void hear_of_truncation(int waiting) {
  const int peer = pair_peer();
  MPI_Errhandler handler;
  MPI_Comm mine;
  MPI_Comm_create_errhandler(note_error, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_set_errhandler(mine, handler);
  if (peer != MPI_PROC_NULL) {
    static const int lengths[] = {100, 100000};
    char* const buffer = allocate(100000);
    for (int kind = 0; kind < 2; ++kind) {
      {
        MPI_Request requests[2];
        memset(buffer, 0, 100000);
        if (my_rank & 1) {
          handled = 0;
          if (waiting) {
            MPI_Irecv(buffer, lengths[kind] / 2, MPI_BYTE, peer, 1, mine, &requests[0]);
            signal_to(peer);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
          } else {
            signal_to(peer);
            MPI_Recv(buffer, lengths[kind] / 2, MPI_BYTE, peer, 1, mine, MPI_STATUS_IGNORE);
          }
          CHECK_EQUAL(handled, MPI_ERR_TRUNCATE);
        } else {
          wait_for_signal_of(peer);
          MPI_Send(buffer, lengths[kind], MPI_BYTE, peer, 1, mine);
        }
      }
    }
    free(buffer);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&mine);
}
static void handlers_hear_of_truncation(void) { hear_of_truncation(0); }
static void handlers_hear_of_truncation_in_waits(void) { hear_of_truncation(1); }

/* An error of a communicator between two groups, in a list with a message of another one: the handler of that other one
   hears nothing. */
static void truncate_among_others(int is_of_library) {
  const int peer = pair_peer();
  MPI_Comm between = make_between_even_and_odd(is_of_library);
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN); /* MPI_COMM_WORLD keeps MPI_ERRORS_ARE_FATAL */
  if (peer != MPI_PROC_NULL) {
    for (int all_at_once = 0; all_at_once < 2; ++all_at_once) {
      int short_in = -1, in = -1, flag = 0;
      const int out[2] = {my_rank, my_rank};
      MPI_Request requests[2];
      MPI_Status statuses[2] = {marked_status(), marked_status()};
      MPI_Irecv(&short_in, 1, MPI_INT, my_rank / 2, 1, between, &requests[0]);
      MPI_Irecv(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[1]);
      signal_to(peer);
      wait_for_signal_of(peer);
      MPI_Send(out, 2, MPI_INT, my_rank / 2, 1, between);
      MPI_Send(out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
      int code = MPI_SUCCESS;
      if (all_at_once)
        code = MPI_Waitall(2, requests, statuses);
      else
        while (code == MPI_SUCCESS && !flag) code = MPI_Testall(2, requests, &flag, statuses);
      CHECK_EQUAL(error_class(code), MPI_ERR_IN_STATUS);
      CHECK_EQUAL(error_class(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
      CHECK_EQUAL(error_class(statuses[1].MPI_ERROR), MPI_SUCCESS);
      CHECK_EQUAL(in, peer);
    }
  }
  MPI_Comm_free(&between);
}
static void truncated_between_groups_among_others(void) { truncate_among_others(0); }
static void truncated_in_library_among_others(void) { truncate_among_others(1); }

/* What an operation is not defined for: the handler of the communicator hears of it on every rank, also where a rank
   sends only, and nothing is written. The next one comes as always. */
static void operations_of_other_types(void) {
  enum { numbers = 40 };
  const struct {
    MPI_Datatype type;
    MPI_Op operation;
    int is_defined;
  } pairs[] = {
      /* Not here: MPI_LOR on MPI_DOUBLE, which ends MPICH 4.0, and MPI_SUM on MPI_BYTE, which Open MPI does. */
      {MPI_DOUBLE, MPI_BAND, 0},
      {MPI_FLOAT, MPI_BXOR, 0},
      {MPI_INT, MPI_MAXLOC, 0},
      {MPI_DOUBLE, MPI_MINLOC, 0},
      {MPI_2INT, MPI_SUM, 0},
      {MPI_DOUBLE_INT, MPI_MAX, 0},
      {MPI_C_DOUBLE_COMPLEX, MPI_MAX, 0},
      {MPI_INT, MPI_OP_NULL, 0},
      {MPI_INT, MPI_BAND, 1},
      {MPI_2INT, MPI_MAXLOC, 1},
      {MPI_DOUBLE, MPI_SUM, 1},
      {MPI_BYTE, MPI_BOR, 1},
      {MPI_C_DOUBLE_COMPLEX, MPI_PROD, 1},
      {MPI_LONG_DOUBLE, MPI_MAX, 1},
      {MPI_C_BOOL, MPI_LAND, 1},
      {MPI_AINT, MPI_MIN, 1}};
  double _Complex in[numbers] = {0}, out[numbers];
  MPI_Comm mine;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_create_errhandler(note_error, &handler);
  MPI_Comm_set_errhandler(mine, handler);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    const int expected = pairs[i].is_defined ? MPI_SUCCESS : MPI_ERR_OP;
    for (int call = 0; call < 4; ++call) {
      const int count = i % 2 ? numbers / 2 : 1;
      const int root = rank_count - 1;
      MPI_Request request = MPI_REQUEST_NULL;
      memset(out, 0x5a, sizeof out);
      handled = MPI_SUCCESS;
      int code = MPI_SUCCESS;
      if (call == 0) code = MPI_Reduce(in, out, count, pairs[i].type, pairs[i].operation, root, mine);
      if (call == 1) code = MPI_Allreduce(in, out, count, pairs[i].type, pairs[i].operation, mine);
      if (call == 2) code = MPI_Ireduce(in, out, count, pairs[i].type, pairs[i].operation, root, mine, &request);
      if (call == 3) code = MPI_Iallreduce(in, out, count, pairs[i].type, pairs[i].operation, mine, &request);
      CHECK_CLASS(code, expected);
      CHECK_EQUAL(handled, expected);
      if (code == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (!pairs[i].is_defined) VERIFY_ALL(out, sizeof out, 0x5a);
    }
    int sum = -1;
    MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, mine);
    CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&mine);
}

/* Every rank gives its part a count below 0, or no type; so does the root where it tells the parts of all. */
static void gathers_and_scatters_of_less_than_nothing(void) {
  enum { kinds = 8, most = 64 };
  int part = my_rank, all[most], counts[most], places[most];
  MPI_Comm mine;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_create_errhandler(note_error, &handler);
  MPI_Comm_set_errhandler(mine, handler);
  for (int i = 0; i < rank_count; ++i) counts[i] = places[i] = i;
  for (int kind = 0; kind < kinds; ++kind) {
    for (int without_type = 0; without_type < 2; ++without_type) {
      const int root = kind % rank_count, count = without_type ? 1 : -1 - kind;
      const MPI_Datatype type = without_type ? MPI_DATATYPE_NULL : MPI_INT;
      for (int i = 0; i < rank_count; ++i) counts[i] = count;
      MPI_Request request = MPI_REQUEST_NULL;
      handled = MPI_SUCCESS;
      int code = MPI_SUCCESS;
      if (kind == 0) code = MPI_Gather(&part, count, type, all, count, type, root, mine);
      if (kind == 1) code = MPI_Scatter(all, count, type, &part, count, type, root, mine);
      if (kind == 2) code = MPI_Gatherv(&part, count, type, all, counts, places, type, root, mine);
      if (kind == 3) code = MPI_Scatterv(all, counts, places, type, &part, count, type, root, mine);
      if (kind == 4) code = MPI_Igather(&part, count, type, all, count, type, root, mine, &request);
      if (kind == 5) code = MPI_Iscatter(all, count, type, &part, count, type, root, mine, &request);
      if (kind == 6) code = MPI_Allgather(&part, count, type, all, count, type, mine);
      if (kind == 7) code = MPI_Allgatherv(&part, count, type, all, counts, places, type, mine);
      CHECK_CLASS(code, without_type ? MPI_ERR_TYPE : MPI_ERR_COUNT);
      CHECK_EQUAL(handled, without_type ? MPI_ERR_TYPE : MPI_ERR_COUNT);
    }
    MPI_Gather(&my_rank, 1, MPI_INT, all, 1, MPI_INT, 0, mine);
    for (int i = 0; i < rank_count && my_rank == 0; ++i) CHECK_EQUAL(all[i], i);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&mine);
}

/* What a handler may do: this program has MPI_THREAD_MULTIPLE, so a lock that is held around it would be taken twice.
 */
static int handlers_that_called, handlers_that_failed;
static void call_mpi(void) {
  int number = -1;
  MPI_Sendrecv(&my_rank, 1, MPI_INT, my_rank, 99, &number, 1, MPI_INT, my_rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (number != my_rank) ++handlers_that_failed;
  ++handlers_that_called;
}
static void call_mpi_for_window(MPI_Win* window, int* code, ...) {
  (void)window, (void)code;
  call_mpi();
}
static void call_mpi_for_communicator(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  call_mpi();
}

static void windows_whose_handlers_call_mpi(void) {
  int* memory = NULL;
  MPI_Win window;
  MPI_Errhandler handler;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_create_errhandler(call_mpi_for_window, &handler);
  MPI_Win_set_errhandler(window, handler);
  MPI_Win_fence(0, window);
  handlers_that_called = 0;
  CHECK_CLASS(MPI_Put(&my_rank, 1, MPI_INT, rank_count, 0, 1, MPI_INT, window), MPI_ERR_RANK);
  CHECK_EQUAL(handlers_that_called, 1);
  CHECK_EQUAL(handlers_that_failed, 0);
  MPI_Win_fence(0, window);
  MPI_Errhandler_free(&handler);
  MPI_Win_free(&window);
}

static int all_have_ended(const MPI_Request* list, int count) {
  for (int i = 0; i < count; ++i)
    if (list[i] != MPI_REQUEST_NULL) return 0;
  return 1;
}

/* A receive that is the library's own is cut short among requests of ours. The library calls its
   handler in the midst of a wait. */
static void lists_whose_handlers_call_mpi(void) {
  enum { requests = 4, ways = 5 };
  const int peer = pair_peer();
  MPI_Comm between = make_between_even_and_odd(1);
  MPI_Errhandler handler, before;
  MPI_Comm_create_errhandler(call_mpi_for_communicator, &handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(between, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  handlers_that_called = 0;
  for (int way = 0; way < ways && peer != MPI_PROC_NULL; ++way) {
    const int out[2] = {my_rank, my_rank};
    int short_in = -1, in = -1, index = 0, flag = 0, done = 0, indices[requests];
    MPI_Request list[requests];
    MPI_Status statuses[requests];
    MPI_Irecv(&short_in, 1, MPI_INT, my_rank / 2, 1, between, &list[0]);
    MPI_Irecv(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &list[1]);
    signal_to(peer);
    wait_for_signal_of(peer);
    MPI_Isend(out, 2, MPI_INT, my_rank / 2, 1, between, &list[2]);
    MPI_Isend(out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &list[3]);
    while (!all_have_ended(list, requests)) {
      if (way == 0) MPI_Waitall(requests, list, statuses);
      if (way == 1) MPI_Waitany(requests, list, &index, statuses);
      if (way == 2) MPI_Waitsome(requests, list, &done, indices, statuses);
      if (way == 3) MPI_Testall(requests, list, &flag, statuses);
      if (way == 4) MPI_Testany(requests, list, &index, &flag, statuses);
    }
    CHECK_EQUAL(in, peer);
  }
  CHECK(handlers_that_called >= ways || peer == MPI_PROC_NULL);
  CHECK_EQUAL(handlers_that_failed, 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&between);
}

static void codes_and_texts(void) {
  static const int classes[] = {MPI_ERR_TRUNCATE, MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_COMM};
  for (int i = 0; i < 6; ++i) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    CHECK_EQUAL(error_class(classes[i]), classes[i]);
    MPI_Error_string(classes[i], text, &length);
    CHECK(length > 0 && (int)strlen(text) == length);
  }
  int class = 0, code = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "the rudder is gone");
  MPI_Error_string(code, text, &length);
  CHECK(strcmp(text, "the rudder is gone") == 0);
  CHECK_EQUAL(error_class(code), class);
}

/* One rank sends more than the root expects, short and long: an error there, nothing is written behind the buffer, and
   the communicator works afterwards. */
static void gathers_of_different_counts(void) {
  enum { most = 40000 };
  char* const part = allocate(2 * most);
  char* const all = allocate((size_t)(rank_count + 2) * most);
  return_errors(); /* some libraries report errors of a communicator to this one */
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  memset(part, my_rank, 2 * most);
  for (int bytes = 100; bytes <= most; bytes *= 400) {
    for (int way = 0; way < 2; ++way) {
      int counts[64], places[64], error = MPI_SUCCESS;
      for (int i = 0; i < rank_count; ++i) counts[i] = bytes, places[i] = i * bytes;
      memset(all, 0x55, (size_t)(rank_count + 2) * most);
      const int mine = my_rank == rank_count - 1 ? bytes + bytes / 2 : bytes;
      if (way == 0) error = MPI_Gatherv(part, mine, MPI_BYTE, all, counts, places, MPI_BYTE, 0, comm);
      if (way == 1) {
        MPI_Request request;
        MPI_Igatherv(part, mine, MPI_BYTE, all, counts, places, MPI_BYTE, 0, comm, &request);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      CHECK_EQUAL(error != MPI_SUCCESS, my_rank == 0);
      VERIFY_ALL(all + rank_count * bytes, (size_t)bytes, 0x55);
      int sum = 0;
      MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
      CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
    }
  }
  MPI_Comm_free(&comm);
  errors_are_fatal();
  free(all);
  free(part);
}

/* All ranks expect more than the root sends: an error there, and the communicator works afterwards. */
static void scatters_of_different_counts(void) {
  char part[32], all[64 * 16] = {0};
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int root = 0; root < rank_count; ++root) {
    const int is_root = my_rank == root;
    const int error = MPI_Scatter(all, 16, MPI_BYTE, part, is_root ? 16 : 24, MPI_BYTE, root, comm);
    CHECK_EQUAL(error != MPI_SUCCESS, !is_root);
    int sum = 0;
    MPI_Allreduce(&my_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQUAL(sum, rank_count * (rank_count - 1) / 2);
  }
  MPI_Comm_free(&comm);
}

/* Reductions of several KiB whose counts differ: an error on all ranks, nothing is written behind a buffer, and the
   communicator works afterwards. */
static void large_reductions_of_different_counts(void) {
  enum { length = 50000, behind = 20000 };
  const int count = length + (my_rank == 0 ? 0 : behind / 2);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  long* const mine = allocate((length + behind) * sizeof(long));
  long* const sums = allocate((length + behind) * sizeof(long));
  for (int i = 0; i < length + behind; ++i) mine[i] = i, sums[i] = -1;
  for (int way = 0; way < 3; ++way) {
    int error = MPI_SUCCESS, class = MPI_SUCCESS, wrong = 0;
    if (way == 0) error = MPI_Allreduce(mine, sums, count, MPI_LONG, MPI_SUM, comm);
    if (way == 1) error = MPI_Scan(mine, sums, count, MPI_LONG, MPI_SUM, comm);
    if (way == 2) error = MPI_Reduce_scatter_block(mine, sums, count / rank_count, MPI_LONG, MPI_SUM, comm);
    MPI_Error_class(error, &class);
    CHECK_EQUAL(class, MPI_ERR_TRUNCATE);
    for (int i = count; i < length + behind; ++i) wrong += sums[i] != -1;
    CHECK_EQUAL(wrong, 0);
  }
  MPI_Allreduce(mine, sums, length, MPI_LONG, MPI_SUM, comm);
  CHECK_EQUAL(sums[length - 1], (long)(length - 1) * rank_count);
  free(sums);
  free(mine);
  MPI_Comm_free(&comm);
}

const struct conformance_case error_cases[] = {
    {"windows_whose_handlers_call_mpi", 2, windows_whose_handlers_call_mpi},
    {"lists_whose_handlers_call_mpi", 2, lists_whose_handlers_call_mpi},
    {"truncated_receives", 2, truncated_receives},
    {"truncated_sendrecv", 2, truncated_sendrecv},
    {"truncated_mrecv", 2, truncated_mrecv},
    {"truncated_persistent", 2, truncated_persistent},
    {"nothing_is_written_behind_truncated_receives", 2, nothing_is_written_behind_truncated_receives},
    {"truncated_among_others", 2, truncated_among_others},
    {"truncated_in_derived_types", 2, truncated_in_derived_types},
    {"wrong_arguments", 1, wrong_arguments},
    {"missing_buffers", 1, missing_buffers},
    {"null_buffers_that_are_right", 1, null_buffers_that_are_right},
#ifdef MPICH_VERSION
    {"missing_buffers_of_collectives", 1, missing_buffers_of_collectives},
    {"broadcasts_of_other_lengths", 2, broadcasts_of_other_lengths},
#endif
    {"no_communicator", 1, no_communicator},
    {"uncommitted_types", 1, uncommitted_types},
    {"buffered_sends_without_space", 1, buffered_sends_without_space},
    {"own_error_handlers", 1, own_error_handlers},
    {"handlers_hear_of_truncation", 1, handlers_hear_of_truncation},
    {"handlers_hear_of_truncation_in_waits", 2, handlers_hear_of_truncation_in_waits},
    {"truncated_between_groups_among_others", 2, truncated_between_groups_among_others},
    {"truncated_in_library_among_others", 2, truncated_in_library_among_others},
    {"operations_of_other_types", 1, operations_of_other_types},
    {"gathers_and_scatters_of_less_than_nothing", 1, gathers_and_scatters_of_less_than_nothing},
    {"codes_and_texts", 1, codes_and_texts},
    {"gathers_of_different_counts", 2, gathers_of_different_counts},
    {"scatters_of_different_counts", 2, scatters_of_different_counts},
    {"large_reductions_of_different_counts", 2, large_reductions_of_different_counts},
    {NULL, 0, NULL},
};
