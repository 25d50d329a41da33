/* Calls of one rank that end although the other rank is elsewhere: in a call on another communicator, or in a loop that
   never waits. Pairs of ranks; each meets its partner in MPI_Comm_dup on a communicator of the two, which no drop-in
   takes. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conformance.h"

static MPI_Comm pair_communicator(int peer) {
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, peer == MPI_PROC_NULL ? MPI_UNDEFINED : my_rank / 2, 0, &both);
  return both;
}
static void meet_elsewhere(MPI_Comm both) {
  MPI_Comm twin;
  MPI_Comm_dup(both, &twin);
  MPI_Comm_free(&twin);
}
/* A rank that is late on purpose, so that its partner mostly blocks by then. What is checked holds in any order. */
static void pause_ms(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

typedef int send_function(const void*, int, MPI_Datatype, int, int, MPI_Comm);

/* The receive was begun; its rank blocks where the partner comes only after the message is gone. */
static void sends_to_a_rank_in_another_call(send_function* send, int bytes) {
  const int peer = pair_peer();
  MPI_Comm both = pair_communicator(peer);
  if (peer == MPI_PROC_NULL) return;
  char* const buffer = allocate((size_t)bytes);
  for (int round = 0; round < 5; ++round) {
    if (my_rank % 2 == 0) {
      MPI_Request receive;
      memset(buffer, 0x55, (size_t)bytes);
      MPI_Irecv(buffer, bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD, &receive);
      meet_elsewhere(both);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      VERIFY(buffer, (size_t)bytes, (uint64_t)round);
    } else {
      fill(buffer, (size_t)bytes, (uint64_t)round);
      pause_ms(round == 0 ? 20 : 0);
      send(buffer, bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD);
      meet_elsewhere(both);
    }
  }
  free(buffer);
  MPI_Comm_free(&both);
}
static void small_synchronous_sends(void) { sends_to_a_rank_in_another_call(MPI_Ssend, 4); }
static void synchronous_sends(void) { sends_to_a_rank_in_another_call(MPI_Ssend, 5000); }
static void large_sends(void) { sends_to_a_rank_in_another_call(MPI_Send, 1 << 20); }

/* The sender asks again and again instead of waiting. */
static void sends_that_are_tested(void) {
  const int peer = pair_peer();
  MPI_Comm both = pair_communicator(peer);
  if (peer == MPI_PROC_NULL) return;
  const size_t bytes = 1 << 20;
  char* const buffer = allocate(bytes);
  MPI_Request request;
  if (my_rank % 2 == 0) {
    MPI_Irecv(buffer, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
    meet_elsewhere(both);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    VERIFY(buffer, bytes, 3);
  } else {
    fill(buffer, bytes, 3);
    pause_ms(20);
    MPI_Isend(buffer, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
    wait_by_test(&request, MPI_STATUS_IGNORE);
    meet_elsewhere(both);
  }
  free(buffer);
  MPI_Comm_free(&both);
}

/* A rank that looks for one message lets another arrive, which comes by an inter-communicator. */
static void let_everything_progress(int is_of_library) {
  const int peer = pair_peer();
  MPI_Comm between = make_between_even_and_odd(is_of_library);
  if (peer != MPI_PROC_NULL) {
    const size_t bytes = largest_size;
    char* const buffer = allocate(bytes);
    if (my_rank % 2 == 0) {
      MPI_Request receive;
      MPI_Irecv(buffer, (int)bytes, MPI_BYTE, my_rank / 2, 0, between, &receive);
      for (int found = 0; !found;) MPI_Iprobe(peer, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
      MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      VERIFY(buffer, bytes, 4);
    } else {
      fill(buffer, bytes, 4);
      MPI_Send(buffer, (int)bytes, MPI_BYTE, my_rank / 2, 0, between);
      MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    }
    free(buffer);
  }
  MPI_Comm_free(&between);
}
static void probes_let_everything_progress(void) {
  for (int is_of_library = 0; is_of_library < 2; ++is_of_library) let_everything_progress(is_of_library);
}

/* Collective operations are begun by all; then one rank blocks until another one has seen the end of its operation: in
   a receive, or in a call on another communicator. Some operations a drop-in takes, others it does not. */
enum { nonblocking_kinds = 6 };
static void begin_one(int kind, int* in, int* out, MPI_Request* request) {
  enum { length = 100000 };
  if (kind == 0) MPI_Ibarrier(MPI_COMM_WORLD, request);
  if (kind == 1) MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
  if (kind == 2) MPI_Ibcast(in, length, MPI_INT, 0, MPI_COMM_WORLD, request);
  if (kind == 3) MPI_Iscan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
  if (kind == 4) MPI_Iallgather(out, 1000, MPI_INT, in, 1000, MPI_INT, MPI_COMM_WORLD, request);
  if (kind == 5) MPI_Iexscan(out, in, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
}
static void nonblocking_operations(int elsewhere) {
  MPI_Comm two; /* the first and the last */
  const int last = rank_count - 1;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank == 0 || my_rank == last ? 0 : MPI_UNDEFINED, 0, &two);
  int* const in = allocate(100000 * sizeof(int) + 1000 * sizeof(int) * (size_t)rank_count);
  int* const out = allocate(100000 * sizeof(int));
  for (int kind = 0; kind < nonblocking_kinds; ++kind) {
    MPI_Request request;
    for (int i = 0; i < 100000; ++i) in[i] = out[i] = my_rank + 1;
    if (my_rank != 0) pause_ms(kind < 2 ? 20 : 0); /* rank 0 mostly sleeps by then */
    begin_one(kind, in, out, &request);
    if (my_rank == 0) {
      int done = -1;
      if (elsewhere)
        meet_elsewhere(two);
      else
        MPI_Recv(&done, 1, MPI_INT, last, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (my_rank == last && elsewhere) meet_elsewhere(two);
      if (my_rank == last && !elsewhere) MPI_Send(&kind, 1, MPI_INT, 0, kind, MPI_COMM_WORLD);
    }
    const int sum = rank_count * (rank_count + 1) / 2;
    if (kind == 1) CHECK_EQUAL(in[0], sum);
    if (kind == 2) CHECK_EQUAL(in[99999], 1);
    if (kind == 3) CHECK_EQUAL(in[0], (my_rank + 1) * (my_rank + 2) / 2);
    if (kind == 4) CHECK_EQUAL(in[1000 * rank_count - 1], rank_count);
    if (kind == 5 && my_rank > 0) CHECK_EQUAL(in[99999], my_rank * (my_rank + 1) / 2);
  }
  free(out);
  free(in);
  if (two != MPI_COMM_NULL) MPI_Comm_free(&two);
}
static void nonblocking_operations_of_a_rank_that_receives(void) { nonblocking_operations(0); }
static void nonblocking_operations_of_a_rank_in_another_call(void) { nonblocking_operations(1); }

/* A receive from any source is open while its rank is in an operation of all, which the sender joins only when its
   large message is gone. */
enum { joint_operations = 12 };
static void join(int kind, char* all, MPI_Comm leaders) {
  enum { large = 1 << 18 };
  MPI_Comm made = MPI_COMM_NULL;
  int* const counts = allocate((size_t)rank_count * sizeof *counts);
  int* const places = allocate((size_t)rank_count * sizeof *places);
  for (int rank = 0; rank < rank_count; ++rank) {
    counts[rank] = kind == 4 ? 100 : 100 + rank;
    places[rank] = 1000 * rank;
  }
  if (kind == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (kind == 1) MPI_Bcast(all, large, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (kind == 2) MPI_Allreduce(MPI_IN_PLACE, all, large, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  if (kind == 3) MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD);
  if (kind == 4) MPI_Alltoallv(all, counts, places, MPI_BYTE, all + large, counts, places, MPI_BYTE, MPI_COMM_WORLD);
  if (kind == 5) MPI_Reduce(my_rank == 0 ? MPI_IN_PLACE : all, all, large, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
  if (kind == 6) MPI_Comm_dup(MPI_COMM_WORLD, &made);
  if (kind == 7) MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, 0, &made);
  if (kind == 8) MPI_Scan(MPI_IN_PLACE, all, large, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  if (kind == 9 && leaders != MPI_COMM_NULL) MPI_Barrier(leaders);
  if (kind == 10 && leaders != MPI_COMM_NULL) MPI_Bcast(all, large, MPI_BYTE, 0, leaders);
  if (kind == 11 && leaders != MPI_COMM_NULL) {
    int leader = 0, last = 0;
    MPI_Comm_rank(leaders, &leader);
    MPI_Comm_size(leaders, &last);
    if (leader == 0 && last > 1) MPI_Recv(all, 1, MPI_BYTE, last - 1, 3, leaders, MPI_STATUS_IGNORE);
    if (leader == last - 1 && last > 1) MPI_Send(all, 1, MPI_BYTE, 0, 3, leaders);
  }
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  free(places);
  free(counts);
}
static void any_source_receives_in_joint_operations(void) {
  const int bytes = 1 << 20;
  const int last = rank_count - 1;
  MPI_Comm leaders; /* the first and the last */
  MPI_Comm_split(MPI_COMM_WORLD, my_rank == 0 || my_rank == last ? 0 : MPI_UNDEFINED, 0, &leaders);
  char* const buffer = allocate((size_t)bytes);
  char* const all = allocate((size_t)bytes);
  memset(all, 0, (size_t)bytes);
  for (int kind = 0; kind < joint_operations; ++kind) {
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Status status;
    if (my_rank == 0) {
      memset(buffer, 0x55, (size_t)bytes);
      MPI_Irecv(buffer, bytes, MPI_BYTE, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &receive);
    }
    if (my_rank == last) {
      fill(buffer, (size_t)bytes, (uint64_t)kind);
      pause_ms(kind < 2 ? 20 : 0); /* rank 0 is inside by then */
      MPI_Send(buffer, bytes, MPI_BYTE, 0, 11, MPI_COMM_WORLD);
    }
    join(kind, all, leaders);
    if (my_rank != 0) continue;
    MPI_Wait(&receive, &status);
    CHECK_STATUS(&status, last, 11, bytes);
    VERIFY(buffer, (size_t)bytes, (uint64_t)kind);
  }
  free(all);
  free(buffer);
  if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
}

/* A message of the library itself on a communicator where a receive from any source is open. */
static void any_source_receives_beside_new_communicators(void) {
  const int last = rank_count - 1;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm half;
  int got = -1, sent = my_rank + 7;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank < rank_count / 2, 0, &half);
  if (my_rank == 0) MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &receive);
  for (int i = 0, done = 0; my_rank == 0 && i < 100; ++i) MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, my_rank < rank_count / 2 ? rank_count / 2 : 0, 12, &between);
  if (my_rank == last) MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, last + 7);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

/* MPI_Comm_disconnect waits for what is pending. */
static void any_source_receives_and_disconnect(void) {
  const int last = rank_count - 1;
  for (int from_last = 0; from_last < 2; ++from_last) {
    const int sender = from_last ? last : 1;
    MPI_Comm twin;
    MPI_Request receive = MPI_REQUEST_NULL;
    int got = -1, sent = my_rank + 9;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    if (my_rank == 0) MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, twin, &receive);
    if (my_rank == sender) MPI_Send(&sent, 1, MPI_INT, 0, 1, twin);
    if (my_rank == 0) MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&twin);
    if (my_rank == 0) CHECK_EQUAL(got, sender + 9);
  }
}

/* A ready send: its receive is open. */
static void any_source_receives_of_ready_sends(void) {
  const int last = rank_count - 1;
  for (int bytes = 4; bytes <= 100000; bytes *= 25) {
    char* const buffer = allocate((size_t)bytes);
    MPI_Request receive = MPI_REQUEST_NULL;
    if (my_rank == 0) MPI_Irecv(buffer, bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == last) {
      fill(buffer, (size_t)bytes, 6);
      MPI_Rsend(buffer, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
    if (my_rank == 0) {
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      VERIFY(buffer, (size_t)bytes, 6);
    }
    free(buffer);
  }
}

/* Begun before the members of a window synchronize, ended afterwards; the other side does it before. */
static void messages_beside_fences(void) {
  enum { bytes = 1 << 20 };
  const int half = rank_count / 2;
  const int peer = my_rank < half ? my_rank + half : my_rank < 2 * half ? my_rank - half : MPI_PROC_NULL;
  const int small[] = {100000, bytes};
  char* const buffer = allocate(bytes);
  MPI_Win window;
  MPI_Win_create(buffer, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  for (int sends_first = 0; sends_first < 2; ++sends_first) {
    for (int i = 0; i < 2; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int is_nonblocking = (my_rank < half) == (sends_first != 0);
      if (my_rank < half) {
        fill(buffer, (size_t)small[i], 7);
        if (is_nonblocking)
          MPI_Isend(buffer, small[i], MPI_CHAR, peer, i, MPI_COMM_WORLD, &request);
        else
          MPI_Send(buffer, small[i], MPI_CHAR, peer, i, MPI_COMM_WORLD);
      } else {
        if (is_nonblocking)
          MPI_Irecv(buffer, small[i], MPI_CHAR, peer, i, MPI_COMM_WORLD, &request);
        else
          MPI_Recv(buffer, small[i], MPI_CHAR, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      MPI_Win_fence(0, window);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (my_rank >= half && peer != MPI_PROC_NULL) VERIFY(buffer, (size_t)small[i], 7);
    }
  }
  MPI_Win_free(&window);
  free(buffer);
}

const struct conformance_case progress_cases[] = {
    {"any_source_receives_in_joint_operations", 2, any_source_receives_in_joint_operations},
    {"any_source_receives_beside_new_communicators", 2, any_source_receives_beside_new_communicators},
    {"any_source_receives_and_disconnect", 2, any_source_receives_and_disconnect},
    {"any_source_receives_of_ready_sends", 2, any_source_receives_of_ready_sends},
    {"messages_beside_fences", 2, messages_beside_fences},
    {"small_synchronous_sends_to_a_rank_in_another_call", 2, small_synchronous_sends},
    {"synchronous_sends_to_a_rank_in_another_call", 2, synchronous_sends},
    {"large_sends_to_a_rank_in_another_call", 2, large_sends},
    {"sends_that_are_tested", 2, sends_that_are_tested},
    {"probes_let_everything_progress", 2, probes_let_everything_progress},
    {"nonblocking_operations_of_a_rank_that_receives", 2, nonblocking_operations_of_a_rank_that_receives},
    {"nonblocking_operations_of_a_rank_in_another_call", 2, nonblocking_operations_of_a_rank_in_another_call},
    {NULL, 0, NULL}};
