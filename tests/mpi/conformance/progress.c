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
static void probes_let_everything_progress(void) {
  const int peer = pair_peer();
  if (peer == MPI_PROC_NULL) return;
  MPI_Comm between;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, peer, 7, &between);
  const size_t bytes = largest_size;
  char* const buffer = allocate(bytes);
  if (my_rank % 2 == 0) {
    MPI_Request receive;
    MPI_Irecv(buffer, (int)bytes, MPI_BYTE, 0, 0, between, &receive);
    for (int found = 0; !found;) MPI_Iprobe(peer, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    VERIFY(buffer, bytes, 4);
  } else {
    fill(buffer, bytes, 4);
    MPI_Send(buffer, (int)bytes, MPI_BYTE, 0, 0, between);
    MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  }
  free(buffer);
  MPI_Comm_free(&between);
}

const struct conformance_case progress_cases[] = {
    {"small_synchronous_sends_to_a_rank_in_another_call", 2, small_synchronous_sends},
    {"synchronous_sends_to_a_rank_in_another_call", 2, synchronous_sends},
    {"large_sends_to_a_rank_in_another_call", 2, large_sends},
    {"sends_that_are_tested", 2, sends_that_are_tested},
    {"probes_let_everything_progress", 2, probes_let_everything_progress},
    {NULL, 0, NULL}};
